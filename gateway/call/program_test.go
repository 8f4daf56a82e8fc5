package call_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

// TestProgram: the response program drops what it should, can be turned off, and
// fails open.
func TestProgram(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	up := upstreamtest.New(t)
	up.Handle("/list", upstreamtest.Sequence(
		upstreamtest.JSON(200, `[{"id": 1, "name": "a", "self_url": "https://api.x.example", "license": null}]`),
		upstreamtest.JSON(200, `[{"id": 1, "name": "a", "self_url": "https://api.x.example", "license": null}]`),
		upstreamtest.JSON(200, `[{"id":`+deep+`}]`),
		upstreamtest.JSON(200, `[{"id": 1,]`),
	))
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	c, err := gatewaytest.Connector("acme", up.URL, listOperation())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("on", 1, c, nil),
		gatewaytest.Toolset("off", 1, c, func(b *registry.Toolset) { b.Profile = registry.ProfileOff })); err != nil {
		t.Fatal(err)
	}
	f := func(slug, want string, wantError bool, failure string) {
		t.Helper()
		tool, err := s.Holder.Load().Slug(slug).Tool([]byte("list"))
		if err != nil {
			t.Fatal(err)
		}
		out, outcome, err := s.Caller.Call(t.Context(), tool, jsonscan.Value{}, call.CallOptions{Trace: true}, nil)
		if err != nil || outcome.IsError != wantError || !strings.Contains(string(out), want) || outcome.Trace.ProgramFailure != failure {
			t.Fatalf("%s: %.300s, %+v, %v; want %s", slug, out, outcome.Trace, err, want)
		}
		if ran := outcome.Trace.Program; ran != (slug == "on" && failure == "") {
			t.Fatalf("%s: the program ran: %v", slug, ran)
		}
	}
	f("on", `[{\"id\":1,\"name\":\"a\"}]`, false, "")
	f("off", `[{\"id\": 1, \"name\": \"a\", \"self_url\": \"https://api.x.example\", \"license\": null}]`, false, "")
	f("on", `[[[[`, false, "depth")
	f("on", `not valid JSON`, true, "input")
	var m bytes.Buffer
	s.Meter.WritePrometheus(&m)
	for _, want := range []string{`cause="depth"} 1`, `cause="input"} 1`} {
		if !strings.Contains(m.String(), `sluice_plugin_failures_total{plugin="response-program",`+want) {
			t.Errorf("no %s in\n%s", want, m.String())
		}
	}
}

func TestNew(t *testing.T) {
	if _, err := call.New(call.Options{}); !problem.Is(err, problem.InvalidArgument) {
		t.Fatalf("New without anything: %v", err)
	}
}

var errStore = errors.New("disk on fire")

// failing is a source whose store does not answer.
type failing struct{}

func (failing) Credential(context.Context, string) (credentials.Credential, error) {
	return credentials.Credential{}, errStore
}

// TestFaultsAreNotShown: what is not a problem for people is an error, with nothing
// appended, and never the text an agent reads.
func TestFaultsAreNotShown(t *testing.T) {
	up := upstreamtest.New(t)
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	u, err := upstream.New(upstream.Options{Dial: d.DialTimeout})
	if err != nil {
		t.Fatal(err)
	}
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	caller, err := call.New(call.Options{Host: s.Host, Upstream: u, Credentials: failing{}, CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	c, err := gatewaytest.Connector("acme", up.URL, listOperation())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, func(b *registry.Toolset) {
		b.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Key", CredentialID: "c"}
	})); err != nil {
		t.Fatal(err)
	}
	tool, err := s.Holder.Load().Slug("acme").Tool([]byte("list"))
	if err != nil {
		t.Fatal(err)
	}
	out, outcome, err := caller.Call(t.Context(), tool, jsonscan.Value{}, call.CallOptions{}, []byte("before"))
	if !errors.Is(err, errStore) || string(out) != "before" || outcome.Kind != metering.ProtocolError || len(up.Requests()) != 0 {
		t.Fatalf("%s, %+v, %v", out, outcome, err)
	}
}
