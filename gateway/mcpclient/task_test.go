package mcpclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// tasks is a server of 2025-11-25 that answers a call with a task, which says in turn what
// states has, and the last of it for ever.
type tasks struct {
	*httptest.Server
	mu     sync.Mutex
	states []string // guarded by mu
	asked  []string // guarded by mu; methods about tasks, and the member task of calls
	only   bool     // guarded by mu; calls are refused that are not tasks
	none   bool     // guarded by mu; it declares no tasks
}

func newTasks(t *testing.T, states ...string) *tasks {
	t.Helper()
	u := &tasks{states: states}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Task   json.RawMessage
				TaskID string
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // a notification has no id
		say := func(format string, args ...any) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, in.ID, fmt.Sprintf(format, args...))
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		if strings.HasPrefix(in.Method, "tasks/") {
			u.asked = append(u.asked, in.Method+" "+in.Params.TaskID)
		}
		state := func() string {
			s := u.states[0]
			if len(u.states) > 1 {
				u.states = u.states[1:]
			}
			return s
		}
		switch in.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			if u.none {
				say(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
				return
			}
			say(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"x","version":"1"}}`)
		case "tools/call":
			u.asked = append(u.asked, "task "+string(in.Params.Task))
			if u.only && in.Params.Task == nil {
				say(`"error":{"code":-32601,"message":"x requires task augmentation"}`)
				return
			}
			if s := state(); strings.HasPrefix(s, "{") {
				say(`"result":{"task":%s}`, s)
			} else {
				say(`%s`, s)
			}
		case "tasks/get":
			say(`"result":%s`, state())
		case "tasks/result":
			say(`"result":{"content":[{"type":"text","text":"done"}]}`)
		case "tasks/cancel":
			say(`"result":{}`)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *tasks) heard() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.asked)
}

func taskState(status, more string) string {
	return `{"taskId":"t 1","status":"` + status + `","ttl":null,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","pollInterval":1` + more + `}`
}

// TestTask: a call of a tool that the server runs as a task has the task's result, and
// says how far it is.
func TestTask(t *testing.T) {
	u := newTasks(t, taskState("working", ""), taskState("working", `,"statusMessage":"half"`), taskState("working", ""), taskState("completed", ""))
	c := newClient(t, safedial.Options{AllowPrivate: true})
	to := target(t, u.URL)
	to.Hint.Protocol, to.Deadline, to.Idle, to.Latest = versionLegacy, time.Now().Add(5*time.Second), time.Minute, time.Now().Add(time.Hour)
	var said []string
	var x Exchange
	err := c.Call(&x, to, &Call{Tool: "x", Task: true, Progress: true, Notify: func(_ string, params jsonscan.Value) {
		said = append(said, string(params.Get("progress").Raw())+" "+string(params.Get("message").Raw()))
		if !params.Get("progressToken").Exists() {
			t.Error("progress without a token, in whose place the client's is put")
		}
	}})
	if err != nil || !strings.Contains(string(x.Result().Raw()), "done") {
		t.Fatalf("%s, %v", x.Result().Raw(), err)
	}
	if want := []string{`task {"ttl":7200000}`, "tasks/get t 1", "tasks/get t 1", "tasks/get t 1", "tasks/result t 1"}; !slices.Equal(u.heard(), want) {
		t.Errorf("the server heard %q", u.heard())
	}
	if want := []string{"1 ", `2 "half"`, "3 "}; !slices.Equal(said, want) {
		t.Errorf("the client heard %q", said)
	}
	if left := time.Until(x.Deadline()); left < 30*time.Second {
		t.Errorf("a task that goes on leaves the call %s", left)
	}
}

// TestTaskEnds: what servers say instead, and how calls end then.
func TestTaskEnds(t *testing.T) {
	long := strings.Repeat("t", maxTaskID)
	for name, f := range map[string]struct {
		states []string
		kind   problem.Kind // "": none
		result string
		last   string // that the server heard
	}{
		"at once":        {[]string{`"result":{"content":[{"type":"text","text":"now"}]}`}, "", "now", `task {"ttl":7200000}`},
		"a question":     {[]string{taskState("input_required", "")}, "", "done", "tasks/result t 1"},
		"failed":         {[]string{taskState("failed", "")}, "", "done", "tasks/result t 1"},
		"unknown":        {[]string{taskState("lost", "")}, problem.UpstreamMalformed, "", `task {"ttl":7200000}`},
		"no id":          {[]string{`{"status":"working"}`}, problem.UpstreamMalformed, "", `task {"ttl":7200000}`},
		"another":        {[]string{taskState("working", ""), strings.Replace(taskState("working", ""), "t 1", "t 2", 1)}, problem.UpstreamMalformed, "", "tasks/get t 1"},
		"the longest id": {[]string{strings.Replace(taskState("completed", ""), "t 1", long[2:], 1)}, "", "done", "tasks/result " + long[2:]},
		"a longer id":    {[]string{strings.Replace(taskState("completed", ""), "t 1", long[1:], 1)}, problem.UpstreamMalformed, "", `task {"ttl":7200000}`},
		"too late":       {[]string{taskState("working", "")}, problem.Timeout, "", "tasks/cancel t 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newTasks(t, f.states...)
			c := newClient(t, safedial.Options{AllowPrivate: true})
			to := target(t, u.URL)
			to.Hint.Protocol, to.Deadline = versionLegacy, time.Now().Add(time.Second)
			var x Exchange
			err := c.Call(&x, to, &Call{Tool: "x", Task: true})
			if (f.kind == "") != (err == nil) || f.kind != "" && !problem.Is(err, f.kind) || err == nil && !strings.Contains(string(x.Result().Raw()), f.result) {
				t.Errorf("%s, %v", x.Result().Raw(), err)
			}
			c.work.Wait() // for what is told behind the call
			if heard := u.heard(); heard[len(heard)-1] != f.last {
				t.Errorf("the server heard %q", heard)
			}
		})
	}
}

// TestTaskCancelled: when the client goes, the server is told to end its task.
func TestTaskCancelled(t *testing.T) {
	u := newTasks(t, strings.Replace(taskState("working", ""), `"pollInterval":1`, `"pollInterval":60000`, 1))
	c := newClient(t, safedial.Options{AllowPrivate: true})
	to := target(t, u.URL)
	to.Hint.Protocol, to.Cancel = versionLegacy, &upstream.Cancel{}
	time.AfterFunc(200*time.Millisecond, to.Cancel.Cancel)
	var x Exchange
	began := time.Now()
	if err := c.Call(&x, to, &Call{Tool: "x", Task: true}); !problem.Is(err, problem.Cancelled) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	c.work.Wait()
	if heard := u.heard(); heard[len(heard)-1] != "tasks/cancel t 1" {
		t.Errorf("the server heard %q", heard)
	}
}

// TestTaskOnly: a tool of which nobody knew that it runs as a task only is called as one when
// the server says so, where it has tasks at all.
func TestTaskOnly(t *testing.T) {
	for none, want := range map[bool][]string{
		false: {"task ", `task {"ttl":7200000}`, "tasks/result t 1"},
		true:  {"task "},
	} {
		u := newTasks(t, taskState("completed", ""))
		u.only, u.none = true, none
		c := newClient(t, safedial.Options{AllowPrivate: true})
		to := target(t, u.URL)
		to.Hint.Protocol, to.Deadline = versionLegacy, time.Now().Add(5*time.Second)
		var x Exchange
		err := c.Call(&x, to, &Call{Tool: "x"})
		if err != nil || none != (x.Fault() != nil) || !none && !strings.Contains(string(x.Result().Raw()), "done") {
			t.Errorf("without tasks %t: %s, %v, %v", none, x.Result().Raw(), x.Fault(), err)
		}
		if !slices.Equal(u.heard(), want) {
			t.Errorf("without tasks %t: the server heard %q", none, u.heard())
		}
	}
}
