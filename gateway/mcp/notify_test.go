package mcp

import (
	"math"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestNotifications: what reaches a client of what is said during its call: only what it
// asked for, and only progress that increases.
func TestNotifications(t *testing.T) {
	f := func(name string, s *Stream, say func(*Stream), want ...string) {
		t.Helper()
		s.wake = make(chan struct{}, 1)
		say(s)
		var got []string
		if len(s.pending) > 0 {
			got = events(t, s.pending)
		}
		if len(got) != len(want) || s.Started() != (len(want) > 0) {
			t.Errorf("%s: %q, started %v; want %q", name, got, s.Started(), want)
			return
		}
		for i, w := range want {
			if got[i] != w {
				t.Errorf("%s: %s, want %s", name, got[i], w)
			}
		}
	}
	progress := func(params string) string {
		return `{"jsonrpc":"2.0","method":"notifications/progress","params":` + params + `}`
	}
	message := func(params string) string {
		return `{"jsonrpc":"2.0","method":"notifications/message","params":` + params + `}`
	}
	relay := func(method string, params ...string) func(*Stream) {
		return func(s *Stream) {
			for _, p := range params {
				s.Relay(method, jsonscan.Trusted([]byte(p)))
			}
		}
	}
	token := func() *Stream { return &Stream{token: []byte(`"t"`)} }
	leveled := func() *Stream { return &Stream{level: LevelWarning} }

	f("nothing was asked for", &Stream{}, func(s *Stream) {
		if s.WantsProgress() || s.Wants(LevelEmergency) || s.Wants(LevelNone) {
			t.Error("a stream without a token and a level wants something")
		}
		s.Progress(1, 2, "x")
		s.Beat("x")
		s.beat()
		s.Log(LevelEmergency, "x", []byte(`1`))
		relay("notifications/progress", `{"progress":1}`)(s)
		relay("notifications/message", `{"level":"emergency","data":1}`)(s)
		relay(elicitationComplete, `{"elicitationId":"x"}`)(s) // of no session
	})
	f("no number", token(), func(s *Stream) {
		s.Progress(math.NaN(), 1, "")
		s.Progress(math.Inf(1), 1, "")
		s.Progress(math.Inf(-1), 1, "")
	})
	f("totals", token(), func(s *Stream) {
		s.Progress(0, 0, "")
		s.Progress(0, 9, "the same again")
		s.Progress(0.5, math.Inf(1), "")
		s.Progress(0.25, 1, "less")
		s.Progress(1, 1, "m")
	}, progress(`{"progressToken":"t","progress":0}`), progress(`{"progressToken":"t","progress":0.5}`), progress(`{"progressToken":"t","progress":1,"total":1,"message":"m"}`))
	f("relayed progress", token(), relay("notifications/progress",
		`{"progressToken":7,"progress":0,"total":3}`, `{"progress":1,"progressToken":7}`, `{"progress":1}`, `{"progress":0.5}`, `{"progress":"2"}`, `{}`, `[]`, `{"progress":2}`),
		progress(`{"progressToken":"t","progress":0,"total":3}`), progress(`{"progress":1,"progressToken":"t"}`), progress(`{"progress":2}`))
	f("the least level", leveled(), func(s *Stream) {
		s.Log(LevelNotice, "", []byte(`1`))
		s.Log(LevelWarning, "", []byte(`2`))
		s.Log(LevelEmergency, "l", []byte(`3`))
	}, message(`{"level":"warning","data":2}`), message(`{"level":"emergency","logger":"l","data":3}`))
	f("relayed messages", leveled(), relay("notifications/message", `{"level":"notice","data":1}`, `{"level":"warning","data":2}`, `{"level":"loud","data":3}`, `{"data":4}`, `{"level":"critical","progressToken":5}`),
		message(`{"level":"warning","data":2}`), message(`{"level":"critical","progressToken":5}`))
	f("other notifications", &Stream{token: []byte(`1`), level: LevelDebug}, func(s *Stream) {
		for _, m := range []string{"notifications/tools/list_changed", "notifications/cancelled", "tools/call", ""} {
			relay(m, `{"level":"error","progress":1}`)(s)
		}
	})
	f("hidden characters", leveled(), relay("notifications/message", "{\"level\":\"error\",\"data\":\"a\\u200bb\U000E0041\"}"),
		message(`{"level":"error","data":"ab"}`))

	var none *Stream // of a call whose client asked for nothing
	if none.Started() || none.WantsProgress() || none.Wants(LevelEmergency) || none.Lose() || none.Request(nil, "roots/list", jsonscan.Value{}) {
		t.Error("no stream wants or holds something")
	}
	none.Progress(1, 1, "")
	none.Log(LevelError, "", nil)
	none.Beat("")
	none.Relay("notifications/message", jsonscan.Trusted([]byte(`{"level":"error"}`)))
}

// TestErrorOfAToolset: its data is a member of the error when there is some.
func TestErrorOfAToolset(t *testing.T) {
	for data, want := range map[string]string{
		"":   `{"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"m"}}`,
		"1":  `{"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"m","data":1}}`,
		"{}": `{"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"m","data":{}}}`,
	} {
		x := &exchange{}
		x.msg.id = []byte("7")
		x.failWith(&Error{Code: -32042, Message: "m", Data: []byte(data)}, false)
		if string(x.out) != want {
			t.Errorf("%q: %s, want %s", data, x.out, want)
		}
	}
}

// TestSchemasOfATool: a tool without a schema takes an object, and says nothing of its
// output; one of a byte is a schema.
func TestSchemasOfATool(t *testing.T) {
	for _, c := range []struct{ in, out, want string }{
		{"", "", `{"name":"n","inputSchema":{"type":"object","properties":{}},"annotations":{"destructiveHint":false,"openWorldHint":false}}`},
		{"1", "2", `{"name":"n","inputSchema":1,"outputSchema":2,"annotations":{"destructiveHint":false,"openWorldHint":false}}`},
	} {
		if got := string(AppendTool(nil, &ToolInfo{Name: "n", InputSchema: []byte(c.in), OutputSchema: []byte(c.out)})); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
