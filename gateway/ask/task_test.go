package ask

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestTasksOfTheClient: a server reaches the tasks that the client runs for it, under the client's
// names, and none of those that it runs for another server.
func TestTasksOfTheClient(t *testing.T) {
	all := session.New(session.Options{})
	s := all.Open(session.Owner{Toolset: "t"}, session.Client{Capabilities: []byte(
		`{"sampling":{},"elicitation":{},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}}}}}`)})
	const meta = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"c1"},"x":1}`
	for _, c := range []struct {
		server, method, params string
		answer                 string // of the client; "": it is not asked
		want                   string
	}{
		{"a", "tasks/get", `{"taskId":"c1"}`, "", memberNoTask},
		{"a", "sampling/createMessage", `{"task":{"ttl":1}}`, `"result":{"task":{"taskId":"c1"},` + meta + `}`, `"result":{"task":{"taskId":"c1"},"_meta":{"x":1}}`},
		{"b", "sampling/createMessage", `{"task":{}}`, `"result":{"task":{"taskId":"c1"}}`, memberBadTask},
		{"b", "sampling/createMessage", `{"task":{}}`, `"result":{"task":{}}`, memberBadTask},
		{"b", "sampling/createMessage", `{"task":{}}`, `"result":{"task":{"taskId":"c2"}}`, `"result":{"task":{"taskId":"c2"}}`},
		{"b", "sampling/createMessage", `{}`, `"result":{"task":{"taskId":"c3"}}`, `"result":{"task":{"taskId":"c3"}}`}, // it asked for none
		{"b", "tasks/get", `{"taskId":"c3"}`, "", memberNoTask},
		{"b", "sampling/createMessage", `{"task":{}}`, `"error":{"code":-1,"message":"no"}`, `"error":{"code":-1,"message":"no"}`},
		{"a", "tasks/get", `{"taskId":"c1"}`, `"result":{"taskId":"c1","status":"working"}`, `"result":{"taskId":"c1","status":"working"}`},
		{"a", "tasks/result", `{"taskId":"c1"}`, `"result":{"role":"assistant",` + meta + `}`, `"result":{"role":"assistant",` + meta + `}`},
		{"a", "tasks/cancel", `{"taskId":"c1"}`, `"result":{"taskId":"c1","status":"cancelled"}`, `"result":{"taskId":"c1","status":"cancelled"}`},
		{"b", "tasks/get", `{"taskId":"c1"}`, "", memberNoTask},
		{"b", "tasks/result", `{"taskId":"c1"}`, "", memberNoTask},
		{"b", "tasks/cancel", `{"taskId":"c1"}`, "", memberNoTask},
		{"b", "tasks/get", ``, "", memberNoTask},
		{
			"a", "tasks/list", `{}`, `"result":{"tasks":[{"taskId":"c2"},{"taskId":"c1","ttl":null},{}],"nextCursor":"n"}`,
			`"result":{"tasks":[{"taskId":"c1","ttl":null}],"nextCursor":"n"}`,
		},
		{"c", "tasks/list", `{}`, `"result":{"tasks":[{"taskId":"c2"},{"taskId":"c1"}]}`, `"result":{"tasks":[]}`},
	} {
		asked := false
		k := Question{Session: s, Server: c.server, Deadline: time.Now().Add(time.Minute), Send: func(q *session.Question) bool {
			asked = true
			return s.Resolve(q.ID, []byte(c.answer))
		}}
		if got := string(k.Ask(c.method, jsonscan.Trusted([]byte(c.params)), nil)); got != c.want || asked != (c.answer != "") {
			t.Errorf("%s %s of %s: %s, asked %v; want %s", c.method, c.params, c.server, got, asked, c.want)
		}
	}
}

// TestDeclaresTasks: a client is asked of its tasks what it said it can be asked.
func TestDeclaresTasks(t *testing.T) {
	for declared, want := range map[string]string{
		`{}`: "", `{"tasks":{}}`: "",
		`{"tasks":{"requests":{}}}`:                         "tasks/get tasks/result",
		`{"tasks":{"list":{},"requests":{}}}`:               "tasks/get tasks/list tasks/result",
		`{"tasks":{"cancel":{},"requests":{"sampling":1}}}`: "tasks/cancel tasks/get tasks/result",
	} {
		var got []string
		for _, m := range []string{tasksCancel, tasksGet, tasksList, tasksResult} {
			if Declares(jsonscan.Trusted([]byte(declared)), m, jsonscan.Value{}) {
				got = append(got, m)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", declared, got)
		}
	}
}
