// Package task records which caller owns each task of an MCP server: those that a server makes of a call (extension
// io.modelcontextprotocol/tasks), and those that clients of 2025-11-25 ask for. A client knows a task by a name that this node gave it and that
// nobody can guess; the server's own name never leaves the nodes, and another caller or toolset finds no task by it. The nodes of a pool share
// the tasks that they know.
//
// It runs nothing and asks nobody: the server keeps the task, and package call asks for it.
package task

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
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
	// pageTasks is how many tasks are listed at once: the server is asked for each.
	pageTasks = 20
	// nameLength is that of the names that clients have for tasks.
	nameLength = 40
	// giveAgain is the part of a task's life by which it may be longer than the other nodes
	// of a pool know.
	giveAgain = 10
)

// Owner is who may ask for a task.
type Owner struct{ Toolset, Principal string }

// OwnerOf is whose the tasks of a request are. Of callers whom nobody knows, those with a session
// are told from each other by its key.
func OwnerOf(toolset, principal, session string) Owner {
	if principal == "" {
		principal = session
	}
	return Owner{toolset, principal}
}

// Task is a task of an MCP server.
type Task struct {
	Owner  Owner
	Tool   string // of the toolset, that made it
	Server string // of the tool, as the toolset names it
	Name   string // as the server calls it
	// Called says that the client asked for it (MCP 2025-11-25), in the session of this key.
	Called  bool
	Session string
	// Token is JSON of the token under which the client is told how far the task is, and OwnToken
	// the server's; "": it is not.
	Token    string
	OwnToken uint64
}

// ofServer is a task as its server calls it.
type ofServer struct {
	owner        Owner
	server, name string
}

func (t *Task) ofServer() ofServer { return ofServer{t.Owner, t.Server, t.Name} }

type entry struct {
	id      string
	number  uint64 // in the order of making
	task    Task
	created time.Time
	expires time.Time
	given   time.Time // until when the other nodes know it
}

// Table has the tasks of a node. Its zero value is ready. It is safe for concurrent use.
type Table struct {
	pool  Pool // nil: the node is alone
	mu    sync.Mutex
	tasks map[string]*entry   // guarded by mu; by the name that clients have
	owned map[Owner][]*entry  // guarded by mu; in the order of making
	names map[ofServer]string // guarded by mu; the name that clients have
	made  uint64              // guarded by mu; tasks ever
	swept time.Time           // guarded by mu; when those that are over were last taken out
}

// Room reports whether another task of an owner can be kept.
func (t *Table) Room(o Owner) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.roomLocked(o, time.Now())
}

func (t *Table) roomLocked(o Owner, now time.Time) bool {
	if len(t.tasks) < maxTasks && len(t.owned[o]) < maxOwned {
		return true
	}
	if now.Sub(t.swept) < sweepPause {
		return false
	}
	t.swept = now
	for _, e := range t.tasks {
		if now.After(e.expires) {
			t.dropLocked(e)
		}
	}
	return len(t.tasks) < maxTasks && len(t.owned[o]) < maxOwned
}

func (t *Table) dropLocked(e *entry) {
	delete(t.tasks, e.id)
	if own := e.task.ofServer(); t.names[own] == e.id {
		delete(t.names, own)
	}
	o := e.task.Owner
	t.owned[o] = slices.DeleteFunc(t.owned[o], func(other *entry) bool { return other == e })
	if len(t.owned[o]) == 0 {
		delete(t.owned, o)
	}
}

// Add keeps a task of which the server said v, and returns the name for its client; false: too
// many are kept, or v is none.
func (t *Table) Add(task Task, v jsonscan.Value) (id string, ok bool) {
	if task.Name, ok = Name(v); !ok || !v.Get("status").Exists() {
		return "", false
	}
	now := time.Now()
	var b [nameLength / 2]byte
	_, _ = rand.Read(b[:]) // it never fails
	e := entry{id: hex.EncodeToString(b[:]), task: task, created: now, expires: now.Add(life(v, 0))}
	if !t.keep(e, now) {
		return "", false
	}
	t.give(e)
	return e.id, true
}

func (t *Table) keep(e entry, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	room := t.roomLocked(e.task.Owner, now)
	if room {
		t.keepLocked(&e)
	}
	return room
}

func (t *Table) keepLocked(e *entry) {
	if t.tasks == nil {
		t.tasks, t.owned, t.names = map[string]*entry{}, map[Owner][]*entry{}, map[ofServer]string{}
	}
	t.made++
	e.number = t.made
	t.tasks[e.id], t.names[e.task.ofServer()] = e, e.id
	t.owned[e.task.Owner] = append(t.owned[e.task.Owner], e)
}

// Start is Add for the result of a call, and appends the members of the client's result.
func (t *Table) Start(dst []byte, task Task, result jsonscan.Value) (out []byte, ok bool) {
	said := result
	if task.Called {
		said = result.Get("task")
	}
	id, ok := t.Add(task, said)
	switch {
	case !ok:
		return dst, false
	case task.Called:
		return append(AppendMembers(append(dst, `"task":{`...), said, id), '}'), true
	}
	return AppendMembers(dst, said, id), true
}

// Find returns the task of an owner by the name that its client has; called says which of both
// kinds it is. It fails with [problem.Unavailable] when another node may know it that cannot be
// asked.
func (t *Table) Find(id string, o Owner, called bool) (found Task, ok bool, err error) {
	if found, ok = t.own(id); !ok {
		found, ok, err = t.take(id, o)
	}
	if !ok || found.Owner != o || found.Called != called {
		return Task{}, false, err
	}
	return found, true, nil
}

// own finds a task that this node knows.
func (t *Table) own(id string) (Task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.tasks[id]
	if e == nil {
		return Task{}, false
	}
	if time.Now().After(e.expires) {
		t.dropLocked(e)
		return Task{}, false
	}
	return e.task, true
}

// Page returns the names of tasks that an owner asked for, in the order of making: the first of
// those behind a cursor, "" being before all, and the cursor behind them, "" at the end. ok is
// false for a cursor that no page gave.
func (t *Table) Page(o Owner, cursor string) (ids []string, next string, ok bool) {
	var after uint64
	if cursor != "" {
		var err error
		if after, err = strconv.ParseUint(cursor, 10, 64); err != nil || after == 0 {
			return nil, "", false
		}
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if after >= t.made { // a cursor is given where there are more
		return nil, "", false
	}
	last := after
	for _, e := range t.owned[o] {
		if e.number <= after || !e.task.Called || now.After(e.expires) {
			continue
		}
		if len(ids) == pageTasks {
			return ids, strconv.FormatUint(last, 10), true
		}
		ids, last = append(ids, e.id), e.number
	}
	return ids, "", true
}

// Names gives the name that an owner's client has for a task of a server; false: it has none.
func (t *Table) Names(o Owner, server string) func(own string) (id string, ok bool) {
	return func(own string) (string, bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		id, ok := t.names[ofServer{o, server, own}]
		return id, ok
	}
}

// Keep keeps a task as long as the server says now that it does.
func (t *Table) Keep(id string, v jsonscan.Value) {
	if e, late := t.prolong(id, v, time.Now()); late {
		t.give(e)
	}
}

// prolong reports whether the other nodes would forget the task long before this one does.
func (t *Table) prolong(id string, v jsonscan.Value, now time.Time) (e entry, late bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.tasks[id]
	if kept == nil {
		return entry{}, false
	}
	kept.expires = now.Add(life(v, now.Sub(kept.created)))
	return *kept, kept.given.Add(max(kept.expires.Sub(now)/giveAgain, grace)).Before(kept.expires)
}

// Forget takes a task out that its server no longer knows, unless it may know it in the session
// in which it was made, and the one with the key in is another.
func (t *Table) Forget(id, in string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.tasks[id]; e != nil && (!e.task.Called || e.task.Session == in) {
		t.dropLocked(e)
	}
}

// ForgetAll takes the tasks of an owner out who is no more.
func (t *Table) ForgetAll(o Owner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.owned[o]) > 0 {
		t.dropLocked(t.owned[o][0])
	}
}

// life is how long a task of an age is kept from now on. The time that a server names begins
// when the task was made.
func life(v jsonscan.Value, age time.Duration) time.Duration {
	ttl := v.Get("ttlMs")
	if !ttl.Exists() {
		ttl = v.Get("ttl") // MCP 2025-11-25
	}
	ms, ok := ttl.Int64()
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

// AppendMembers appends the members of what a server says of a task to dst, without
// what is not the task's own and without those called except; id is the name for its client.
func AppendMembers(dst []byte, v jsonscan.Value, id string, except ...string) []byte {
	mark := len(dst)
members:
	for it := v.Members(); it.Next(); {
		switch {
		case it.KeyEqual("resultType"), it.KeyEqual("_meta"):
			continue
		case it.KeyEqual("taskId"):
			dst = jsonscan.AppendStringOf(jsonscan.AppendKey(dst, mark, it.Key()), id)
			continue
		}
		for _, name := range except {
			if it.KeyEqual(name) {
				continue members
			}
		}
		dst = jsonscan.AppendMember(dst, mark, it.Key(), it.Value().Raw())
	}
	return dst
}

// AppendRelated appends to the members of a result's _meta that it is that of a task (MCP
// 2025-11-25 "Related Task Metadata"); id is the name for its client.
func AppendRelated(dst []byte, id string) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	return append(jsonscan.AppendStringOf(append(dst, `"io.modelcontextprotocol/related-task":{"taskId":`...), id), '}')
}
