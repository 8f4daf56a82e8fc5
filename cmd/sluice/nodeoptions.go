package main

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

// startGCPercent holds until the persisted release is live: nothing that a start
// reads is garbage for long.
const startGCPercent = 400

// gcPercent is the heap's growth between two garbage collections of a node, unless
// the operator sets GOGC. Most of a node's heap lives as long as its release and a
// call hardly allocates, so half of Go's default costs no throughput and a third
// less memory.
const gcPercent = 50

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
