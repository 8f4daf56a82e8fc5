package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/internal/problem"
)

// Pool keeps tasks for all nodes of a pool. See [pool.Store].
type Pool interface {
	Put(ctx context.Context, owner, id string, value []byte, ttl time.Duration) error
	Get(ctx context.Context, owner, id string) ([]byte, error)
}

// Share has the other nodes of a pool know the tasks, and t know theirs. It is called before any
// other method.
func (t *Table) Share(p Pool) { t.pool = p }

// shared is a task as it is for the other nodes. Its owner is its name there.
type shared struct {
	Tool     string    `json:"tool"`
	Server   string    `json:"server"`
	Name     string    `json:"name"`
	Called   bool      `json:"called,omitempty"`
	Session  string    `json:"session,omitempty"`
	Token    string    `json:"token,omitempty"`
	OwnToken uint64    `json:"ownToken,omitempty"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"`
}

// place is where the tasks of an owner are in the pool. Each has a list of its own there: that
// of all results of an owner is short.
func (o Owner) place(id string) string {
	return "task\x00" + o.Toolset + "\x00" + o.Principal + "\x00" + id
}

// give gives a task to the other nodes. What they share may be away: then the task is this node's
// alone until its server is next asked how far it is.
func (t *Table) give(e entry) {
	if t.pool == nil {
		return
	}
	b, _ := json.Marshal(shared{ // of plain data: cannot fail
		e.task.Tool, e.task.Server, e.task.Name, e.task.Called, e.task.Session, e.task.Token, e.task.OwnToken, e.created, e.expires,
	})
	if t.pool.Put(context.Background(), e.task.Owner.place(e.id), e.id, b, time.Until(e.expires)) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if kept := t.tasks[e.id]; kept != nil {
		kept.given = e.expires
	}
}

// take finds a task that another node made, and keeps it here too. It fails with
// [problem.Unavailable] when the nodes cannot ask each other.
func (t *Table) take(id string, o Owner) (Task, bool, error) {
	if t.pool == nil || len(id) != nameLength {
		return Task{}, false, nil
	}
	b, err := t.pool.Get(context.Background(), o.place(id), id)
	if errors.Is(err, pool.ErrAway) {
		return Task{}, false, problem.New(problem.Unavailable, "another node of the gateway may know this task, and what the nodes share cannot be reached now").
			Fix("ask again in some seconds")
	}
	var in shared
	now := time.Now()
	if err != nil || json.Unmarshal(b, &in) != nil || in.Name == "" || now.After(in.Expires) {
		return Task{}, false, nil
	}
	found := Task{o, in.Tool, in.Server, in.Name, in.Called, in.Session, in.Token, in.OwnToken}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.tasks[id]; e != nil { // two requests asked
		return e.task, true, nil
	}
	if t.roomLocked(o, now) { // else each request asks the pool
		t.keepLocked(&entry{id: id, task: found, created: in.Created, expires: in.Expires, given: in.Expires})
	}
	return found, true, nil
}
