package admin

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/compile"
	"github.com/sluicegate/sluice/admin/change/transfer"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/console"
	"github.com/sluicegate/sluice/admin/console/serve"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/draft/authentication"
	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/draft/trial"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/fleet/artifact"
	"github.com/sluicegate/sluice/admin/fleet/domain"
	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/front/document"
	"github.com/sluicegate/sluice/admin/front/job"
	"github.com/sluicegate/sluice/admin/front/live"
	"github.com/sluicegate/sluice/admin/front/metrics"
	"github.com/sluicegate/sluice/admin/front/pages"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/admin/login/upstream"
	"github.com/sluicegate/sluice/admin/member/oidc"
	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/publish/keyring"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/admin/toolset/grant"
	"github.com/sluicegate/sluice/admin/toolset/suggest"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// usageInterval is how often what plugins did is written down.
const usageInterval = 15 * time.Second

// sweepInterval is how often expired idempotency keys and jobs are removed. They
// are refused by their age anyway; this only bounds the database.
const sweepInterval = time.Hour

// Options of a server. Fields without a default must be set.
type Options struct {
	// Store holds the records. The caller closes it, after Run returned.
	Store *store.Store
	// Keyring seals credentials.
	Keyring *secrets.Keyring
	// Publisher makes artifacts and releases of what Store.Live lists.
	Publisher *publish.Publisher
	// Fetcher gets specifications by URL.
	Fetcher source.Fetcher
	// SpecLimits bound what a specification may cost. Default: those of the compiler.
	SpecLimits openapi.Limits
	// Tester runs a tool of a draft. Default: none, and nothing can be tested.
	Tester rollout.Tester
	// MCP asks MCP servers what they are. Default: none is asked, and no toolset can be
	// made of one.
	MCP mcpserver.Servers
	// Commands runs MCP servers that are commands of this node. Default: none are, and
	// none can be added.
	Commands local.Commands
	// Catalog has the pre-built connectors. Default: those that are built in.
	Catalog *catalog.Room
	// Lister renders tools/list of a draft. Default: none, and tokens are estimated
	// from the definitions.
	Lister advice.Lister
	// Sandbox runs the golden cases of plugins that are published, under PluginPolicy.
	// Default: none, and plugins cannot be published.
	Sandbox *extism.Host
	// PluginPolicy is what the gateways of this control plane grant third-party
	// plugins: one that asks for more is refused. Default: the smallest limits.
	PluginPolicy guest.Policy
	// PluginUsage takes what the gateway of this node counted of plugins since it was
	// asked last. Default: nothing is counted.
	PluginUsage func() []registry.PluginCalls
	// Dialer gets the grants of private addresses, each for the id of a toolset.
	// Default: none can be granted.
	Dialer *safedial.Dialer
	// Suggester is asked for names and descriptions of tools, when a client asks for
	// that. Default: none is asked, and only rules make suggestions.
	Suggester *suggest.Model
	// OAuth asks authorization servers for access tokens. Default: none is asked,
	// and toolsets that need one cannot be called.
	OAuth *oauth.Client
	// AwaitLive waits until the gateway of this node serves a revision of a
	// toolset, or has dropped it (revision 0). It returns early when ctx ends.
	// Default: deploys answer as soon as the release is signed.
	AwaitLive func(ctx context.Context, toolset string, revision uint64) error
	// AwaitRelease waits until the gateway of this node serves a release or a later
	// one. It returns early when ctx ends. Default: changes of access answer as soon as
	// the release is signed.
	AwaitRelease func(ctx context.Context, revision uint64) error
	// PublicURL is where browsers and authorization servers reach this listener, scheme
	// and host without a path: logins come back to it, links of single callers begin
	// with it, and when it is https, the client ID metadata document is below it.
	// Default: the address that a request came to, and no such links.
	PublicURL string
	// OpenID is the provider at which members sign in to the console; its zero value is none.
	// OpenIDClient asks it.
	OpenID       oidc.Config
	OpenIDClient *http.Client
	// LinkURL is what the links of single callers begin with when there is no
	// PublicURL. Default: callers get no links, and must ask the operator.
	LinkURL string
	// Proxies are reverse proxies in front of this listener, which say whose request they
	// pass on and whether it came over https. Default: there are none.
	Proxies forwarded.Proxies
	// Closed says that others than this machine may reach the gateways of this control
	// plane: a new toolset needs an access token unless the request says otherwise, and
	// those that are open are named. Default: a listener on loopback.
	Closed bool
	// GatewayURL is where toolset URLs start, such as http://127.0.0.1:7300.
	GatewayURL string
	// PreviewURL is what the URLs of previews of drafts begin with, when this node has a
	// gateway that serves them with what PreviewRelease returns. Default: there are none.
	PreviewURL string
	// Domains says where domains must lead and who certifies them; its records, publisher and
	// logger are those of this server. Default: they may lead anywhere, and nobody does.
	Domains domain.Room
	// Hosts are the values of the Host header (without port) that are answered,
	// against DNS rebinding. Default: localhost and the loopback addresses.
	Hosts []string
	// AuditHeads keeps the signed heads of the audit logs. Default: none are kept, and
	// a tail of the log that was cut off is not found.
	AuditHeads *audit.Keeper
	// KeysRotated is told that another key-encryption key seals from now on. Default: nobody is.
	KeysRotated func(ctx context.Context)
	// Registry is the embedded registry, served below /v2/. Default: none is served.
	Registry *server.Store
	// Mirrored is the registry elsewhere that the artifacts are in when Registry is
	// nil: edges may pull from it through /v2/. Default: none.
	Mirrored server.Fetcher
	// Elsewhere finds the registry, repository and tag or digest of a reference with a
	// host, such as registry.example/team/mask:1.0.0, of which plugins may be
	// published. Default: such references are refused.
	Elsewhere func(reference string) (st *oci.Store, repository, tagOrDigest string, err error)
	// Metrics write what /metrics answers, in the Prometheus text format.
	Metrics []func(io.Writer)
	// GuardMetrics asks for an API token of the operator's workspace at /metrics, for a
	// listener that others than this machine reach. Default: nobody is asked.
	GuardMetrics bool
	// Ready are the checks of /readyz, in this order.
	Ready []front.Check
	// SettleUsage posts what the gateway of this node counted, before usage is read.
	// Default: what is read may be ten seconds old.
	SettleUsage func(ctx context.Context) error
	// Event is notified of every transition of a revision's lifecycle, after it is
	// durable. It must not block. Default: nobody is told.
	Event func(publish.Event)
	// Space is how many bytes are free on the disk of the records. nil: it is not watched.
	Space func() (free int64, known bool)
	// NotifyBackoff is how long after each failed attempt to deliver a notice the next one
	// comes. Default: [notify.DefaultBackoff].
	NotifyBackoff []time.Duration
	// Retention is what is kept beside what is live. Default: see [artifact.Retention].
	Retention artifact.Retention
	// Version of the program.
	Version string
	// Logger. Default: discard.
	Logger *slog.Logger
}

// Server is the admin API. Handler may be served as soon as New returned; Run
// does the work that goes on besides requests.
type Server struct {
	o       Options
	log     *slog.Logger
	events  *publish.Events
	handler http.Handler
	// registry is nil without Options.Registry.
	registry  http.Handler
	api       huma.API
	front     *front.Room
	works     *job.Room
	live      *live.Room
	opened    *toolset.Connectors
	logins    *login.Room
	drafts    *draft.Room
	asked     *mcpserver.Room
	advices   *advice.Room
	bound     *binding.Room
	rollouts  *rollout.Room
	trials    *trial.Room
	local     *local.Room
	compiler  *compile.Room
	transfers *transfer.Room
	views     *view.Room
	changes   *change.Room
	auths     *authentication.Room
	stopping  chan struct{} // closed when Run's context ended: questions that are held are answered

	// work is the context of jobs; it ends when Run does. A job is counted in
	// jobs from start to end.
	work      context.Context //nolint:containedctx // the life of the server, not of a call
	stopWork  context.CancelFunc
	jobs      sync.WaitGroup
	upstreams *upstream.Room
	audit     *audit.Log
	plugins   *plugin.Room
	access    *access.Room
	alerts    *alert.Room
	catalog   *catalog.Room
	wanted    *connectorrequest.Room
	domains   *domain.Room
	notify    *notify.Room
	metrics   *metrics.Metrics
	usage     *usage.Room
	fleet     *fleet.Room
	grants    *grant.Room
	sources   *source.Room
	artifacts *artifact.Room
	keys      *keyring.Room
	sessions  *session.Room
	openID    *oidc.Room
	console   *serve.Site // nil: this build has none
}

// New makes a server, ends what a process that died left running, and restores
// the grants of this node. It fails with [problem.InvalidArgument] for options
// that cannot work.
func New(ctx context.Context, o Options) (*Server, error) {
	switch {
	case o.Store == nil || o.Keyring == nil || o.Publisher == nil || o.Fetcher == nil:
		return nil, errors.New("making the admin API: Store, Keyring, Publisher and Fetcher must be set")
	case o.GatewayURL == "":
		return nil, errors.New("making the admin API: GatewayURL must be set")
	}
	if _, err := url.Parse(o.GatewayURL); err != nil {
		return nil, problem.New(problem.InvalidArgument, "the address of the gateway is not a URL").Because(err)
	}
	if u, err := url.Parse(o.PublicURL); o.PublicURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "") {
		return nil, problem.New(problem.InvalidArgument, "the public address of the admin API is not scheme and host").Fix("write it as https://sluice.example.com, without a path")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if len(o.Hosts) == 0 {
		o.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	s := &Server{o: o, log: o.Logger.With(slog.String("component", "admin")), stopping: make(chan struct{})}
	s.opened = toolset.NewConnectors(o.Publisher)
	s.work, s.stopWork = context.WithCancel(context.WithoutCancel(ctx))
	s.openLogins()
	s.drafts = &draft.Room{Store: o.Store, Keyring: o.Keyring, Publisher: o.Publisher, Opened: s.opened, Origins: s.logins.Origins}
	s.keys = &keyring.Room{Store: o.Store, Keyring: o.Keyring, Publisher: o.Publisher, Rotated: o.KeysRotated}
	s.events = &publish.Events{Now: o.Store.Now, Log: s.log, Send: o.Event}
	s.grants = &grant.Room{Store: o.Store, Log: s.log, Dialer: o.Dialer}
	s.sources = &source.Room{Fetcher: o.Fetcher, MaxDocument: front.MaxBodyBytes, MaxPart: int64(cmp.Or(o.SpecLimits.MaxBytes, openapi.DefaultMaxBytes))}
	s.openDomains()
	s.access = &access.Room{
		Publisher: o.Publisher, Log: s.log, AwaitRelease: o.AwaitRelease, URL: func(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (string, error) {
			return s.domains.ToolsetURL(ctx, ws, ts, o.GatewayURL)
		}, Closed: o.Closed, PerUser: s.logins.Secrets.PerUser, Ending: s.logins.Secrets.Ending,
	}
	if s.catalog = o.Catalog; s.catalog == nil {
		var err error
		if s.catalog, err = catalog.New(nil); err != nil {
			return nil, err
		}
	}
	s.metrics = s.newMetrics()
	if err := s.openAlerts(); err != nil {
		return nil, err
	}
	s.plugins = &plugin.Room{
		Store: o.Store, Publisher: o.Publisher, Events: s.events, Log: s.log, Sandbox: o.Sandbox, Policy: o.PluginPolicy, Elsewhere: o.Elsewhere, BoundBy: draft.BoundBy,
	}
	s.asked = &mcpserver.Room{MCP: o.MCP, Logins: s.logins}
	s.advices = &advice.Room{Drafts: s.drafts, Lister: o.Lister, Suggester: o.Suggester}
	s.bound = &binding.Room{Drafts: s.drafts, Publisher: o.Publisher, Plugins: s.plugins, Policy: o.PluginPolicy}
	s.rollouts = &rollout.Room{
		PreviewURL: o.PreviewURL,
		Drafts:     s.drafts, Publisher: o.Publisher, Logins: s.logins, Grants: s.grants, Events: s.events, Log: s.log, Servers: s.asked, Tester: o.Tester, AwaitLive: o.AwaitLive,
	}
	s.openTrials()
	s.audit = &audit.Log{Store: o.Store, Log: s.log, Heads: o.AuditHeads}
	s.usage = &usage.Room{Store: o.Store, Log: s.log, Settle: o.SettleUsage, DropUnwanted: func(ctx context.Context, r *registry.UsageReport) error { return choice.DropUnwanted(ctx, o.Store, r) }, Seal: o.Keyring.SealBytes, Arrived: s.alerts.Wake, Tried: s.trials.Wake, Stopping: s.stopping}
	s.sessions, s.console = session.New(o.Store, s.log, o.Version), serve.New(console.Files())
	var err error
	if s.openID, err = oidc.New(oidc.Options{Config: o.OpenID, Store: o.Store, HTTP: o.OpenIDClient}); err != nil {
		return nil, err
	}
	s.openFleet()
	s.artifacts = artifact.Open(artifact.Room{
		Store: o.Store, Publisher: o.Publisher, Log: s.log, Audit: s.audit, Events: s.events, Fleet: s.fleet, Registry: o.Registry, Retention: o.Retention,
	})
	s.local = &local.Room{Store: o.Store, Commands: o.Commands}
	s.compiler = &compile.Room{Publisher: o.Publisher, Sources: s.sources, Limits: o.SpecLimits}
	s.auths = &authentication.Room{Drafts: s.drafts, Logins: s.logins, Grants: s.grants}
	s.openChanges()
	s.transfers = &transfer.Room{
		Store: o.Store, Publisher: o.Publisher, Drafts: s.drafts, Compiler: s.compiler, Rollouts: s.rollouts, Bound: s.bound, Logins: s.logins, Grants: s.grants,
		Access: s.access, Upstreams: s.upstreams, Local: s.local, Alerts: s.alerts, Notify: s.notify, Closed: o.Closed,
	}
	if err := s.recover(ctx); err != nil {
		return nil, err
	}
	if o.Registry != nil {
		h, err := server.NewHandler(server.HandlerOptions{Store: o.Registry, Authorize: s.artifacts.Authorize, Changed: s.artifacts.Changed, Logger: o.Logger})
		if err != nil {
			return nil, err
		}
		s.registry = h
	} else if o.Mirrored != nil {
		h, err := server.NewMirror(server.MirrorOptions{From: o.Mirrored, Authorize: s.artifacts.Authorize, Logger: o.Logger})
		if err != nil {
			return nil, err
		}
		s.registry = h
	}
	s.front = &front.Room{
		Store: o.Store, Keyring: o.Keyring, Log: s.log, Audit: s.audit, Metrics: s.metrics, Sessions: s.sessions, Proxies: o.Proxies, Hosts: front.HostNames(o.Hosts), PublicURL: o.PublicURL,
		Mux: http.NewServeMux(),
	}
	s.live = &live.Room{Store: o.Store, Log: s.log, Stopping: s.stopping}
	s.works = &job.Room{Front: s.front, Store: o.Store, Work: s.work, Jobs: &s.jobs}
	s.routes()
	return s, nil
}

// recover ends what a process that died left behind.
func (s *Server) recover(ctx context.Context) error {
	p := front.ProblemOf(problem.New(problem.Unavailable, "the server stopped while this ran").Fix("start it again"))
	n, err := s.o.Store.Recover(ctx, store.JSON(p))
	if err != nil {
		return err
	}
	if n > 0 {
		s.log.LogAttrs(ctx, slog.LevelWarn, "jobs of the last process ended as failed", slog.Int64("jobs", n))
	}
	ids, err := s.o.Store.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.grants.Restore(ctx, id); err != nil {
			return err
		}
	}
	return s.fleet.FollowKeys(ctx, s.access.Sign)
}

// Run sweeps expired records and renews access tokens until ctx ends, then waits for the jobs that run,
// at most as long as grace, and cancels the rest.
func (s *Server) Run(ctx context.Context, grace time.Duration) error {
	tick, renewals, looks, usage := time.NewTicker(sweepInterval), time.NewTicker(login.RenewInterval), time.NewTicker(upstream.Interval), time.NewTicker(usageInterval)
	defer usage.Stop()
	defer tick.Stop()
	defer renewals.Stop()
	defer looks.Stop()
	if err := s.logins.Origins.BindOld(ctx); err != nil && ctx.Err() == nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "where older credentials may be sent is not known yet: it is found out when they are used", slog.Any("error", err))
	}
	s.upstreams.Look()
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() { s.alerts.Run(ctx) })
	telling.Go(func() { s.notify.Run(ctx) })
	telling.Go(func() { s.domains.Run(ctx) })
	telling.Go(func() { s.trials.Run(ctx) })
	telling.Go(func() { s.tellCertificates(ctx) })
	telling.Go(func() { s.artifacts.Run(ctx) })
	for {
		select {
		case <-usage.C:
			s.recordPluginUsage(ctx)
			continue
		case <-looks.C:
			s.upstreams.Look()
			s.changes.StartChecks()
			continue
		case <-renewals.C:
			if err := s.logins.Secrets.Renew(ctx); err != nil && ctx.Err() == nil {
				s.log.LogAttrs(ctx, slog.LevelWarn, "access tokens that end soon were not renewed", slog.Any("error", err))
			}
			continue
		case <-tick.C:
			s.audit.Settle(ctx)
			if err := s.o.Store.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.log.LogAttrs(ctx, slog.LevelWarn, "sweeping expired records did not work", slog.Any("error", err))
			}
			continue
		case <-ctx.Done():
		}
		break
	}
	close(s.stopping)
	timer := time.AfterFunc(grace, s.stopWork)
	defer timer.Stop()
	s.upstreams.Close() // its streams begin jobs
	s.jobs.Wait()
	s.recordPluginUsage(context.WithoutCancel(ctx))
	s.audit.Settle(context.WithoutCancel(ctx))
	s.stopWork()
	return nil
}

// recordPluginUsage writes down what the gateway of this node counted. What cannot
// be written is lost: it is a measure, not an account.
func (s *Server) recordPluginUsage(ctx context.Context) {
	if s.o.PluginUsage == nil {
		return
	}
	if err := s.plugins.RecordUsage(ctx, s.o.PluginUsage()); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the usage of plugins was not written", slog.Any("error", err))
	}
}

// Plugins is the room of plugins, for what the gateway of this node says of them.
func (s *Server) Plugins() *plugin.Room { return s.plugins }

// Usage is the room of usage and calls, for what the gateway of this node reports.
func (s *Server) Usage() *usage.Room { return s.usage }

// Handler serves the whole admin listener: /v1, /v2 (the registry), /edge/v1,
// /oauth/callback, /oauth/login/, /oauth/confirm/, /openid/login, /openid/callback, /client-metadata.json, /metrics, /livez,
// /readyz, /healthz, and the console everywhere else.
func (s *Server) Handler() http.Handler { return s.handler }

// OpenAPI returns the API's own OpenAPI 3.1 document as JSON.
func (s *Server) OpenAPI() ([]byte, error) { return s.api.OpenAPI().MarshalJSON() }

// operations are those of the API, by their subjects.
var operations = []func(*Server){
	registerToolsets, registerRefresh, registerSchedules, registerTools, registerItems, registerSuggestions, registerLearned, registerSelection,
	registerAuthentication, registerTests, registerTrials, registerAccess, registerConnectors, registerMCP, registerPlugins, registerWorkflows, registerScripts,
	registerBindings, registerCommands, registerJobs, registerAudit, registerEdges, registerControlPlanes, registerReleases, registerKeptDrafts, registerTokens,
	registerGrants, registerMembers, registerSessions, registerPasskeys, registerOpenID, registerUsage, registerCalls, registerAlerts, registerCatalog,
	registerConnectorRequests, registerDomains, registerChannels, registerAlertRules, registerExport, registerLive,
}

func (s *Server) routes() {
	front.Adapt()
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Sluice admin API", Version: "1",
				Description: "Toolsets, connectors and everything else a Sluice control plane keeps.",
				License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
				Contact:     &huma.Contact{Name: "Sluice", URL: "https://github.com/sluicegate/sluice"},
			},
			Servers: []*huma.Server{{URL: "http://127.0.0.1:7301", Description: "The admin listener of a node on this machine; --admin-listen and --admin-public-url choose another."}},
			Components: &huma.Components{
				Schemas: schemas.of,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token":   {Type: "http", Scheme: "bearer", BearerFormat: "slu_…", Description: "An API token."},
					"session": {Type: "apiKey", In: "cookie", Name: front.SessionCookie, Description: "The session of a browser, for requests of the console's own pages. Over https its name is " + front.HostPrefix + front.SessionCookie + "."},
				},
			},
			Security: []map[string][]string{{"token": {}}, {"session": {}}},
		},
		// No documentation page: huma's loads scripts from another site.
		DocsPath: "", SchemasPath: "",
		OpenAPIPath:   "/v1/openapi",
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
	}
	config.Transformers = []huma.Transformer{front.ExplainBody(config.Components.Schemas)}
	s.register(config)

	browser := &pages.Room{Front: s.front, Logins: s.logins, Notify: s.notify, OpenID: s.openID, Sessions: s.sessions}
	health := &front.Health{Front: s.front, Publisher: s.o.Publisher, Ready: s.o.Ready, Metrics: s.o.Metrics, Guard: s.o.GuardMetrics}
	signIn := s.front.FromConsole(front.Small(s.front.WithBody(s.front.Routed())))
	v1 := s.front.Authenticated(s.front.WithBody(s.front.Idempotent(s.front.Routed())))
	s.handler = s.front.Framed(func(w http.ResponseWriter, r *http.Request) {
		switch at := r.URL.Path; {
		case at == "/livez", at == "/healthz", at == "/readyz", at == "/metrics":
			health.Serve(w, r)
		case at == "/v1/openapi.json", at == "/v1/openapi.yaml", at == signInPath && r.Method == http.MethodGet:
			s.front.Routed()(w, r)
		case (at == front.SessionPath || at == front.PasskeyPath) && r.Method == http.MethodPost:
			signIn(w, r)
		case strings.HasPrefix(at, "/v1/") && r.Method == http.MethodOptions:
			s.front.Routed()(w, r) // says no more than the document of the API
		case strings.HasPrefix(at, "/v1/"):
			v1(w, r)
		case strings.HasPrefix(at, "/edge/v1/"):
			s.serveEdge(w, r)
		case s.registry != nil && (at == "/v2" || strings.HasPrefix(at, "/v2/")):
			s.serveRegistry(w, r)
		case at == login.CallbackPath:
			browser.Callback(w, r)
		case strings.HasPrefix(at, login.UserPath):
			browser.UserLogin(w, r)
		case strings.HasPrefix(at, notify.UnsubscribePath):
			browser.Unsubscribe(w, r)
		case strings.HasPrefix(at, login.ConfirmPath):
			browser.Confirm(w, r)
		case at == pages.OpenIDPath:
			browser.OpenIDLogin(w, r)
		case at == pages.OpenIDCallback:
			browser.ReturnFromOpenID(w, r)
		case at == login.DocumentPath:
			browser.ClientDocument(w, r)
		default:
			s.serveConsole(w, r)
		}
	})
}

// schemas are those of the API of every server in this process: they depend on types only, and
// to make them takes most of the time that a server takes to start. Nothing is written to them
// once a server was registered, since all have the same operations.
var schemas = struct {
	sync.Mutex // of a server that registers

	of        huma.Registry
	described bool // guarded by the mutex; by the first server
}{of: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)}

// register makes the API of the operations.
func (s *Server) register(config huma.Config) {
	schemas.Lock()
	defer schemas.Unlock()
	s.api = humago.New(s.front.Mux, config)
	for _, register := range operations {
		register(s)
	}
	document.Finish(s.api.OpenAPI(), document.Around{
		IdempotencyKey: front.MaxIdempotencyKey, Modules: front.PluginsPath, Specifications: front.SpecificationPaths, Described: schemas.described,
	})
	schemas.described = true
}

func (s *Server) now() time.Time { return s.o.Store.Now() }

// serveRegistry serves the registry. A delete and a release do not overlap.
func (s *Server) serveRegistry(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodDelete {
		s.registry.ServeHTTP(w, r)
		return
	}
	if err := s.o.Publisher.Between(r.Context(), func() { s.registry.ServeHTTP(w, r) }); err != nil {
		s.front.WriteProblem(w, r, err)
	}
}
