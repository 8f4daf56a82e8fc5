package mcpserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/login/handshake"
	"github.com/sluicegate/sluice/internal/problem"
)

func TestCheckURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://mcp.example/mcp":          "https://mcp.example/mcp",
		"http://127.0.0.1:3000/mcp?x=1#at": "http://127.0.0.1:3000/mcp?x=1",
	} {
		if got, err := CheckURL(in); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "mcp.example", "ftp://mcp.example", "stdio:x", "https://", "https://me:s3cret@mcp.example", "https://mcp.example/\x7f"} {
		_, err := CheckURL(in)
		p := problem.As(err)
		if p == nil || p.Kind != problem.InvalidArgument || p.Place.Pointer != "/source/mcp/url" {
			t.Errorf("%q: %v", in, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the fault repeats a credential: %v", err)
		}
	}
}

// Every cause of a server that cannot be asked has the one title and its own reason; what
// is refused before a server is asked keeps its kind.
func TestReasonOf(t *testing.T) {
	for kind, want := range map[problem.Kind]string{
		problem.Unreachable: "unreachable", problem.Timeout: "timeout", problem.BlockedAddress: "blocked_address", problem.Unauthenticated: "auth",
		problem.UpstreamStatus: "status", problem.Unavailable: "status", problem.Unsupported: "protocol",
	} {
		err := cannotConnect(problem.New(kind, "cause").Fix("do this"))
		p := problem.As(err)
		if p == nil || p.Kind != problem.CannotConnectMCP || p.Detail != "cause" || p.Remedy != "do this" {
			t.Errorf("%s: %+v", kind, p)
		}
		if got := ReasonOf(err); got != want {
			t.Errorf("%s: reason %s, want %s", kind, got, want)
		}
	}
	for _, kind := range []problem.Kind{problem.InvalidArgument, problem.CannotConnectMCP} {
		if p := problem.As(cannotConnect(problem.New(kind, "cause"))); p.Kind != kind {
			t.Errorf("%s became %s", kind, p.Kind)
		}
	}
	if got := ReasonOf(problem.New(problem.CannotConnectMCP, "it speaks another protocol")); got != "protocol" {
		t.Errorf("reason %s", got)
	}
	if plain := errors.New("disk"); cannotConnect(plain) != plain {
		t.Error("an error of this node became one of the server")
	}
}

type refusing struct{ err error }

func (s refusing) List(context.Context, Target) (*Listing, error)       { return nil, s.err }
func (s refusing) Listen(context.Context, Target, func(), func()) error { return s.err }

func TestServerChallenge(t *testing.T) {
	wants := &handshake.WantsAuthError{Challenge: `Bearer resource_metadata="https://mcp.example/meta", scope="read"`}
	if c := ServerChallenge(refusing{wants})(t.Context(), "https://mcp.example"); c.ResourceMetadata != "https://mcp.example/meta" {
		t.Errorf("challenge %+v", c)
	}
	if c := ServerChallenge(refusing{errors.New("gone")})(t.Context(), "https://mcp.example"); c.ResourceMetadata != "" {
		t.Errorf("challenge of a server that cannot be reached: %+v", c)
	}
}

func TestNoServersAreAsked(t *testing.T) {
	if _, err := new(Room).List(t.Context(), Target{URL: "https://mcp.example"}, nil); !problem.Is(err, problem.Unsupported) {
		t.Errorf("a node that connects to no MCP server: %v", err)
	}
}
