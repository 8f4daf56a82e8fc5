// Package task keeps which tasks MCP servers made for whom (extension
// io.modelcontextprotocol/tasks). A client knows a task by a name that this node gave it
// and that nobody can guess; the server's own name never leaves the node, and another caller
// or toolset finds no task by it.
//
// It runs nothing and asks nobody: the server keeps the task, and package call asks for it.
package task

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxTasks bounds the tasks that a node knows, at about 400 bytes each, and maxOwned those
	// of one caller at one toolset. All callers of an open toolset are one.
	maxTasks = 20_000
	maxOwned = 1_000
	// maxName is the longest name that a server may give a task, in bytes.
	maxName = 1 << 10
	// longest is how long a task is kept that its server keeps longer, or forever, after it was
	// last asked for; grace is how much longer than the server any task is, so that the server
	// says itself that it is over.
	longest = 24 * time.Hour
	grace   = time.Minute
	// sweepPause is how often a full table is looked through for tasks that are over: calls of
	// a caller who has too many must not each do that.
	sweepPause = time.Second
)

// Owner is who may ask for a task.
type Owner struct{ Toolset, Principal string }

// Task is a task of an MCP server.
type Task struct {
	Owner Owner
	Tool  string // of the toolset, that made it
	Name  string // as the server calls it
}

type entry struct {
	task    Task
	created time.Time
	expires time.Time
}

// Table has the tasks of a node. Its zero value is ready. It is safe for concurrent use.
type Table struct {
	mu    sync.Mutex
	tasks map[string]*entry // guarded by mu; by the name that clients have
	owned map[Owner]int     // guarded by mu
	swept time.Time         // guarded by mu; when those that are over were last taken out
}

// Room reports whether another task of an owner can be kept.
func (t *Table) Room(o Owner) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.roomLocked(o, time.Now())
}

func (t *Table) roomLocked(o Owner, now time.Time) bool {
	if len(t.tasks) < maxTasks && t.owned[o] < maxOwned {
		return true
	}
	if now.Sub(t.swept) < sweepPause {
		return false
	}
	t.swept = now
	for id, e := range t.tasks {
		if now.After(e.expires) {
			t.dropLocked(id, e)
		}
	}
	return len(t.tasks) < maxTasks && t.owned[o] < maxOwned
}

func (t *Table) dropLocked(id string, e *entry) {
	delete(t.tasks, id)
	if t.owned[e.task.Owner]--; t.owned[e.task.Owner] == 0 {
		delete(t.owned, e.task.Owner)
	}
}

// Add keeps a task of which the server said v, and returns the name for its client; false: too
// many are kept, or v is none.
func (t *Table) Add(task Task, v jsonscan.Value) (id string, ok bool) {
	if task.Name, ok = Name(v); !ok || !v.Get("status").Exists() {
		return "", false
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.roomLocked(task.Owner, now) {
		return "", false
	}
	if t.tasks == nil {
		t.tasks, t.owned = map[string]*entry{}, map[Owner]int{}
	}
	var b [20]byte
	_, _ = rand.Read(b[:]) // it never fails
	id = hex.EncodeToString(b[:])
	t.tasks[id] = &entry{task, now, now.Add(life(v, 0))}
	t.owned[task.Owner]++
	return id, true
}

// Find returns the task of an owner by the name that its client has.
func (t *Table) Find(id string, o Owner) (Task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.tasks[id]
	if e == nil || e.task.Owner != o {
		return Task{}, false
	}
	if time.Now().After(e.expires) {
		t.dropLocked(id, e)
		return Task{}, false
	}
	return e.task, true
}

// Keep keeps a task as long as the server says now that it does.
func (t *Table) Keep(id string, v jsonscan.Value) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.tasks[id]; e != nil {
		e.expires = now.Add(life(v, now.Sub(e.created)))
	}
}

// Forget takes a task out that its server no longer knows.
func (t *Table) Forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.tasks[id]; e != nil {
		t.dropLocked(id, e)
	}
}

// life is how long a task of an age is kept from now on. The time that a server names begins
// when the task was made.
func life(v jsonscan.Value, age time.Duration) time.Duration {
	ms, ok := v.Get("ttlMs").Int64()
	if !ok || ms > longest.Milliseconds() {
		return longest
	}
	return max(time.Duration(max(ms, 0))*time.Millisecond-age, 0) + grace
}

// Name is what a server calls the task of which it says v; false: v is not a task.
func Name(v jsonscan.Value) (string, bool) {
	id := v.Get("taskId")
	if id.Kind() != jsonscan.String || len(id.Raw()) > maxName+2 || len(id.Raw()) == 2 {
		return "", false
	}
	return string(id.AppendText(nil)), true
}

// AppendMembers appends the members of what a server says of a task to those in dst, without
// what is not the task's own and without those called except; id is the name for its client.
func AppendMembers(dst []byte, v jsonscan.Value, id string, except ...string) []byte {
members:
	for it := v.Members(); it.Next(); {
		switch {
		case it.KeyEqual("resultType"), it.KeyEqual("_meta"):
			continue
		case it.KeyEqual("taskId"):
			dst = jsonscan.AppendStringOf(jsonscan.AppendKey(dst, 0, it.Key()), id)
			continue
		}
		for _, name := range except {
			if it.KeyEqual(name) {
				continue members
			}
		}
		dst = jsonscan.AppendMember(dst, 0, it.Key(), it.Value().Raw())
	}
	return dst
}
