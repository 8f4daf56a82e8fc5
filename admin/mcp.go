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
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/handshake"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// Kinds of sources.
const (
	kindOpenAPI = store.SourceOpenAPI
	kindMCP     = store.SourceMCP
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
	Secret func(ctx context.Context, id string) (HeldSecret, error)
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
	src.Title = cmp.Or(l.Server.Title, l.Server.Name, hostname(u))
	if c := in.Source.MCP.Command; c != nil {
		src.Title = cmp.Or(l.Server.Title, l.Server.Name, filepath.Base(c.Argv[0]))
	}
	return src, nil
}

// hostOf is the host of an address with its port.
func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return s
	}
	return u.Host
}

func hostname(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return s
	}
	return u.Hostname()
}

// serverCredentials are those of the request, or of the toolset that it refreshes.
func (s *Server) serverCredentials(ctx context.Context, in *CreateToolset, again *refresh, u string) ([]draftCredential, error) {
	ws := s.workspace(ctx)
	d := &draft{ts: &store.Toolset{}, part: &part{report: &Report{}}}
	connector := ""
	if again != nil {
		d.ts, connector = again.toolset, again.source.Connector
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
				if rows[i].SourceKind == kindMCP && rows[i].SourceURL == u && connector == "" {
					d.ts, connector = found, rows[i].Name
				}
			}
		}
	}
	if connector != "" {
		var err error
		if d.creds, err = loadCredentials(ctx, ws, d.ts.ID, connector); err != nil {
			return nil, err
		}
	}
	if in.Auth != nil {
		if err := d.authenticate(s, in.Auth, "/authentication"); err != nil {
			return nil, err
		}
	}
	return d.creds, nil
}

// listServer asks a server with these credentials.
func (s *Server) listServer(ctx context.Context, t MCPTarget, creds []draftCredential) (*MCPListing, error) {
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
		return nil, cannotConnect(s.explainAuth(ctx, &t, err))
	}
	l.notices, l.refused = l.Server.Accept()
	l.refused = append(l.refused, l.Unlisted...)
	return l, nil
}

// mcpTarget gives a target its credentials.
func (s *Server) mcpTarget(t MCPTarget, creds []draftCredential) (MCPTarget, error) {
	var err error
	if t.Auth, err = authShape(creds); err != nil {
		return t, err
	}
	t.Secret = func(ctx context.Context, id string) (HeldSecret, error) {
		for i := range creds {
			c := &creds[i]
			if c.row.ID == id && c.adopted != nil {
				return HeldSecret{Value: c.adopted.tokens.Access.Secret, Origins: originsOf(c.adopted.server)}, nil
			}
			if c.row.ID == id && !c.secret.IsZero() && !isOAuth(c.row.AuthType) {
				v, err := c.value()
				return HeldSecret{Value: v, Origins: originsOf(t.URL)}, err
			}
		}
		v, err := s.Secret(ctx, id)
		if problem.Is(err, problem.NotFound) {
			for i := range creds {
				if c := &creds[i]; c.row.ID == id && isOAuth(c.row.AuthType) {
					token, err := s.firstToken(ctx, c)
					return HeldSecret{Value: token, Origins: originsOf(t.URL)}, err
				}
			}
			return v, problem.New(problem.Unauthenticated, "there is no access token yet").
				Fix("log in first, or use a bearer token")
		}
		return v, err
	}
	return t, nil
}

// firstToken is a service's own token for a credential that is not stored yet. A
// person's login cannot be had that way.
func (s *Server) firstToken(ctx context.Context, c *draftCredential) (none secrets.Secret, err error) {
	sh, err := shapeOf(&c.row)
	if err != nil {
		return none, err
	}
	if sh.Grant != oauth.ClientCredentials || s.o.OAuth == nil {
		return none, problem.New(problem.Unauthenticated, "there is no access token yet").
			Fix("log in first (POST /v1/mcp/logins, or --auth oauth), or use a bearer token")
	}
	cfg := &oauth.Config{
		Issuer: sh.Issuer, TokenURL: sh.TokenURL, ClientID: sh.ClientID, ClientSecret: c.secret, AuthMethod: sh.TokenAuth, Scopes: sh.Scopes,
		Audience: sh.Audience, Resource: sh.Resource,
	}
	if sh.discovers() {
		found, err := s.findClient(ctx, &search{shape: &sh, server: true})
		if err != nil {
			return none, err
		}
		found.apply(cfg)
	}
	tok, err := s.o.OAuth.Obtain(ctx, cfg)
	if err != nil {
		return none, err
	}
	return tok.Access, nil
}

// explainAuth says of a server that wants authentication which one, and how to give
// it. It changes no other error.
func (s *Server) explainAuth(ctx context.Context, t *MCPTarget, err error) error {
	wants, ok := errors.AsType[*WantsAuthError](err)
	if !ok {
		return err
	}
	wants.Wants = handshake.OfChallenge(wants.Challenge)
	if s.o.OAuth == nil {
		return err
	}
	challenge, bearer := oauth.ParseChallenge(wants.Challenge)
	if !bearer && wants.Challenge != "" {
		return err
	}
	p := problem.As(err)
	if challenge.Error == "insufficient_scope" && len(challenge.Scopes) > 0 {
		list := request.ClipText(strings.Join(challenge.Scopes, ","), 500)
		return problem.New(p.Kind, "%s: it wants more permissions than the login has", p.Detail).
			Fix("log in with them: sluice add URL --auth oauth --scope %s   or, with a toolset, sluice toolset auth TOOLSET login --scope %s", list, list).Because(err)
	}
	found, fault := s.o.OAuth.DiscoverServer(ctx, t.URL, challenge, "")
	switch {
	case fault == nil && found.Guessed:
		return err // nothing there speaks of OAuth
	case fault != nil:
		out := problem.New(p.Kind, "%s; where to log in cannot be found out: %s", p.Detail, request.Detail(fault)).Because(err)
		out.Remedy = "set authentication of type bearer or header with a token that was got elsewhere, or oauth2 with issuer and clientId"
		if p := request.Fault(fault); p != nil && p.Remedy != "" {
			out.Remedy = p.Remedy + "; or " + out.Remedy
		}
		return out
	}
	if t.Auth != nil {
		return problem.New(p.Kind, "%s", p.Detail).Fix("log in again: sluice toolset auth TOOLSET login; or set the authentication of the toolset again").Because(err)
	}
	detail := fmt.Sprintf("%s at %s", strings.TrimSuffix(p.Detail, " (HTTP 401)"), hostOf(found.Metadata.Issuer))
	if len(found.Scopes) > 0 {
		detail += " for the scopes " + request.ClipText(strings.Join(found.Scopes, " "), 200)
	}
	out := problem.New(p.Kind, "%s (HTTP 401)", detail).Because(err)
	m := found.Metadata
	registers := m.TakesDocuments && s.clientDocument() != nil || m.RegistrationEndpoint != ""
	wants.Wants = &handshake.Wants{Kind: handshake.OAuth, Issuer: m.Issuer, Scopes: found.Scopes, Registers: registers, RedirectURL: s.callbackURL(ctx)}
	if registers {
		return out.Fix("log in: sluice add URL --auth oauth; a client is registered there by itself")
	}
	return out.Fix("register a client there that may come back to %s, then: sluice add URL --auth oauth:CLIENT_ID", s.callbackURL(ctx))
}

// value is the secret of a credential in the form that is applied.
func (c *draftCredential) value() (secrets.Secret, error) {
	if c.row.AuthType != authBasic {
		return c.secret, nil
	}
	sh, err := shapeOf(&c.row)
	if err != nil {
		return secrets.Secret{}, err
	}
	return secrets.New(sh.Username + ":" + c.secret.Reveal()), nil
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
func (s *Server) compileMCP(workspace string, src *source.Source, phase func(string)) (*compiled, error) {
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
	r := &Report{
		Title: src.Title, Version: c.Opened.Version(), Format: kindMCP, SpecVersion: src.Server.Protocol,
		SpecDigest: "sha256:" + hex.EncodeToString(sum[:]), SizeBytes: int64(len(document)), Operations: len(src.Server.Tools), ToolCount: len(conn.Tools), Items: toolset.ItemsOf(c.Opened),
		Servers: []toolset.APIServer{{URL: src.URL}}, BaseURL: src.URL, Methods: []AuthMethod{}, Unsupported: []toolset.Unsupported{}, Warnings: []toolset.Diagnostic{},
		DurationMilli: time.Since(start).Milliseconds(),
	}
	r.Warnings = noticed(src.Notices)
	for _, f := range src.Refused {
		r.Unsupported = append(r.Unsupported, toolset.Unsupported{Method: f.Method(), Path: "/" + f.Name, Pointer: f.Pointer(), Code: "tool_refused", Reason: f.Reason})
	}
	for _, f := range c.Refused {
		r.Unsupported = append(r.Unsupported, toolset.Unsupported{Method: f.Method(), Path: "/" + f.Name, Pointer: f.Pointer(), Code: "tool_not_packed", Reason: f.Reason})
	}
	return &compiled{source: src, pushed: c, conn: conn, report: r}, nil
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
func (s *Server) testListing(ctx context.Context, ws *store.Workspace, d *draft, p *part, run *TestRun) error {
	run.Possible, run.Tool, run.Arguments, run.CredentialVersion = true, "tools/list", []byte("{}"), d.credentialVersion()
	if d.bundle == nil {
		if err := s.pushDraft(ctx, d); err != nil {
			return err
		}
	}
	ctx = safedial.WithHolder(ctx, d.ts.ID)
	t := MCPTarget{URL: p.baseURL(), Hint: *p.conn.Opened.MCP()}
	start := time.Now()
	l, err := s.listServer(ctx, t, p.creds)
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
	tools := d.tools(false)
	missing := slices.IndexFunc(tools, func(t toolset.Tool) bool {
		return t.Enabled && t.Operation.Connector == p.row.Name && !names[t.Operation.Path[1:]]
	})
	if missing >= 0 {
		run.Reason = fmt.Sprintf("the server has no tool %s any more", tools[missing].Operation.Path[1:])
	} else {
		run.Passed = true
	}
	return s.recordTest(ctx, ws, d, run)
}
