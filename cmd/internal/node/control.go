package node

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/VictoriaMetrics/metrics"
	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog/follow"
	"github.com/sluicegate/sluice/admin/fleet/certificate"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/cluster"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/gateway"
	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/tlsfiles"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// control is what the roles all and control add to a node: records, registry, publisher
// and admin API.
type control struct {
	*Node
	requestPage

	store       *store.Store
	registry    *artifacts.Registry
	publisher   *publish.Publisher
	heads       *audit.Keeper
	admin       *admin.Server
	token       secrets.Secret
	previews    *previews      // of drafts
	front       *cluster.Front // what http serves in a cluster; nil: there is none
	served      chan error     // of http in a cluster: why it ended
	http        *http.Server
	ln          net.Listener
	certificate *tlsfiles.Source       // of the admin API; nil: TLS is not spoken
	authority   *certificate.Authority // nil: no certificates are obtained
	catalogs    *follow.Follower       // further catalogs
	loaded      <-chan struct{}        // closed when the follower has loaded what was persisted
}

// open opens the records and what publishes them, then what serves.
func (c *control) open(ctx context.Context) (err error) {
	defer func() {
		if c.store != nil {
			err = c.store.Explain(err) // damage is met where it is, not when the file is opened
		}
	}()
	if err := c.openData(); err != nil {
		return err
	}
	if err := c.takeSharedKeys(ctx); err != nil {
		return err
	}
	if c.o.Records.Cluster != nil {
		if err := c.join(ctx); err != nil {
			return err
		}
	}
	keys, err := c.openKeys(ctx)
	if err != nil {
		return err
	}
	if c.o.Records.Cluster != nil && c.front == nil { // it made the keys
		if err := c.openFront(ctx, keys, func(error) {}); err != nil {
			return err
		}
	}
	if c.registry, err = c.o.Records.Artifacts(ctx, c.path(datadir.Registry)); err != nil {
		return err
	}
	if err := c.openPool(keys.ring.PoolKey); err != nil {
		return err
	}
	contents, trusted := oci.NewStore(c.registry), publish.Trusted(keys.release, keys.workspace)
	source := oci.NewSource(contents, publish.DefaultGroup, c.registry.Poll())
	c.previews = &previews{source: source, keys: trusted}
	if c.o.Role == RoleAll { // else edges serve what this node publishes
		if err := c.load(ctx, source, trusted); err != nil {
			return err
		}
		if c.registry.Files != nil {
			contents = contents.WithSpare(c.follower.Kept(), c.tellHealed)
		}
	}
	if err := c.openStore(ctx); err != nil {
		return err
	}
	if err := errors.Join(c.guardKeys(ctx, keys), c.guardRegistry(ctx, contents)); err != nil {
		return err
	}
	if err := c.store.EnsureWorkspace(ctx, datadir.Workspace, "Default"); err != nil {
		return err
	}
	if err := c.ensureToken(ctx); err != nil {
		return err
	}
	c.publisher, err = publish.New(ctx, publish.Options{
		Store: contents, Records: c.store, ReleaseKey: keys.release, WorkspaceKey: keys.workspace, May: c.store.Claimed, Notify: source.Wake, Logger: c.o.Logger,
	})
	if err != nil {
		return err
	}
	c.store.OnRegain(c.publisher.Compare)
	c.heads, err = audit.Open(ctx, audit.Options{Dir: c.path(datadir.Audit), Key: keys.release, Store: c.store, Logger: c.o.Logger})
	if err != nil {
		return err
	}
	if err := c.openServers(ctx, keys.ring); err != nil {
		return err
	}
	if c.gateway != nil {
		if err := c.openSpool(c.admin.Usage()); err != nil {
			return err
		}
	}
	return c.writeEndpoint()
}

// tellHealed tells that the registry has again what the gateway beside it still had.
func (c *control) tellHealed(repository string, d registry.Digest, err error) {
	if err != nil {
		c.o.Logger.Error("the registry has damaged content, and it cannot be replaced by the gateway's copy", slog.String("repository", repository), slog.String("manifest", d.Short()), slog.Any("error", err))
		return
	}
	c.o.Logger.Warn("damaged content of the registry was replaced by the gateway's copy", slog.String("repository", repository), slog.String("manifest", d.Short()))
}

// load begins to load the persisted release while the rest of the node opens.
func (c *control) load(ctx context.Context, source edge.Source, keys []registry.TrustedKey) (err error) {
	c.follower, err = edge.New(edge.Options{
		Source: source, Dir: c.path(datadir.Edge), Group: publish.DefaultGroup, Keys: keys, Apply: c.apply, Logger: c.o.Logger,
	})
	if err != nil {
		return err
	}
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		c.begin(ctx)
	}()
	c.loaded = loaded
	c.onClose(func() error { <-loaded; return nil })
	return nil
}

// openServers opens the gateway, when the role has one, and the admin API.
func (c *control) openServers(ctx context.Context, ring *secrets.Keyring) error {
	if err := errors.Join(c.openCalls(ctx), c.openAuthority(ctx, ring)); err != nil {
		return err
	}
	live, err := c.newCaller(heldSecrets{control: c}, c.meter)
	if err != nil {
		return err
	}
	drafts, err := c.newCaller(heldSecrets{control: c, operator: true}, nil)
	if err != nil {
		return err
	}
	tester, ao := draftTester{drafts, c.scripts}, c.o.Admin
	o := admin.Options{
		Store: c.store, Keyring: ring, Publisher: c.publisher, Registry: c.registry.Files, Mirrored: c.registry.Mirrored(), Elsewhere: ao.PluginRegistries,
		Fetcher: specifications{safehttp.NewClient(c.dialer), "sluice/" + c.o.Version}, SpecLimits: ao.SpecLimits,
		MCP: mcpServers{c.servers, c.dialer}, Tester: tester, Lister: tester, Dialer: c.dialer,
		Sandbox: c.plugins.host, PluginPolicy: pluginPolicy, PluginUsage: c.plugins.runner.Usage,
		AuditHeads: c.heads, SettleUsage: c.settleUsage, PublicURL: ao.PublicURL, Proxies: c.o.Proxies, Version: c.o.Version, Logger: c.o.Logger,
		Space: func() (int64, bool) { return datadir.Free(c.o.Data) },
		Ready: []front.Check{
			{Name: "data directory", Check: newDirProbe(c.o.Data).Result},
			{Name: "certificates", Check: func(context.Context) error { return c.certificateFault() }, Warns: true},
		},
	}
	if c.front != nil {
		o.KeysRotated = c.tellRotated
	}
	if o.Catalog, err = c.openCatalog(ctx, &ao.Catalogs); err != nil {
		return err
	}
	if c.commands != nil {
		c.commands.outside = c.reachedFromOutside
		o.Commands = c.commands
	}
	if c.o.Role == RoleAll {
		if err := c.openGateway(ctx, gateway.Options{Caller: live, Preview: &gateway.PreviewOptions{Previews: c.previews, Caller: drafts}}, c.challenge); err != nil {
			return err
		}
		c.dialer.Protect(c.gateway.Addr())
		o.PreviewURL, o.AwaitLive, o.AwaitRelease = c.URL()+gateway.PreviewPath, c.awaitLive, c.awaitRevision
		o.Metrics = c.writeMetrics()
		o.Ready = append(o.Ready,
			front.Check{Name: "release", Check: func(context.Context) error { return c.releaseReady() }},
			front.Check{Name: "gateway", Check: func(context.Context) error { return c.gateway.Ready() }},
			front.Check{Name: "open files", Check: func(context.Context) error { return c.enoughFiles() }, Warns: true},
		)
		if c.pool != nil {
			o.Ready = append(o.Ready, front.Check{Name: "shared state", Check: func(context.Context) error { return c.pool.Fault() }, Warns: true})
		}
	} else {
		o.Metrics = []func(io.Writer){c.writeProcessMetrics}
	}
	if c.front != nil {
		o.Metrics = append(o.Metrics, c.front.WritePrometheus)
	} else if err := c.listen(ctx); err != nil {
		return err
	}
	c.dialer.Forbid(c.ln.Addr())
	o.GatewayURL, o.LinkURL, o.Hosts, o.Domains = c.URL(), c.url(), c.hosts(), c.domains()
	o.Closed, o.GuardMetrics = c.reachedFromOutside(), c.guarded()
	if o.OAuth, err = oauth.New(oauth.Options{HTTP: safehttp.NewClient(c.dialer)}); err != nil {
		return err
	}
	if o.OpenID = ao.OpenID; o.OpenID.Issuer != "" {
		if o.OpenIDClient, err = openIDClient(); err != nil {
			return err
		}
	}
	if o.Suggester, err = ao.Suggest.open(c.o.Logger); err != nil {
		return err
	}
	if c.admin, err = admin.New(ctx, o); err != nil {
		return err
	}
	c.previews.release = c.admin.PreviewRelease
	if err := c.openRequests(ctx); err != nil {
		return err
	}
	if c.front == nil {
		c.http = c.newServer(c.admin.Handler(), adminHeadBytes)
	}
	return nil
}

// guarded reports whether /metrics asks for a token: others than this machine may reach it.
func (c *control) guarded() bool { return !access.IsLoopback(c.ln.Addr()) || !c.o.Proxies.Empty() }

// writeProcessMetrics writes what the gateway would write of the process.
func (c *control) writeProcessMetrics(w io.Writer) {
	metrics.WriteGaugeUint64(w, metering.Series("sluice_build_info", "version", c.o.Version), 1)
	metrics.WriteProcessMetrics(w)
	metrics.WriteFDMetrics(w)
}

// run starts what serves until ctx ends.
func (c *control) run(ctx context.Context, g *errgroup.Group) {
	if c.gateway != nil {
		g.Go(func() error {
			<-c.loaded
			return ended(ctx, c.follower.Run(ctx))
		})
		g.Go(func() error { return ended(ctx, c.spool.Run(ctx)) })
	} else {
		c.started()
	}
	g.Go(func() error { return ended(ctx, c.publisher.Run(ctx)) })
	g.Go(func() error { return ended(ctx, c.admin.Run(ctx, c.o.Grace)) })
	g.Go(func() error { return c.watchPlugins(ctx) })
	g.Go(func() error { return c.catalogs.Run(ctx) })
	if c.certificates != nil {
		g.Go(func() error { return c.showCertificates(ctx) })
	}
	if c.store.Moved() != nil {
		g.Go(func() error { return c.awaitSuccessor(ctx) })
	}
	if c.page != nil {
		serve(ctx, g, "the page of requests", c.page, c.pageLn, c.o.Grace)
	}
	if c.front != nil {
		g.Go(func() error { return c.lead(ctx) })
		return
	}
	serve(ctx, g, "the admin API", c.http, c.ln, c.o.Grace)
}

// listen listens for the admin API: on loopback and behind a proxy in the clear, elsewhere
// with TLS only, because requests carry tokens.
func (c *control) listen(ctx context.Context) error {
	o := c.o.Admin
	var err error
	if o.TLS != (tlsfiles.Files{}) {
		if c.certificate, err = c.openTLS("the admin API", o.TLS, c.pin); err != nil {
			return err
		}
	}
	ln, err := c.listenOn(ctx, "the admin API", o.Listen, "--admin-listen")
	if err != nil {
		return err
	}
	if c.certificate == nil {
		if !access.IsLoopback(ln.Addr()) && c.o.Proxies.Empty() {
			return problem.New(problem.InvalidArgument, "the admin API would listen on %s without TLS", o.Listen).
				Fix("give --admin-tls-cert and --admin-tls-key, listen on loopback, or name the proxy that speaks TLS for it with --behind-proxy")
		}
		c.ln = strict(ln, adminHeadBytes, nil)
		return nil
	}
	c.ln = strict(ln, adminHeadBytes, c.certificate.Config())
	return nil
}

// reachedFromOutside reports whether others than this machine may reach the gateways
// whose toolsets are made here: edges, a listener that is not on loopback, or one that a
// proxy or a public URL leads to.
func (c *control) reachedFromOutside() bool {
	public := c.o.Gateway.PublicURL
	if c.gateway == nil || !c.o.Proxies.Empty() {
		return true
	}
	if u, err := url.Parse(public); public != "" && (err != nil || !safedial.Loopback(u.Hostname())) {
		return true
	}
	return !access.IsLoopback(c.gateway.Addr())
}

// hosts are the names a client may call the admin API by.
func (c *control) hosts() []string {
	o, hosts := c.o.Admin, []string{"localhost", "127.0.0.1", "::1"}
	if h, _, err := net.SplitHostPort(o.Listen); err == nil && h != "" {
		hosts = append(hosts, h)
	}
	if hosts = append(hosts, o.Hosts...); o.PublicURL != "" {
		hosts = append(hosts, hostOf(o.PublicURL))
	}
	return hosts
}

// url is where programs on this machine reach the admin API.
func (c *control) url() string {
	if c.certificate != nil {
		return "https://" + reachable(c.ln.Addr())
	}
	return "http://" + reachable(c.ln.Addr())
}

// ensureToken keeps the token of the local administrator in a file.
func (c *control) ensureToken(ctx context.Context) error {
	path := c.path(datadir.Token)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading the administrator's token: %w", err)
	}
	old := secrets.New(strings.TrimSpace(string(b)))
	if c.token, err = people.EnsureToken(ctx, c.store, datadir.Workspace, "local administrator", old); err != nil {
		return err
	}
	if c.token.Equal(old) {
		return nil
	}
	if err := atomicfile.Write(path, []byte(c.token.Reveal()+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing the administrator's token: %w", err)
	}
	return nil
}

// writeEndpoint says in the data directory where the admin API is.
func (c *control) writeEndpoint() error {
	if c.certificate != nil {
		if err := c.writePin(c.certificate.Leaf()); err != nil {
			return err
		}
	}
	if err := atomicfile.Write(c.path(datadir.Endpoint), []byte(c.url()+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing the address of the admin API: %w", err)
	}
	return nil
}

// writePin says in the data directory which certificate the admin API shows, for commands
// on this machine.
func (c *control) writePin(leaf *x509.Certificate) error {
	if err := atomicfile.Write(c.path(datadir.Endpoint+datadir.PinSuffix), []byte(datadir.Pin(leaf.Raw)+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing the certificate of the admin API: %w", err)
	}
	return nil
}

// pin keeps the pin true when the certificate was replaced.
func (c *control) pin(leaf *x509.Certificate) {
	if err := c.repin(); err != nil {
		c.o.Logger.Error("other control planes will refuse the new certificate of the admin API; restart the node", slog.Any("error", err))
	}
	if err := c.writePin(leaf); err != nil {
		c.o.Logger.Error("commands on this machine will refuse the new certificate of the admin API; restart the node", slog.Any("error", err))
	}
}
