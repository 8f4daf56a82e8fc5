package mcp

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestEveryExchangeIsDone: what waits for a request's end, such as its place among those that
// run, hears of it once, also where the request is refused before it is read.
func TestEveryExchangeIsDone(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*fasthttp.Request){
		"200": func(*fasthttp.Request) {},
		"405": func(r *fasthttp.Request) { r.Header.SetMethod("GET") },
		"415": func(r *fasthttp.Request) { r.Header.SetContentType("text/plain") },
		"400": func(r *fasthttp.Request) { r.SetBodyString("{") },
	} {
		ts, rc := newStub(t), request(ping, "MCP-Protocol-Version", "2025-11-25")
		change(&rc.Request)
		if s.Serve(rc, ts); len(ts.done) != 1 {
			t.Errorf("%s: told %d times that it ended", name, len(ts.done))
		}
		if rc.Response.StatusCode() != map[string]int{"200": 200, "405": 405, "415": 415, "400": 400}[name] {
			t.Errorf("%s: status %d", name, rc.Response.StatusCode())
		}
	}
}

// TestNamesOfNotifications: what is called a notification gets no result, whatever its id; a method
// whose name only begins like that word is an unknown one.
func TestNamesOfNotifications(t *testing.T) {
	for body, want := range map[string]int{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:        202,
		`{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`: 202,
		`{"jsonrpc":"2.0","id":1,"method":"notifications/"}`:            202,
		`{"jsonrpc":"2.0","method":"tools/list"}`:                       202,
		`{"jsonrpc":"2.0","id":1,"method":"notifications"}`:             200,
		`{"jsonrpc":"2.0","id":1,"method":"n"}`:                         200,
	} {
		rc := legacy(t, newStub(t), body, "")
		if got := rc.Response.StatusCode(); got != want || (want == 200) != strings.Contains(string(rc.Response.Body()), `"code":-32601`) {
			t.Errorf("%s: %d %s", body, got, rc.Response.Body())
		}
	}
}

// TestDeclaredCapabilities: a client has what it declares as an object; elicitation by form is
// what names no way.
func TestDeclaredCapabilities(t *testing.T) {
	for declared, want := range map[string]string{
		`{}`: "", `{"elicitation":true,"sampling":null,"roots":[]}`: "",
		`{"elicitation":{}}`:                                                       "elicitation",
		`{"elicitation":{"form":{}}}`:                                              "elicitation",
		`{"elicitation":{"url":{}}}`:                                               "elicitation.url",
		`{"elicitation":{"url":{},"form":{}}}`:                                     "elicitation elicitation.url",
		`{"sampling":{},"roots":{"listChanged":true}}`:                             "sampling roots",
		`{"sampling":{},"elicitation":{},"roots":false}`:                           "elicitation sampling",
		`{"elicitation":{},"tasks":{"requests":{"elicitation":{},"sampling":{}}}}`: "elicitation tasks.elicitation",
		`{"sampling":{},"tasks":{"requests":{"elicitation":1,"sampling":{}}}}`:     "sampling tasks.sampling",
	} {
		if got := capabilitiesOf(jsonscan.Trusted([]byte(declared))); got != CapabilitiesNamed(strings.Fields(want)) {
			t.Errorf("%s: %b, want %q", declared, got, want)
		}
		x := &exchange{}
		x.msg.meta = jsonscan.Trusted([]byte(`{"` + metaCapabilities + `":` + declared + `}`))
		if x.capabilities(true) != CapabilitiesNamed(strings.Fields(want))&^runsTasks || x.capabilities(false) != 0 {
			t.Errorf("%s of a request, which has no session: %b, %b", declared, x.capabilities(true), x.capabilities(false))
		}
		table := session.New(session.Options{})
		x = &exchange{session: table.Open(session.Owner{}, session.Client{Capabilities: []byte(declared)})}
		if got := x.capabilities(false); got != CapabilitiesNamed(strings.Fields(want)) {
			t.Errorf("%s of a session: %b", declared, got)
		}
		x = &exchange{session: table.Open(session.Owner{}, session.Client{})}
		if x.capabilities(false) != 0 {
			t.Error("a session that declared nothing has capabilities")
		}
	}
	if all := CapabilitiesNamed(manifest.ClientCapabilities[:]); all == 0 || CapabilitiesNamed([]string{"other"}) != 0 {
		t.Errorf("all names are %b", all)
	}
}

// TestMessagesOfABatch: each message is answered for itself; one of a revision without batches,
// and a handshake, are refused in one.
func TestMessagesOfABatch(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	const inBatch = `"error":`
	for body, want := range map[string][]string{
		`[` + ping + `]`:                                      {`"result":{}`},
		`[` + modernCall + `]`:                                {inBatch},
		`[` + modernCall + `,` + ping + `]`:                   {inBatch, `"result":{}`},
		`[` + strings.Replace(initialize, "%", "{}", 1) + `]`: {inBatch},
		`[7,` + ping + `]`:                                    {inBatch, `"result":{}`},
		`[{"jsonrpc":"2.0","method":"notifications/initialized"},` + ping + `]`:                            {`"result":{}`},
		`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","method":"tools/list"}]`: nil,
	} {
		for _, version := range []string{"", "2025-03-26", "2025-06-18"} {
			var headers []string
			if version != "" {
				headers = []string{"MCP-Protocol-Version", version}
			}
			rc := request(body, headers...)
			s.Serve(rc, newStub(t))
			answers := jsonscan.Trusted(rc.Response.Body())
			switch {
			case version == "2025-06-18":
				if answers.Kind() != jsonscan.Object || !answers.Get("error").Exists() {
					t.Errorf("%s in %s: %s", body, version, rc.Response.Body())
				}
				continue
			case want == nil:
				if rc.Response.StatusCode() != 202 || len(rc.Response.Body()) > 0 {
					t.Errorf("%s: %d %s", body, rc.Response.StatusCode(), rc.Response.Body())
				}
				continue
			case rc.Response.StatusCode() != 200 || answers.Len() != len(want):
				t.Errorf("%s: %d %s", body, rc.Response.StatusCode(), rc.Response.Body())
				continue
			}
			n := 0
			for it := answers.Elements(); it.Next(); n++ {
				if !strings.Contains(string(it.Value().Raw()), want[n]) {
					t.Errorf("%s: answer %d is %s, want %s", body, n, it.Value().Raw(), want[n])
				}
			}
		}
	}
}

// TestOnlyCancelledCancels: no other notification that names a request ends it.
func TestOnlyCancelledCancels(t *testing.T) {
	ts := newStub(t)
	ts.table = session.New(session.Options{})
	s := ts.OpenSession(session.Client{})
	ended := 0
	running := s.Begin([]byte("7"), func() { ended++ })
	for _, method := range []string{"notifications/progress", "notifications/initialized", "notifications/cancelled2", "notifications/"} {
		if legacy(t, ts, `{"jsonrpc":"2.0","method":"`+method+`","params":{"requestId":7}}`, s.ID()); ended != 0 {
			t.Errorf("%s ended a call", method)
		}
	}
	if legacy(t, ts, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, ""); ended != 0 {
		t.Error("a call of a session was ended from outside of it")
	}
	if legacy(t, ts, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, s.ID()); ended != 1 {
		t.Error("a call that was cancelled goes on")
	}
	running.End()
}

// TestModern: a call speaks a revision without handshake from 2026-07-28 on.
func TestModern(t *testing.T) {
	for v, want := range map[Version]bool{VersionNone: false, V20250326: false, V20260728 - 1: false, V20260728: true} {
		if c := (CallParams{Version: v}); c.Modern() != want {
			t.Errorf("%s: %v", v, !want)
		}
	}
}
