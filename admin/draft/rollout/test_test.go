package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// TestShownAnswer: the caller of a test sees an answer up to a limit, a larger one where the
// test is inspected.
func TestShownAnswer(t *testing.T) {
	for inspect, most := range map[bool]int{false: maxShownAnswer, true: maxInspectedAnswer} {
		for _, n := range []int{most, most + 1} {
			run := &TestRun{inspect: inspect}
			if run.show(bytes.Repeat([]byte("a"), n)); len(run.Answer) > most || run.AnswerCut != (n > most) || !run.AnswerCut && len(run.Answer) != n {
				t.Errorf("inspected %v: of %d bytes %d are shown, cut: %v", inspect, n, len(run.Answer), run.AnswerCut)
			}
		}
	}
}

// TestRefusal: an API that answers every call with 200 says in the body that it does not accept
// the credential. What else goes wrong there is not about that.
func TestRefusal(t *testing.T) {
	for answer, want := range map[string]string{
		`{"ok":false,"error":"invalid_auth"}`:                  "invalid_auth",
		`{"ok":false,"error":"not_authed","warning":"x"}`:      "not_authed",
		`{"ok":false,"error":"token_revoked"}`:                 "token_revoked",
		`{"ok":false,"error":"the token xoxb-1 is not valid"}`: "its error is no word of a code",
		`{"ok":false,"error":"channel_not_found"}`:             "",
		`{"ok":false,"error":{"code":"invalid_auth"}}`:         "",
		`{"ok":true,"error":"invalid_auth"}`:                   "",
		`{"error":"invalid_auth"}`:                             "",
		`[]`:                                                   "",
		`ok: false`:                                            "",
	} {
		if got := refusal([]byte(answer)); got != want {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}

// picky answers like a server whose tools may want arguments that their schemas do not require.
type picky struct {
	Tester
	works  string // what does not
	away   bool   // it is not reached
	called []string
}

func (p *picky) Test(_ context.Context, call TestCall) (TestedAnswer, error) {
	p.called = append(p.called, call.Tool)
	switch {
	case p.away:
		return TestedAnswer{IsError: true, Text: []byte(call.Tool + " wants more")}, nil
	case call.Tool != p.works:
		return TestedAnswer{IsError: true, BytesReceived: 1, Text: []byte(call.Tool + " wants more")}, nil
	}
	return TestedAnswer{UpstreamStatus: 200, BytesReceived: 1, Text: []byte("text")}, nil
}

// TestCallOthers: where a tool of an MCP server says that its call was wrong, others are tried,
// maxOthers at most, and where none works the first one's answer is told. Of an API one tool is called.
func TestCallOthers(t *testing.T) {
	names := []string{"t0", "t1", "t2", "t3"}[:maxOthers+2]
	conn := &toolset.Generated{ByOp: map[toolset.Operation]int{}}
	for i, name := range names {
		h := connector.Head{Name: name, Method: "TOOL", Path: "/" + name, InputSchema: json.RawMessage(`{"type":"object"}`)}
		h.Annotations.ReadOnly = true
		conn.ByOp[toolset.Operation{Method: h.Method, Path: h.Path}] = i
		conn.Tools = append(conn.Tools, toolset.GeneratedTool{Head: h})
	}
	for _, c := range []struct {
		kind, works string
		away        bool
		passed      bool
		tool        string
		called      int
	}{
		{store.SourceMCP, "t0", false, true, "t0", 1},
		{store.SourceMCP, "t1", false, true, "t1", 2},
		{store.SourceMCP, names[maxOthers], false, true, names[maxOthers], 1 + maxOthers},
		{store.SourceMCP, names[maxOthers+1], false, false, "t0", 1 + maxOthers},
		{store.SourceMCP, "t1", true, false, "t0", 1},
		{store.SourceOpenAPI, "t1", false, false, "t0", 1},
	} {
		d := &draft.Draft{Bundle: &registry.Toolset{}, Toolset: &store.Toolset{}, Parts: []*draft.Part{{Row: store.ToolsetConnector{Name: "s", SourceKind: c.kind, BaseURL: "https://s.example"}, Conn: conn}}}
		found, reason, err := chooseTest(d, &TestRequest{}, nil)
		if err != nil || len(found) != len(names) {
			t.Fatalf("%d tools, %q, %v", len(found), reason, err)
		}
		p := &picky{works: c.works, away: c.away}
		r, run := &Room{Tester: p}, &TestRun{Tool: found[0].tool.Name}
		r.call(t.Context(), d, &found[0], run)
		r.callOthers(t.Context(), d, &found[0], found[1:], run)
		if run.Passed != c.passed || run.Tool != c.tool || len(p.called) != c.called || len(slices.Compact(p.called)) != c.called || !c.passed && !strings.Contains(run.Reason, "t0 wants more") {
			t.Errorf("%+v: %s", c, fmt.Sprint(run.Passed, run.Tool, run.Reason, p.called))
		}
	}
}
