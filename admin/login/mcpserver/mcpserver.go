package mcpserver

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/handshake"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Servers asks MCP servers what they are, through the guarded dialer.
type Servers interface {
	// List connects to a server and reads its tools. Its errors are *problem.Error of
	// kinds cannot_connect_mcp_server, unauthenticated, unreachable, timeout,
	// blocked_address, unavailable and those of a wrong URL.
	List(ctx context.Context, t Target) (*Listing, error)
	// Listen keeps a stream of a server open until ctx or the stream ends. It calls
	// opened when the stream is open and changed whenever the server says that its
	// tools changed. It fails with [problem.Unsupported] when the server does not
	// tell, and as List does.
	Listen(ctx context.Context, t Target, opened, changed func()) error
}

// Target is a server and what it is asked with.
type Target struct {
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

// Listing is what a server says.
type Listing struct {
	Server connector.MCPServer
	TTL    time.Duration // how long its list may be kept; 0: it does not say
	Tells  bool          // it reports changes of its list
	// Unlisted are the lists that the server declares and does not give.
	Unlisted []connector.Refused

	Notices []connector.Notice  // what was found in its words
	Refused []connector.Refused // tools that were taken out for their words
}

// ListTimeout bounds connecting to a server and reading its tools.
const ListTimeout = 45 * time.Second

// CheckURL checks the address of an MCP server and returns it without its
// fragment. Its faults do not repeat it: it may hold credentials.
func CheckURL(s string) (string, error) {
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

// ServerChallenge says what MCP servers answer who asks them without a credential.
func ServerChallenge(m Servers) func(ctx context.Context, resource string) oauth.Challenge {
	return func(ctx context.Context, resource string) oauth.Challenge {
		ctx, cancel := context.WithTimeout(ctx, ListTimeout)
		defer cancel()
		_, err := m.List(ctx, Target{URL: resource})
		if wants, ok := errors.AsType[*handshake.WantsAuthError](err); ok {
			c, _ := oauth.ParseChallenge(wants.Challenge)
			return c
		}
		return oauth.Challenge{}
	}
}

// List asks a server with these credentials.
func (r *Room) List(ctx context.Context, t Target, creds []credential.Draft) (*Listing, error) {
	if r.MCP == nil {
		return nil, problem.New(problem.Unsupported, "this node does not connect to MCP servers")
	}
	t, err := r.Target(t, creds)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ListTimeout)
	defer cancel()
	l, err := r.MCP.List(ctx, t)
	if err != nil {
		return nil, cannotConnect(r.Logins.Clients.Explain(ctx, t.URL, t.Auth != nil, err))
	}
	l.Notices, l.Refused = l.Server.Accept()
	l.Refused = append(l.Refused, l.Unlisted...)
	return l, nil
}

// Target gives a target its credentials.
func (r *Room) Target(t Target, creds []credential.Draft) (Target, error) {
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
		v, err := r.Logins.Secrets.Secret(ctx, id)
		if problem.Is(err, problem.NotFound) {
			for i := range creds {
				if c := &creds[i]; c.Row.ID == id && credential.IsOAuth(c.Row.AuthType) {
					token, err := r.Logins.Secrets.FirstToken(ctx, c)
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

// ReasonOf is the machine code of why a server cannot be asked.
func ReasonOf(err error) string {
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

// Room asks MCP servers with the credentials of a draft.
type Room struct {
	// MCP asks them; nil: none is asked.
	MCP    Servers
	Logins *login.Room
}
