package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/plugins/script"
	"github.com/sluicegate/sluice/registry"
)

// TestCallLog: a call over the wire is in the log with its caller, the client's request
// id and trace, the revision and where its time went; what it said is there only where
// the signed access document says so.
func TestCallLog(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/one", upstreamtest.JSON(200, `{"id":1,"name":"a","token":"tok-5uper5ecret-value"}`))
	up.Handle("/bad", upstreamtest.JSON(404, `{"message":"no such thing","password":"hunter2"}`))
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	ops := []*operation.Operation{
		gatewaytest.Operation("one", "GET", "/one", gatewaytest.Param("q", operation.InQuery, operation.TypeString, false)), gatewaytest.Operation("bad", "GET", "/bad"),
	}
	ask := func(id, tool, args string) {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args +
			`,"_meta":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("acme"), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer slt_ann", "MCP-Protocol-Version": "2025-06-18",
		} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("HTTP %d", resp.StatusCode)
		}
	}
	for i, capture := range []string{"", registry.CaptureErrors, registry.CaptureAll} {
		doc := tokens(tokenGrant("ann"))
		doc.Capture = capture
		if err := s.Serve(guarded(t, up, uint64(i+1), doc, ops...)); err != nil {
			t.Fatal(err)
		}
		ask(`"r-1"`, "one", `{"q":"Bearer abcdef123456"}`)
		ask(`2`, "bad", `{}`)
		u := s.Meter.Drain()
		if len(u.Calls) != 2 || len(u.Omitted) != 0 {
			t.Fatalf("%+v", u.Calls)
		}
		one, bad := u.Calls[0], u.Calls[1]
		if one.Tool != "one" || one.Toolset != "ts_acme" || one.Workspace != "test" || one.Revision != uint64(i+1) || one.Outcome != "ok" || one.Status != 200 ||
			one.CallerKind != "token" || one.Caller != "ann" || one.Request != `"r-1"` || one.Trace != "4bf92f3577b34da6a3ce929d0e0e4736" || one.BytesBefore == 0 || one.TokensAfter == 0 {
			t.Errorf("%+v", one)
		}
		if bad.Outcome != "tool_error" || bad.Cause != "http_404" || bad.Status != 404 || bad.Request != "2" {
			t.Errorf("%+v", bad)
		}
		for _, c := range u.Calls {
			if sum := c.Prepare + c.Upstream + c.Shape + c.Encode; c.Upstream == 0 || sum > c.Duration || sum+4 < c.Duration { // each is cut to whole microseconds
				t.Errorf("stages add up to %d of %d: %+v", sum, c.Duration, c)
			}
			for _, secret := range []string{"5uper5ecret", "hunter2", "abcdef123456", "slt_ann"} {
				if strings.Contains(c.Arguments+c.Answer, secret) {
					t.Errorf("%s is in the log: %+v", secret, c)
				}
			}
		}
		if one.Captured != (capture == registry.CaptureAll) || bad.Captured != (capture != "") {
			t.Errorf("capture %q: %v, %v", capture, one.Captured, bad.Captured)
		}
		if one.Captured && (one.Arguments != `{"q":"Bearer [redacted]"}` || !strings.Contains(one.Answer, "name")) ||
			bad.Captured && (bad.Arguments != "{}" || !strings.Contains(bad.Answer, "no such thing")) {
			t.Errorf("captured %q %q, %q %q", one.Arguments, one.Answer, bad.Arguments, bad.Answer)
		}
	}
	if metering.CaptureOf("nonsense") != metering.CaptureNothing {
		t.Error("a setting that is not known captures")
	}
}

// TestCallLogKeepsNoCredential: a credential of the toolset that its caller sends, because
// somebody put it in a prompt, is in no captured argument, however it is written.
func TestCallLogKeepsNoCredential(t *testing.T) {
	const key = "Sk9_live+a/b=Qz7xYw3Rt5"
	up := upstreamtest.New(t)
	up.Handle("/one", upstreamtest.JSON(200, `{"id":1}`))
	up.Handle("/bad", upstreamtest.JSON(404, `{}`))
	s := start(t, gatewaytest.Options{})
	s.Secrets.Set("c1", credentials.Credential{Value: secrets.New(key), Version: 1, Origins: registry.Origins{up.URL}})
	q := gatewaytest.Param("q", operation.InQuery, operation.TypeString, false)
	for i, capture := range []string{registry.CaptureErrors, registry.CaptureAll} {
		doc := tokens(tokenGrant("ann"))
		doc.Capture = capture
		in := guarded(t, up, uint64(i+1), doc, gatewaytest.Operation("one", "GET", "/one", q), gatewaytest.Operation("bad", "GET", "/bad", q))
		in.Bundle.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Key", CredentialID: "c1"}
		if err := s.Serve(in); err != nil {
			t.Fatal(err)
		}
		for _, written := range []string{key, base64.StdEncoding.EncodeToString([]byte(key)), hex.EncodeToString([]byte(key)), url.QueryEscape(key)} {
			for _, tool := range []string{"one", "bad"} {
				if status, body := post(t, s.URL("acme"), callBody(tool, `{"q":"my key is `+written+`"}`), "Authorization", "Bearer slt_ann"); status != 200 {
					t.Fatalf("%d %s", status, body)
				}
			}
			u := s.Meter.Drain()
			if len(u.Calls) != 2 || u.Calls[0].Captured != (capture == registry.CaptureAll) || !u.Calls[1].Captured {
				t.Fatalf("%+v", u.Calls)
			}
			for _, c := range u.Calls {
				if strings.Contains(c.Arguments, written[:len(written)-2]) || c.Captured && !strings.Contains(c.Arguments, "my key is") {
					t.Errorf("%s captured %s", c.Tool, c.Arguments)
				}
			}
		}
	}
}

// TestCallLogKeepsNoCredentialElsewhere: nor is it in what is kept of a call that has no
// credentials of its own, or fails before they are read: scripts, batches, wrong arguments,
// what they answer and how they fail.
func TestCallLogKeepsNoCredentialElsewhere(t *testing.T) {
	const key = "correct-horse-staple"
	up := upstreamtest.New(t)
	up.Handle("/one", upstreamtest.JSON(200, `{"id":1}`))
	e := script.New(script.Options{})
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	s := start(t, gatewaytest.Options{Scripts: e})
	s.Secrets.Set("c1", credentials.Credential{Value: secrets.New(key), Version: 1, Origins: registry.Origins{up.URL}})
	doc := tokens(tokenGrant("ann"))
	doc.Capture = registry.CaptureAll
	in := guarded(t, up, 1, doc, gatewaytest.Operation("one", "GET", "/one", gatewaytest.Param("q", operation.InQuery, operation.TypeString, false)))
	in.Bundle.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Key", CredentialID: "c1"}
	in.Bundle.Selection = &registry.Selection{Mode: registry.SelectCode, Batch: true}
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	code := func(js string) string {
		b, err := json.Marshal(map[string]string{"code": js})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range []struct {
		tool, arguments string
		failed          bool
	}{
		{"run_code", code("'" + key + "'"), false},
		{"run_code", code("console.log('" + key + "'); 1"), false},
		{"run_code", code("throw new Error('" + key + "')"), true},
		{"run_code", code("tools.acme.one({x: '" + key + "'})"), true},
		{"batch", `{"calls":[{"tool":"one","arguments":{"q":"` + key + `"}}]}`, false},
		{"batch", `{"calls":[{"tool":"none","arguments":{"q":"` + key + `"}}]}`, true},
		{"fetch_result", `{"handle":"` + key + `"}`, true},
		{"one", `{"x":"` + key + `"}`, true},
	} {
		if status, body := post(t, s.URL("acme"), callBody(c.tool, c.arguments), "Authorization", "Bearer slt_ann"); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		u := s.Meter.Drain()
		if len(u.Calls) == 0 {
			t.Fatalf("%s %s: nothing is in the log", c.tool, c.arguments)
		}
		var outer *registry.UsageCall
		for i := range u.Calls {
			if call := &u.Calls[i]; !call.Inner {
				outer = call
			}
			if b, err := json.Marshal(u.Calls[i]); err != nil || strings.Contains(string(b), key) {
				t.Errorf("%s %s: logged %s, %v", c.tool, c.arguments, b, err)
			}
		}
		if outer == nil || !outer.Captured || outer.Tool != c.tool || !strings.Contains(outer.Arguments, "[redacted]") || (outer.Outcome != "ok") != c.failed {
			t.Errorf("%s %s: logged %+v", c.tool, c.arguments, outer)
		}
		if b, err := json.Marshal(u); err != nil || strings.Contains(string(b), key) {
			t.Errorf("%s %s: reported %s, %v", c.tool, c.arguments, b, err)
		}
	}
}
