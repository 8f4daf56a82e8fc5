package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/gateway"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/http1"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

type secret = secrets.Secret

// Pauses between tries to enrol while the control plane cannot be reached.
const (
	minEnrolPause = time.Second
	maxEnrolPause = 30 * time.Second
)

// edgeOptions configures an edge.
type edgeOptions struct {
	nodeOptions

	controlPlane string
	name         string
	opsListen    string
	metricsToken secret         // opens /metrics; absent: nothing does beyond loopback
	roots        *x509.CertPool // nil: those of the machine
	client       *http.Client   // to the control plane
	artifacts    *oci.Store     // where artifacts are fetched from first. nil: the control plane
	joinToken    func() (secret, error)
}

// edgeNode is a gateway that follows a control plane.
type edgeNode struct {
	node

	o        edgeOptions
	remote   *edge.Remote
	vault    *edge.Vault
	opsLn    net.Listener
	opsHTTP  *http.Server
	enrolled gate
	servers  *mcpclient.Client
}

// runEdge runs an edge until ctx ends.
func runEdge(ctx context.Context, o edgeOptions) error {
	n, err := newEdge(ctx, o)
	if err != nil {
		return err
	}
	return n.run(ctx)
}

func newEdge(ctx context.Context, o edgeOptions) (n *edgeNode, err error) {
	n = &edgeNode{node: node{opts: o.nodeOptions, holder: &snapshot.Holder{}, meter: metering.New()}, o: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
			n = nil
		}
	}()
	if err := n.openEdgeData(ctx); err != nil {
		return n, err
	}
	if t, ok := o.client.Transport.(*http.Transport); ok && o.roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: o.roots, MinVersion: tls.VersionTLS12}
	}
	n.remote, err = edge.OpenRemote(edge.RemoteOptions{
		ControlPlane: o.controlPlane, Client: o.client, Artifacts: o.artifacts, Dir: n.path(datadir.Edge), Name: o.name, Version: versionOrDevel(), JoinToken: o.joinToken, Logger: o.logger,
	})
	if err != nil {
		return n, err
	}
	if err := n.openSpool(n.remote); err != nil {
		return n, err
	}
	if n.dialer, err = safedial.New(safedial.Options{AllowPrivate: o.allowPrivate, Allow: o.allow}); err != nil {
		return n, err
	}
	if n.keys, err = newKeys(n.dialer, o.logger); err != nil {
		return n, err
	}
	h, err := enginepool.New(ctx, enginepool.Options{CacheDir: n.codeCache(), Logger: o.logger})
	if err != nil {
		return n, fmt.Errorf("starting the plugin host: %w", err)
	}
	n.onClose(func() error { return h.Close(context.WithoutCancel(ctx)) })
	n.plugins, err = openPlugins(ctx, n.codeCache(), o.pluginGrace, n.meter, o.logger, n.onClose)
	if err != nil {
		return n, err
	}
	client, err := upstream.New(upstream.Options{Dial: n.dialer.DialTimeout, UserAgent: "sluice/" + versionOrDevel()})
	if err != nil {
		return n, err
	}
	files, err := newFileFetcher()
	if err != nil {
		return n, err
	}
	servers, err := mcpclient.New(mcpclient.Options{HTTP: client, Version: versionOrDevel(), Logger: o.logger})
	if err != nil {
		return n, err
	}
	n.servers = servers
	n.onClose(func() error { servers.Close(); return nil })
	live, err := call.New(call.Options{Host: h, Upstream: client, MCP: servers, Files: files, Plugins: n.plugins.runner, Credentials: vaultSource{n}, Meter: n.meter, Logger: o.logger})
	if err != nil {
		return n, err
	}
	n.onClose(func() error { live.Close(); return nil })
	var hosts []string
	if o.publicURL != "" {
		hosts = append(hosts, hostOf(o.publicURL))
	}
	n.gateway, err = gateway.New(gateway.Options{
		Addr: o.listen, Holder: n.holder, Caller: live, Hosts: hosts, MaxConns: o.conns, MaxConnsPerAddress: o.connsPerAddr, PublicURL: o.publicURL, Drain: o.grace, Version: versionOrDevel(), Meter: n.meter, Logger: o.logger,
	})
	if err != nil {
		return n, err
	}
	var lc net.ListenConfig
	if n.opsLn, err = lc.Listen(ctx, "tcp", o.opsListen); err != nil {
		return n, problem.New(problem.Unavailable, "the operations listener cannot listen on %s", o.opsListen).
			Fix("stop what uses the port, or choose another with --ops-listen").Because(err)
	}
	n.onClose(func() error { _ = n.opsLn.Close(); return nil }) // it may be closed by then
	n.writeOperations(ctx)
	n.opsHTTP = &http.Server{
		Handler: n.operations(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: opsHeadBytes,
		ReadTimeout: 10 * time.Second, ConnState: http1.ConnState, // nothing it serves has a body
		ErrorLog: slog.NewLogLogger(o.logger.Handler(), slog.LevelDebug),
	}
	return n, nil
}

// writeOperations says in the data directory where the operations listener is, for the
// health check of a container.
func (n *edgeNode) writeOperations(ctx context.Context) {
	if err := atomicfile.Write(n.path(datadir.Operations), []byte("http://"+reachable(n.opsLn.Addr())+"\n"), 0o600); err != nil && !n.readOnly {
		n.opts.logger.LogAttrs(ctx, slog.LevelWarn, "the address of the operations listener cannot be kept", slog.Any("error", err))
	}
}

// run serves until ctx ends. What is in the cache is served before the control
// plane is asked anything.
func (n *edgeNode) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.gateway.Run(ctx) })
	g.Go(func() error {
		if err := n.opsHTTP.Serve(strict(n.opsLn, opsHeadBytes, nil)); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving operations: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return errors.Join(n.opsHTTP.Shutdown(stop), n.opsHTTP.Close())
	})
	g.Go(func() error { return ended(ctx, n.follow(ctx)) })
	return errors.Join(g.Wait(), n.lastUsage(ctx), n.close())
}

// follow enrols if need be, then follows releases and credentials.
func (n *edgeNode) follow(ctx context.Context) error {
	if err := n.enrol(ctx); err != nil {
		return err
	}
	// Before the release: a call that comes at once finds its credential.
	n.vault = edge.OpenVault(n.remote)
	var err error
	n.follower, err = edge.New(edge.Options{
		Source: n.remote, Dir: n.path(datadir.Edge), Group: n.remote.Group(), Keys: n.remote.Trusted(), Logger: n.opts.logger,
		Prepare: n.vault.Prepare,
		Apply: func(s *edge.State) error {
			if err := n.apply(s); err != nil {
				return err
			}
			n.vault.Serve(s)
			return nil
		},
	})
	if err != nil {
		return err
	}
	n.registerGauges()
	n.enrolled.open.Store(true)
	n.opts.logger.LogAttrs(ctx, slog.LevelInfo, "edge serves", slog.String("edge", n.remote.Edge()), slog.String("group", n.remote.Group()),
		slog.String("gateway", n.url()), slog.String("operations", "http://"+reachable(n.opsLn.Addr())), slog.String("version", versionOrDevel()))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		n.begin(ctx)
		return n.follower.Run(ctx)
	})
	g.Go(func() error { return n.vault.Run(ctx) })
	g.Go(func() error { return n.spool.Run(ctx) })
	g.Go(func() error { return n.plugins.reporter(n.remote, n.opts.logger).Run(ctx) })
	g.Go(func() error {
		r := &edge.Reporter{Remote: n.remote, Follower: n.follower, Vault: n.vault, Usage: n.spool.Fault, Version: versionOrDevel(), Logger: n.opts.logger}
		return r.Run(ctx)
	})
	return g.Wait()
}

// enrol tries until the control plane answered: what it refuses ends the node,
// what does not reach it is tried again.
func (n *edgeNode) enrol(ctx context.Context) error {
	pause := retry.Backoff{First: minEnrolPause, Longest: maxEnrolPause}
	for {
		err := n.remote.Enrol(ctx)
		if err == nil {
			return nil
		}
		if p := problem.As(err); ctx.Err() == nil && p != nil && p.Kind != problem.Unavailable && p.Kind != problem.Unreachable && p.Kind != problem.Timeout {
			return err
		}
		again := pause.Next()
		n.opts.logger.LogAttrs(ctx, slog.LevelWarn, "not enrolled yet", slog.Any("error", err), slog.Float64("again_s", again.Seconds()))
		if err := retry.Sleep(ctx, again); err != nil {
			return err
		}
	}
}

// ready says why calls cannot be served; a control plane that is gone is no
// reason.
func (n *edgeNode) ready() error {
	if err := n.enrolled.ready(); err != nil {
		return problem.New(problem.Unavailable, "the edge is not enrolled yet")
	}
	if err := n.releaseReady(); err != nil {
		return err
	}
	if err := n.vault.Missing(); err != nil {
		return err
	}
	return n.gateway.Ready()
}

// operations serves what orchestrators and scrapers ask.
func (n *edgeNode) operations() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, err error, verbose bool) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		text := "ok\n"
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			if text = "not ready\n"; verbose {
				text += err.Error() + "\n"
			}
		}
		if verbose && n.enrolled.ready() == nil {
			s := n.follower.Status()
			text += fmt.Sprintf("release %d.%d, %d toolsets\n", s.Epoch, s.Revision, s.Toolsets)
			for _, part := range []struct {
				name string
				err  error
			}{{"following", s.Following}, {"token", n.remote.Fault()}, {"cache", s.Cache}, {"credentials", n.vault.Fault()}, {"usage", n.spool.Fault()}} {
				if part.err != nil {
					text += part.name + ": " + part.err.Error() + "\n"
				}
			}
			if s.Expired {
				text += "release: it is past its expiry; the control plane cannot be reached, or the clock is wrong\n"
			}
		}
		_, _ = io.WriteString(w, text) // the client is gone when this fails
	}
	live := func(w http.ResponseWriter, _ *http.Request) { answer(w, nil, false) }
	mux.HandleFunc("GET /livez", live)
	mux.HandleFunc("GET /healthz", live)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, n.ready(), r.URL.Query().Has("verbose")) })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !n.mayReadMetrics(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			http.Error(w, "metrics need a token on a listener that is not on loopback: start with --metrics-token-file FILE, and send Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		n.gateway.WritePrometheus(w)
		n.servers.WritePrometheus(w)
	})
	return mux
}

// mayReadMetrics reports whether a request has the token of /metrics. Without one the
// listener must be on loopback.
func (n *edgeNode) mayReadMetrics(r *http.Request) bool {
	if n.o.metricsToken.IsZero() {
		return loopbackAddr(n.opsLn.Addr())
	}
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	have, want := sha256.Sum256([]byte(strings.TrimSpace(value))), sha256.Sum256([]byte(n.o.metricsToken.Reveal()))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(have[:], want[:]) == 1
}

func (n *edgeNode) registerGauges() {
	yes := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	n.meter.Gauge("sluice_control_plane_connected", func() float64 { return yes(n.follower.Status().Following == nil) })
	n.meter.Gauge("sluice_release_revision", func() float64 { return float64(n.follower.Status().Revision) })
	n.meter.Gauge("sluice_release_age_seconds", func() float64 {
		s := n.follower.Status()
		if s.Issued.IsZero() {
			return 0
		}
		return time.Since(s.Issued).Seconds()
	})
	n.meter.Gauge("sluice_credentials_complete", func() float64 { return yes(n.vault.Missing() == nil) })
	n.meter.Gauge("sluice_usage_reports_waiting", func() float64 { return float64(n.spool.Waiting()) })
	n.meter.Gauge("sluice_release_saved", func() float64 { s := n.follower.Status(); return yes(s.Saved != "" && s.Saved == s.Release) })
}

// vaultSource gives the gateway the credentials that were sealed to this node.
type vaultSource struct{ n *edgeNode }

var (
	_ credentials.Source = vaultSource{}
	_ credentials.Users  = vaultSource{}
)

// UserCredential implements [credentials.Users].
func (s vaultSource) UserCredential(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (credentials.Credential, error) {
	if s.n.enrolled.ready() != nil {
		return credentials.Credential{}, problem.New(problem.Unavailable, "the edge is not enrolled yet")
	}
	if user == (registry.User{}) {
		return credentials.Credential{}, credentials.NoIdentity()
	}
	c, err := s.n.vault.UserCredential(ctx, id, user, rejected, scopes)
	if err != nil {
		return credentials.Credential{}, err
	}
	return gatewayCredential(c, time.Now())
}

// Credential implements [credentials.Source].
func (s vaultSource) Credential(_ context.Context, id string) (credentials.Credential, error) {
	if s.n.enrolled.ready() != nil {
		return credentials.Credential{}, problem.New(problem.Unavailable, "the edge is not enrolled yet")
	}
	c, err := s.n.vault.Credential(id)
	if err != nil {
		return credentials.Credential{}, err
	}
	return gatewayCredential(c, time.Now())
}

// gatewayCredential refuses an access token that ended: the control plane would
// have sent a new one if it could be reached and had one.
func gatewayCredential(c registry.EdgeCredential, now time.Time) (credentials.Credential, error) {
	if c.Expires != 0 && now.Unix() >= c.Expires {
		return credentials.Credential{}, problem.New(problem.Unauthenticated, "the access token of this toolset ended, and the control plane sent no new one").
			Fix("check that this edge reaches its control plane; if it does, log in there again: sluice toolset auth TOOLSET login")
	}
	return credentials.Credential{Value: c.Value.Secret, Version: c.Version, Origins: c.Origins}, nil
}
