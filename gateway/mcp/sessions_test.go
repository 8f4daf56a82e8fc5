package mcp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

// legacy sends a message of an older revision, in a session or none, and returns the answer.
func legacy(t *testing.T, ts Request, body, id string) *fasthttp.RequestCtx {
	t.Helper()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	headers := []string{"MCP-Protocol-Version", "2025-11-25"}
	if id != "" {
		headers = append(headers, "Mcp-Session-Id", id)
	}
	rc := request(body, headers...)
	s.Serve(rc, ts)
	return rc
}

const (
	ping       = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%}}`
)

// TestSessionOfAHandshake: a client that shakes hands is told its session, which has what it
// declared and nothing else, and begins another one where it named one that has ended.
func TestSessionOfAHandshake(t *testing.T) {
	for declared, want := range map[string]string{
		`{}`: "", `{"experimental":{"x":1}}`: "", `{"elicitation":{"url":{}},"tasks":{}}`: `{"elicitation":{"url":{}}}`,
		`{"sampling":{},"elicitation":true,"roots":{"listChanged":true}}`: `{"sampling":{},"roots":{"listChanged":true}}`,
		`{"tasks":{"list":{},"requests":{"sampling":{}}},"sampling":{}}`:  `{"sampling":{},"tasks":{"list":{},"requests":{"sampling":{}}}}`,
	} {
		ts := newStub(t)
		ts.table = session.New(session.Options{})
		rc := legacy(t, ts, strings.Replace(initialize, "%", declared, 1), "0123456789abcdef0123456789abcdef")
		id := rc.Response.Header.Peek("Mcp-Session-Id")
		s := ts.table.Find(t.Context(), session.Owner{}, id)
		if s == nil || rc.Response.StatusCode() != fasthttp.StatusOK {
			t.Fatalf("%s: %d %s, session %q", declared, rc.Response.StatusCode(), rc.Response.Body(), id)
		}
		if c := s.Client(); string(c.Capabilities) != want || (c.Capabilities == nil) != (want == "") || c.Version != "2025-11-25" {
			t.Errorf("%s: kept %s of %s", declared, c.Capabilities, c.Version)
		}
	}
	older := newStub(t) // of a revision without tasks
	older.table = session.New(session.Options{})
	body := strings.NewReplacer("2025-11-25", "2025-06-18", "%", `{"tasks":{"requests":{}},"sampling":{}}`).Replace(initialize)
	if s := older.table.Find(t.Context(), session.Owner{}, legacy(t, older, body, "").Response.Header.Peek("Mcp-Session-Id")); s == nil || string(s.Client().Capabilities) != `{"sampling":{}}` {
		t.Errorf("of an older revision: %+v", s)
	}
	ts := newStub(t) // keeps no sessions
	if rc := legacy(t, ts, strings.Replace(initialize, "%", "{}", 1), ""); rc.Response.Header.Peek("Mcp-Session-Id") != nil || rc.Response.StatusCode() != fasthttp.StatusOK {
		t.Errorf("without sessions: %s", &rc.Response.Header)
	}
}

// TestSessionThatIsNamed: a message in a session that has ended, or that is another one's, is
// answered with 404, so that its client begins another; one without a session is served.
func TestSessionThatIsNamed(t *testing.T) {
	ts := newStub(t)
	ts.table = session.New(session.Options{})
	own := ts.OpenSession(session.Client{}).ID()
	other := ts.table.Open(session.Owner{Caller: "another"}, session.Client{}).ID()
	for id, status := range map[string]int{"": 200, own: 200, other: 404, "0123456789abcdef0123456789abcdef": 404, "x": 404} {
		rc := legacy(t, ts, ping, id)
		if rc.Response.StatusCode() != status || (status == 404) != strings.Contains(string(rc.Response.Body()), `"code":-32001`) || strings.Contains(string(rc.Response.Body()), `"result"`) != (status == 200) {
			t.Errorf("session %q: %d %s", id, rc.Response.StatusCode(), rc.Response.Body())
		}
	}
}

// TestLevelOfASession: the level of a session is one that there is; another changes nothing and
// is answered once.
func TestLevelOfASession(t *testing.T) {
	ts := newStub(t)
	ts.table = session.New(session.Options{})
	s := ts.OpenSession(session.Client{})
	level := func(name string) *fasthttp.RequestCtx {
		return legacy(t, ts, `{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"`+name+`"}}`, s.ID())
	}
	if rc := level("warning"); string(rc.Response.Body()) != `{"jsonrpc":"2.0","id":7,"result":{}}` || Level(s.Level()) != LevelWarning {
		t.Errorf("%s, level %d", rc.Response.Body(), s.Level())
	}
	rc := level("loud")
	if body := string(rc.Response.Body()); strings.Count(body, `"id":7`) != 1 || !strings.Contains(body, `"code":-32602`) || strings.Contains(body, "result") || Level(s.Level()) != LevelWarning {
		t.Errorf("%s, level %d", body, s.Level())
	}
}

// TestWhatASessionHears: log messages of the level that it wants, which are info and above
// unless it says another, and that a page is done with where it can open one.
func TestWhatASessionHears(t *testing.T) {
	table := session.New(session.Options{})
	able := table.Open(session.Owner{}, session.Client{Capabilities: []byte(`{"elicitation":{"url":{}}}`)})
	plain := table.Open(session.Owner{}, session.Client{})
	quiet := table.Open(session.Owner{}, session.Client{})
	quiet.SetLevel(uint8(LevelError))
	for _, c := range []struct {
		s              *session.Session
		method, params string
		want           bool
	}{
		{plain, "notifications/message", `{"level":"info","data":1}`, true},
		{plain, "notifications/message", `{"level":"debug","data":1}`, false},
		{plain, "notifications/message", `{"level":"loud","data":1}`, false},
		{plain, "notifications/message", `{"data":1}`, false},
		{plain, "notifications/message", `["info"]`, false},
		{quiet, "notifications/message", `{"level":"warning","data":1}`, false},
		{quiet, "notifications/message", `{"level":"error","data":1}`, true},
		{able, "notifications/elicitation/complete", `{"elicitationId":"e"}`, true},
		{plain, "notifications/elicitation/complete", `{"elicitationId":"e"}`, false},
		{able, "notifications/tools/list_changed", `{}`, false},
	} {
		want := ""
		if c.want {
			want = `{"jsonrpc":"2.0","method":"` + c.method + `","params":` + c.params + `}`
		}
		if got := string(AppendHeard(nil, c.s, c.method, jsonscan.Trusted([]byte(c.params)), nil)); got != want {
			t.Errorf("%s %s: %s, want %s", c.method, c.params, got, want)
		}
	}
	if got := string(AppendHeard(nil, plain, "notifications/message", jsonscan.Trusted([]byte("{\"level\":\"info\",\"data\":\"a\u202eb\"}")), nil)); strings.Contains(got, "\u202e") || !strings.Contains(got, "ab") {
		t.Errorf("with a hidden character: %q", got)
	}
}

// lost is a toolset whose tools cannot be found.
type lost struct{ *stub }

func (l lost) Toolset() Toolset { return l }

func (lost) Tool([]byte) (Tool, []HeaderParam, error) { return nil, nil, errors.New("secret cause") }

// TestToolThatCannotBeFound: a fault of the gateway is not told as an unknown tool, nor why.
func TestToolThatCannotBeFound(t *testing.T) {
	rc := legacy(t, lost{newStub(t)}, legacyCall, "")
	if body := string(rc.Response.Body()); !strings.Contains(body, `"code":-32603`) || strings.Contains(body, "unknown tool") || strings.Contains(body, "secret") {
		t.Errorf("%d %s", rc.Response.StatusCode(), body)
	}
}

// TestCardOfItems: resources can be followed where there are some and the toolset reports them.
func TestCardOfItems(t *testing.T) {
	for info, want := range map[Info]bool{{}: false, {Resources: true}: false, {Subscribe: true}: false, {Resources: true, Subscribe: true}: true} {
		c := NewCard(info)
		if c.has[MethodSubscribe] != want || c.has[MethodUnsubscribe] != want || c.has[MethodResourcesRead] != info.Resources {
			t.Errorf("%+v: follows %v, want %v", info, c.has[MethodSubscribe], want)
		}
	}
}

// TestMembersOfATool: what else a tool has stands behind the rest of it.
func TestMembersOfATool(t *testing.T) {
	for extra, want := range map[string]string{"": `}}`, "{}": `}}`, `{"_meta":{"a":1}}`: `},"_meta":{"a":1}}`} {
		got := string(AppendTool(nil, &ToolInfo{Name: "a", OpenWorld: true, Extra: []byte(extra)}))
		if !strings.HasSuffix(got, `"annotations":{"destructiveHint":false`+want) || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s", extra, got)
		}
	}
}

// TestDoneAtAPage: that a user is done at a URL is told on the stream of a call too, to clients
// that can open one.
func TestDoneAtAPage(t *testing.T) {
	table := session.New(session.Options{})
	able := table.Open(session.Owner{}, session.Client{Capabilities: []byte(`{"elicitation":{"url":{}}}`)})
	for _, c := range []struct {
		s    *session.Session
		want bool
	}{{able, true}, {table.Open(session.Owner{}, session.Client{}), false}, {nil, false}} {
		s := &Stream{session: c.s, wake: make(chan struct{}, 1)}
		s.Relay(elicitationComplete, jsonscan.Trusted([]byte(`{"elicitationId":"e"}`)))
		s.Relay("notifications/tools/list_changed", jsonscan.Trusted([]byte(`{}`)))
		want := ""
		if c.want {
			want = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":\"e\"}}\n\n"
		}
		if got := string(s.pending); !strings.HasSuffix(got, want) || (got != "") != c.want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}
