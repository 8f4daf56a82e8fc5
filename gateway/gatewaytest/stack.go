package gatewaytest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/gateway"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/tracing"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/plugins/script"
	"github.com/sluicegate/sluice/registry"
)

// Operation makes an operation with the given parameters, all of them in the
// input schema as strings unless their schema says otherwise.
func Operation(name, method, path string, params ...operation.Param) *operation.Operation {
	op := &operation.Operation{
		Name: name, Title: name, Description: "Calls " + method + " " + path + ".", Method: method, Path: path,
		Plan: &operation.Plan{Version: operation.PlanVersion, Method: method, Path: path, Params: params, Accept: "application/json"},
		Annotations: operation.Annotations{
			ReadOnly: method == "GET", Destructive: method == "DELETE" || method == "PUT",
			Idempotent: method != "POST" && method != "PATCH", OpenWorld: true,
		},
	}
	properties, required := map[string]any{}, []string{}
	for _, p := range params {
		kind := "string"
		if p.Schema != nil && p.Schema.Type == operation.TypeInteger {
			kind = "integer"
		}
		properties[p.Arg] = map[string]any{"type": kind}
		if p.Required {
			required = append(required, p.Arg)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	op.InputSchema, _ = json.Marshal(schema) // of maps and strings: cannot fail
	return op
}

// Param makes a parameter in the default style of its location.
func Param(name string, in operation.Location, t operation.Type, required bool) operation.Param {
	style := operation.StyleForm
	if in == operation.InPath || in == operation.InHeader {
		style = operation.StyleSimple
	}
	return operation.Param{
		Arg: name, Name: name, In: in, Style: style, Explode: style == operation.StyleForm, Required: required,
		Schema: &operation.Schema{Type: t},
	}
}

// Connector builds and opens a connector.
func Connector(name, server string, ops ...*operation.Operation) (*connector.Connector, error) {
	return SecuredConnector(name, server, nil, ops...)
}

// SecuredConnector is [Connector] with a specification that names security schemes.
func SecuredConnector(name, server string, schemes []operation.SecurityScheme, ops ...*operation.Operation) (*connector.Connector, error) {
	api := &operation.API{Name: name, Title: name, Version: "1", Servers: []operation.Server{{URL: server}}, Schemes: schemes}
	b := connector.NewBuilder(api)
	for _, op := range ops {
		if err := b.Add(op); err != nil {
			return nil, err
		}
	}
	a, err := b.Finish()
	if err != nil {
		return nil, err
	}
	return connector.Open(a.Module)
}

// MCPConnector builds and opens the connector of an MCP server with these tools,
// definitions as tools/list has them.
func MCPConnector(name, url string, tools ...string) (*connector.Connector, error) {
	s := &connector.MCPServer{URL: url, Transport: manifest.TransportStreamable, Protocol: "2026-07-28", Name: name, Version: "1"}
	for _, t := range tools {
		s.Tools = append(s.Tools, json.RawMessage(t))
	}
	return ServerConnector(name, s)
}

// ServerConnector is the connector of an MCP server.
func ServerConnector(name string, s *connector.MCPServer) (*connector.Connector, error) {
	a, refused, err := connector.BuildMCP(name, s)
	if err != nil || len(refused) > 0 {
		return nil, fmt.Errorf("connector %s: %v, %w", name, refused, err)
	}
	return connector.Open(a.Module)
}

// Toolset is the input of a toolset with one connector, which edit may change.
func Toolset(slug string, revision uint64, c *connector.Connector, edit func(*registry.Toolset)) snapshot.ToolsetInput {
	digest := registry.DigestOf(fmt.Append(nil, slug, revision))
	b := &registry.Toolset{
		Workspace: "test", ID: "ts_" + slug, Slug: slug, Name: slug, Access: registry.Access{Mode: registry.AccessNone},
		Profile: registry.ProfileConcise,
		Connectors: []registry.ConnectorRef{{
			Name: "api", Repository: "test/connectors/api", Manifest: digest, Digest: registry.DigestOf(fmt.Appendf(nil, "%p", c)),
		}},
	}
	if edit != nil {
		edit(b)
	}
	return snapshot.ToolsetInput{
		ID: b.ID, Slug: b.Slug, Revision: revision, Digest: digest, Bundle: b,
		Connectors: map[string]*connector.Connector{"api": c},
	}
}

// Secrets is a source of credentials in memory. It is safe for concurrent use.
type Secrets struct {
	mu sync.Mutex
	m  map[string]credentials.Credential // guarded by mu
}

// Set sets a credential.
func (s *Secrets) Set(id string, c credentials.Credential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string]credentials.Credential{}
	}
	s.m[id] = c
}

// Credential implements [credentials.Source].
func (s *Secrets) Credential(_ context.Context, id string) (credentials.Credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.m[id]
	if !ok {
		return c, problem.New(problem.NotFound, "no credential %s", id)
	}
	return c, nil
}

// SetUser sets the credential of one caller.
func (s *Secrets) SetUser(id string, user registry.User, c credentials.Credential) {
	s.Set(id+"/"+user.Key(), c)
}

// UserCredential implements [credentials.Users]. A caller without one gets a link
// that ends with their key.
func (s *Secrets) UserCredential(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (credentials.Credential, error) {
	if user == (registry.User{}) {
		return credentials.Credential{}, credentials.NoIdentity()
	}
	c, err := s.Credential(ctx, id+"/"+user.Key())
	if err != nil || len(scopes) > 0 || rejected != 0 && c.Version == rejected {
		return credentials.Credential{}, problem.New(problem.Unauthenticated, "you are not logged in").
			Because(&registry.LoginError{URL: "https://sluice.example/oauth/login/" + user.Key()})
	}
	return c, nil
}

// Options configures a Stack.
type Options struct {
	Dial       safedial.Options // default: every address is permitted; Grantable: none, but what Dialer grants
	CacheBytes int64
	MaxRequest int
	MaxConns   int
	Drain      time.Duration
	TLS        *tls.Config // default: it is not spoken
	Proxies    forwarded.Proxies
	Hosts      []string
	Origins    []string
	Logger     *slog.Logger
	Plugins    call.Plugins       // default: none run
	Shadow     call.Plugins       // of candidates beside calls; default: none run
	Scripts    *script.Engine     // default: none run
	Tracer     *tracing.Tracer    // default: no spans are made
	Programs   enginepool.Options // of the host of response programs

	NoInstallPage bool
	Pool          *pool.Store // what the nodes of a pool share; default: there is none
}

// Stack is a running gateway.
type Stack struct {
	Holder  *snapshot.Holder
	Secrets *Secrets
	Caller  *call.Caller
	Meter   *metering.Meter
	Gateway *gateway.Server
	Host    *enginepool.Pool
	Dialer  *safedial.Dialer

	upstream *upstream.Client
	servers  *mcpclient.Client
	scheme   string
	stop     context.CancelFunc
	done     chan error
	stopped  sync.Once
	err      error
}

// New starts a gateway without toolsets. Stop it when done.
func New(o Options) (*Stack, error) {
	if !o.Dial.AllowPrivate && o.Dial.Allow == nil && o.Dial.Resolver == nil && !o.Dial.Grantable {
		o.Dial.AllowPrivate = true
	}
	d, err := safedial.New(o.Dial)
	if err != nil {
		return nil, err
	}
	s := &Stack{Dialer: d, Holder: &snapshot.Holder{}, Secrets: &Secrets{}, Meter: metering.New(), done: make(chan error, 1)}
	if s.upstream, err = upstream.New(upstream.Options{Dial: d.DialTimeout}); err != nil {
		return nil, err
	}
	if s.Host, err = enginepool.New(context.Background(), o.Programs); err != nil {
		return nil, err
	}
	if s.servers, err = mcpclient.New(mcpclient.Options{HTTP: s.upstream, Version: "test", Pooled: o.Pool != nil, Logger: o.Logger}); err != nil {
		return nil, err
	}
	calls := call.Options{
		Host: s.Host, Upstream: s.upstream, MCP: s.servers, Credentials: s.Secrets, Scope: d.Scope, Plugins: o.Plugins, ShadowPlugins: o.Shadow, Scripts: o.Scripts, CacheBytes: o.CacheBytes, Meter: s.Meter, Logger: o.Logger,
		Tracer: o.Tracer,
	}
	if o.Pool != nil {
		calls.Pool, calls.Answers = o.Pool, o.Pool
	}
	if s.Caller, err = call.New(calls); err != nil {
		return nil, err
	}
	s.Gateway, err = gateway.New(gateway.Options{
		Addr: "127.0.0.1:0", Holder: s.Holder, Caller: s.Caller, Meter: s.Meter, Logger: o.Logger,
		TLS: o.TLS, Proxies: o.Proxies, MaxRequest: o.MaxRequest, MaxConns: o.MaxConns, Drain: o.Drain, Hosts: o.Hosts, Origins: o.Origins, Version: "test",
		NoInstallPage: o.NoInstallPage, Pool: o.Pool,
	})
	if err != nil {
		return nil, err
	}
	if s.scheme = "http://"; o.TLS != nil {
		s.scheme = "https://"
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go func() { s.done <- s.Gateway.Run(ctx) }()
	return s, nil
}

// Serve makes these toolsets live.
func (s *Stack) Serve(toolsets ...snapshot.ToolsetInput) error {
	snap, err := snapshot.Compile(snapshot.Input{Toolsets: toolsets, Meter: s.Meter}, s.Holder.Load())
	if err != nil {
		return err
	}
	s.Holder.Store(snap)
	return nil
}

// URL is the URL of a toolset, or of another path when slug starts with "/".
func (s *Stack) URL(slug string) string {
	path := "/t/" + slug
	if strings.HasPrefix(slug, "/") {
		path = slug
	}
	return s.scheme + s.Gateway.Addr().String() + path
}

// Stop drains and ends the gateway, and returns what Run returned. It may be
// called more than once.
func (s *Stack) Stop() error {
	s.stopped.Do(func() {
		s.stop()
		s.err = <-s.done
		s.Caller.Close()
		s.servers.Close()
		s.upstream.Close()
		if err := s.Host.Close(context.Background()); s.err == nil {
			s.err = err
		}
	})
	return s.err
}
