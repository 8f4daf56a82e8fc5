package task

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/internal/problem"
)

// nodes are what the tables of several nodes share.
type nodes struct {
	kept  map[string][]byte
	away  bool
	asked int
}

func (n *nodes) Put(_ context.Context, owner, id string, value []byte, _ time.Duration) error {
	if n.away {
		return fmt.Errorf("asked in vain: %w", pool.ErrAway)
	}
	n.kept[owner+id] = value
	return nil
}

func (n *nodes) Get(_ context.Context, owner, id string) ([]byte, error) {
	n.asked++
	if n.away {
		return nil, fmt.Errorf("asked in vain: %w", pool.ErrAway)
	}
	if b, ok := n.kept[owner+id]; ok {
		return b, nil
	}
	return nil, errors.New("none")
}

// TestSharedTasks: a task that one node made is found at another one by its owner, as the kind
// that it is, until it is over; where the nodes cannot ask each other, that is said.
func TestSharedTasks(t *testing.T) {
	n := &nodes{kept: map[string][]byte{}}
	var one, two Table
	one.Share(n)
	two.Share(n)
	ada := Owner{"shop", "ada"}
	task := Task{Owner: ada, Tool: "dig", Server: "s", Called: true, Session: "of the server", Token: "t", OwnToken: 7}
	id, ok := one.Add(task, said(`{"taskId":"t-1","status":"working","ttlMs":60000}`))
	if task.Name = "t-1"; !ok {
		t.Fatal("it is not kept")
	}
	for _, o := range []Owner{{"shop", "bob"}, {"other", "ada"}, {"shop", ""}, {"shop\x00ada", ""}, {"shopa", "da"}, {"", "shopada"}} {
		if got, ok, err := two.Find(id, o, true); ok || err != nil {
			t.Errorf("%q finds %+v, %v", o, got, err)
		}
	}
	if got, ok, err := two.Find(id, ada, false); ok || err != nil {
		t.Errorf("as one of the other kind: %+v, %v", got, err)
	}
	for range 2 {
		if got, ok, err := two.Find(id, ada, true); !ok || err != nil || got != task {
			t.Errorf("at the other node: %+v, %t, %v", got, ok, err)
		}
	}
	asked := n.asked
	if _, ok, _ := two.Find(id, ada, true); !ok || n.asked != asked {
		t.Error("a task that is known is asked for")
	}

	n.away = true
	var three Table
	three.Share(n)
	if _, ok, err := three.Find(id, ada, true); ok || !problem.Is(err, problem.Unavailable) {
		t.Errorf("while the others are away: %t, %v", ok, err)
	}
	if _, ok, err := three.Find("not a name", ada, true); ok || err != nil || n.asked != asked+1 {
		t.Errorf("what is no name is asked for: %t, %v", ok, err)
	}
	alone, ok := three.Add(task, said(`{"taskId":"t-2","status":"working"}`))
	if !ok || !three.tasks[alone].given.IsZero() {
		t.Errorf("a task that the others do not know: %t", ok)
	}
	n.away = false
	if got, ok, _ := one.Find(alone, ada, true); ok {
		t.Errorf("found %+v, which nobody was told of", got)
	}
	three.Keep(alone, said(`{"ttlMs":60000}`)) // now they can be told
	if _, ok, err := one.Find(alone, ada, true); !ok || err != nil {
		t.Errorf("told of when its server was asked again: %t, %v", ok, err)
	}

	over := n.kept[ada.place(id)+id]
	for i, expires := range []time.Time{time.Now().Add(-time.Second), time.Now().Add(time.Hour)} {
		var four Table
		four.Share(record(fmt.Appendf(nil, `{"name":"t-1","called":true,"expires":%q}`, expires.Format(time.RFC3339Nano))))
		if _, ok, err := four.Find(id, ada, true); ok != (i == 1) || err != nil {
			t.Errorf("one that ends at %s: %t, %v; the record is %s", expires, ok, err, over)
		}
	}
}

// TestSharedTasksAreBounded: a caller who asks for tasks of other nodes fills no more of a table
// than with own ones, and still gets them.
func TestSharedTasksAreBounded(t *testing.T) {
	n := &nodes{kept: map[string][]byte{}}
	var two Table
	two.Share(n)
	ada := Owner{"shop", "ada"}
	for i := range maxOwned + 1 {
		var one Table
		one.Share(n)
		id, ok := one.Add(Task{Owner: ada}, said(`{"taskId":"%d","status":"working"}`, i))
		if !ok {
			t.Fatal(i)
		}
		if got, ok, err := two.Find(id, ada, false); !ok || err != nil || got.Name != fmt.Sprint(i) {
			t.Fatalf("task %d: %+v, %t, %v", i, got, ok, err)
		}
	}
	if len(two.tasks) != maxOwned || len(two.owned[ada]) != maxOwned {
		t.Errorf("%d tasks are kept, want %d", len(two.tasks), maxOwned)
	}
}

// TestOwnerOf: callers whom nobody knows are told from each other by their sessions, and nobody
// by a session where the caller is known.
func TestOwnerOf(t *testing.T) {
	for _, c := range [][3]string{{"ada", "s", "ada"}, {"ada", "", "ada"}, {"", "s", "s"}, {"", "", ""}} {
		if got := OwnerOf("shop", c[0], c[1]); got != (Owner{"shop", c[2]}) {
			t.Errorf("of %q in %q: %q", c[0], c[1], got)
		}
	}
}

// TestAppendRelated: what is said of the task stands behind what is there.
func TestAppendRelated(t *testing.T) {
	const related = `"io.modelcontextprotocol/related-task":{"taskId":"a\"b"}`
	for before, want := range map[string]string{"": related, `"a":1`: `"a":1,` + related, "x": "x," + related} {
		if got := string(AppendRelated([]byte(before), `a"b`)); got != want {
			t.Errorf("behind %q: %s, want %s", before, got, want)
		}
	}
}

// TestNothingIsLeft: the names of owners whose tasks are over take no memory.
func TestNothingIsLeft(t *testing.T) {
	var table Table
	id, _ := table.Add(Task{Owner: Owner{"shop", "ada"}}, said(`{"taskId":"t","status":"working"}`))
	table.Forget(id, "")
	if len(table.owned)+len(table.tasks)+len(table.names) != 0 {
		t.Errorf("left are %v, %v, %v", table.owned, table.tasks, table.names)
	}
}

// TestToldAgain: the other nodes are told of a task again when they would forget it before a tenth
// of the rest of its life, or the minute that it is kept longer, is left.
func TestToldAgain(t *testing.T) {
	now := time.Now()
	for _, left := range []time.Duration{5 * time.Minute, time.Hour} {
		spare := max((left+grace)/giveAgain, grace)
		for more, want := range map[time.Duration]bool{-1: true, 0: false, 1: false} {
			var table Table
			e := entry{id: "x", created: now, given: now.Add(left + grace - spare + more)}
			table.keep(e, now)
			if got, late := table.prolong("x", said(`{"ttlMs":%d}`, left.Milliseconds()), now); late != want || !got.expires.Equal(now.Add(left+grace)) {
				t.Errorf("%s left and known %d ns beyond: told again %t, until %s", left, more, late, got.expires)
			}
		}
	}
}

// asking is a pool that does something while it is asked.
type asking struct {
	*nodes
	meanwhile func()
}

func (a *asking) Get(ctx context.Context, owner, id string) ([]byte, error) {
	if f := a.meanwhile; f != nil {
		a.meanwhile = nil
		f()
	}
	return a.nodes.Get(ctx, owner, id)
}

// TestAskedTwice: a task that two requests ask the other nodes for at a time is kept once, and an
// answer with an error is none.
func TestAskedTwice(t *testing.T) {
	n := &nodes{kept: map[string][]byte{}}
	var one, two Table
	one.Share(n)
	ada := Owner{"shop", "ada"}
	id, _ := one.Add(Task{Owner: ada}, said(`{"taskId":"t-1","status":"working"}`))
	find := func() {
		if got, ok, err := two.Find(id, ada, false); !ok || err != nil || got.Name != "t-1" {
			t.Errorf("%+v, %t, %v", got, ok, err)
		}
	}
	two.Share(&asking{n, find})
	if find(); len(two.owned[ada]) != 1 {
		t.Errorf("it is kept %d times", len(two.owned[ada]))
	}
	var three Table
	three.Share(torn{record(`{"name":"t-1","expires":"2999-01-01T00:00:00Z"}`)})
	if got, ok, err := three.Find(id, ada, false); ok || err != nil {
		t.Errorf("of an answer that broke off: %+v, %v", got, err)
	}
}

// torn is a record that cannot be read to its end.
type torn struct{ record }

func (t torn) Get(context.Context, string, string) ([]byte, error) {
	return t.record, errors.New("broke off")
}
