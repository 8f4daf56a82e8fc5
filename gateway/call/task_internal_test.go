package call

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/task"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
)

func trusted(text string) jsonscan.Value { return jsonscan.Trusted([]byte(text)) }

// ofServer is the exchange of a call of the tool of an MCP server.
func ofServer(t *testing.T, request *mcp.CallParams) *exchange {
	t.Helper()
	x := exchangeOf(t, nil)
	x.tool.Binding, x.tool.Toolset = &snapshot.Binding{Name: "files"}, x.ts
	x.ready.Answer = &answer.Plan{Program: &answer.Program{}}
	x.request = request
	return x
}

// TestTaskRequests: a request about a task names it as its server does, is sent again only when
// it changes nothing, and only the one that waits for the end may last as long as calls may.
func TestTaskRequests(t *testing.T) {
	soon, late := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
	for _, c := range []struct {
		method     mcp.Method
		params     string
		repeatable bool
		deadline   time.Time
		also       uint64
		sent       string
	}{
		{mcp.MethodTasksGet, `{"taskId":"ours"}`, true, soon, 0, `"taskId":"own\"s"`},
		{mcp.MethodTasksCancel, `{"taskId":"ours"}`, false, soon, 0, `"taskId":"own\"s"`},
		{mcp.MethodTasksUpdate, `{"taskId":"ours","inputResponses":{"a":{"action":"accept"}}}`, false, soon, 0, `"taskId":"own\"s","inputResponses":{"a":{"action":"accept"}}`},
		{mcp.MethodTasksResult, `{"taskId":"ours"}`, true, late, 9, `"taskId":"own\"s"`},
	} {
		x := ofServer(t, &mcp.CallParams{Method: c.method, Params: trusted(c.params), Reported: 9, Version: mcp.V20260728, RequestState: trusted(`"s"`), InputResponses: trusted(`{"a":1}`)})
		x.key, x.deadline, x.latest = `own"s`, soon, late
		x.prepareTask()
		k := &x.call
		if k.Method != c.method.String() || k.Tool != x.key || k.Repeatable != c.repeatable || !x.deadline.Equal(c.deadline) || k.Also != c.also || string(k.Params) != c.sent {
			t.Errorf("%s: %+v, params %s, until %s", c.method, k, k.Params, x.deadline)
		}
		if k.InputResponses != nil || k.RequestState != nil || !k.Tasks {
			t.Errorf("%s: answers %s, state %s, tasks %v", c.method, k.InputResponses, k.RequestState, k.Tasks)
		}
	}
}

// TestTaskOfACall: a task is its caller's at its toolset, of whom nobody knows the session's; its
// progress is told only to a client that asked for the task and for progress.
func TestTaskOfACall(t *testing.T) {
	const meta = `{"progressToken":"p1"}`
	table := session.New(session.Options{})
	s := table.Open(session.Owner{}, session.Client{Version: "2025-11-25"})
	for _, c := range []struct {
		asTask    string
		progress  bool
		principal string
		result    string
		members   string // "": it is none
		token     string
	}{
		{`{"ttl":1}`, true, "ann", `{"task":{"taskId":"own","status":"working"},"_meta":{"x":1}}`, `"task":{"taskId":"%","status":"working"}`, `"p1"`},
		{`{"ttl":1}`, false, "ann", `{"task":{"taskId":"own","status":"working"}}`, `"task":{"taskId":"%","status":"working"}`, ""},
		{"", true, "ann", `{"resultType":"task","taskId":"own","status":"working"}`, `"taskId":"%","status":"working"`, ""},
		{"", true, "", `{"resultType":"task","taskId":"own","status":"working"}`, `"taskId":"%","status":"working"`, ""},
		{`{}`, true, "ann", `{"task":{"taskId":7,"status":"working"}}`, "", ""},
		{`{}`, true, "ann", `{"taskId":"own","status":"working"}`, "", ""},
		{"", true, "ann", `{"taskId":"","status":"working"}`, "", ""},
	} {
		x := ofServer(t, &mcp.CallParams{Session: s, Meta: trusted(meta)})
		x.principalKey = c.principal
		if x.call.Progress = c.progress; c.asTask != "" {
			x.call.AsTask = []byte(c.asTask)
		}
		err := x.taskStarted(trusted(c.result))
		if (err == nil) != (c.members != "") || x.request.TaskStarted != (c.members != "") {
			t.Errorf("%+v: %v, started %v", c, err, x.request.TaskStarted)
			continue
		}
		owner := task.OwnerOf("ts_1", c.principal, s.Key())
		if err != nil {
			if !problem.Is(err, problem.UpstreamMalformed) || !x.c.tasks.Room(owner) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		id, ok := x.c.tasks.Names(owner, "files")("own")
		if got := string(x.members); !ok || got != strings.Replace(c.members, "%", id, 1) || string(x.answer.text) != got || x.out.Status != http.StatusOK {
			t.Errorf("%+v: %s, %s, %d, known %v", c, got, x.answer.text, x.out.Status, ok)
		}
		kept, ok, _ := x.c.tasks.Find(id, owner, c.asTask != "")
		if !ok || kept.Token != c.token || (kept.OwnToken != 0) && c.token == "" || kept.Session != s.Key() || kept.Tool != "list" || kept.Server != "files" {
			t.Errorf("%+v: kept %+v, %v", c, kept, ok)
		}
		if other := task.OwnerOf("ts_1", "bob", s.Key()); other != owner {
			if _, ok, _ := x.c.tasks.Find(id, other, c.asTask != ""); ok {
				t.Errorf("%+v: another caller finds it", c)
			}
		}
		if want := map[bool]string{true: `"x":1`}[strings.Contains(c.result, "_meta")]; string(x.meta) != want {
			t.Errorf("%+v: _meta %s", c, x.meta)
		}
	}
}

// TestWhatServersSayOfTasks: it is told under the client's name of the task; what it says of
// another task, or that is no result of a call, is not.
func TestWhatServersSayOfTasks(t *testing.T) {
	for _, c := range []struct {
		method       mcp.Method
		said         string
		members      string // "": refused
		meta, refuse string
	}{
		{mcp.MethodTasksGet, `{"taskId":"own","status":"working","_meta":{"x":1,"io.modelcontextprotocol/related-task":{"taskId":"own"}}}`, `"taskId":"ours","status":"working"`, `"x":1`, ""},
		{mcp.MethodTasksGet, `{"taskId":"other","status":"working"}`, "", "", "taskId"},
		{mcp.MethodTasksGet, `{"status":"working"}`, "", "", "taskId"},
		{mcp.MethodTasksGet, `{"taskId":"own","status":"completed","result":{"content":[]}}`, `"taskId":"ours","status":"completed","result":{"content":[]}`, "", ""},
		{mcp.MethodTasksGet, `{"taskId":"own","status":"completed","result":{"resultType":"complete","content":[],"_meta":{"y":1}}}`, `"taskId":"ours","status":"completed","result":{"content":[],"_meta":{"y":1}}`, "", ""},
		{mcp.MethodTasksGet, `{"taskId":"own","status":"completed","result":{"resultType":"task","content":[]}}`, "", "", "result"},
		{mcp.MethodTasksGet, `{"taskId":"own","status":"completed","result":[]}`, "", "", "result"},
		{mcp.MethodTasksGet, `{"taskId":"own","status":"completed","result":{"content":1}}`, "", "", "content"},
		{mcp.MethodTasksCancel, `{"taskId":"own","status":"cancelled"}`, `"taskId":"ours","status":"cancelled"`, "", ""},
		{mcp.MethodTasksUpdate, `{}`, ``, "", ""},
		{mcp.MethodTasksResult, `{"content":[],"_meta":{"y":1}}`, `"content":[]`, `"y":1,"io.modelcontextprotocol/related-task":{"taskId":"ours"}`, ""},
		{mcp.MethodTasksResult, `{"content":7}`, "", "", "content"},
	} {
		x := ofServer(t, &mcp.CallParams{Method: c.method, Params: trusted(`{"taskId":"ours"}`)})
		x.key = "own"
		err := x.taskMCP([]byte(c.said))
		if c.refuse != "" {
			if !problem.Is(err, problem.UpstreamMalformed) || !strings.Contains(err.Error(), c.refuse) {
				t.Errorf("%s %s: %v", c.method, c.said, err)
			}
			continue
		}
		if err != nil || string(x.members) != c.members || string(x.meta) != c.meta {
			t.Errorf("%s %s: %s, _meta %s, %v", c.method, c.said, x.members, x.meta, err)
		}
	}
}

// TestKindsOfResults: a task is one only where the client asked for it, or can ask about it.
func TestKindsOfResults(t *testing.T) {
	const asked, offered = `{"task":{"taskId":"own","status":"working"}}`, `{"resultType":"task","taskId":"own","status":"working"}`
	for _, c := range []struct {
		asTask        string
		tasks         bool
		result        string
		started, fail bool
	}{
		{`{}`, false, asked, true, false},
		{"", false, `{"content":[],"task":{"taskId":"own","status":"working"}}`, false, false},
		{`{}`, false, `{"content":[]}`, false, false},
		{"", true, offered, true, false},
		{"", false, offered, false, true},
		{"", true, `{"resultType":"other"}`, false, true},
		{"", false, `{"resultType":"complete","content":[]}`, false, false},
		{"", false, `{"resultType":"input_required","inputRequests":{}}`, false, true}, // nobody who can answer
	} {
		x := ofServer(t, &mcp.CallParams{})
		if x.call.Tasks = c.tasks; c.asTask != "" {
			x.call.AsTask = []byte(c.asTask)
		}
		if err := x.contentMCP([]byte(c.result)); x.request.TaskStarted != c.started || problem.Is(err, problem.Unsupported) != c.fail || err != nil && !c.fail {
			t.Errorf("%+v: %v, started %v", c, err, x.request.TaskStarted)
		}
	}
}

// TestMetaOfResults: of a server's _meta what says who it is, which task of its own it was, and
// what only this gateway says, is not passed on.
func TestMetaOfResults(t *testing.T) {
	in := `{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"x"},"` + TraceKey + `":{"y":1},"` + mcp.MetaRelatedTask + `":{"taskId":"own"},"b":[2]}`
	if got := string(appendMetaMembers(nil, trusted(in))); got != `"a":1,"b":[2]` {
		t.Errorf("passed on %s", got)
	}
}

// TestWhatServersHearOfClients: a server asks only a client that can answer, and where something
// redacts it hears of none and what it tells is numbers.
func TestWhatServersHearOfClients(t *testing.T) {
	table := session.New(session.Options{})
	able := table.Open(session.Owner{}, session.Client{Version: "2025-11-25", Capabilities: []byte(`{"elicitation":{}}`)})
	unable := table.Open(session.Owner{}, session.Client{Version: "2025-11-25"})
	quiet := table.Open(session.Owner{}, session.Client{Version: "2025-11-25"})
	quiet.SetLevel(uint8(mcp.LevelError))
	for name, c := range map[string]struct {
		session *session.Session
		stream  bool
		redacts bool
		asks    bool
	}{
		"one that can be asked":       {able, true, false, true},
		"where something redacts":     {able, true, true, false},
		"without a stream":            {able, false, false, false},
		"one that cannot":             {unable, true, false, false},
		"one without a session":       {nil, true, false, false},
		"one that wants its own logs": {quiet, true, false, false},
	} {
		request := &mcp.CallParams{Session: c.session, Version: mcp.V20251125}
		if c.stream {
			request.Stream = &mcp.Stream{}
		}
		x := ofServer(t, request)
		x.ready.Answer.Redact = c.redacts
		x.prepareClient()
		k := &x.call
		if (k.Ask != nil) != c.asks || (string(k.Capabilities) == `{"elicitation":{}}`) != c.asks {
			t.Errorf("%s: asks %v, capabilities %s", name, k.Ask != nil, k.Capabilities)
		}
		if (k.Notify != nil) != c.stream {
			t.Errorf("%s: notifies %v", name, k.Notify != nil)
		}
		if c.redacts && (k.LogLevel != nil || k.SetLevel != nil) {
			t.Errorf("%s: log level %s", name, k.LogLevel)
		}
	}
	x := ofServer(t, nil) // a workflow calls
	x.prepareClient()
	if x.call.Notify != nil || x.call.Ask != nil {
		t.Error("a call of nobody is told of")
	}
}

// TestStateOfQuestions: what a client has to send back reaches it as the server wrote it, or the
// question is withheld.
func TestStateOfQuestions(t *testing.T) {
	const asked = `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create"}},"requestState":"st\u0061te","_meta":{"x":1}}`
	for left, ok := range map[string]bool{
		`{"inputRequests":{"q":{}},"requestState":"state"}`:   true,
		`{"requestState":"state"}`:                            true,
		`{"inputRequests":{"q":{}},"requestState":"State"}`:   false,
		`{"inputRequests":{"q":{}},"requestState":["state"]}`: false,
		`{"inputRequests":{"q":{}}}`:                          false,
		`["state"]`:                                           false,
		`"state"`:                                             false,
		`{"inputRequests":{"q":{}},"requestState":"state","requestState":"other"}`: false,
	} {
		w := &writers{write: map[string]string{"mask": left}}
		x := ofServer(t, &mcp.CallParams{Version: mcp.V20260728})
		x.c.plugins, x.ready.Plugins = w, []*snapshot.Plugin{pluginOf("mask", true, manifest.TypeJSON)}
		x.render(received{})
		err := x.questionFiltered(trusted(asked))
		if (err == nil) != ok || err != nil && (!problem.Is(err, problem.InvalidPlugin) || len(x.written) != 0) {
			t.Errorf("%s: %v, written %s", left, err, x.written)
		}
		if seen := strings.Join(w.asked, ""); strings.Contains(seen, "resultType") || strings.Contains(seen, "_meta") || !strings.Contains(seen, "inputRequests") {
			t.Errorf("the filter got %s", seen)
		}
	}
}

// TestHowCredentialsWereTaken: a call whose credential the API refused is known as one, by either
// of the two statuses that say so.
func TestHowCredentialsWereTaken(t *testing.T) {
	bound := credentials.Bound{Values: []credentials.Credential{key("one", 1, origin)}}
	for name, c := range map[string]struct {
		status  int
		bound   credentials.Bound
		missing bool
		want    metering.Credential
	}{
		"missing":  {0, credentials.Bound{}, true, metering.Missing},
		"none":     {fasthttp.StatusUnauthorized, credentials.Bound{}, false, metering.NoCredential},
		"401":      {fasthttp.StatusUnauthorized, bound, false, metering.Refused},
		"403":      {fasthttp.StatusForbidden, bound, false, metering.Refused},
		"402":      {fasthttp.StatusPaymentRequired, bound, false, metering.Accepted},
		"404":      {fasthttp.StatusNotFound, bound, false, metering.Accepted},
		"accepted": {fasthttp.StatusOK, bound, false, metering.Accepted},
	} {
		x := exchangeOf(t, nil)
		x.status, x.bound, x.missingCredential = c.status, c.bound, c.missing
		if got := x.credential(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestFailuresWhereSomethingRedacts: what the upstream said of a failure is replaced, and what
// Sluice refused before it asked stays.
func TestFailuresWhereSomethingRedacts(t *testing.T) {
	for _, c := range []struct {
		kind            problem.Kind
		asked           bool
		link            string
		redact, replace bool
		redirects       int
	}{
		{problem.UpstreamStatus, true, "", true, true, 0},
		{problem.Unreachable, true, "", true, true, 0},
		{problem.Forbidden, true, "", true, true, 0},
		{problem.UpstreamMalformed, true, "", true, true, 0},
		{problem.UpstreamStatus, false, "", true, false, 0},
		{problem.UpstreamStatus, true, "https://s/l", true, false, 0},
		{problem.UpstreamStatus, true, "", false, false, 0},
		{problem.Cancelled, true, "", true, false, 0},
		{problem.TooLarge, true, "", true, false, 0},
		{problem.TooLarge, true, "", true, true, 1},
	} {
		x := exchangeOf(t, nil)
		x.ready.Answer = &answer.Plan{Redact: c.redact}
		x.asked, x.link, x.http.Redirects = c.asked, c.link, c.redirects
		x.failed = problem.New(c.kind, "it said hunter2")
		x.filterFailure()
		if strings.Contains(x.failed.Error(), "hunter2") == c.replace || x.failed.Kind != c.kind {
			t.Errorf("%+v: %v", c, x.failed)
		}
	}
	x := exchangeOf(t, nil)
	x.ready.Answer = &answer.Plan{Redact: true}
	x.asked = true
	if x.filterFailure(); x.failed != nil {
		t.Error("a call that did not fail has a failure")
	}
}

// TestWhatARunUsed: each tool once, by the name that the script has for it; of what is no
// operation of a connector only the name; and nothing when the run is not kept.
func TestWhatARunUsed(t *testing.T) {
	own := &snapshot.Tool{Name: "search_tools"}
	s := &scriptCalls{keeps: true}
	s.uses("api.search_tools", own)
	if len(s.used) != 0 || s.other != "search_tools" {
		t.Errorf("used %v, other %q", s.used, s.other)
	}
	s = &scriptCalls{}
	if s.uses("api.search_tools", own); s.other != "" {
		t.Errorf("of a run that is not kept: %q", s.other)
	}
}

// TestFieldMasks: names of fields are one text, or a list whose members are all texts.
func TestFieldMasks(t *testing.T) {
	for in, want := range map[string]string{
		`null`: "", `"a,b"`: "a,b", `"\u0061"`: "a", `["a","b"]`: "a,b", `["a"]`: "a", `[]`: "", `["a.b","c"]`: "a.b,c",
	} {
		if got, err := maskText("fields", trusted(in)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{`7`, `true`, `{}`, `[1]`} {
		if got, err := maskText("fields", trusted(in)); !problem.Is(err, problem.InvalidArguments) || !strings.Contains(err.Error(), "fields") {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}
