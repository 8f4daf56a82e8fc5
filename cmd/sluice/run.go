package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/toolset/grant"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/clientcmd"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/sluice/demo"
	"github.com/sluicegate/sluice/internal/clientconfig"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/tlsfiles"
)

// gcPercent is the heap's growth between two garbage collections of a node, unless
// the operator sets GOGC. Most of a node's heap lives as long as its release and a
// call hardly allocates, so half of Go's default costs no throughput and a third
// less memory.
const gcPercent = 50

// startGCPercent holds until the persisted release is live: nothing that a start
// reads is garbage for long.
const startGCPercent = 400

// nodeFlags configure a node.
type nodeFlags struct {
	listen, adminListen string
	tls, adminTLS       tlsfiles.Files
	proxies             []string
	publicURL           string
	adminPublicURL      string
	allowPrivate        []string
	logFormat, logLevel string
	shutdown            time.Duration
	conns, connsPerAddr int
	suggest             config.Suggest
	commands            bool
	noPage              bool
	state               string
	catalogs            []string
	catalogKeys         []string
	domains             domainFlags
	openID              config.OpenID
	openIDRoles         []string
	requests            node.RequestsOptions
}

// everything is the value of --allow-private-upstreams without networks.
const everything = "all"

// isNetworks reports whether an argument is a value of --allow-private-upstreams.
func isNetworks(arg string) bool {
	first, _, _ := strings.Cut(arg, ",")
	_, err := netip.ParsePrefix(first)
	return arg == everything || err == nil
}

func (f *nodeFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "listen", "", "address of the gateway (default "+node.DefaultListen+")")
	fs.StringVar(&f.adminListen, "admin-listen", "", "address of the admin API (default "+node.DefaultAdminListen+")")
	fs.StringVar(&f.tls.Certificate, "tls-cert", "", "certificate file of the gateway, in PEM with its chain; it is followed when it changes")
	fs.StringVar(&f.tls.Key, "tls-key", "", "key file of the gateway")
	fs.StringVar(&f.tls.ClientCA, "tls-client-ca", "", "file of the authorities that issue client certificates; clients without a certificate of one are refused")
	fs.StringVar(&f.adminTLS.Certificate, "admin-tls-cert", "", "certificate file of the admin API, needed beyond loopback")
	fs.StringVar(&f.adminTLS.Key, "admin-tls-key", "", "key file of the admin API")
	fs.StringSliceVar(&f.proxies, "behind-proxy", nil, "networks of the reverse proxies in front, such as 10.0.0.0/8, or private: what they say of their clients is believed, and listeners beyond loopback need no certificate")
	fs.StringVar(&f.publicURL, "public-url", "", "URL at which clients reach the gateway")
	fs.BoolVar(&f.noPage, "no-install-page", false, "give browsers that open a toolset URL no page on how to connect")
	fs.StringVar(&f.adminPublicURL, "admin-public-url", "", "URL at which browsers and authorization servers reach the admin listener, for logins; https lets servers read who this is")
	f.registerOpenID(fs)
	fs.StringSliceVar(&f.allowPrivate, "allow-private-upstreams", nil, "allow upstreams on private addresses: all, or these networks")
	fs.Lookup("allow-private-upstreams").NoOptDefVal = everything
	fs.BoolVar(&f.commands, "allow-commands", false, "the operator may add programs of this machine as MCP servers, over the admin API too (default: sluice run on loopback only)")
	fs.StringVar(&f.state, "state", "", "Redis or Valkey server that the nodes of a pool share, redis://HOST:PORT or rediss://…; with a password use SLUICE_STATE (default: each node is on its own)")
	fs.StringSliceVar(&f.catalogs, "catalog", nil, "`DIR|oci://REF` with entries of the catalog besides those that are built in (sluice catalog lint, sluice catalog push)")
	fs.StringSliceVar(&f.catalogKeys, "catalog-key", nil, "`FILE` with the public key of a publisher whose catalogs in registries are trusted")
	fs.StringVar(&f.suggest.URL, "suggest-url", "", "OpenAI-compatible API that may be asked for names and descriptions of tools, such as http://127.0.0.1:11434/v1 (default: none)")
	fs.StringVar(&f.suggest.Model, "suggest-model", "", "name of its model")
	fs.StringVar(&f.suggest.KeyFile, "suggest-key-file", "", "file with its key, if it needs one")
	fs.StringVar(&f.logFormat, "log-format", "", "auto, json, text (default auto: text on a terminal)")
	fs.StringVar(&f.logLevel, "log-level", "", "debug, info, warn, error")
	fs.DurationVar(&f.shutdown, "shutdown-timeout", 0, "time for running calls at a stop (default 30s)")
	fs.IntVar(&f.conns, "max-connections", 0, "connections to the gateway at the same time (default: three quarters of the open files allowed)")
	fs.IntVar(&f.connsPerAddr, "max-connections-per-address", 0, "how many of them from one address (default: three quarters of them)")
	fs.StringVar(&f.requests.Listen, "requests-listen", "", "address of a public page of connector requests, without login (default: there is none)")
	fs.StringVar(&f.requests.URL, "requests-url", "", "URL at which people reach that page, needed beyond loopback: links in its mails begin with it")
	fs.StringVar(&f.requests.TLS.Certificate, "requests-tls-cert", "", "certificate file of that page, needed beyond loopback without a proxy")
	fs.StringVar(&f.requests.TLS.Key, "requests-tls-key", "", "key file of that page")
	f.domains.register(fs)
	command.MustComplete(cmd, "log-format", []string{"auto", "json", "text"})
	command.MustComplete(cmd, "log-level", []string{"debug", "info", "warn", "error"})
}

// options makes the options of a node: flags win over the configuration file.
func (f *nodeFlags) options(a *app, level string) (o node.Options, err error) {
	c := a.Config
	o = node.Options{Data: a.DataDir(), Version: versionOrDevel(), Grace: f.shutdown}
	o.Gateway = node.GatewayOptions{
		Listen: cmp.Or(f.listen, c.Listen), PublicURL: strings.TrimSuffix(cmp.Or(f.publicURL, c.PublicURL), "/"),
		Conns: cmp.Or(f.conns, c.MaxConnections), ConnsPerAddress: cmp.Or(f.connsPerAddr, c.MaxConnectionsPerAddress),
		NoInstallPage: f.noPage || c.NoInstallPage,
	}
	o.Admin = node.AdminOptions{
		Listen:    cmp.Or(f.adminListen, c.AdminListen),
		PublicURL: strings.TrimSuffix(cmp.Or(f.adminPublicURL, c.AdminPublicURL), "/"), SpecLimits: a.SpecLimits(),
	}
	if o.Admin.Catalogs, err = f.openCatalogs(a, &c); err != nil {
		return o, err
	}
	o.Admin.Commands, o.Admin.Environ = f.commands || c.AllowCommands, os.Environ()
	if o.Grace == 0 {
		o.Grace = time.Duration(c.ShutdownTimeout)
	}
	for flag, at := range map[string]string{"listen": o.Gateway.Listen, "admin-listen": o.Admin.Listen} {
		if err := checkListen(flag, at); err != nil {
			return o, err
		}
	}
	if o.Gateway.Conns < 0 || o.Gateway.ConnsPerAddress < 0 {
		return o, exit.Usagef("--max-connections and --max-connections-per-address are numbers from 1 on")
	}
	if o.Gateway.TLS, err = gatewayTLS(f.tls, a); err != nil {
		return o, err
	}
	if o.Admin.TLS, err = adminTLS(f.adminTLS, a); err != nil {
		return o, err
	}
	if o.Proxies, err = proxiesOf(f.proxies, a); err != nil {
		return o, err
	}
	if o.Domains, err = f.domains.options(a); err != nil {
		return o, err
	}
	if o.Requests, err = f.requestPage(a, &o); err != nil {
		return o, err
	}
	if o.Gateway.State = a.Env.State; cmp.Or(f.state, c.State) != "" {
		o.Gateway.State = secrets.New(cmp.Or(f.state, c.State))
	}
	if strings.HasPrefix(o.Gateway.State.Reveal(), "rediss:") {
		if o.Gateway.StateRoots, err = a.roots(); err != nil {
			return o, err
		}
	}
	if public := o.Gateway.PublicURL; public != "" {
		u, err := url.Parse(public)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
			return o, exit.Usagef("--public-url %s is not an http or https URL", terminal.Printable(public))
		}
	}
	if public := o.Admin.PublicURL; public != "" {
		u, err := url.Parse(public)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
			return o, exit.Usagef("--admin-public-url %s is not scheme and host, as in https://sluice.example.com", terminal.Printable(public))
		}
	}
	if o.Upstreams.PluginGrace, err = a.PluginGrace(); err != nil {
		return o, err
	}
	if o.Admin.Suggest, err = a.suggester(f.suggest); err != nil {
		return o, err
	}
	if o.Admin.OpenID, err = f.openIDOf(a); err != nil {
		return o, err
	}
	networks := f.allowPrivate
	if networks == nil {
		networks = c.AllowPrivateUpstreams
	}
	for _, n := range networks {
		if n == everything {
			o.Upstreams.AllowPrivate = true
			continue
		}
		p, err := netip.ParsePrefix(n)
		if err != nil {
			return o, exit.Usagef("--allow-private-upstreams=%s is not a network such as 10.0.0.0/8", terminal.Printable(n))
		}
		o.Upstreams.Allow = append(o.Upstreams.Allow, p)
	}
	o.Logger, err = a.logger(cmp.Or(f.logFormat, c.LogFormat, "auto"), cmp.Or(f.logLevel, c.LogLevel, level))
	o.Records.Keys, o.Records.Artifacts = a.kek(""), a.artifactsAt(artifacts.Places{Blobs: c.Blobs, Registry: c.Registry}, o.Logger)
	o.GiveBack = true
	if a.Env.Getenv("GOGC") == "" {
		debug.SetGCPercent(startGCPercent)
		o.GCPercent = gcPercent
	}
	return o, err
}

// checkListen refuses an address that no listener can have, before anything is made.
func checkListen(flag, at string) error {
	if at == "" {
		return nil // the default
	}
	_, port, err := net.SplitHostPort(at)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return exit.Usagef("--%s %s is not an address such as 127.0.0.1:7300 or :7300", flag, terminal.Printable(at))
	}
	return nil
}

// suggester reads where the model is: flags win over the configuration file, all
// three or none, so that a key never goes to another endpoint than it was given for.
func (a *app) suggester(f config.Suggest) (node.Model, error) {
	if f == (config.Suggest{}) {
		f = a.Config.Suggest
	}
	switch {
	case f == (config.Suggest{}):
		return node.Model{}, nil
	case f.URL == "" || f.Model == "":
		return node.Model{}, exit.Usagef("--suggest-url and --suggest-model belong together")
	}
	o := node.Model{URL: f.URL, Name: f.Model}
	var err error
	if f.KeyFile != "" {
		o.Key, err = a.ReadSecretFile(f.KeyFile)
	}
	return o, err
}

// kek says where the key-encryption keys are: a flag, else the environment, else the
// configuration.
func (a *app) kek(flag string) node.KEK {
	return node.KEK{Value: a.Env.MasterKey, Command: strings.Fields(cmp.Or(flag, a.Env.KEK, a.Config.KEKCommand))}
}

// logger writes to stderr.
func (a *app) logger(format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, exit.Usagef("--log-level %s is not one of debug, info, warn, error", terminal.Printable(level))
	}
	o := &slog.HandlerOptions{Level: l}
	switch {
	case format == "text", format == "auto" && terminal.IsTerminal(a.Err):
		return slog.New(slog.NewTextHandler(a.Err, o)), nil
	case format == "json", format == "auto":
		return slog.New(slog.NewJSONHandler(a.Err, o)), nil
	}
	return nil, exit.Usagef("--log-format %s is not one of auto, json, text", terminal.Printable(format))
}

// onLoopback reports whether only this machine reaches a node.
func (f *nodeFlags) onLoopback(o node.Options) bool {
	for _, at := range []string{cmp.Or(o.Gateway.Listen, node.DefaultListen), cmp.Or(o.Admin.Listen, node.DefaultAdminListen)} {
		host, _, err := net.SplitHostPort(at)
		if err != nil || !safedial.Loopback(host) {
			return false
		}
	}
	return o.Gateway.PublicURL == "" && o.Admin.PublicURL == "" && o.Proxies.Empty()
}

func (a *app) runCommand() *cobra.Command {
	var f nodeFlags
	var add addFlags
	var demonstration bool
	cmd := &cobra.Command{
		Use:   "run [SPEC|URL …]",
		Short: "Run gateway, admin API and registry in one process",
		Long: `Run everything in one process: the gateway on 127.0.0.1:7300, the admin API on
127.0.0.1:7301, the registry behind it, all state in ./sluice-data. Specifications
and MCP servers on the command line become toolsets; private addresses named here are granted for
exactly that host and port.

Where nothing of a specification can be tested, its toolset is deployed all the same,
with that reason in the audit log.`,
		Example: "  sluice run --demo\n  sluice run petstore.yaml\n  sluice run https://example.com/openapi.json --auth header:X-Api-Key --api-key-file key.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			if i := slices.IndexFunc(args, isNetworks); i >= 0 {
				return exit.Usagef("%s is no specification%s", terminal.Printable(args[i]), command.Loose(cmd, args[i:]))
			}
			if len(args) > 1 && (add.name != "" || add.slug != "" || add.baseURL != "") {
				return exit.Usagef("--name, --slug and --base-url need exactly one specification")
			}
			o, err := f.options(a, "warn")
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("allow-commands") && f.onLoopback(o) {
				o.Admin.Commands = true
			}
			r := &runner{app: a, add: &add, sources: args, demo: demonstration}
			return r.run(cmd.Context(), o)
		},
	}
	f.register(cmd)
	a.SpecLimitFlag(cmd)
	add.register(cmd)
	cmd.Flags().BoolVar(&demonstration, "demo", false, "serve a bundled demonstration API, offline")
	return cmd
}

// printedToolsets is how many toolsets a start lists: a screen full.
const printedToolsets = 20

// runner is one "sluice run".
type runner struct {
	*app
	add     *addFlags
	sources []string
	demo    bool
	node    *node.Node
	added   atomic.Bool // the specifications of the command line
}

func (r *runner) run(ctx context.Context, o node.Options) error {
	r.Streams()
	r.Say("sluice %s   data in %s", versionOrDevel(), o.Data)
	o.Gateway.Ready = func() error {
		if r.added.Load() {
			return nil
		}
		return problem.New(problem.Unavailable, "the specifications of the command line are still being added")
	}
	n, err := node.New(ctx, o)
	if err != nil {
		return err
	}
	r.node = n
	// What is left to do when the node stops early is given up.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		served <- n.Run(ctx)
		cancel()
	}()
	err = r.start(ctx)
	r.added.Store(true)
	if err != nil && ctx.Err() == nil {
		cancel()
		return errors.Join(err, <-served)
	}
	err = <-served
	if errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
		r.Say("Stopped.")
	}
	return err
}

// start adds what the command line names and says where everything is.
func (r *runner) start(ctx context.Context) error {
	hc, err := r.HTTPClient()
	if err != nil {
		return err
	}
	if pin := r.node.AdminPin(); pin != "" {
		client.Pin(hc, pin)
	}
	o := r.ClientOptions(max(r.Flags.Timeout, 2*time.Minute))
	o.Base, o.Token, o.HTTP = r.node.AdminURL(), r.node.Token(), hc
	c := client.New(o)
	live := 0
	if r.demo {
		if err := r.addDemo(ctx, c); err != nil {
			return err
		}
		live++
	}
	for _, s := range r.sources {
		if err := r.addSource(ctx, c, s); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the end is told by what ended it
			}
			exit.WriteError(r.Err, err)
			continue
		}
		live++
	}
	if len(r.sources) == 0 && !r.demo {
		r.printToolsets(ctx, c)
	}
	if len(r.sources) > 0 && live == 0 {
		r.Say("! nothing was added; correct it, then: sluice add %s", clientconfig.ShellWord(r.sources[0]))
	}
	r.Say("  Admin API     %s/v1   token in %s", r.node.AdminURL(), datadir.Path(r.DataDir(), datadir.Token))
	if page := r.node.RequestsURL(); page != "" {
		r.Say("  Requests      %s", page)
	}
	login, err := r.node.FirstLogin(ctx)
	switch {
	case err != nil:
		exit.WriteError(r.Err, err)
	case login != "":
		r.Say("  Console       %s   (opens once, within ten minutes)", login)
	}
	r.Say("Ctrl-C to stop")
	return nil
}

// untested is the reason in the audit log when nothing of a specification on the
// command line could be tested.
const untested = "sluice run: nothing of the specification can be tested"

func (r *runner) addSource(ctx context.Context, c *client.Client, source string) error {
	if r.add.mcp || looksLikeMCP(source) {
		return r.addServer(ctx, c, source)
	}
	spec, err := r.openForNode(ctx, source, r.add)
	if err != nil {
		return err
	}
	err = r.addSpecification(ctx, c, spec, r.add)
	if r.mayBeServer(ctx, c, source, spec, r.add, err) {
		return r.addServer(ctx, c, source)
	}
	return err
}

// addServer makes a toolset of an MCP server, as sluice add does.
func (r *runner) addServer(ctx context.Context, c *client.Client, source string) error {
	f := *r.add
	f.mcp = true
	spec, err := r.openServer(ctx, c, source, &f)
	if err != nil {
		return err
	}
	return r.addSpecification(ctx, c, spec, &f)
}

func (r *runner) addSpecification(ctx context.Context, c *client.Client, spec specification.Document, f *addFlags) error {
	in, err := r.newToolset(ctx, spec, f)
	if err != nil {
		return err
	}
	in.Deploy = &change.CreateDeploy{UntestedReason: untested}
	made, err := r.create(ctx, c, spec, in)
	if err != nil {
		return err
	}
	return r.Object(made, func(w io.Writer) { r.printLive(w, made) })
}

// addDemo serves the demonstration API in this process and adds it the way every
// specification is added.
func (r *runner) addDemo(ctx context.Context, c *client.Client) error {
	s, err := demo.New(demo.Options{})
	if err != nil {
		return err
	}
	base, _, err := s.Listen(ctx)
	if err != nil {
		return err
	}
	spec := specification.Document{Name: base + "/openapi.json", URL: base + "/openapi.json"}
	if err := spec.Fetch(ctx, &r.Session); err != nil {
		return err
	}
	// As a document and not as a URL: the port differs at each start, and the
	// toolset is to be the same.
	spec.URL, spec.Name = "", "openapi.json"
	f := addFlags{slug: "demo", baseURL: base, profile: "concise"}
	if err := r.addSpecification(ctx, c, spec, &f); err != nil {
		return err
	}
	return r.grantWhileRunning(ctx, c, f.slug, strings.TrimPrefix(base, "http://"))
}

// grantWhileRunning keeps no grant of the demonstration, which has another port at each
// start: somebody else may listen there later. This process alone may call it.
func (r *runner) grantWhileRunning(ctx context.Context, c *client.Client, toolset, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("reading the address of the demonstration: %w", err)
	}
	var out grant.Grants
	if err := c.Get(ctx, "/v1/grants?toolset="+url.QueryEscape(toolset), &out); err != nil {
		return err
	}
	for _, g := range out.Items {
		if err := c.Delete(ctx, "/v1/grants/"+url.PathEscape(g.ID), nil); err != nil {
			return err
		}
		if err := r.node.Grant(g.Toolset, at); err != nil {
			return err
		}
	}
	return nil
}

// printLive is printMade with the lines that are pasted next.
func (r *runner) printLive(w io.Writer, t *change.CreatedToolset) {
	r.printMade(w, t)
	if t.Status == "live" {
		clientcmd.UseFrom(w, t)
	}
}

// printToolsets lists what a node without sources serves, or what to try.
// printToolsets lists the toolsets of the node, once it serves them: what it
// prints is true then, and printing does not delay serving.
func (r *runner) printToolsets(ctx context.Context, c *client.Client) {
	if err := r.node.AwaitRelease(ctx); err != nil {
		return // the node is stopping
	}
	var page admin.List[view.Toolset]
	if err := c.Get(ctx, fmt.Sprintf("/v1/toolsets?limit=%d", printedToolsets), &page); err != nil {
		return // the node is stopping, or its log says why
	}
	for i := range page.Items {
		t := &page.Items[i]
		state := t.Status
		if state == "live" && !t.Changed && (t.Test == nil || !t.Test.Passed) {
			state = "untested" // it is served as it is: deployed with a reason, or its last test failed
		}
		r.Say("  %-10s %s   %s   %s", state, t.Slug, terminal.Plural(t.EnabledTools, "tool"), t.URL)
	}
	if page.NextCursor != "" {
		r.Say("  …          all of them: sluice toolset list")
	}
	if len(page.Items) > 0 {
		return
	}
	r.Say("Nothing is served yet. Try one of:")
	r.Say("  sluice run --demo")
	r.Say("  sluice add petstore.yaml")
	r.Say("  sluice add https://example.com/openapi.json")
}
