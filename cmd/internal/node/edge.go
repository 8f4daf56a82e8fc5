package node

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/gateway"
	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/promtext"
	"github.com/sluicegate/sluice/internal/retry"
)

// Pauses between tries to enrol while the control plane cannot be reached.
const (
	minEnrolPause = time.Second
	maxEnrolPause = 30 * time.Second
)

// edgeNode is what the role edge adds to a node: it follows a control plane.
type edgeNode struct {
	*Node

	remote   *edge.Remote
	vault    *edge.Vault
	domains  *edge.Certificates // nil: certificates of domains are not shown
	http     *http.Server       // of operations
	ln       net.Listener
	enrolled atomic.Bool
	leftOut  []string // slugs of toolsets that are not served here; of the follower's goroutine
}

// open opens what an edge keeps, the gateway and the operations listener.
func (n *edgeNode) open(ctx context.Context) error {
	if err := n.openEdgeData(ctx); err != nil {
		return err
	}
	o := n.o.Edge
	var err error
	n.remote, err = edge.OpenRemote(edge.RemoteOptions{
		ControlPlane: o.ControlPlane, Client: o.Client, Artifacts: o.Artifacts, Dir: n.path(datadir.Edge), Name: o.Name, Version: n.o.Version, JoinToken: o.JoinToken, Logger: n.o.Logger,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(n.openSpool(n.remote), n.openCalls(ctx)); err != nil {
		return err
	}
	if err := n.openPool(n.poolKey); err != nil {
		return err
	}
	live, err := n.newCaller(vaultSource{n}, n.meter)
	if err != nil {
		return err
	}
	if err := n.openGateway(ctx, gateway.Options{Caller: live}, n.remote.Challenge); err != nil {
		return err
	}
	ln, err := n.listenOn(ctx, "the operations listener", o.Listen, "--ops-listen")
	if err != nil {
		return err
	}
	n.dialer.Forbid(ln.Addr())
	n.ln = strict(ln, opsHeadBytes, nil)
	n.writeOperations(ctx)
	n.http = n.newServer(n.operations(), opsHeadBytes)
	n.http.ReadTimeout = 10 * time.Second // nothing it serves has a body
	return nil
}

// poolKey comes with the credentials.
func (n *edgeNode) poolKey() []byte {
	if !n.enrolled.Load() {
		return nil
	}
	return n.vault.PoolKey()
}

// writeOperations says in the data directory where the operations listener is, for the
// health check of a container.
func (n *edgeNode) writeOperations(ctx context.Context) {
	if err := atomicfile.Write(n.path(datadir.Operations), []byte(n.OperationsURL()+"\n"), 0o600); err != nil && !n.readOnly {
		n.o.Logger.LogAttrs(ctx, slog.LevelWarn, "the address of the operations listener cannot be kept", slog.Any("error", err))
	}
}

// run starts what serves until ctx ends. What is in the cache is served before the
// control plane is asked anything.
func (n *edgeNode) run(ctx context.Context, g *errgroup.Group) {
	serve(ctx, g, "operations", n.http, n.ln, time.Second)
	g.Go(func() error { return ended(ctx, n.follow(ctx)) })
}

// follow enrols if need be, then follows releases and credentials.
func (n *edgeNode) follow(ctx context.Context) error {
	if err := n.enrol(ctx); err != nil {
		return err
	}
	// Before the release: a call that comes at once finds its credential.
	n.vault = edge.OpenVault(n.remote)
	if n.certificates != nil {
		n.domains = &edge.Certificates{Remote: n.remote, Serves: n.servesDomain, Apply: n.certificates.Set}
		n.domains.Load()
	}
	var err error
	n.follower, err = edge.New(edge.Options{
		Source: n.remote, Dir: n.path(datadir.Edge), Group: n.remote.Group(), Keys: n.remote.Trusted(), Logger: n.o.Logger,
		Prepare: func(ctx context.Context, s *edge.State) error {
			s, _ = s.WithoutCommands()
			return n.vault.Prepare(ctx, s)
		},
		Apply: func(s *edge.State) error {
			s, left := s.WithoutCommands()
			n.sayLeftOut(ctx, left)
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
	n.enrolled.Store(true)
	n.o.Logger.LogAttrs(ctx, slog.LevelInfo, "edge serves", slog.String("edge", n.remote.Edge()), slog.String("group", n.remote.Group()),
		slog.String("gateway", n.URL()), slog.String("operations", n.OperationsURL()), slog.String("version", n.o.Version))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		n.begin(ctx)
		return n.follower.Run(ctx)
	})
	g.Go(func() error { return n.vault.Run(ctx) })
	if n.domains != nil {
		g.Go(func() error { return n.domains.Run(ctx) })
	}
	g.Go(func() error { return n.spool.Run(ctx) })
	g.Go(func() error { return n.plugins.reporter(n.remote, n.o.Logger).Run(ctx) })
	g.Go(func() error {
		r := &edge.Reporter{
			Remote: n.remote, Follower: n.follower, Vault: n.vault, Usage: n.spool.Fault, Version: n.o.Version, Logger: n.o.Logger,
			Space: func() (int64, bool) { return datadir.Free(n.o.Data) },
		}
		return r.Run(ctx)
	})
	return g.Wait()
}

// sayLeftOut says which toolsets of the release are not served here, when they changed.
func (n *edgeNode) sayLeftOut(ctx context.Context, slugs []string) {
	if slices.Equal(slugs, n.leftOut) {
		return
	}
	n.leftOut = slugs
	if len(slugs) > 0 {
		n.o.Logger.LogAttrs(ctx, slog.LevelWarn, "toolsets with a command of the control plane's machine are served there only and left out here", slog.Any("toolsets", slugs))
	}
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
		n.o.Logger.LogAttrs(ctx, slog.LevelWarn, "not enrolled yet", slog.Any("error", err), slog.Float64("again_s", again.Seconds()))
		if err := retry.Sleep(ctx, again); err != nil {
			return err
		}
	}
}

// ready says why calls cannot be served; a control plane that is gone is no
// reason.
func (n *edgeNode) ready(named bool) error {
	if !n.enrolled.Load() {
		return problem.New(problem.Unavailable, "the edge is not enrolled yet")
	}
	if err := n.releaseReady(); err != nil {
		return err
	}
	if err := n.vault.Missing(); err != nil {
		return errors.New(fault(err, named))
	}
	return n.gateway.Ready()
}

// operations serves what orchestrators and scrapers ask.
func (n *edgeNode) operations() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, err error, verbose, named bool) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		text := "ok\n"
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			if text = "not ready\n"; verbose {
				text += err.Error() + "\n"
			}
		}
		if verbose && n.enrolled.Load() {
			s := n.follower.Status()
			text += fmt.Sprintf("release %d.%d, %d toolsets\n", s.Epoch, s.Revision, s.Toolsets)
			certificates, shared := n.certificateFault(), error(nil)
			if n.domains != nil {
				certificates = errors.Join(certificates, n.domains.Fault())
			}
			if n.pool != nil {
				shared = n.pool.Fault()
			}
			for _, part := range []struct {
				name string
				err  error
			}{{"following", s.Following}, {"token", n.remote.Fault()}, {"cache", s.Cache}, {"credentials", n.vault.Fault()}, {"certificates", certificates}, {"shared state", shared}, {"usage", n.spool.Fault()}} {
				if part.err != nil {
					text += part.name + ": " + fault(part.err, named) + "\n"
				}
			}
			if s.Expired {
				text += "release: it is past its expiry; the control plane cannot be reached, or the clock is wrong\n"
			}
		}
		_, _ = io.WriteString(w, text) // the client is gone when this fails
	}
	live := func(w http.ResponseWriter, _ *http.Request) { answer(w, nil, false, false) }
	mux.HandleFunc("GET /livez", live)
	mux.HandleFunc("GET /healthz", live)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		verbose := r.URL.Query().Has("verbose")
		if n.mayReadMetrics(r) {
			answer(w, n.ready(true), verbose, true)
			return
		}
		answer(w, n.ready(false), verbose, false)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !n.mayReadMetrics(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			http.Error(w, "metrics need a token on a listener that is not on loopback: start with --metrics-token-file FILE, and send Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", promtext.ContentType)
		promtext.WritePage(w, n.writeMetrics()...)
	})
	return mux
}

// fault is what is wrong, for who may read the metrics: they name toolsets too.
func fault(err error, named bool) string {
	if !named {
		return "the log of this edge says what is wrong, and so does this page to whoever may read /metrics"
	}
	return err.Error()
}

// mayReadMetrics reports whether a request has the token of /metrics. Without one the
// listener must be on loopback.
func (n *edgeNode) mayReadMetrics(r *http.Request) bool {
	if n.o.Edge.MetricsToken.IsZero() {
		return access.IsLoopback(n.ln.Addr())
	}
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	have, want := sha256.Sum256([]byte(strings.TrimSpace(value))), sha256.Sum256([]byte(n.o.Edge.MetricsToken.Reveal()))
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
