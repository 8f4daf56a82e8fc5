package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/gateway"
	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/certificate"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/tracing"
	"github.com/sluicegate/sluice/internal/diskfault"
	"github.com/sluicegate/sluice/internal/http1"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/resident"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/internal/tlsfiles"
	"github.com/sluicegate/sluice/registry"
)

const (
	// lastUsageTimeout of posting usage at a stop.
	lastUsageTimeout = 2 * time.Second
	// fewConns are those of 1,024 open files, which systems permit without being asked. Fewer
	// are worth a word.
	fewConns = 768
	// fewFiles says so, and moreFiles what to do.
	fewFiles  = "this process may open few files, so the gateway takes few connections"
	moreFiles = "raise ulimit -n, or LimitNOFILE= of its unit"
)

// Node is a Sluice of one role. Its methods may be called by many goroutines.
type Node struct {
	o       Options
	dialer  *safedial.Dialer
	control *control // nil: an edge
	edge    *edgeNode

	calls
	holder  *snapshot.Holder
	meter   *metering.Meter
	tracer  *tracing.Tracer    // nil: no spans are made
	keys    *access.Keys       // of authorization servers
	pool    *pool.Store        // nil: nothing is shared
	gateway *gateway.Server    // nil: role control
	tls     *tlsfiles.Source   // of the gateway; nil: TLS is not spoken
	sources []*tlsfiles.Source // certificates of this node
	follows []*tlsfiles.Source // those of them whose files nothing looks at yet

	certificates *certificate.Table // of domains; nil: none are shown
	plain        net.Listener       // of challenges in the clear; nil: there is none
	plainHTTP    *http.Server

	follower *edge.Follower  // nil: role control; of an edge, since its enrolment
	spool    *metering.Spool // nil: no gateway, nothing to count
	readOnly bool            // an edge: the data directory cannot be written
	closers  []func() error  // in the order they were opened
}

// New opens everything and listens. Nothing is served before [Node.Run]; a node that is
// not run must be closed. ctx bounds the life of what is loaded meanwhile.
func New(ctx context.Context, o Options) (n *Node, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	n = &Node{o: o, holder: &snapshot.Holder{}, meter: metering.New()}
	defer func() {
		if err != nil {
			if p := diskfault.Of(err); p != nil && problem.As(err) == nil {
				err = p
			}
			err = errors.Join(err, n.Close())
			n = nil
		}
	}()
	if n.dialer, err = safedial.New(safedial.Options{AllowPrivate: o.Upstreams.AllowPrivate, Allow: o.Upstreams.Allow, Grantable: o.Role != RoleEdge}); err != nil {
		return n, err
	}
	if n.keys, err = access.NewKeys(access.KeysOptions{HTTP: safehttp.NewClient(n.dialer), Logger: o.Logger}); err != nil {
		return n, err
	}
	if o.Role == RoleEdge {
		n.edge = &edgeNode{Node: n}
		return n, n.edge.open(ctx)
	}
	n.control = &control{Node: n}
	return n, n.control.open(ctx)
}

// Run serves until ctx ends, then drains and closes the node. It returns nil after a
// clean stop.
func (n *Node) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range n.follows {
		g.Go(func() error { return ended(gctx, s.Run(gctx)) })
	}
	if n.gateway != nil {
		g.Go(func() error { return n.gateway.Run(gctx) })
	}
	n.runPlain(gctx, g)
	if n.o.GiveBack {
		g.Go(func() error { resident.Run(gctx, textfilter.Forget); return nil })
	}
	if n.edge != nil {
		n.edge.run(gctx, g)
	} else {
		n.control.run(gctx, g)
	}
	return errors.Join(g.Wait(), n.lastUsage(ctx), n.Close())
}

// Close releases everything, the last opened first. It is not needed after Run, and
// does nothing then.
func (n *Node) Close() error {
	var errs []error
	for _, f := range slices.Backward(n.closers) {
		errs = append(errs, f())
	}
	n.closers = nil
	return errors.Join(errs...)
}

func (n *Node) onClose(f func() error) { n.closers = append(n.closers, f) }

// URL is where clients reach the gateway.
func (n *Node) URL() string {
	switch {
	case n.o.Gateway.PublicURL != "":
		return n.o.Gateway.PublicURL
	case n.gateway == nil:
		return "http://" + DefaultListen // where an edge on this machine listens
	case n.tls != nil:
		return certifiedURL(n.gateway.Addr(), n.tls.Leaf())
	case n.certificates != nil:
		return "https://" + reachable(n.gateway.Addr()) // no client believes it: domains are reached by their names
	}
	return "http://" + reachable(n.gateway.Addr())
}

// AdminURL is where programs on this machine reach the admin API; "" at an edge.
func (n *Node) AdminURL() string {
	if n.control == nil {
		return ""
	}
	return n.control.url()
}

// AdminPin is the digest of the certificate that the admin API shows, see
// [datadir.Pin]; "" without TLS.
func (n *Node) AdminPin() string {
	if n.control == nil || n.control.certificate == nil {
		return ""
	}
	return datadir.Pin(n.control.certificate.Leaf().Raw)
}

// OperationsURL is where /metrics, /livez and /readyz of an edge are; "" elsewhere.
func (n *Node) OperationsURL() string {
	if n.edge == nil {
		return ""
	}
	return "http://" + reachable(n.edge.ln.Addr())
}

// Token is the API token of the local administrator; none at an edge.
func (n *Node) Token() secrets.Secret {
	if n.control == nil {
		return secrets.Secret{}
	}
	return n.control.token
}

// FirstLogin returns a login link for the console when nobody can sign in to it yet, and ""
// otherwise. See [admin.Server.FirstLogin].
func (n *Node) FirstLogin(ctx context.Context) (string, error) {
	if n.control == nil {
		return "", nil
	}
	return n.control.admin.FirstLogin(ctx, n.control.token)
}

// Grant lets a toolset call a private address while the node runs.
func (n *Node) Grant(toolset string, at netip.AddrPort) error { return n.dialer.Grant(toolset, at) }

// AwaitRelease waits until the gateway serves a release.
func (n *Node) AwaitRelease(ctx context.Context) error {
	return n.await(ctx, func(s *snapshot.Snapshot) bool { return s != nil })
}

// awaitRevision waits until the gateway serves a release or a later one.
func (n *Node) awaitRevision(ctx context.Context, revision uint64) error {
	return n.await(ctx, func(s *snapshot.Snapshot) bool {
		r := s.Release()
		return r != nil && r.Revision >= revision
	})
}

// awaitLive waits until the gateway serves at least a revision of a toolset;
// revision 0: until it does not serve it any more.
func (n *Node) awaitLive(ctx context.Context, toolset string, revision uint64) error {
	return n.await(ctx, func(s *snapshot.Snapshot) bool {
		var live uint64
		for _, t := range s.Toolsets() {
			if t.ID == toolset {
				live = t.Revision
			}
		}
		return revision == 0 && live == 0 || revision > 0 && live >= revision
	})
}

// await waits for a snapshot; nil before the first.
func (n *Node) await(ctx context.Context, live func(*snapshot.Snapshot) bool) error {
	for {
		changed := n.holder.Changed()
		if live(n.holder.Load()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// openGateway makes the gateway listen.
func (n *Node) openGateway(ctx context.Context, o gateway.Options, challenge func(context.Context, string) (*registry.EdgeChallenge, error)) (err error) {
	g := n.o.Gateway
	o.Addr, o.PublicURL, o.MaxConns, o.MaxConnsPerAddress, o.Ready = g.Listen, g.PublicURL, g.Conns, g.ConnsPerAddress, g.Ready
	o.NoInstallPage = g.NoInstallPage
	if g.PublicURL != "" {
		o.Hosts = append(o.Hosts, hostOf(g.PublicURL))
	}
	o.Holder, o.Drain, o.Version, o.Meter, o.Logger, o.Pool = n.holder, n.o.Grace, n.o.Version, n.meter, n.o.Logger, n.pool
	if g.TLS != (tlsfiles.Files{}) {
		if n.tls, err = n.openTLS("the gateway", g.TLS, nil); err != nil {
			return err
		}
		o.TLS, o.Hosts = n.tls.Config(), append(o.Hosts, localNames(g.Listen, n.tls.Leaf())...)
	} else if !n.certified() && n.o.Proxies.Empty() && !listensLocally(g.Listen) {
		return problem.New(problem.InvalidArgument, "the gateway would listen on %s without TLS", g.Listen).
			Fix("give --tls-cert and --tls-key, or --acme-ca, listen on loopback, or name the proxy that speaks TLS for it with --behind-proxy")
	}
	if n.certified() {
		n.openCertificates(challenge)
		o.TLS, o.Challenge, o.Serves = n.certificates.Config(), n.certificates.Answer, n.certificates.Serves
	}
	o.Proxies = n.o.Proxies
	if n.gateway, err = gateway.New(o); err != nil {
		return err
	}
	if err := n.enoughFiles(); err != nil {
		n.o.Logger.LogAttrs(ctx, slog.LevelWarn, fewFiles+": "+moreFiles, slog.Int("connections", http1.DefaultConns()))
	}
	return n.openPlain(ctx)
}

// enoughFiles is nil unless the gateway takes few connections because of the limit of files.
func (n *Node) enoughFiles() error {
	if n.o.Gateway.Conns != 0 || http1.DefaultConns() >= fewConns {
		return nil
	}
	return problem.New(problem.Unavailable, fewFiles).Fix(moreFiles)
}

// openPool opens what the nodes of a pool share, where the operator named it. key returns
// its key.
func (n *Node) openPool(key func() []byte) (err error) {
	if n.o.Gateway.State.IsZero() || n.o.Role == RoleControl {
		return nil
	}
	if n.pool, err = pool.Open(pool.Options{URL: n.o.Gateway.State, Roots: n.o.Gateway.StateRoots, Key: key, Logger: n.o.Logger}); err == nil {
		n.onClose(n.pool.Close)
	}
	return err
}

// counter counts requests for all nodes of the pool; nil: there is none.
func (n *Node) counter() access.Counter {
	if n.pool == nil {
		return nil
	}
	return n.pool
}

// writeMetrics are the parts of /metrics of a node with a gateway.
func (n *Node) writeMetrics() []func(io.Writer) {
	parts := []func(io.Writer){n.gateway.WritePrometheus, n.servers.WritePrometheus}
	if n.pool != nil {
		parts = append(parts, n.pool.WritePrometheus)
	}
	return parts
}

// apply makes a verified release the gateway's snapshot.
func (n *Node) apply(state *edge.State) error {
	s, err := state.Compile(n.holder.Load(), n.meter, n.keys, n.counter())
	if err != nil {
		return err
	}
	n.holder.Store(s)
	return nil
}

// begin makes the persisted release live.
func (n *Node) begin(ctx context.Context) {
	if err := n.follower.Load(ctx); err != nil && ctx.Err() == nil {
		n.o.Logger.LogAttrs(ctx, slog.LevelWarn, "start without the newest persisted release", slog.Any("error", err))
	}
	n.started()
}

// started ends what holds only for a start.
func (n *Node) started() {
	if n.o.GCPercent != 0 {
		debug.SetGCPercent(n.o.GCPercent)
	}
}

func (n *Node) releaseReady() error {
	if !n.follower.Ready() {
		return problem.New(problem.Unavailable, "no verified release is live")
	}
	return nil
}

// openSpool opens what keeps the usage that this node counts until it is posted.
func (n *Node) openSpool(to metering.Poster) (err error) {
	n.spool, err = metering.NewSpool(metering.SpoolOptions{Meter: n.meter, Dir: n.path(datadir.Usage), Poster: to, Logger: n.o.Logger})
	return err
}

// settleUsage posts what this node counted, if it has a gateway.
func (n *Node) settleUsage(ctx context.Context) error {
	if n.spool == nil {
		return nil
	}
	return n.spool.Settle(ctx)
}

// lastUsage takes what was counted while calls drained to disk, and posts it if that
// is quick; what is not posted is posted after the next start.
func (n *Node) lastUsage(ctx context.Context) error {
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

func (n *Node) path(name string) string { return datadir.Path(n.o.Data, name) }

// ended returns nil for an error that only reports the end of ctx.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
