package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/secrets"
)

// rotated is a node that is told of keys at a time of its own.
type rotated struct {
	*Store
	key atomic.Pointer[[]byte]
}

func (r *rotated) told(key []byte) { r.key.Store(&key) }

// rotating are nodes of one pool and one clock.
func rotating(t *testing.T, n int) (nodes []*rotated, after func(time.Duration)) {
	t.Helper()
	server := pooltest.Start(t)
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	for range n {
		r := &rotated{}
		r.told(testKey)
		var err error
		r.Store, err = Open(Options{
			URL: secrets.New(server.URL()), Timeout: time.Minute,
			Key: func() []byte { return *r.key.Load() }, Now: func() time.Time { return time.Unix(0, clock.Load()) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		eventually(t, r.Store)
		nodes = append(nodes, r)
	}
	return nodes, func(d time.Duration) {
		clock.Add(int64(d))
		for _, r := range nodes {
			_ = r.keys.now() // as any operation
		}
	}
}

// TestRotation: what one node put or opened others find in every moment of a rotation, in which
// they are told of the new key one after the other, and as long as it lives.
func TestRotation(t *testing.T) {
	nodes, after := rotating(t, 2)
	ctx := t.Context()
	next := bytes.Repeat([]byte("n"), keyBytes)
	var ids []string
	all := func(when string) {
		t.Helper()
		for i, node := range nodes {
			id := fmt.Sprint(when, " at ", i)
			if err := node.Put(ctx, "ann", id, []byte(id), time.Hour); err != nil {
				t.Fatal(err)
			}
			if _, err := node.Open(ctx, "ann", id, map[string][]byte{"said": []byte(id)}, time.Hour); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		for i, node := range nodes {
			for _, id := range ids {
				if got, err := node.Get(ctx, "ann", id); err != nil || string(got) != id {
					t.Errorf("%s: the result %q at node %d: %q, %v", when, id, i, got, err)
				}
				if r, err := node.Touch(ctx, "ann", id, "", time.Hour); err != nil || string(r.Fields["said"]) != id {
					t.Errorf("%s: the record %q at node %d: %q, %v", when, id, i, r.Fields, err)
				}
			}
		}
	}
	all("before")
	nodes[0].told(next)
	after(0)
	all("one is told")
	after(time.Second)
	nodes[1].told(next)
	after(0)
	all("both are told")
	after(settleFor - time.Second/2)
	if bytes.Equal(nodes[0].keys.now().from, nodes[1].keys.now().from) {
		t.Error("both use the same key first already")
	}
	all("one uses the new key first")
	after(time.Second)
	all("both use the new key first")

	// What is ended at one node has ended at all, and by both names.
	if ended, err := nodes[0].End(ctx, "ann", "before at 1", 0, time.Hour); err != nil || !ended {
		t.Fatal(ended, err)
	}
	for _, node := range nodes {
		if _, err := node.Touch(ctx, "ann", "before at 1", "", time.Hour); !errors.Is(err, ErrEnded) {
			t.Errorf("a record that was ended: %v", err)
		}
	}
	// The key of before counts for nothing in the end, records were taken along.
	if err := nodes[0].Put(ctx, "ann", "late", []byte("late"), time.Hour); err != nil {
		t.Fatal(err)
	}
	after(keepFor)
	for _, node := range nodes {
		if _, err := node.Get(ctx, "ann", "before at 0"); !errors.Is(err, ErrNone) {
			t.Errorf("a result by the key of before is found for ever: %v", err)
		}
		if got, err := node.Get(ctx, "ann", "late"); err != nil || string(got) != "late" {
			t.Errorf("a result by the new key: %q, %v", got, err)
		}
		if r, err := node.Touch(ctx, "ann", "before at 0", "", time.Hour); err != nil || string(r.Fields["said"]) != "before at 0" {
			t.Errorf("a record that was used since: %q, %v", r.Fields, err)
		}
	}
}

// TestRotationEndsEarly: a record that a node ended before the others use the new key has ended
// under it, too.
func TestRotationEndsEarly(t *testing.T) {
	nodes, after := rotating(t, 2)
	ctx := t.Context()
	if _, err := nodes[0].Open(ctx, "ann", "s", nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	next := bytes.Repeat([]byte("n"), keyBytes)
	nodes[0].told(next)
	after(time.Second)
	nodes[1].told(next)
	after(settleFor - time.Second/2)
	if _, err := nodes[0].Touch(ctx, "ann", "s", "", time.Hour); err != nil {
		t.Fatal(err) // it is there under both keys now
	}
	if ended, err := nodes[1].End(ctx, "ann", "s", 0, time.Hour); err != nil || !ended {
		t.Fatal(ended, err)
	}
	if _, err := nodes[0].Touch(ctx, "ann", "s", "", time.Hour); !errors.Is(err, ErrEnded) {
		t.Errorf("it goes on under the new key: %v", err)
	}
}

// TestRotationTakesAlong: a node that knows less of a record than others wrote there, and opens it
// under the new key, takes that along; one that was ended is not opened again.
func TestRotationTakesAlong(t *testing.T) {
	nodes, after := rotating(t, 2)
	ctx := t.Context()
	for _, id := range []string{"s", "ended"} {
		if _, err := nodes[0].Open(ctx, "ann", id, map[string][]byte{"said": []byte("x")}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := nodes[1].Set(ctx, "ann", "s", "link", []byte("y"), true); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[1].End(ctx, "ann", "ended", 0, time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		node.told(bytes.Repeat([]byte("n"), keyBytes))
	}
	after(0)
	after(settleFor)
	if _, err := nodes[0].Open(ctx, "ann", "s", nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	if r, err := nodes[1].Touch(ctx, "ann", "s", "", time.Hour); err != nil || string(r.Fields["link"]) != "y" || string(r.Fields["said"]) != "x" {
		t.Errorf("under the new key it is %q, %v", r.Fields, err)
	}
	if _, err := nodes[0].Open(ctx, "ann", "ended", nil, time.Hour); !errors.Is(err, ErrNone) {
		t.Errorf("what was ended is opened again: %v", err)
	}
}

// TestRotationTells: nodes hear each other while one of them speaks under another key.
func TestRotationTells(t *testing.T) {
	nodes, after := rotating(t, 2)
	ctx, stop := context.WithCancel(t.Context())
	heard := [2]chan string{make(chan string, 1000), make(chan string, 1000)}
	done := make(chan struct{}, 2)
	for i, node := range nodes {
		go func() {
			node.Hear(ctx, fmt.Sprint("n", i), func() {}, func(b []byte) {
				select {
				case heard[i] <- string(b):
				default:
				}
			})
			done <- struct{}{}
		}()
	}
	defer func() { stop(); <-done; <-done }()
	reach := func(when string) {
		t.Helper()
		for from := range nodes {
			for got, i := "", 0; got != when; i++ {
				if i == 1000 {
					t.Fatalf("%s: node %d does not hear node %d", when, 1-from, from)
				}
				if err := nodes[from].Tell(ctx, fmt.Sprint("n", 1-from), []byte(when)); err != nil {
					t.Fatal(err)
				}
				select {
				case got = <-heard[1-from]:
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
	}
	reach("before")
	next := bytes.Repeat([]byte("n"), keyBytes)
	nodes[0].told(next)
	after(time.Second)
	reach("one is told")
	nodes[1].told(next)
	after(settleFor - time.Second/2)
	reach("one speaks under the new key")
	after(time.Second)
	reach("both speak under the new key")
	after(keepFor)
	reach("the key of before is forgotten")
}

// TestRotationTwice: a second new key within the time of the first takes its place.
func TestRotationTwice(t *testing.T) {
	nodes, after := rotating(t, 1)
	k := &nodes[0].keys
	first := k.now()
	second, third := bytes.Repeat([]byte("2"), keyBytes), bytes.Repeat([]byte("3"), keyBytes)
	nodes[0].told(second)
	if now := k.now(); !bytes.Equal(now.from, first.from) {
		t.Errorf("a new key is used at once")
	}
	after(settleFor)
	if now := k.now(); !bytes.Equal(now.from, second) || !bytes.Equal(now.other.from, testKey) {
		t.Error("the new key is not used first when all know it")
	}
	nodes[0].told(third)
	if now := k.now(); !bytes.Equal(now.from, second) || !bytes.Equal(now.other.from, third) {
		t.Error("a third key is used at once")
	}
	nodes[0].told(nil)
	if k.now() != nil {
		t.Error("there is a key without one")
	}
	nodes[0].told(third)
	after(settleFor)
	if now := k.now(); !bytes.Equal(now.from, third) || !bytes.Equal(now.other.from, second) {
		t.Error("the third key is not used")
	}
	after(keepFor)
	if now := k.now(); !bytes.Equal(now.from, third) || now.other != nil {
		t.Error("the second key is not forgotten")
	}
}
