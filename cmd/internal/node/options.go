package node

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/sluicegate/sluice/admin/member/oidc"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/gateway"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/tlsfiles"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry/oci"
)

// Role is what a node runs.
type Role string

// Roles.
const (
	RoleAll     Role = "all"     // gateway, admin API and registry
	RoleControl Role = "control" // admin API and registry
	RoleEdge    Role = "edge"    // a gateway that follows a control plane
)

// Addresses a node listens on unless told otherwise.
const (
	DefaultListen           = "127.0.0.1:7300" // gateway
	DefaultAdminListen      = "127.0.0.1:7301"
	DefaultOperationsListen = "127.0.0.1:7302" // edge
)

// Options configure a node.
type Options struct {
	Data      string // data directory, this node's own; made when it is missing. Required
	Role      Role   // Default: RoleAll
	Gateway   GatewayOptions
	Upstreams UpstreamOptions
	Admin     AdminOptions    // roles all and control
	Records   RecordOptions   // roles all and control
	Requests  RequestsOptions // roles all and control
	Edge      EdgeOptions     // role edge
	Domains   DomainOptions
	// Proxies stand in front of the gateway and the admin API: both may then listen beyond
	// loopback without TLS. Default: there are none.
	Proxies   forwarded.Proxies
	Version   string        // of the program. Default: "devel"
	Grace     time.Duration // for running calls and jobs at a stop. Default: gateway.DefaultDrain
	GCPercent int           // as debug.SetGCPercent, once the persisted release is live. Default: unchanged
	// GiveBack gives memory back to the system that the start needed and the program seldom
	// does afterwards: the node has the process to itself. Default: it stays.
	GiveBack bool
	Logger   *slog.Logger // Default: discard
}

// GatewayOptions are those of the roles all and edge.
type GatewayOptions struct {
	Listen          string         // Default: DefaultListen
	PublicURL       string         // where clients reach the gateway. Default: where it listens
	TLS             tlsfiles.Files // Default: TLS is not spoken
	Conns           int            // at the same time. Default: that of the gateway
	ConnsPerAddress int            // Default: that of the gateway
	NoInstallPage   bool           // browsers that open a toolset URL get no page
	State           secrets.Secret // URL of what the nodes of a pool share. Default: this node is on its own
	StateRoots      *x509.CertPool // verify its certificate. Default: those of the system
	Ready           func() error   // holds /readyz back while it fails. Default: nothing does
}

// UpstreamOptions are about what tools call.
type UpstreamOptions struct {
	AllowPrivate bool           // all private addresses may be called
	Allow        []netip.Prefix // these may
	PluginGrace  time.Duration  // that plugins get beyond their deadlines
}

// AdminOptions are about the admin API.
type AdminOptions struct {
	Listen     string         // Default: DefaultAdminListen
	TLS        tlsfiles.Files // needed when it does not listen on loopback
	PublicURL  string         // where browsers reach it. Default: where it listens, on this machine
	OpenID     oidc.Config    // the provider at which members sign in. Default: none
	Hosts      []string       // names of it besides its address
	SpecLimits openapi.Limits // of specifications
	Suggest    Model          // may be asked for names and descriptions. Default: none is
	Catalogs   Catalogs       // entries besides those that are built in. Default: none
	// Commands lets the operator add MCP servers that are commands of this machine, and
	// starts them (role all). Default: none are run.
	Commands bool
	Environ  []string // of the node: commands get what they name
	// PluginRegistries finds the registry of a reference among those that plugins may
	// be published from. Default: there are none.
	PluginRegistries func(reference string) (store *oci.Store, repository, at string, err error)
}

// RecordOptions are about what a control plane keeps.
type RecordOptions struct {
	Database secrets.Secret // URL of a PostgreSQL database. Default: a file in the data directory
	// Cluster makes it one of several on the database: [New] then waits until it leads, and
	// serves meanwhile by passing requests on. Default: New fails while another one has it.
	Cluster     *ClusterOptions
	Keys        KEK
	SharedKeys  string        // folder with the keys that several control planes share. Default: this one makes its own
	CallLogRows uint64        // of each workspace. Default: that of the store
	CallLogAge  time.Duration // Default: that of the store
	// Artifacts opens the registry, of which something is in dir. Default: all of it is.
	Artifacts func(ctx context.Context, dir string) (*artifacts.Registry, error)
}

// EdgeOptions are those of the role edge.
type EdgeOptions struct {
	ControlPlane string                         // URL of its admin API. Required
	Name         string                         // in lists. Required
	JoinToken    func() (secrets.Secret, error) // Required until the edge is enrolled
	Listen       string                         // of /metrics, /livez and /readyz. Default: DefaultOperationsListen
	MetricsToken secrets.Secret                 // opens /metrics. Default: it is open on loopback, closed elsewhere
	Client       *http.Client                   // to the control plane. Default: a new one
	Artifacts    *oci.Store                     // where artifacts are fetched from first. Default: the control plane
}

// complete checks what is required and sets what is not given.
func (o *Options) complete() error {
	var errs []error
	if o.Data == "" {
		errs = append(errs, errors.New("node: Options.Data is required"))
	}
	set(&o.Role, RoleAll)
	set(&o.Version, "devel")
	set(&o.Grace, gateway.DefaultDrain)
	set(&o.Gateway.Listen, DefaultListen)
	set(&o.Admin.Listen, DefaultAdminListen)
	set(&o.Edge.Listen, DefaultOperationsListen)
	switch o.Role {
	case RoleAll, RoleControl:
	case RoleEdge:
		if o.Edge.ControlPlane == "" || o.Edge.Name == "" {
			errs = append(errs, errors.New("node: EdgeOptions.ControlPlane and Name are required"))
		}
		if o.Edge.Client == nil {
			o.Edge.Client = &http.Client{
				Transport:     http.DefaultTransport.(*http.Transport).Clone(), //nolint:forcetypeassert // it is one
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			}
		}
	default:
		errs = append(errs, problem.New(problem.InvalidArgument, "the role %.20q is not one of all, control, edge", o.Role))
	}
	if o.Records.Cluster != nil && (o.Role != RoleControl || o.Records.Database.IsZero()) {
		errs = append(errs, errors.New("node: RecordOptions.Cluster needs RoleControl and a database"))
	}
	if o.Records.Artifacts == nil {
		o.Records.Artifacts = func(ctx context.Context, dir string) (*artifacts.Registry, error) {
			return artifacts.Opener{Logger: o.Logger}.Open(ctx, dir, artifacts.Places{})
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return errors.Join(append(errs, o.checkDomains())...)
}

// set gives an option that is not given its default.
func set[T comparable](option *T, to T) {
	if *option == *new(T) {
		*option = to
	}
}
