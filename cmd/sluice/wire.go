package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/audithead"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/gateway"
	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/http1"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// lastUsageTimeout of posting usage at a stop.
const lastUsageTimeout = 2 * time.Second

// nodeOptions configures a node.
type nodeOptions struct {
	data                string
	role                string // roleAll or roleControl; an edge has edgeOptions
	kek                 kekOptions
	database            secrets.Secret // URL of a PostgreSQL database; absent: a file in data
	adminHosts          []string       // names of the admin API besides its address
	listen, adminListen string
	spec                openapi.Limits // of specifications
	adminCert, adminKey string         // files; needed when the admin listener is not loopback
	publicURL           string         // where clients reach the gateway; empty: its own address
	adminPublicURL      string         // where browsers reach the admin listener; empty: where it listens, on this machine
	allowPrivate        bool
	allow               []netip.Prefix
	grace               time.Duration // for running calls and jobs at a stop
	conns, connsPerAddr int           // to the gateway; 0: its defaults
	pluginGrace         time.Duration // that plugins get beyond their deadlines
	gcPercent           int           // once started; 0: the operator's GOGC
	callLogRows         uint64        // of each workspace; 0: the store's default
	callLogAge          time.Duration // 0: the store's default
	// openArtifacts opens the registry, of which something is in a directory.
	openArtifacts func(ctx context.Context, dir string) (*artifacts.Registry, error)
	// pluginRegistries finds the registries that plugins may be published from. nil: none.
	pluginRegistries func(reference string) (*oci.Store, string, string, error)
	// ready holds /readyz back; nil: nothing does.
	ready  func() error
	logger *slog.Logger
	// suggest is the model to ask for names and descriptions; without URL: none.
	suggest modelOptions
}

// node is a running Sluice: gateway, admin API and registry in one process. The
// gateway follows the release of its own registry exactly as an edge follows a
// control plane; there is no other way for a toolset to become live.
type node struct {
	opts   nodeOptions
	dialer *safedial.Dialer
	token  secrets.Secret

	store     *store.Store
	registry  *artifacts.Registry
	publisher *publish.Publisher
	heads     *audithead.Keeper
	admin     *admin.Server
	adminHTTP *http.Server
	adminLn   net.Listener
	gateway   *gateway.Server
	holder    *snapshot.Holder
	meter     *metering.Meter
	spool     *metering.Spool // nil: no gateway, nothing to count
	follower  *edge.Follower
	loaded    <-chan struct{} // closed when the follower has loaded what was persisted
	keys      *access.Keys
	plugins   *nodePlugins
	previews  *previews      // of drafts; nil: no gateway
	readOnly  bool           // an edge: the data directory cannot be written
	closers   []func() error // in the order they were opened
}

// newNode opens everything and listens. Nothing is served before [node.run]; a
// node that is not run must be closed.
func newNode(ctx context.Context, o nodeOptions) (n *node, err error) {
	n = &node{opts: o, holder: &snapshot.Holder{}, meter: metering.New()}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
			n = nil
		}
	}()
	if err := n.openData(); err != nil {
		return n, err
	}
	keys, err := n.openKeys(ctx)
	if err != nil {
		return n, err
	}
	kept, err := o.openArtifacts(ctx, n.path(datadir.Registry))
	if err != nil {
		return n, err
	}
	contents := oci.NewStore(kept)
	n.registry = kept
	source := oci.NewSource(contents, publish.DefaultGroup, kept.Poll())
	if n.dialer, err = safedial.New(safedial.Options{AllowPrivate: o.allowPrivate, Allow: o.allow, Grantable: true}); err != nil {
		return n, err
	}
	if n.keys, err = newKeys(n.dialer, o.logger); err != nil {
		return n, err
	}
	n.previews = &previews{source: source, keys: publish.Trusted(keys.release, keys.workspace)}
	if o.role != roleControl { // else edges serve what this node publishes
		if err := n.load(ctx, source, publish.Trusted(keys.release, keys.workspace)); err != nil {
			return n, err
		}
	}
	if err := n.openStore(ctx); err != nil {
		return n, err
	}
	if err := errors.Join(n.guardKeys(ctx, keys), n.guardRegistry(ctx, contents)); err != nil {
		return n, err
	}
	if err := n.store.EnsureWorkspace(ctx, datadir.Workspace, "Default"); err != nil {
		return n, err
	}
	if err := n.ensureToken(ctx); err != nil {
		return n, err
	}
	n.publisher, err = publish.New(ctx, publish.Options{
		Store: contents, Records: n.store, ReleaseKey: keys.release, WorkspaceKey: keys.workspace, May: n.store.Claimed, Notify: source.Wake, Logger: o.logger,
	})
	if err != nil {
		return n, err
	}
	n.heads, err = audithead.Open(ctx, audithead.Options{Dir: n.path(datadir.Audit), Key: keys.release, Store: n.store, Logger: o.logger})
	if err != nil {
		return n, err
	}
	if err := n.openGateway(ctx, keys.ring); err != nil {
		return n, err
	}
	if n.gateway != nil {
		if err := n.openSpool(n.admin); err != nil {
			return n, err
		}
	}
	return n, n.writeEndpoint()
}

// load begins to load the persisted release while the rest of the node opens.
func (n *node) load(ctx context.Context, source edge.Source, keys []registry.TrustedKey) (err error) {
	n.follower, err = edge.New(edge.Options{
		Source: source, Dir: n.path(datadir.Edge), Group: publish.DefaultGroup, Keys: keys, Apply: n.apply, Logger: n.opts.logger,
	})
	if err != nil {
		return err
	}
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		n.begin(ctx)
	}()
	n.loaded = loaded
	n.onClose(func() error { <-loaded; return nil })
	return nil
}

// openSpool opens what keeps the usage that this node counts until it is posted.
func (n *node) openSpool(to metering.Poster) (err error) {
	n.spool, err = metering.NewSpool(metering.SpoolOptions{Meter: n.meter, Dir: n.path(datadir.Usage), Poster: to, Logger: n.opts.logger})
	return err
}

// settleUsage posts what this node counted, if it has a gateway.
func (n *node) settleUsage(ctx context.Context) error {
	if n.spool == nil {
		return nil
	}
	return n.spool.Settle(ctx)
}

// lastUsage takes what was counted while calls drained to disk, and posts it if that
// is quick; what is not posted is posted after the next start.
func (n *node) lastUsage(ctx context.Context) error {
	if n.spool == nil {
		return nil
	}
	if err := n.spool.Flush(); err != nil {
		return fmt.Errorf("keep the usage of the last seconds: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastUsageTimeout)
	defer cancel()
	_ = n.spool.Post(ctx) // it is on disk
	return nil
}

// openGateway opens the plugin host, the two callers (of the gateway, and of
// tests of drafts), the gateway's listener and the admin API.
func (n *node) openGateway(ctx context.Context, ring *secrets.Keyring) error {
	h, err := enginepool.New(ctx, enginepool.Options{CacheDir: n.codeCache(), Logger: n.opts.logger})
	if err != nil {
		return fmt.Errorf("starting the plugin host: %w", err)
	}
	n.onClose(func() error { return h.Close(context.WithoutCancel(ctx)) })
	if n.plugins, err = openPlugins(ctx, n.codeCache(), n.opts.pluginGrace, n.meter, n.opts.logger, n.onClose); err != nil {
		return err
	}
	plugins := n.plugins.runner
	client, err := upstream.New(upstream.Options{Dial: n.dialer.DialTimeout, UserAgent: "sluice/" + versionOrDevel()})
	if err != nil {
		return err
	}
	files, err := newFileFetcher()
	if err != nil {
		return err
	}
	secretsOf, ofOperator := &credentialSource{}, &credentialSource{operator: true}
	servers, err := mcpclient.New(mcpclient.Options{HTTP: client, Version: versionOrDevel(), Logger: n.opts.logger})
	if err != nil {
		return err
	}
	n.onClose(func() error { servers.Close(); return nil })
	live, err := call.New(call.Options{Host: h, Upstream: client, MCP: servers, Files: files, Plugins: plugins, Credentials: secretsOf, Scope: n.dialer.Scope, Meter: n.meter, Logger: n.opts.logger})
	if err != nil {
		return err
	}
	n.onClose(func() error { live.Close(); return nil })
	// Tests of drafts go their own way: nothing is kept, nothing is counted.
	drafts, err := call.New(call.Options{Host: h, Upstream: client, MCP: servers, Files: files, Plugins: plugins, Credentials: ofOperator, Scope: n.dialer.Scope, CacheBytes: -1, Logger: n.opts.logger})
	if err != nil {
		return err
	}
	n.onClose(func() error { drafts.Close(); return nil })
	var await func(context.Context, string, uint64) error
	var awaitRevision func(context.Context, uint64) error
	var write []func(io.Writer)
	ready := []admin.Check{{Name: "data directory", Check: newDirProbe(n.opts.data).Result}}
	previewURL := ""
	if n.opts.role != roleControl {
		var hosts []string
		if n.opts.publicURL != "" {
			hosts = append(hosts, hostOf(n.opts.publicURL))
		}
		n.gateway, err = gateway.New(gateway.Options{
			Addr: n.opts.listen, Holder: n.holder, Caller: live, Ready: n.opts.ready, Hosts: hosts, MaxConns: n.opts.conns, MaxConnsPerAddress: n.opts.connsPerAddr, Drain: n.opts.grace, PublicURL: n.opts.publicURL,
			Preview: &gateway.PreviewOptions{Previews: n.previews, Caller: drafts},
			Version: versionOrDevel(), Meter: n.meter, Logger: n.opts.logger,
		})
		if err != nil {
			return err
		}
		n.dialer.Protect(n.gateway.Addr())
		previewURL = n.url() + gateway.PreviewPath
		await, awaitRevision, write = n.awaitLive, n.awaitRevision, append(write, n.gateway.WritePrometheus, servers.WritePrometheus)
		ready = append(ready,
			admin.Check{Name: "release", Check: func(context.Context) error { return n.releaseReady() }},
			admin.Check{Name: "gateway", Check: func(context.Context) error { return n.gateway.Ready() }},
		)
	}
	if n.adminLn, err = n.listenAdmin(ctx); err != nil {
		return err
	}
	n.dialer.Protect(n.adminLn.Addr())
	adminNames := append(adminHosts(n.opts.adminListen), n.opts.adminHosts...)
	if n.opts.adminPublicURL != "" {
		adminNames = append(adminNames, hostOf(n.opts.adminPublicURL))
	}
	authorization, err := oauth.New(oauth.Options{HTTP: safehttp.NewClient(n.dialer)})
	if err != nil {
		return err
	}
	suggester, err := n.opts.suggest.open(n.opts.logger)
	if err != nil {
		return err
	}
	n.admin, err = admin.New(ctx, admin.Options{
		OAuth: authorization, Suggester: suggester, Mirrored: n.registry.Mirrored(), Elsewhere: n.opts.pluginRegistries,
		Store: n.store, Keyring: ring, Publisher: n.publisher, Fetcher: newSpecFetcher(n.dialer), SpecLimits: n.opts.spec, MCP: mcpServers{servers, n.dialer}, Tester: draftTester{drafts}, Lister: draftTester{drafts}, Dialer: n.dialer,
		Closed: n.closed(), GuardMetrics: !loopbackAddr(n.adminLn.Addr()), AwaitLive: await, AwaitRelease: awaitRevision, GatewayURL: n.url(), PreviewURL: previewURL, PublicURL: n.opts.adminPublicURL, LinkURL: n.adminURL(), Hosts: adminNames, Version: versionOrDevel(),
		Sandbox: n.plugins.host, PluginPolicy: pluginPolicy, PluginUsage: n.plugins.runner.Usage,
		Registry: n.registry.Files, AuditHeads: n.heads, Metrics: write, Ready: ready, SettleUsage: n.settleUsage, Logger: n.opts.logger,
	})
	if err != nil {
		return err
	}
	n.previews.release = n.admin.PreviewRelease
	secretsOf.admin.Store(n.admin)
	ofOperator.admin.Store(n.admin)
	n.adminHTTP = &http.Server{
		Handler: n.admin.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: adminHeadBytes,
		ConnState: http1.ConnState,
		ErrorLog:  slog.NewLogLogger(n.opts.logger.Handler(), slog.LevelDebug),
	}
	return nil
}

func (n *node) releaseReady() error {
	if !n.follower.Ready() {
		return problem.New(problem.Unavailable, "no verified release is live")
	}
	return nil
}

// listenAdmin listens for the admin API: on loopback in the clear, elsewhere with
// TLS only, because requests carry tokens.
func (n *node) listenAdmin(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", n.opts.adminListen)
	if err != nil {
		return nil, problem.New(problem.Unavailable, "the admin API cannot listen on %s", n.opts.adminListen).
			Fix("stop what uses the port, or choose another with --admin-listen").Because(err)
	}
	n.onClose(func() error { _ = ln.Close(); return nil }) // it may be closed by then
	addr, ok := ln.Addr().(*net.TCPAddr)
	if n.opts.adminCert == "" && (!ok || !addr.IP.IsLoopback()) {
		return nil, problem.New(problem.InvalidArgument, "the admin API would listen on %s without TLS", n.opts.adminListen).
			Fix("give --admin-tls-cert and --admin-tls-key, or listen on loopback")
	}
	return ln, nil
}

// closed reports whether others than this machine may reach the gateways whose toolsets
// are made here: edges, a listener that is not on loopback, or one that a public URL
// leads to.
func (n *node) closed() bool {
	if n.gateway == nil {
		return true
	}
	if u, err := url.Parse(n.opts.publicURL); n.opts.publicURL != "" && (err != nil || !safedial.Loopback(u.Hostname())) {
		return true
	}
	return !loopbackAddr(n.gateway.Addr())
}

// loopbackAddr reports whether only this machine reaches a listener.
func loopbackAddr(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// adminHosts are the names a client may call the admin API by.
func adminHosts(listen string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if h, _, err := net.SplitHostPort(listen); err == nil && h != "" {
		hosts = append(hosts, h)
	}
	return hosts
}

// run serves until ctx ends, then drains. It returns nil after a clean stop.
func (n *node) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	if n.gateway != nil {
		g.Go(func() error { return n.gateway.Run(ctx) })
		g.Go(func() error { return ended(ctx, n.follow(ctx)) })
		g.Go(func() error { return ended(ctx, n.spool.Run(ctx)) })
	} else {
		n.started()
	}
	g.Go(func() error { return ended(ctx, n.publisher.Run(ctx)) })
	g.Go(func() error { return ended(ctx, n.admin.Run(ctx, n.opts.grace)) })
	g.Go(func() error { return n.watchPlugins(ctx) })
	g.Go(func() error {
		err := n.serveAdmin()
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serving the admin API: %w", err)
	})
	g.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.opts.grace)
		defer cancel()
		if err := n.adminHTTP.Shutdown(stop); err != nil {
			return errors.Join(fmt.Errorf("stopping the admin API: %w", err), n.adminHTTP.Close())
		}
		return nil
	})
	return errors.Join(g.Wait(), n.lastUsage(ctx), n.close())
}

// begin makes the persisted release live.
func (n *node) begin(ctx context.Context) {
	if err := n.follower.Load(ctx); err != nil && ctx.Err() == nil {
		n.opts.logger.LogAttrs(ctx, slog.LevelWarn, "start without the newest persisted release", slog.Any("error", err))
	}
	n.started()
}

// follow follows the source once the persisted release is live.
func (n *node) follow(ctx context.Context) error {
	<-n.loaded
	return n.follower.Run(ctx)
}

// started ends what holds only for a start.
func (n *node) started() {
	if n.opts.gcPercent != 0 {
		debug.SetGCPercent(n.opts.gcPercent)
	}
}

func (n *node) serveAdmin() error {
	var certificate *tls.Certificate
	if n.opts.adminCert != "" {
		pair, err := tls.LoadX509KeyPair(n.opts.adminCert, n.opts.adminKey)
		if err != nil {
			return err
		}
		certificate = &pair
	}
	return n.adminHTTP.Serve(strict(n.adminLn, adminHeadBytes, certificate))
}

// ended returns nil for an error that only reports the end of ctx.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// apply makes a verified release the gateway's snapshot.
func (n *node) apply(state *edge.State) error { return serve(state, n.holder, n.meter, n.keys) }

// newKeys keeps the keys of authorization servers, through the guarded dialer.
func newKeys(d *safedial.Dialer, logger *slog.Logger) (*access.Keys, error) {
	return access.NewKeys(access.KeysOptions{HTTP: safehttp.NewClient(d), Logger: logger})
}

// serve makes a verified release the snapshot of a holder.
func serve(state *edge.State, holder *snapshot.Holder, meter *metering.Meter, keys *access.Keys) error {
	s, err := state.Compile(holder.Load(), meter, keys)
	if err != nil {
		return err
	}
	holder.Store(s)
	return nil
}

// awaitLive waits until the gateway serves at least a revision of a toolset;
// revision 0: until it does not serve it any more.
func (n *node) awaitLive(ctx context.Context, toolset string, revision uint64) error {
	for {
		changed := n.holder.Changed()
		var live uint64
		for _, t := range n.holder.Load().Toolsets() {
			if t.ID == toolset {
				live = t.Revision
			}
		}
		if revision == 0 && live == 0 || revision > 0 && live >= revision {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitRelease waits until the gateway serves a release.
func (n *node) awaitRelease(ctx context.Context) error {
	for {
		changed := n.holder.Changed()
		if n.holder.Load() != nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitRevision waits until the gateway serves a release or a later one.
func (n *node) awaitRevision(ctx context.Context, revision uint64) error {
	for {
		changed := n.holder.Changed()
		if r := n.holder.Load().Release(); r != nil && r.Revision >= revision {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// url is where clients reach the gateway.
func (n *node) url() string {
	switch {
	case n.opts.publicURL != "":
		return n.opts.publicURL
	case n.gateway == nil:
		return "http://" + config.DefaultListen // where an edge on this machine listens
	}
	return "http://" + reachable(n.gateway.Addr())
}

// adminURL is where commands on this machine reach the admin API.
func (n *node) adminURL() string {
	scheme := "http://"
	if n.opts.adminCert != "" {
		scheme = "https://"
	}
	return scheme + reachable(n.adminLn.Addr())
}

// reachable is an address that can be dialled on this machine: one that listens
// on every interface is reached on loopback.
func reachable(addr net.Addr) string {
	a, ok := addr.(*net.TCPAddr)
	if !ok {
		return addr.String()
	}
	ip, valid := netip.AddrFromSlice(a.IP)
	if !valid || ip.Unmap().IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", a.Port)
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(a.Port)).String()
}

func (n *node) path(name string) string { return filepath.Join(n.opts.data, filepath.FromSlash(name)) }

func (n *node) onClose(f func() error) { n.closers = append(n.closers, f) }

// close releases everything, the last opened first.
func (n *node) close() error {
	var errs []error
	for _, f := range slices.Backward(n.closers) {
		errs = append(errs, f())
	}
	n.closers = nil
	return errors.Join(errs...)
}

// ensureToken keeps the token of the local administrator in a file.
func (n *node) ensureToken(ctx context.Context) error {
	path := n.path(datadir.Token)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading the administrator's token: %w", err)
	}
	old := secrets.New(strings.TrimSpace(string(b)))
	if n.token, err = admin.EnsureToken(ctx, n.store, datadir.Workspace, "local administrator", old); err != nil {
		return err
	}
	if n.token.Equal(old) {
		return nil
	}
	if err := atomicfile.Write(path, []byte(n.token.Reveal()+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing the administrator's token: %w", err)
	}
	return nil
}

func (n *node) writeEndpoint() error {
	if n.opts.adminCert != "" {
		digest, err := datadir.PinOf(n.opts.adminCert, n.opts.adminKey)
		if err != nil {
			return err
		}
		if err := atomicfile.Write(n.path(datadir.Endpoint+datadir.PinSuffix), []byte(digest+"\n"), 0o600); err != nil {
			return fmt.Errorf("writing the certificate of the admin API: %w", err)
		}
	}
	if err := atomicfile.Write(n.path(datadir.Endpoint), []byte(n.adminURL()+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing the address of the admin API: %w", err)
	}
	return nil
}

// gate holds readiness back until it is opened.
type gate struct{ open atomic.Bool }

func (g *gate) ready() error {
	if g.open.Load() {
		return nil
	}
	return problem.New(problem.Unavailable, "the specifications of the command line are still being added")
}
