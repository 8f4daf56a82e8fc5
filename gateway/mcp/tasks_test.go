package mcp

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// tasking is a toolset that keeps what it was asked for.
type tasking struct {
	*stub

	calls  []string // method, the task and what came beside it, of each call
	listed Capabilities
}

func (s *tasking) Toolset() Toolset { return s }

func (s *tasking) Tools(_ []byte, client Capabilities) ([]byte, string, bool, error) {
	s.listed = client
	return []byte("[]"), "", true, nil
}

func (s *tasking) Tool([]byte) (Tool, []HeaderParam, error) { return s, nil, nil }

func (s *tasking) Item(c *CallParams) (Tool, error) {
	if c.Params.Get("taskId").EqualText("missing") {
		return nil, nil //nolint:nilnil // there is no such task
	}
	return s, nil
}

func (s *tasking) Call(c *CallParams, dst []byte) (out, meta []byte, err error) {
	s.calls = append(s.calls, c.Method.String()+" "+string(c.AsTask())+string(c.InputResponses.Raw()))
	return append(dst, `"done":true`...), nil, nil
}

func newTasking(t *testing.T, info Info) *tasking {
	t.Helper()
	s := &tasking{stub: newStub(t)}
	s.card, s.table = NewCard(info), session.New(session.Options{})
	return s
}

// modernRequest sends a message of the newest revision with these members of params.
func modernRequest(t *testing.T, ts Request, method, params, capabilities string) string {
	t.Helper()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"jsonrpc":"2.0","id":3,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}}}`
	name := ""
	if v := jsonscan.Trusted([]byte(body)).Get("params").Get("taskId"); v.Exists() {
		name = string(v.AppendText(nil))
	}
	rc := request(body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
	s.Serve(rc, ts)
	return string(rc.Response.Body())
}

const (
	unknownMethod = `"code":-32601`
	wrongParam    = `"code":-32602`
	served        = `"done":true`
)

// TestMethodsOfTasks: each kind of client has the methods about tasks of its own revision, if the
// toolset has them, and no others.
func TestMethodsOfTasks(t *testing.T) {
	both := Info{Name: "a", Version: "1", Tasks: true, CallTasks: true, CancelTasks: true}
	for _, c := range []struct {
		client string // the version of the session; "" none, "modern" without a handshake
		info   Info
		serves string
	}{
		{"2025-11-25", both, "get cancel result list"},
		{"2025-11-25", Info{CallTasks: true}, "get result list"},
		{"2025-11-25", Info{Tasks: true}, ""},
		{"2025-11-25", Info{Tasks: true, CancelTasks: true}, ""},
		{"2025-06-18", both, ""},
		{"", both, ""},
		{"modern", both, "get update cancel"},
		{"modern", Info{Tasks: true}, "get update cancel"},
		{"modern", Info{CallTasks: true, CancelTasks: true}, ""},
	} {
		for _, method := range []string{"get", "update", "cancel", "result", "list"} {
			ts := newTasking(t, c.info)
			var got string
			if c.client == "modern" {
				got = modernRequest(t, ts, "tasks/"+method, `"taskId":"t","inputResponses":{"a":1},`, `{"extensions":{"`+ExtensionTasks+`":{}}}`)
			} else {
				id := ""
				if c.client != "" {
					id = ts.OpenSession(session.Client{Version: c.client}).ID()
				}
				rc := legacy(t, ts, `{"jsonrpc":"2.0","id":1,"method":"tasks/`+method+`","params":{"taskId":"t"}}`, id)
				got = string(rc.Response.Body())
			}
			want := unknownMethod
			if strings.Contains(" "+c.serves+" ", " "+method+" ") {
				want = served
			}
			if !strings.Contains(got, want) || (want == served) != (len(ts.calls) == 1) {
				t.Errorf("client %q, %+v: tasks/%s: %s, calls %q; want %s", c.client, c.info, method, got, ts.calls, want)
			}
		}
	}
}

// TestParametersOfTasks: what names a task is a string; the list names none. A task that is not
// there is not said to be another thing.
func TestParametersOfTasks(t *testing.T) {
	info := Info{Name: "a", Version: "1", Tasks: true, CallTasks: true, CancelTasks: true}
	const declared = `{"extensions":{"` + ExtensionTasks + `":{}}}`
	for _, c := range []struct{ method, params, capabilities, want string }{
		{"tasks/get", `"taskId":"t",`, declared, served},
		{"tasks/get", `"taskId":7,`, declared, wrongParam},
		{"tasks/get", `"taskId":"missing",`, declared, "unknown task"},
		{"tasks/get", `"taskId":"t",`, `{}`, `"requiredCapabilities":{"extensions":{"` + ExtensionTasks + `":{}}}`},
		{"tasks/get", `"taskId":"t",`, `{"extensions":{"` + ExtensionTasks + `":true}}`, `"requiredCapabilities"`},
		{"tasks/update", `"taskId":"t","inputResponses":{"a":1},`, declared, served},
		{"tasks/update", `"taskId":"t","inputResponses":[],`, declared, "inputResponses"},
		{"tasks/update", `"taskId":"t",`, declared, "inputResponses"},
		{"tasks/cancel", `"taskId":"t","inputResponses":[],`, declared, served},
	} {
		ts := newTasking(t, info)
		if got := modernRequest(t, ts, c.method, c.params, c.capabilities); !strings.Contains(got, c.want) || (c.want == served) != (len(ts.calls) == 1) {
			t.Errorf("%s {%s} %s: %s, calls %q; want %s", c.method, c.params, c.capabilities, got, ts.calls, c.want)
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"tasks/get", `{}`, wrongParam},
		{"tasks/cancel", `{"taskId":7}`, wrongParam},
		{"tasks/result", `{"taskId":"missing"}`, "unknown task"},
		{"tasks/list", `{}`, served},
		{"tasks/list", `{"cursor":"x"}`, served},
	} {
		ts := newTasking(t, info)
		id := ts.OpenSession(session.Client{Version: "2025-11-25"}).ID()
		rc := legacy(t, ts, `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":`+c.params+`}`, id)
		if got := string(rc.Response.Body()); !strings.Contains(got, c.want) || (c.want == served) != (len(ts.calls) == 1) {
			t.Errorf("%s %s: %s, calls %q; want %s", c.method, c.params, got, ts.calls, c.want)
		}
	}
}

// TestCallAsATask: only a client of 2025-11-25 of a toolset with such tasks makes a call a task,
// with an object whose lifetime is a number or null; others' word for it is ignored.
func TestCallAsATask(t *testing.T) {
	for _, c := range []struct {
		client string
		tasks  bool
		task   string
		want   string // the task of the call, or what is said instead
		fails  bool
	}{
		{"2025-11-25", true, `{"ttl":60}`, `{"ttl":60}`, false},
		{"2025-11-25", true, `{"ttl":null}`, `{"ttl":null}`, false},
		{"2025-11-25", true, `{}`, `{}`, false},
		{"2025-11-25", true, ``, ``, false},
		{"2025-11-25", true, `true`, wrongParam, true},
		{"2025-11-25", true, `[]`, wrongParam, true},
		{"2025-11-25", true, `null`, wrongParam, true},
		{"2025-11-25", true, `{"ttl":"60"}`, wrongParam, true},
		{"2025-11-25", true, `{"ttl":{}}`, wrongParam, true},
		{"2025-11-25", true, `{"ttl":true}`, wrongParam, true},
		{"2025-11-25", false, `{"ttl":60}`, ``, false},
		{"2025-11-25", false, `true`, ``, false},
		{"2025-06-18", true, `{"ttl":60}`, ``, false},
		{"2025-06-18", true, `true`, ``, false},
		{"", true, `true`, ``, false},
	} {
		ts := newTasking(t, Info{Name: "a", Version: "1", CallTasks: c.tasks})
		id := ""
		if c.client != "" {
			id = ts.OpenSession(session.Client{Version: c.client}).ID()
		}
		task := c.task
		if task != "" {
			task = `,"task":` + task
		}
		rc := legacy(t, ts, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"`+task+`}}`, id)
		got := string(rc.Response.Body())
		if c.fails {
			if !strings.Contains(got, c.want) || strings.Count(got, `"id":1`) != 1 || len(ts.calls) != 0 || rc.Response.StatusCode() != fasthttp.StatusOK {
				t.Errorf("%+v: %d %s, calls %q", c, rc.Response.StatusCode(), got, ts.calls)
			}
			continue
		}
		if len(ts.calls) != 1 || ts.calls[0] != "_other "+c.want {
			t.Errorf("%+v: %s, calls %q", c, got, ts.calls)
		}
	}
	// One of the newest revision has another way to ask for it.
	ts := newTasking(t, Info{Name: "a", Version: "1", CallTasks: true})
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(request(strings.Replace(modernCall, `"name"`, `"task":true,"name"`, 1), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo"), ts)
	if len(ts.calls) != 1 || ts.calls[0] != "_other " {
		t.Errorf("of the newest revision: %q", ts.calls)
	}
	if (*CallParams)(nil).AsTask() != nil || (*CallParams)(nil).SessionKey() != "" || (&CallParams{}).SessionKey() != "" {
		t.Error("no request has a task or a session")
	}
	opened := ts.OpenSession(session.Client{})
	if got := (&CallParams{Session: opened}).SessionKey(); got == "" || got != opened.Key() {
		t.Errorf("the key is %q", got)
	}
}

// TestTasksAreDeclared: a client of 2025-11-25 is told that its calls may be tasks, and that they
// can be cancelled where they can, and the tools that need it are listed for it; nobody else is.
func TestTasksAreDeclared(t *testing.T) {
	const base, cancel, call = `"tasks":{"list":{},`, `"cancel":{},`, `"requests":{"tools":{"call":{}}}}`
	for _, c := range []struct {
		version string
		info    Info
		want    string
	}{
		{"2025-11-25", Info{CallTasks: true, CancelTasks: true}, base + cancel + call},
		{"2025-11-25", Info{CallTasks: true}, base + call},
		{"2025-11-25", Info{CancelTasks: true, Tasks: true}, ""},
		{"2025-06-18", Info{CallTasks: true, CancelTasks: true}, ""},
	} {
		for declared, bits := range map[string]Capabilities{`{}`: 0, `{"sampling":{}}`: CapabilitiesNamed([]string{"sampling"})} {
			ts := newTasking(t, c.info)
			rc := legacy(t, ts, strings.NewReplacer("2025-11-25", c.version, "%", declared).Replace(initialize), "")
			got := string(rc.Response.Body())
			if !strings.Contains(got, c.want) || strings.Contains(got, `"tasks"`) != (c.want != "") || !json.Valid([]byte(got)) {
				t.Errorf("%s, %+v: %s", c.version, c.info, got)
			}
			if c.want != "" {
				bits |= CallsTasks
			}
			legacy(t, ts, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, string(rc.Response.Header.Peek("Mcp-Session-Id")))
			if ts.listed != bits {
				t.Errorf("%s, %+v, %s: listed for %b, want %b", c.version, c.info, declared, ts.listed, bits)
			}
		}
	}
	if CallsTasks&CapabilitiesNamed(manifest.ClientCapabilities) != 0 {
		t.Error("a capability of clients has the bit of tasks")
	}
}

// TestProgressOnly: of a notification only the numbers are passed on, and only of progress.
func TestProgressOnly(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"notifications/progress", `{"progressToken":"x","progress":2,"total":5,"message":"secret"}`, `"progress":2,"total":5`},
		{"notifications/progress", `{"progressToken":"x","progress":2.5,"message":"secret"}`, `"progress":2.5`},
		{"notifications/progress", `{"progress":"secret","total":5}`, ""},
		{"notifications/progress", `{"total":5}`, ""},
		{"notifications/message", `{"level":"error","data":"secret","progress":2,"total":5}`, ""},
		{taskStatus, `{"taskId":"secret","progress":2}`, ""},
	} {
		s := &Stream{wake: make(chan struct{}, 1), token: []byte(`"p"`), level: LevelDebug}
		s.ProgressOnly(c.method, jsonscan.Trusted([]byte(c.params)))
		got := string(s.pending)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Contains(got, "secret") || strings.Contains(got, "total") != strings.Contains(c.want, "total") {
			t.Errorf("%s %s is told as %s, want %s", c.method, c.params, got, c.want)
		}
	}
}

// TestTokenOfATask: what a server reports under the token of a task goes under that of the call
// which made it, and all else under that of the call that runs.
func TestTokenOfATask(t *testing.T) {
	for _, c := range []struct {
		own              uint64
		of, params, want string
	}{
		{7, `"task"`, `{"progressToken":7,"progress":1}`, `"task"`},
		{7, `"task"`, `{"progressToken":8,"progress":1}`, `"call"`},
		{0, `"task"`, `{"progressToken":"x","progress":1}`, `"call"`},
		{7, "", `{"progressToken":7,"progress":1}`, `"call"`},
	} {
		s := &Stream{wake: make(chan struct{}, 1), token: []byte(`"call"`)}
		var token []byte
		if c.of != "" {
			token = []byte(c.of)
		}
		s.OfTasks(nil, c.own, token)
		s.Relay("notifications/progress", jsonscan.Trusted([]byte(c.params)))
		if got := string(s.pending); !strings.Contains(got, `"progressToken":`+c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
	(*Stream)(nil).OfTasks(nil, 1, nil) // a call that is not streamed has none to name
}

// TestStatusOfATaskIsHeard: outside of calls a client hears of its own tasks, by its names.
func TestStatusOfATaskIsHeard(t *testing.T) {
	s := session.New(session.Options{}).Open(session.Owner{}, session.Client{})
	names := TaskNames(func(own string) (string, bool) { return "ours", own == "own" })
	for params, want := range map[string]string{
		`{"taskId":"own","status":"working"}`: `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"ours","status":"working"}}`,
		`{"taskId":"other","status":"done"}`:  "",
		`{"taskId":7}`:                        "",
		`{"status":"working"}`:                "",
	} {
		if got := string(AppendHeard(nil, s, taskStatus, jsonscan.Trusted([]byte(params)), names)); got != want {
			t.Errorf("%s is heard as %s, want %s", params, got, want)
		}
	}
	for params, want := range map[string]string{
		`{"_meta":[{"io.modelcontextprotocol/related-task":1}],"a":1}`: `{"_meta":[{"io.modelcontextprotocol/related-task":1}],"a":1}`,
		`{"_meta":{"x":1},"b":{"taskId":"own"}}`:                       `{"_meta":{"x":1},"b":{"taskId":"own"}}`,
		`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"own"}},"b":{"io.modelcontextprotocol/related-task":{"taskId":"own"}}}`: `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"ours"}},"b":{"io.modelcontextprotocol/related-task":{"taskId":"own"}}}`,
		`{"a":{"x":1},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":7}},"b":[1]}`:                                               `{"a":{"x":1},"_meta":{},"b":[1]}`,
	} {
		if got := string(names.rename(jsonscan.Trusted([]byte(params))).Raw()); got != want {
			t.Errorf("%s is %s, want %s", params, got, want)
		}
	}
}

// TestNamesOfTasks: a task has a name only where the server's own is a string.
func TestNamesOfTasks(t *testing.T) {
	all := TaskNames(func(string) (string, bool) { return "ours", true })
	for task, want := range map[string]bool{`{"taskId":"own"}`: true, `{"taskId":7}`: false, `{"taskId":null}`: false, `{"taskId":["own"]}`: false, `{}`: false, `7`: false} {
		if _, ok := all.of(jsonscan.Trusted([]byte(task))); ok != want {
			t.Errorf("%s has a name: %v", task, ok)
		}
	}
	for m := range methodCount {
		want := m == MethodTasksGet || m == MethodTasksUpdate || m == MethodTasksCancel || m == MethodTasksResult
		if m.OfTask() != want {
			t.Errorf("%s is about a task: %v", m, !want)
		}
	}
}

// TestStreamThatCannotBeResumed: a client whose session keeps as many streams as it may reads the
// next one without a way back.
func TestStreamThatCannotBeResumed(t *testing.T) {
	opened := session.New(session.Options{}).Open(session.Owner{}, session.Client{Version: "2025-11-25"})
	for opened.Replay([]byte("1"), "") != nil { // until there is no room
		continue
	}
	s := &Stream{wake: make(chan struct{}, 1), session: opened, level: LevelInfo}
	s.Log(LevelError, "x", []byte(`"said"`))
	if got := string(s.pending); !strings.Contains(got, `"data":"said"`) || strings.Contains(got, "id:") {
		t.Errorf("it reads %q", got)
	}
}

// TestAnswersOfClients: what a client answers is given to who asked in its session, a result or an
// error, as it came; what answers nothing is dropped. Who asked takes the task out of it.
func TestAnswersOfClients(t *testing.T) {
	const related = `"` + MetaRelatedTask + `":{"taskId":"t"}`
	for answer, want := range map[string]string{
		`{}`: `{}`, `{"action":"accept","_meta":{` + related + `}}`: `{"action":"accept","_meta":{}}`,
		`{"_meta":{"x":1,` + related + `,"y":2},"action":"accept"}`: `{"_meta":{"x":1,"y":2},"action":"accept"}`,
	} {
		if got := string(OfNoTask(jsonscan.Trusted([]byte(answer))).Raw()); got != want {
			t.Errorf("%s: %s", answer, got)
		}
	}
	for _, answer := range []string{`"result":{"action":"accept","_meta":{` + related + `}}`, `"error":{"code":-1,"message":"no"}`} {
		ts := newTasking(t, Info{Name: "a", Version: "1"})
		opened := ts.OpenSession(session.Client{Version: "2025-11-25"})
		q := opened.Ask()
		for _, id := range []string{`"x"`, "99", strconv.FormatUint(q.ID, 10)} {
			if rc := legacy(t, ts, `{"jsonrpc":"2.0","id":`+id+`,`+answer+`}`, opened.ID()); rc.Response.StatusCode() != fasthttp.StatusAccepted {
				t.Errorf("%s: %d %s", id, rc.Response.StatusCode(), rc.Response.Body())
			}
		}
		select {
		case got := <-q.Answer():
			if string(got) != answer {
				t.Errorf("answered %s, want %s", got, answer)
			}
		default:
			t.Errorf("%s was not given to who asked", answer)
		}
	}
}
