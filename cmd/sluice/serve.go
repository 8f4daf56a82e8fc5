package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// minMetricsToken is the shortest token of /metrics: 16 characters of base64 are 96 bits.
const minMetricsToken = 16

// maxCallLogRows of a workspace: 3 GB of records; more belongs into a log store that
// "sluice logs --follow -o jsonl" feeds.
const maxCallLogRows = 10_000_000

// checkCallLog refuses a call log of more rows than a database keeps well, or of none.
func checkCallLog(rows uint64, age time.Duration) error {
	if rows < 1 || rows > maxCallLogRows || age < time.Minute {
		return exit.Usagef("--call-log-rows is 1 to %d, --call-log-age at least a minute", maxCallLogRows)
	}
	return nil
}

// edgeFlags are the flags of the role edge.
type edgeFlags struct {
	controlPlane, joinTokenFile, caFile, name, opsListen string
	registry, metricsTokenFile                           string
}

func (a *app) serveCommand() *cobra.Command {
	var f nodeFlags
	var e edgeFlags
	var role, database string
	var cluster clusterFlags
	var at artifacts.Places
	var pluginRegistries []string
	var kek, sharedKeys string
	var adminHosts []string
	var logRows uint64
	var logAge time.Duration
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node in production: JSON logs, nothing created implicitly",
		Long: `Run gateway, admin API and registry like "sluice run", with defaults for production:
JSON logs at level info, no specifications on the command line, and a data directory
that must be named with --data, SLUICE_DATA_DIR or the configuration file.

--role control runs the admin API and the registry without a gateway; --role edge
runs a gateway that follows a control plane: it enrols once with a join token, keeps
everything it serves in its data directory, and goes on serving when the control
plane is gone, over its own restarts too.`,
		Example: "  sluice serve --data /var/lib/sluice --public-url https://gateway.example\n" +
			"  sluice serve --role edge --data /var/lib/sluice-edge --control-plane https://control.example:7301 --join-token-file token",
		Args: command.Exactly(0, "no arguments; add specifications with: sluice add"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Flags.DataDir == "" && a.Env.DataDir == "" && a.Config.Data == "" {
				return problem.New(problem.InvalidArgument, "the data directory is not named").
					Fix("give --data DIR, SLUICE_DATA_DIR or a configuration file; for a trial use: sluice run")
			}
			if f.logFormat == "" && a.Config.LogFormat == "" {
				f.logFormat = "json"
			}
			o, err := f.options(a, "info")
			if err != nil {
				return err
			}
			if err := checkCallLog(logRows, logAge); err != nil {
				return err
			}
			o.Role, o.Admin.Hosts, o.Records.CallLogRows, o.Records.CallLogAge = node.Role(role), adminHosts, logRows, logAge
			if name := cmp.Or(database, a.Config.Database); name != "" {
				o.Records.Database = secrets.New(name)
			} else {
				o.Records.Database = a.Env.Database
			}
			if at != (artifacts.Places{}) {
				o.Records.Artifacts = a.artifactsAt(at, o.Logger)
			}
			if kek != "" {
				o.Records.Keys = a.kek(kek)
			}
			o.Records.SharedKeys = cmp.Or(sharedKeys, a.Config.SharedKeys)
			if err := cluster.options(cmd.Context(), a, &o, cmp.Or(at.Registry, a.Config.Registry) != ""); err != nil {
				return err
			}
			if pluginRegistries == nil {
				pluginRegistries = a.Config.PluginRegistries
			}
			if o.Admin.PluginRegistries, err = a.pluginRegistries(o.Logger, pluginRegistries); err != nil {
				return err
			}
			switch o.Role {
			case node.RoleAll, node.RoleControl:
				if e != (edgeFlags{}) {
					return exit.Usagef("--control-plane, --control-plane-ca, --join-token-file, --edge-name, --ops-listen and --metrics-token-file belong to --role edge")
				}
			case node.RoleEdge:
				if f.suggest != (config.Suggest{}) {
					return exit.Usagef("--suggest-url, --suggest-model and --suggest-key-file belong to the roles all and control")
				}
				if o.Requests.Listen != "" {
					return exit.Usagef("--requests-listen belongs to the roles all and control: an edge has no requests")
				}
				if sharedKeys != "" {
					return exit.Usagef("--shared-keys belongs to the roles all and control: an edge has no keys of records and releases")
				}
				if kek != "" {
					return exit.Usagef("--kek-command belongs to the roles all and control: what an edge keeps is sealed to it by the control plane")
				}
				if at.Blobs != "" || len(pluginRegistries) > 0 {
					return exit.Usagef("--blobs and --plugin-registry belong to the roles all and control: an edge keeps what it serves in its data directory")
				}
				e.registry = cmp.Or(at.Registry, a.Config.Registry)
				return a.serveEdge(cmd, o, &e)
			default:
				return exit.Usagef("--role %s is not one of all, control, edge", terminal.Printable(role))
			}
			o.Admin.Hosts = append(o.Admin.Hosts, certificateHosts(o.Admin.TLS)...)
			a.Streams()
			return a.serveNode(cmd.Context(), o)
		},
	}
	f.register(cmd)
	a.SpecLimitFlag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&role, "role", string(node.RoleAll), "what this node runs: all, control, edge")
	fs.StringVar(&database, "database", "", "PostgreSQL database of the records, postgres://…; with a password use SLUICE_DATABASE (default: a file in the data directory)")
	cluster.register(cmd)
	fs.StringVar(&kek, "kek-command", "", "program, with its arguments, that wraps the key-encryption keys with a KMS (default: they are in a file of the data directory)")
	fs.StringVar(&sharedKeys, "shared-keys", "", "folder with release.key, workspace.key and master.key, which several control planes share (default: the data directory has them, and the first start makes them)")
	fs.StringVar(&at.Registry, "registry", "", "registry for the artifacts instead of the embedded one, oci://HOST[:PORT][/PREFIX]; edge: fetch them from there (credentials: Docker's configuration)")
	fs.StringSliceVar(&pluginRegistries, "plugin-registry", nil, "registry that plugins may be published from by reference, oci://HOST[:PORT][/PREFIX]")
	fs.StringVar(&at.Blobs, "blobs", "", "bucket for the contents of the registry, s3://BUCKET/PREFIX?endpoint=URL&region=R&path-style=true (default: the data directory)")
	fs.StringSliceVar(&adminHosts, "admin-host", nil, "name by which clients may reach the admin API; those of its certificate are known")
	fs.StringVar(&e.controlPlane, "control-plane", "", "edge: URL of the control plane's admin API, or those of several that share a database, separated by commas")
	fs.StringVar(&e.joinTokenFile, "join-token-file", "", "edge: file with a join token, - for stdin; needed until it is enrolled")
	fs.StringVar(&e.caFile, "control-plane-ca", "", "edge: PEM file of the authority that signed the control plane's certificate")
	fs.StringVar(&e.name, "edge-name", "", "edge: its name in lists (default: the host's name)")
	fs.StringVar(&e.metricsTokenFile, "metrics-token-file", "", "edge: file with the token that opens /metrics, as Authorization: Bearer; needed for it when --ops-listen is not on loopback")
	fs.StringVar(&e.opsListen, "ops-listen", "", "edge: address of /metrics, /livez and /readyz (default "+node.DefaultOperationsListen+")")
	fs.BoolVar(&f.domains.tls, "domain-tls", false, "edge: speak TLS, with the certificates of domains that the control plane obtains")
	fs.Uint64Var(&logRows, "call-log-rows", store.DefaultCallLogRows, "most calls of a workspace in the call log")
	command.LifetimeVar(fs, &logAge, "call-log-age", store.DefaultCallLogAge, "how long calls stay in the call log")
	command.MustComplete(cmd, "role", []string{string(node.RoleAll), string(node.RoleControl), string(node.RoleEdge)})
	return cmd
}

func (a *app) serveEdge(cmd *cobra.Command, o node.Options, e *edgeFlags) error {
	if e.controlPlane == "" {
		return exit.Usagef("--role edge needs --control-plane URL")
	}
	planes, err := edge.ParseControlPlanes(e.controlPlane)
	if err != nil {
		return exit.Usagef("--control-plane %s: %s", terminal.Printable(e.controlPlane), problem.As(err).Detail)
	}
	for _, u := range planes {
		if u.Scheme == "http" && !safedial.Loopback(u.Hostname()) {
			return problem.New(problem.InvalidArgument, "the control plane %s would be reached without TLS", u.Host).
				Fix("use its https address; give --control-plane-ca if its certificate is of an own authority")
		}
	}
	if err := checkListen("ops-listen", e.opsListen); err != nil {
		return err
	}
	o.Edge = node.EdgeOptions{ControlPlane: e.controlPlane, Name: cmp.Or(e.name, hostSlug()), Listen: e.opsListen}
	if !registry.ValidSlug(o.Edge.Name) {
		return exit.Usagef("--edge-name %s must be 1 to 63 lower-case letters, digits and inner hyphens", terminal.Printable(o.Edge.Name))
	}
	if o.Edge.Client, err = a.HTTPClient(); err != nil {
		return err
	}
	if e.caFile != "" {
		pem, err := os.ReadFile(e.caFile)
		if err != nil {
			return problem.New(problem.InvalidArgument, "the file of --control-plane-ca cannot be read").Because(err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return problem.New(problem.InvalidArgument, "the file of --control-plane-ca holds no certificate in PEM").At(e.caFile, 0, 0, "")
		}
		if t, ok := o.Edge.Client.Transport.(*http.Transport); ok {
			t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		}
	}
	if e.metricsTokenFile != "" {
		if o.Edge.MetricsToken, err = a.ReadSecretFile(e.metricsTokenFile); err != nil {
			return err
		}
		if len(o.Edge.MetricsToken.Reveal()) < minMetricsToken {
			return exit.Usagef("the token of --metrics-token-file has less than %d characters", minMetricsToken)
		}
	}
	if e.joinTokenFile != "" {
		o.Edge.JoinToken = func() (secrets.Secret, error) { return a.ReadSecretFile(e.joinTokenFile) }
	}
	if e.registry != "" {
		opener, err := a.opener(o.Logger)
		if err != nil {
			return err
		}
		r, err := opener.External(e.registry)
		if err != nil {
			return err
		}
		o.Edge.Artifacts = oci.NewStore(r)
	}
	a.Streams()
	n, err := node.New(cmd.Context(), o)
	if err != nil {
		return err
	}
	return a.serve(cmd.Context(), n, o.Logger)
}

// hostSlug makes the name of this machine one of an edge.
func hostSlug() string {
	name, err := os.Hostname()
	if err != nil {
		return "edge"
	}
	name, _, _ = strings.Cut(name, ".")
	name = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + ('a' - 'A')
		}
		return '-'
	}, name), "-")
	if name = name[:min(len(name), registry.MaxSlugBytes)]; name == "" || net.ParseIP(name) != nil {
		return "edge"
	}
	return name
}
