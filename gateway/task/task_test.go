package task

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

func said(format string, args ...any) jsonscan.Value {
	return jsonscan.Trusted(fmt.Appendf(nil, format, args...))
}

// TestOwners: a task is its owner's, and its name is none that the server gave it.
func TestOwners(t *testing.T) {
	var table Table
	ada := Owner{"shop", "ada"}
	id, ok := table.Add(Task{Owner: ada, Tool: "dig"}, said(`{"taskId":"t-1","status":"working","ttlMs":null}`))
	if !ok || len(id) != 40 || strings.Contains(id, "t-1") {
		t.Fatalf("the task is called %q, %t", id, ok)
	}
	if other, _ := table.Add(Task{Owner: ada, Tool: "dig"}, said(`{"taskId":"t-1","status":"working"}`)); other == id {
		t.Error("two tasks have one name")
	}
	if got, ok, _ := table.Find(id, ada, false); !ok || got != (Task{Owner: ada, Tool: "dig", Name: "t-1"}) {
		t.Errorf("found %+v, %t", got, ok)
	}
	for _, o := range []Owner{{"shop", "bob"}, {"other", "ada"}, {"shop", ""}} {
		if got, ok, _ := table.Find(id, o, false); ok {
			t.Errorf("%+v finds %+v", o, got)
		}
	}
	if _, ok, _ := table.Find("nobody's", Owner{}, false); ok {
		t.Error("what is not there is of an owner without a name")
	}
	if _, ok, _ := table.Find("t-1", ada, false); ok {
		t.Error("the server's name finds the task")
	}
	if table.Forget(id, ""); len(table.owned[ada]) != 1 {
		t.Errorf("%d tasks are counted, want 1", len(table.owned[ada]))
	}
	if _, ok, _ := table.Find(id, ada, false); ok {
		t.Error("a task that is forgotten is found")
	}
	table.Forget(id, "")
	table.Keep(id, said(`{}`))
}

// TestNoTask: what is not a task is not kept.
func TestNoTask(t *testing.T) {
	name := strings.Repeat("n", maxName)
	for v, want := range map[string]bool{
		`{"taskId":"` + name + `","status":"working"}`:  true,
		`{"taskId":"` + name + `n","status":"working"}`: false,
		`{"taskId":"","status":"working"}`:              false,
		`{"taskId":7,"status":"working"}`:               false,
		`{"taskId":"x"}`:                                false,
		`{"status":"working"}`:                          false,
		`{"task":{"taskId":"x","status":"working"}}`:    false,
	} {
		var table Table
		if _, ok := table.Add(Task{}, said("%s", v)); ok != want {
			t.Errorf("%.60s: kept %t", v, ok)
		}
	}
}

// TestBounds: one caller and a node have so many tasks and no more; those that are over make
// room.
func TestBounds(t *testing.T) {
	var table Table
	working := said(`{"taskId":"x","status":"working"}`)
	add := func(o Owner) (string, bool) { return table.Add(Task{Owner: o}, working) }
	ada := Owner{"shop", "ada"}
	var last string
	for i := range maxOwned {
		var ok bool
		if last, ok = add(ada); !ok {
			t.Fatalf("task %d is refused", i)
		}
	}
	if _, ok := add(ada); ok || table.Room(ada) {
		t.Errorf("a caller has more than %d", maxOwned)
	}
	for i := len(table.tasks); i < maxTasks; i++ {
		if _, ok := add(Owner{"shop", fmt.Sprint(i)}); !ok {
			t.Fatalf("task %d is refused", i)
		}
	}
	table.swept = time.Time{} // it is looked through
	if _, ok := add(Owner{"shop", "bob"}); ok {
		t.Errorf("a node has more than %d", maxTasks)
	}
	over := time.Now().Add(-time.Second)
	table.tasks[last].expires = over
	if _, ok, _ := table.Find(last, ada, false); ok {
		t.Error("a task that is over is found")
	}
	if last, _ = add(ada); last == "" {
		t.Error("a task that was over makes no room")
	}
	table.tasks[last].expires = over
	table.swept = time.Now().Add(sweepPause)
	if table.Room(ada) {
		t.Error("a table that was just looked through is looked through again")
	}
	now := time.Now()
	if table.swept = now.Add(1 - sweepPause); table.roomLocked(ada, now) {
		t.Error("a table is looked through again before the pause is over")
	}
	if table.swept = now.Add(-sweepPause); !table.roomLocked(ada, now) || table.tasks[last] != nil {
		t.Error("a task that is over makes no room")
	}
}

// TestLife: a task is kept as long as its server says and a minute, a day at most after it was
// last asked for.
func TestLife(t *testing.T) {
	for _, c := range []struct {
		ttl  string
		age  time.Duration
		want time.Duration
	}{
		{`60000`, 0, time.Minute + grace},
		{`60000`, 45 * time.Second, 15*time.Second + grace},
		{`60000`, time.Hour, grace},
		{`0`, 0, grace},
		{`-5`, 0, grace},
		{`null`, time.Hour, longest},
		{`"x"`, 0, longest},
		{`86400000`, 0, longest + grace},
		{`86400001`, 0, longest},
		{`999999999999999999`, 0, longest},
		{`99999999999999999999999`, 0, longest},
	} {
		if got := life(said(`{"ttlMs":%s}`, c.ttl), c.age); got != c.want {
			t.Errorf("%s after %s: %s, want %s", c.ttl, c.age, got, c.want)
		}
	}
	if got := life(said(`{"ttl":60000}`), 0); got != time.Minute+grace { // MCP 2025-11-25
		t.Errorf("by the older name it is kept %s", got)
	}
	var table Table
	id, _ := table.Add(Task{}, said(`{"taskId":"x","status":"working","ttlMs":1000}`))
	table.Keep(id, said(`{"ttlMs":null}`))
	if left := time.Until(table.tasks[id].expires); left < longest-time.Minute {
		t.Errorf("the server keeps it for ever, and it is kept for %s", left)
	}
}

// TestAppendMembers: the client's name takes the place of the server's, whatever is beside it.
func TestAppendMembers(t *testing.T) {
	v := said(`{"resultType":"task","_meta":{"a":1},"taskId":"own","status":"working","x":{"taskId":"own"},"result":{}}`)
	got := string(AppendMembers(nil, v, "ours", "result"))
	if want := `"taskId":"ours","status":"working","x":{"taskId":"own"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPages: what a client asked for is listed in the order of making, in pages, and nothing of
// others or that is over.
func TestPages(t *testing.T) {
	var table Table
	ada := Owner{"shop", "ada"}
	for i := range pageTasks + 1 {
		table.Add(Task{Owner: ada, Called: true}, said(`{"taskId":"%d","status":"working"}`, i))
		table.Add(Task{Owner: ada}, said(`{"taskId":"m%d","status":"working"}`, i))
		table.Add(Task{Owner: Owner{"shop", "bob"}, Called: true}, said(`{"taskId":"b%d","status":"working"}`, i))
	}
	first, next, ok := table.Page(ada, "")
	if !ok || len(first) != pageTasks || next == "" {
		t.Fatalf("%d tasks, cursor %q, %t", len(first), next, ok)
	}
	for i, id := range first {
		if got, ok, _ := table.Find(id, ada, true); !ok || got.Name != fmt.Sprint(i) {
			t.Errorf("task %d is %+v", i, got)
		}
	}
	if second, _, _ := table.Page(ada, next); len(second) != 1 || slices.Contains(first, second[0]) {
		t.Errorf("the second page is %v", second)
	}
	table.Forget(first[len(first)-1], "") // a cursor stays good
	if second, next, ok := table.Page(ada, next); !ok || len(second) != 1 || next != "" {
		t.Errorf("then %v, %q, %t", second, next, ok)
	}
	for _, cursor := range []string{"0", "-1", "x", "99999999999999999999", fmt.Sprint(table.made), fmt.Sprint(table.made + 1)} {
		if _, _, ok := table.Page(ada, cursor); ok {
			t.Errorf("cursor %q is one", cursor)
		}
	}
	if _, _, ok := table.Page(ada, fmt.Sprint(table.made-1)); !ok {
		t.Error("a cursor before the last task is none")
	}
	table.tasks[first[0]].expires = time.Now().Add(-time.Second)
	if ids, _, _ := table.Page(ada, ""); ids[0] != first[1] {
		t.Error("a task that is over is listed")
	}
	table.ForgetAll(ada)
	if ids, _, _ := table.Page(ada, ""); len(ids) > 0 || len(table.owned[ada]) > 0 || len(table.names) != pageTasks+1 {
		t.Errorf("of nobody: %v, %d names", ids, len(table.names))
	}
}

// TestNames: a client's name for a task is found by the server's, at that server and for its owner.
func TestNames(t *testing.T) {
	var table Table
	ada := Owner{"shop", "ada"}
	id, _ := table.Add(Task{Owner: ada, Server: "up", Called: true, Session: "s"}, said(`{"taskId":"x","status":"working"}`))
	if got, ok := table.Names(ada, "up")("x"); !ok || got != id {
		t.Errorf("got %q, %t", got, ok)
	}
	for _, names := range []func(string) (string, bool){table.Names(ada, "other"), table.Names(Owner{"shop", "bob"}, "up")} {
		if got, ok := names("x"); ok {
			t.Errorf("somebody else's is %q", got)
		}
	}
	table.Forget(id, "another") // which may not be the server's of the task
	if _, ok, _ := table.Find(id, ada, true); !ok {
		t.Error("another session forgets a task")
	}
	if _, ok, _ := table.Find(id, ada, false); ok {
		t.Error("a task is found in the way of another revision")
	}
	other, _ := table.Add(Task{Owner: ada, Session: "s"}, said(`{"taskId":"y","status":"working"}`))
	if table.Forget(other, "another"); table.tasks[other] != nil {
		t.Error("a task that no client asked for is of one session")
	}
	table.Forget(id, "s")
	if _, ok := table.Names(ada, "up")("x"); ok {
		t.Error("a task that is forgotten has a name")
	}
}

// TestStart: the result of a call has the client's name for the task, as either revision writes
// it; where the task is not kept, nothing.
func TestStart(t *testing.T) {
	for _, c := range []struct {
		called       bool
		result, want string // %s is the name
	}{
		{false, `{"resultType":"task","taskId":"own","status":"working"}`, `{"taskId":"%s","status":"working"`},
		{true, `{"task":{"taskId":"own","status":"working"},"_meta":{}}`, `{"task":{"taskId":"%s","status":"working"}`},
		{false, `{"task":{"taskId":"own","status":"working"}}`, ""},
		{true, `{"taskId":"own","status":"working"}`, ""},
	} {
		var table Table
		ada := Owner{"shop", "ada"}
		out, ok := table.Start([]byte("{"), Task{Owner: ada, Server: "s", Called: c.called}, said("%s", c.result))
		id, kept := table.Names(ada, "s")("own")
		if kept {
			c.want = fmt.Sprintf(c.want, id)
		} else if c.want == "" {
			c.want = "{"
		}
		if string(out) != c.want || ok != (c.want != "{") || kept != ok {
			t.Errorf("of %s: %s, %t, want %s", c.result, out, ok, c.want)
		}
	}
}
