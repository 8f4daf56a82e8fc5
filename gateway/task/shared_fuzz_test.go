package task

import (
	"context"
	"strings"
	"testing"
	"time"
)

// record is a pool that holds one task for everybody.
type record []byte

func (record) Put(context.Context, string, string, []byte, time.Duration) error { return nil }

func (r record) Get(context.Context, string, string) ([]byte, error) { return r, nil }

// FuzzShared: whatever the pool has for a task, it is a task of who asks that has a name at
// its server and is not over, or none.
func FuzzShared(f *testing.F) {
	f.Add([]byte(`{"tool":"dig","server":"s","name":"t-1","ownToken":7,"created":"2026-01-02T03:04:05Z","expires":"2999-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"name":"t-1","expires":"2000-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"name":"","expires":"2999-01-01T00:00:00Z"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var table Table
		table.Share(record(b))
		ada, id := Owner{"shop", "ada"}, strings.Repeat("i", nameLength)
		got, ok, err := table.Find(id, ada, false)
		switch {
		case err != nil:
			t.Fatal(err)
		case !ok && got != (Task{}):
			t.Fatalf("none, and %+v", got)
		case ok && (got.Owner != ada || got.Name == ""):
			t.Fatalf("a task of %q by the name %q", got.Owner, got.Name)
		}
		if again, still, _ := table.Find(id, ada, false); ok && (!still || again != got) {
			t.Fatalf("%+v, and then %+v, %t", got, again, still)
		}
	})
}
