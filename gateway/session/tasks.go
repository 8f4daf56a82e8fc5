package session

import (
	"slices"
	"strings"
)

const (
	// maxTasks is how many tasks a session remembers that its client runs for servers: of
	// more the oldest is forgotten.
	maxTasks = 64
	// maxTaskID is the longest name that a client may give a task, in bytes.
	maxTaskID = 256
)

// task is one that the client runs for a server (MCP 2025-11-25 "Tasks").
type task struct{ server, id string }

// field is the task in a record of the pool. Names of servers have no such character.
func (k task) field() string { return fieldTask + k.server + "\x00" + k.id }

func taskOf(field string) (k task, ok bool) {
	if field, ok = strings.CutPrefix(field, fieldTask); ok {
		k.server, k.id, ok = strings.Cut(field, "\x00")
	}
	return k, ok
}

// KeepTask keeps that the client runs a task for a server: no other server of the toolset may
// ask for it. It reports whether it was kept: one whose name is too long is not, nor one that
// the client named as that of another server.
func (s *Session) KeepTask(server, id string) bool {
	if id == "" || len(id) > maxTaskID {
		return false
	}
	k := task{server, id}
	var gone *task
	s.mu.Lock()
	for _, other := range s.tasks {
		if other.id == id {
			s.mu.Unlock()
			return other == k
		}
	}
	if len(s.tasks) >= maxTasks {
		gone = &s.tasks[0]
		s.tasks = slices.Clone(s.tasks[1:])
	}
	s.tasks = append(s.tasks, k)
	s.mu.Unlock()
	if gone != nil {
		s.unset(gone.field(), nil)
	}
	s.set(k.field(), nil, false)
	return true
}

// RunsTask reports whether the client runs a task of that name for a server.
func (s *Session) RunsTask(server, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.tasks, task{server, id})
}
