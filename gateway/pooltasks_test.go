package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
)

// TestPoolTasks: a task of 2026-07-28 that one node made is its caller's at every node, and
// nobody else's at any.
func TestPoolTasks(t *testing.T) {
	u := newUpstreamServer(t, true)
	n := newNodes(t, func(s *gatewaytest.Stack) { serveTasks(t, s, u, nil) })
	u.answer("dig", `"result":{"resultType":"task","taskId":"own/1","status":"working",`+taskFacts+`}`)
	u.answer("tasks/get", `"result":{"resultType":"complete","taskId":"own/1","status":"working",`+taskFacts+`}`)
	u.answer("tasks/cancel", `"result":{"resultType":"complete"}`)
	m := taskID.FindStringSubmatch(callTask(t, n.all[0], "ada", true))
	if m == nil {
		t.Fatal("no task was made")
	}
	for i, s := range n.all {
		for _, c := range []struct{ caller, id string }{{"bob", m[1]}, {"eve", m[1]}, {"ada", "own/1"}, {"ada", strings.Repeat("0", 40)}} {
			if got := aboutTask(t, s, c.caller, "tasks/get", c.id, ""); !strings.Contains(got, "unknown task") {
				t.Errorf("node %d, %s asks for %s: %s", i, c.caller, c.id, got)
			}
		}
		if got := aboutTask(t, s, "ada", "tasks/get", m[1], ""); !strings.Contains(got, `"taskId":"`+m[1]+`","status":"working"`) {
			t.Errorf("node %d: %s", i, got)
		}
	}
	if got := aboutTask(t, n.all[2], "ada", "tasks/cancel", m[1], ""); !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("its end at another node: %s", got)
	}
	// What its server forgot is over at every node.
	u.answer("tasks/get", `"error":{"code":-32602,"message":"gone"}`)
	for i, s := range n.all {
		if got := aboutTask(t, s, "ada", "tasks/get", m[1], ""); !strings.Contains(got, "-32602") {
			t.Errorf("node %d, behind its end: %s", i, got)
		}
	}
}

// TestPoolCalledTasks: so is a task that a client of 2025-11-25 made in a session.
func TestPoolCalledTasks(t *testing.T) {
	u := newUpstreamServer(t, false)
	n := newNodes(t, func(s *gatewaytest.Stack) { serveCalledTasks(t, s, u, nil) })
	u.answer("dig", `"result":{"task":{"taskId":"own/1","status":"working",`+calledFacts+`}}`)
	u.answer("tasks/get", `"result":{"taskId":"own/1","status":"working",`+calledFacts+`}`)
	u.answer("tasks/result", `"result":{"content":[{"type":"text","text":"found"}]}`)
	ada, bob := newTaskClient(t, n.all[0], "ada", "2025-11-25"), newTaskClient(t, n.all[1], "bob", "2025-11-25")
	id := taskID.FindStringSubmatch(ada.dig())[1]
	about := fmt.Sprintf(`{"taskId":%q}`, id)
	for i, s := range n.all {
		ada.url, bob.url = s.URL("acme"), s.URL("acme")
		if got := bob.ask("tasks/get", about); !strings.Contains(got, "unknown task") {
			t.Errorf("node %d, another caller: %s", i, got)
		}
		if got := ada.ask("tasks/get", about); !strings.Contains(got, `"taskId":"`+id+`","status":"working"`) {
			t.Errorf("node %d: %s", i, got)
		}
		if got := ada.ask("tasks/result", about); !strings.Contains(got, "found") || !strings.Contains(got, id) {
			t.Errorf("node %d, its result: %s", i, got)
		}
	}
}

// TestPoolTasksWithoutState: without what the nodes share a task is known where it was made;
// elsewhere its client is told so. The others know it once they can be told.
func TestPoolTasksWithoutState(t *testing.T) {
	u := newUpstreamServer(t, true)
	n := newNodes(t, func(s *gatewaytest.Stack) { serveTasks(t, s, u, nil) })
	u.answer("dig", `"result":{"resultType":"task","taskId":"own/1","status":"working",`+taskFacts+`}`)
	u.answer("tasks/get", `"result":{"resultType":"complete","taskId":"own/1","status":"working",`+taskFacts+`}`)
	n.state.Kill()
	id := taskID.FindStringSubmatch(callTask(t, n.all[0], "ada", true))[1]
	const working = `"status":"working"`
	if got := aboutTask(t, n.all[0], "ada", "tasks/get", id, ""); !strings.Contains(got, working) {
		t.Errorf("where it was made: %s", got)
	}
	if got := aboutTask(t, n.all[1], "ada", "tasks/get", id, ""); !strings.Contains(got, "another node of the gateway may know this task") || !strings.Contains(got, "ask again") {
		t.Errorf("elsewhere: %s", got)
	}
	n.state.Run()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if got := aboutTask(t, n.all[0], "ada", "tasks/get", id, ""); !strings.Contains(got, working) {
			t.Fatalf("where it was made, when the state is back: %s", got)
		}
		if got := aboutTask(t, n.all[2], "ada", "tasks/get", id, ""); strings.Contains(got, working) {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("elsewhere, when the state is back: %s", got)
		}
	}
}
