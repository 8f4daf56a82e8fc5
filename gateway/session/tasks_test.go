package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/pool"
)

// TestTasksOfAClient: a session knows for which server its client runs a task, maxTasks of them,
// by names of maxTaskID bytes at most, and no name is of two servers.
func TestTasksOfAClient(t *testing.T) {
	s := New(Options{}).Open(Owner{Toolset: "t"}, Client{})
	long := strings.Repeat("x", maxTaskID)
	for _, c := range []struct {
		server, id string
		kept       bool
	}{
		{"a", "1", true}, {"a", "1", true}, {"b", "1", false}, {"b", "2", true}, {"a", "", false}, {"a", long, true}, {"a", long + "x", false},
	} {
		if got := s.KeepTask(c.server, c.id); got != c.kept || c.kept && !s.RunsTask(c.server, c.id) {
			t.Errorf("%s of %s: kept %v", c.id, c.server, got)
		}
	}
	if s.RunsTask("b", "1") || s.RunsTask("a", "2") || s.RunsTask("a", "") {
		t.Error("a server has a task that is not its own")
	}
	for i := range maxTasks {
		s.KeepTask("a", fmt.Sprint("more", i))
	}
	if s.RunsTask("a", "1") || !s.RunsTask("a", "more0") || len(s.tasks) != maxTasks {
		t.Errorf("%d tasks are kept", len(s.tasks))
	}
}

// TestTasksAreShared: the nodes of a pool know the same of a client's tasks, also of those that
// were forgotten, and how often its roots changed.
func TestTasksAreShared(t *testing.T) {
	s := New(Options{}).Open(Owner{Toolset: "t"}, Client{Version: "2025-11-25"})
	s.KeepTask("a", "1")
	s.KeepTask("b", "task:2\x00")
	s.ChangeRoots()
	other := &Session{table: s.table}
	if !other.load(pool.Record{Fields: s.fieldsLocked(), Version: "1"}) || !other.RunsTask("a", "1") || !other.RunsTask("b", "task:2\x00") || len(other.tasks) != 2 || other.Roots() != 1 {
		t.Errorf("another node knows %q", other.tasks)
	}
	if !other.load(pool.Record{Fields: map[string][]byte{fieldClient: []byte("{}"), "task:no": nil}, Version: "2"}) || len(other.tasks) != 0 {
		t.Errorf("then it knows %q", other.tasks)
	}
}
