package admin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/handshake"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// MCPServers asks MCP servers what they are, through the guarded dialer.
type MCPServers interface {
	// List connects to a server and reads its tools. Its errors are *problem.Error of
	// kinds cannot_connect_mcp_server, unauthenticated, unreachable, timeout,
	// blocked_address, unavailable and those of a wrong URL.
	List(ctx context.Context, t MCPTarget) (*MCPListing, error)
	// Listen keeps a stream of a server open until ctx or the stream ends. It calls
	// opened when the stream is open and changed whenever the server says that its
	// tools changed. It fails with [problem.Unsupported] when the server does not
	// tell, and as List does.
	Listen(ctx context.Context, t MCPTarget, opened, changed func()) error
}

// MCPTarget is a server and what it is asked with.
type MCPTarget struct {
	URL  string
	Hint manifest.MCPServer // how it was spoken to before; zero: not known
	// Auth is the shape of the authentication, and Secret gives its values, by the ids
	// in it; nil: none.
	Auth   *registry.AuthShape
	Secret func(ctx context.Context, id string) (credential.HeldSecret, error)
	// Noticed is told what is found out while the server is connected to and listed, one
	// thing after the other; nil: nobody wants to know.
	Noticed func(handshake.Event)
}

// MCPListing is what a server says.
type MCPListing struct {
	Server connector.MCPServer
	TTL    time.Duration // how long its list may be kept; 0: it does not say
	Tells  bool          // it tells of changes of its list
	// Unlisted are the lists that the server declares and does not give.
	Unlisted []connector.Refused

	notices []connector.Notice  // what was found in its words
	refused []connector.Refused // tools that were taken out for their words
}

// listTimeout bounds connecting to a server and reading its tools.
const listTimeout = 45 * time.Second

// mcpURL checks the address of an MCP server and returns it without its
// fragment. Its faults do not repeat it: it may hold credentials.
func mcpURL(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", problem.New(problem.InvalidArgument, "the address of the MCP server is not an http or https URL").At("", 0, 0, "/source/mcp/url")
	case u.User != nil:
		return "", problem.New(problem.InvalidArgument, "the address of the MCP server holds credentials").At("", 0, 0, "/source/mcp/url").
			Fix("set authentication of type basic instead")
	}
	u.Fragment = ""
	return u.String(), nil
}

// readServer asks the MCP server of a request what it has.
func (s *Server) readServer(ctx context.Context, in *CreateToolset, again *refresh, phase func(string)) (*source.Source, error) {
	u, err := s.serverAddress(ctx, in, again, phase)
	if err != nil {
		return nil, err
	}
	t := MCPTarget{URL: u, Noticed: noticedOf(ctx)}
	creds, err := s.serverCredentials(ctx, in, again, u)
	if err != nil {
		return nil, err
	}
	if in.BaseURL != "" {
		t.URL = in.BaseURL
	}
	phase("connecting to the MCP server")
	l, err := s.listServer(ctx, t, creds)
	if err != nil {
		return nil, err
	}
	l.Server.URL = u
	if again != nil {
		s.upstreams.Keep(again.toolset.ID, again.source.Connector, l.TTL, l.Tells)
	}
	src := &source.Source{URL: u, Server: &l.Server, TTL: l.TTL, Tells: l.Tells, Notices: l.notices, Refused: l.refused}
	src.Title = cmp.Or(l.Server.Title, l.Server.Name, credential.Hostname(u))
	if c := in.Source.MCP.Command; c != nil {
		src.Title = cmp.Or(l.Server.Title, l.Server.Name, filepath.Base(c.Argv[0]))
	}
	return src, nil
}

// serverCredentials are those of the request, or of the toolset that it refreshes.
func (s *Server) serverCredentials(ctx context.Context, in *CreateToolset, again *refresh, u string) ([]credential.Draft, error) {
	ws := s.workspace(ctx)
	d := &draft.Draft{Toolset: &store.Toolset{}, Part: &draft.Part{Report: &draft.Report{}}}
	connector := ""
	if again != nil {
		d.Toolset, connector = again.toolset, again.source.Connector
	} else if in.Slug != "" || in.Name != "" {
		found, err := ws.ToolsetBySlug(ctx, in.slug(""))
		if err != nil && !problem.Is(err, problem.NotFound) {
			return nil, err
		}
		if err == nil {
			rows, err := ws.ToolsetConnectors(ctx, found)
			if err != nil {
				return nil, err
			}
			for i := range rows {
				if rows[i].SourceKind == store.SourceMCP && rows[i].SourceURL == u && connector == "" {
					d.Toolset, connector = found, rows[i].Name
				}
			}
		}
	}
	if connector != "" {
		var err error
		if d.Creds, err = credential.Load(ctx, ws, d.Toolset.ID, connector); err != nil {
			return nil, err
		}
	}
	if in.Auth != nil {
		if err := s.drafts.Authenticate(d, in.Auth, "/authentication"); err != nil {
			return nil, err
		}
	}
	return d.Creds, nil
}

// serverChallenge is what an MCP server answers who asks it without a credential.
func (s *Server) serverChallenge(ctx context.Context, resource string) oauth.Challenge {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	_, err := s.o.MCP.List(ctx, MCPTarget{URL: resource})
	if wants, ok := errors.AsType[*handshake.WantsAuthError](err); ok {
		c, _ := oauth.ParseChallenge(wants.Challenge)
		return c
	}
	return oauth.Challenge{}
}

// listServer asks a server with these credentials.
func (s *Server) listServer(ctx context.Context, t MCPTarget, creds []credential.Draft) (*MCPListing, error) {
	if s.o.MCP == nil {
		return nil, problem.New(problem.Unsupported, "this node does not connect to MCP servers")
	}
	t, err := s.mcpTarget(t, creds)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	l, err := s.o.MCP.List(ctx, t)
	if err != nil {
		return nil, cannotConnect(s.logins.Clients.Explain(ctx, t.URL, t.Auth != nil, err))
	}
	l.notices, l.refused = l.Server.Accept()
	l.refused = append(l.refused, l.Unlisted...)
	return l, nil
}

// mcpTarget gives a target its credentials.
func (s *Server) mcpTarget(t MCPTarget, creds []credential.Draft) (MCPTarget, error) {
	var err error
	if t.Auth, err = credential.BundleShape(creds); err != nil {
		return t, err
	}
	t.Secret = func(ctx context.Context, id string) (credential.HeldSecret, error) {
		for i := range creds {
			c := &creds[i]
			if c.Row.ID == id && c.Adopted != nil {
				return credential.HeldSecret{Value: c.Adopted.Tokens.Access.Secret, Origins: credential.OriginsOf(c.Adopted.Server)}, nil
			}
			if c.Row.ID == id && !c.Secret.IsZero() && !credential.IsOAuth(c.Row.AuthType) {
				v, err := c.Value()
				return credential.HeldSecret{Value: v, Origins: credential.OriginsOf(t.URL)}, err
			}
		}
		v, err := s.logins.Secrets.Secret(ctx, id)
		if problem.Is(err, problem.NotFound) {
			for i := range creds {
				if c := &creds[i]; c.Row.ID == id && credential.IsOAuth(c.Row.AuthType) {
					token, err := s.logins.Secrets.FirstToken(ctx, c)
					return credential.HeldSecret{Value: token, Origins: credential.OriginsOf(t.URL)}, err
				}
			}
			return v, problem.New(problem.Unauthenticated, "there is no access token yet").
				Fix("log in first, or use a bearer token")
		}
		return v, err
	}
	return t, nil
}

// cannotConnect gives any cause why a server cannot be asked its fixed title. What
// is refused or must be configured keeps its own kind.
func cannotConnect(err error) error {
	p := problem.As(err)
	if p == nil {
		return err
	}
	switch p.Kind {
	case problem.CannotConnectMCP, problem.InvalidArgument:
		return err
	}
	out := problem.New(problem.CannotConnectMCP, "%s", p.Detail).Because(err)
	out.Remedy, out.Parts = p.Remedy, p.Parts
	return out
}

// Reasons why a server cannot be asked (ConnectionTest.Reason).
const (
	reasonUnreachable = "unreachable"
	reasonTimeout     = "timeout"
	reasonBlocked     = "blocked_address"
	reasonAuth        = "auth"
	reasonStatus      = "status"
	reasonProtocol    = "protocol"
)

// reasonOf is the machine code of why a server cannot be asked.
func reasonOf(err error) string {
	for e := problem.As(err); e != nil; e = problem.As(e.Unwrap()) {
		switch e.Kind {
		case problem.Unreachable:
			return reasonUnreachable
		case problem.Timeout:
			return reasonTimeout
		case problem.BlockedAddress:
			return reasonBlocked
		case problem.Unauthenticated:
			return reasonAuth
		case problem.UpstreamStatus, problem.Unavailable:
			return reasonStatus
		case problem.CannotConnectMCP:
			if e.Unwrap() == nil {
				return reasonProtocol
			}
		default:
			return reasonProtocol
		}
	}
	return reasonProtocol
}

// compileMCP makes the connector of an MCP server. Nothing is stored.
func (s *Server) compileMCP(workspace string, src *source.Source, phase func(string)) (*draft.Compiled, error) {
	phase("making the connector")
	start := time.Now()
	c, err := s.o.Publisher.CompileMCP(workspace, slugify(src.Title), src.Server)
	if err != nil {
		return nil, err
	}
	conn, err := toolset.Generate(c.Opened)
	if err != nil {
		return nil, err
	}
	document := src.Server.Append(nil)
	sum := sha256.Sum256(document)
	r := &draft.Report{
		Title: src.Title, Version: c.Opened.Version(), Format: store.SourceMCP, SpecVersion: src.Server.Protocol,
		SpecDigest: "sha256:" + hex.EncodeToString(sum[:]), SizeBytes: int64(len(document)), Operations: len(src.Server.Tools), ToolCount: len(conn.Tools), Items: toolset.ItemsOf(c.Opened),
		Servers: []toolset.APIServer{{URL: src.URL}}, BaseURL: src.URL, Methods: []credential.AuthMethod{}, Unsupported: []toolset.Unsupported{}, Warnings: []toolset.Diagnostic{},
		DurationMilli: time.Since(start).Milliseconds(),
	}
	r.Warnings = noticed(src.Notices)
	for _, f := range src.Refused {
		r.Unsupported = append(r.Unsupported, toolset.Unsupported{Method: f.Method(), Path: "/" + f.Name, Pointer: f.Pointer(), Code: "tool_refused", Reason: f.Reason})
	}
	for _, f := range c.Refused {
		r.Unsupported = append(r.Unsupported, toolset.Unsupported{Method: f.Method(), Path: "/" + f.Name, Pointer: f.Pointer(), Code: "tool_not_packed", Reason: f.Reason})
	}
	return &draft.Compiled{Source: src, Pushed: c, Conn: conn, Report: r}, nil
}

// noticed are the warnings about the words of an MCP server.
func noticed(notices []connector.Notice) []toolset.Diagnostic {
	out := make([]toolset.Diagnostic, 0, len(notices))
	for _, n := range notices {
		out = append(out, toolset.Diagnostic{Code: n.Code, Severity: openapi.SeverityWarning, Pointer: n.Pointer, Detail: n.Detail, Remedy: n.Remedy})
	}
	return out
}

// testListing is the test of an MCP server none of whose tools is known to be safe: it
// is reached with the connector's credential, and has the tools that are served.
func (s *Server) testListing(ctx context.Context, ws *store.Workspace, d *draft.Draft, p *draft.Part, run *TestRun) error {
	run.Possible, run.Tool, run.Arguments, run.CredentialVersion = true, "tools/list", []byte("{}"), d.CredentialVersion()
	if d.Bundle == nil {
		if err := s.drafts.Push(ctx, d); err != nil {
			return err
		}
	}
	ctx = safedial.WithHolder(ctx, d.Toolset.ID)
	t := MCPTarget{URL: p.BaseURL(), Hint: *p.Conn.Opened.MCP()}
	start := time.Now()
	l, err := s.listServer(ctx, t, p.Creds)
	run.DurationSeconds = time.Since(start).Seconds()
	if err != nil {
		run.Reason = request.Detail(err)
		return s.recordTest(ctx, ws, d, run)
	}
	run.UpstreamStatus = http.StatusOK
	names := make(map[string]bool, len(l.Server.Tools))
	var all connector.MCPServer
	for _, raw := range l.Server.Tools {
		all.Tools = append(all.Tools, raw)
		names[connector.NameMCP(raw)] = true
	}
	run.BytesReceived = len(all.Append(nil))
	tools := d.Tools(false)
	missing := slices.IndexFunc(tools, func(t toolset.Tool) bool {
		return t.Enabled && t.Operation.Connector == p.Row.Name && !names[t.Operation.Path[1:]]
	})
	if missing >= 0 {
		run.Reason = fmt.Sprintf("the server has no tool %s any more", tools[missing].Operation.Path[1:])
	} else {
		run.Passed = true
	}
	return s.recordTest(ctx, ws, d, run)
}
