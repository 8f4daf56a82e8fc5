package held

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

var made = registry.DigestOf([]byte("toolset"))

// shared is a pool in memory.
type shared struct {
	values map[string][]byte
	ttl    time.Duration
	err    error
	asked  int
	back   func(context.Context)
}

func (s *shared) OnReturn(f func(context.Context)) { s.back = f }

func (s *shared) Put(_ context.Context, owner, id string, value []byte, ttl time.Duration) error {
	s.ttl, s.values[owner+"\n"+id] = ttl, bytes.Clone(value)
	return s.err
}

func (s *shared) Get(_ context.Context, owner, id string) ([]byte, error) {
	s.asked++
	b, ok := s.values[owner+"\n"+id]
	if s.err != nil || ok {
		return b, s.err
	}
	return nil, errors.New("gone")
}

// TestOwners: a handle is of one caller at one toolset, at the node that holds the answer
// and at another one; each of the two parts counts.
func TestOwners(t *testing.T) {
	p := &shared{values: map[string][]byte{}}
	here, there := New(1<<20, p), New(1<<20, p)
	alone := New(1<<20, nil)
	me := Owner{"t", "me"}
	a := &Answer{
		Owner: me, Doc: []byte("line\nline"), Text: true, Hidden: true, Format: compress.Form(1), Budget: 7, Tool: "tool", Made: made,
	}
	id := here.Put(t.Context(), a)
	if p.ttl != TTL {
		t.Errorf("shared for %v", p.ttl)
	}
	for _, who := range []Owner{me, {"t", "other"}, {"u", "me"}, {"t", ""}, {"", "me"}, {"tme", ""}, {}} {
		for name, node := range map[string]*Store{"its node": here, "another": there} {
			got, err := node.Get(t.Context(), id, who)
			if who != me {
				if !problem.Is(err, problem.NotFound) || got != nil || !strings.Contains(err.Error(), "has expired") {
					t.Errorf("%q at %s: %v, %v", who, name, got, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			same := *got
			same.expires = a.expires
			if !reflect.DeepEqual(&same, a) || a.expires.Sub(got.expires) >= time.Second {
				t.Errorf("%s: %+v, want %+v", name, got, a)
			}
		}
	}
	if _, err := alone.Get(t.Context(), id, me); !problem.Is(err, problem.NotFound) || !strings.Contains(err.Error(), "held by another node") {
		t.Errorf("a node without a pool: %v", err)
	}
	if (Owner{"a", "bc"}).String() == (Owner{"ab", "c"}).String() {
		t.Error("two owners have one name")
	}
	if here.node == there.node || !strings.HasPrefix(id, here.node+"-") || len(id) != 8+1+24 {
		t.Errorf("nodes %s and %s, handle %s", here.node, there.node, id)
	}
}

// TestHandles: what is none is told as that; the longest that is looked up has 64 characters.
func TestHandles(t *testing.T) {
	r := New(1<<20, nil)
	for id, want := range map[string]problem.Kind{
		"": problem.InvalidArguments, "x": problem.InvalidArguments, "a-b": problem.NotFound, "-": problem.NotFound,
		"a-" + strings.Repeat("b", 62): problem.NotFound, "a-" + strings.Repeat("b", 63): problem.InvalidArguments,
	} {
		if _, err := r.Get(t.Context(), id, Owner{}); !problem.Is(err, want) {
			t.Errorf("%q: %v, want %s", id, err, want)
		}
	}
}

// TestHeldForATime: to the nanosecond here; what others share is held to the second, and
// what they wrote that cannot be read is gone.
func TestHeldForATime(t *testing.T) {
	p := &shared{values: map[string][]byte{}}
	start := time.Unix(1_800_000_000, 0)
	here, there := New(1<<20, p), New(1<<20, p)
	me := Owner{"t", "me"}
	here.now = func() time.Time { return start }
	id := here.Put(t.Context(), &Answer{Owner: me, Doc: []byte("1"), Made: made})
	for after, held := range map[time.Duration]bool{0: true, TTL - 1: true, TTL: false} {
		for _, node := range []*Store{here, there} {
			node.now = func() time.Time { return start.Add(after) }
			if got, err := node.Get(t.Context(), id, me); (err == nil) != held || (got != nil) != held || !held && !problem.Is(err, problem.NotFound) {
				t.Errorf("after %v: %v, %v", after, got, err)
			}
		}
	}
	// What has expired makes room when the next one comes, not before.
	here.now = func() time.Time { return start.Add(TTL - 1) }
	second := here.Put(t.Context(), &Answer{Owner: me, Doc: []byte("2")})
	if len(here.byID) != 2 {
		t.Errorf("%d are held", len(here.byID))
	}
	here.now = func() time.Time { return start.Add(TTL) }
	here.Put(t.Context(), &Answer{Owner: me, Doc: []byte("3")})
	if len(here.byID) != 2 || here.byID[id] != nil || here.byID[second] == nil {
		t.Errorf("%d are held", len(here.byID))
	}

	there.now = func() time.Time { return start }
	head, _, _ := bytes.Cut(p.values[me.String()+"\n"+id], []byte("\n"))
	for _, bad := range []string{string(head), "", "x", "{}", "{\n1", "[]\n1"} {
		p.values[me.String()+"\n"+id] = []byte(bad)
		if got, err := there.Get(t.Context(), id, me); !problem.Is(err, problem.NotFound) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
	p.err = fmt.Errorf("pool: %w", pool.ErrAway)
	if _, err := there.Get(t.Context(), id, me); !problem.Is(err, problem.Unavailable) {
		t.Errorf("a pool that is away: %v", err)
	}
	if id := here.Put(t.Context(), &Answer{Owner: me, Doc: []byte("4")}); here.byID[id] == nil {
		t.Error("what cannot be shared is not held")
	}
	here.now = func() time.Time { return start.Add(3 * TTL) }
	last := here.Put(t.Context(), &Answer{Owner: me, Doc: []byte("5")})
	here.now = func() time.Time { return start.Add(4 * TTL) }
	before, shared := p.asked, len(p.values)
	if _, err := here.Get(t.Context(), last, me); !problem.Is(err, problem.NotFound) || p.asked != before {
		t.Errorf("others are asked for what this node held: %v", err)
	}
	if id := here.Put(t.Context(), &Answer{Owner: me, Doc: []byte("6")}); len(here.byID) != 1 || here.byID[id] == nil {
		t.Errorf("%d are held", len(here.byID))
	}
	if id := here.Put(t.Context(), &Answer{Owner: me, Doc: make([]byte, here.most)}); id != "" || len(p.values) != shared+1 {
		t.Errorf("what is too large is shared as %q", id)
	}
}

// TestRoom: the memory is filled to its last byte, one byte more makes the oldest go, of
// whomever it is; all books agree.
func TestRoom(t *testing.T) {
	const size = 4 * (answerBytes + 100)
	r := New(size, nil)
	put := func(who string, n int) string {
		return r.Put(t.Context(), &Answer{Owner: Owner{"t", who}, Doc: make([]byte, n)})
	}
	ids := []string{put("a", 100), put("b", 100), put("a", 100), put("c", 100)}
	check := func(what string, gone ...bool) {
		t.Helper()
		bytes, count := 0, map[Owner]used{}
		for _, h := range r.byID {
			bytes += len(h.Doc) + answerBytes
			u := count[h.Owner]
			count[h.Owner] = used{u.answers + 1, u.bytes + len(h.Doc)}
		}
		if bytes != r.bytes || len(r.order) != len(r.byID) || !reflect.DeepEqual(count, r.count) {
			t.Errorf("%s: %d bytes, counted %d; %d of %d; %v, counted %v", what, bytes, r.bytes, len(r.order), len(r.byID), count, r.count)
		}
		for i, g := range gone {
			if (r.byID[ids[i]] == nil) != g {
				t.Errorf("%s: answer %d is gone: %v", what, i, !g)
			}
		}
	}
	check("full", false, false, false, false)
	ids = append(ids, put("d", 1))
	check("one more", true, false, false, false, false)
	ids = append(ids, put("e", size/maxShare-answerBytes))
	check("a large one", true, true, true, false, false, false)
	if New(0, nil).most != DefaultBytes || New(-1, nil).most != 0 || New(-1, nil).Put(t.Context(), &Answer{}) != "" {
		t.Error("sizes of stores")
	}
}

// TestUnshared: results that other nodes did not get are shared with later ones, the newest
// first, as long as they are held; so many are remembered.
func TestUnshared(t *testing.T) {
	p := &shared{values: map[string][]byte{}}
	here, there := New(1<<20, p), New(1<<20, p)
	start := time.Now()
	here.now, there.now = func() time.Time { return start }, func() time.Time { return start }
	put := func(owner string) (Owner, string) {
		o := Owner{"t", owner}
		return o, here.Put(t.Context(), &Answer{Owner: o, Doc: []byte("1"), Made: made})
	}
	p.err = errors.New("it took too long")
	gone, goneID := put("gone")
	here.now = func() time.Time { return start.Add(TTL / 2) }
	first, firstID := put("first")
	last, lastID := put("last")
	clear(p.values)
	p.err = nil
	if _, err := there.Get(t.Context(), firstID, first); !problem.Is(err, problem.NotFound) || !strings.Contains(err.Error(), "could not share it") {
		t.Errorf("what was not shared: %v", err)
	}
	put("a")
	if _, err := there.Get(t.Context(), lastID, last); err != nil || p.ttl != TTL {
		t.Errorf("the newest: %v, for %v", err, p.ttl)
	}
	here.now = func() time.Time { return start.Add(TTL) }
	put("b")
	if _, err := there.Get(t.Context(), firstID, first); err != nil || p.ttl != TTL/2 {
		t.Errorf("the one before: %v, for %v", err, p.ttl)
	}
	put("c")
	if _, err := there.Get(t.Context(), goneID, gone); !problem.Is(err, problem.NotFound) || len(here.unshared) != 0 {
		t.Errorf("one that is not held any more: %v, %d wait", err, len(here.unshared))
	}
	p.err = pool.ErrAway
	for n := range maxUnshared + 1 {
		put(fmt.Sprint("u", n))
		if len(here.unshared) != min(n+1, maxUnshared) {
			t.Fatalf("%d of %d are remembered", len(here.unshared), n+1)
		}
	}
	if here.unshared[0].owner.Principal != "u1" {
		t.Errorf("%+v is the oldest", here.unshared[0])
	}
}

// TestSharedAgain: what the nodes share may have lost everything while it was away. Each node shares
// its newest results when it is back, whose order and time stay, and the rest later.
func TestSharedAgain(t *testing.T) {
	p := &shared{values: map[string][]byte{}}
	here, there := New(1<<20, p), New(1<<20, nil)
	there.pool = p
	start := time.Now()
	here.now = func() time.Time { return start }
	put := func(owner string) (Owner, string) {
		o := Owner{"t", owner}
		return o, here.Put(t.Context(), &Answer{Owner: o, Doc: []byte("1"), Made: made})
	}
	old, oldID := put("old")
	here.now = func() time.Time { return start.Add(TTL / 2) }
	given, givenID := put("given")
	p.err = pool.ErrAway
	missed, missedID := put("missed")
	p.err = nil
	clear(p.values)
	here.now = func() time.Time { return start.Add(TTL) }
	p.back(t.Context())
	if p.ttl != TTL/2 {
		t.Errorf("the last is held for %v", p.ttl)
	}
	if _, err := there.Get(t.Context(), oldID, old); err == nil {
		t.Error("one that has expired is shared again")
	}
	for id, who := range map[string]Owner{givenID: given, missedID: missed} {
		if _, err := there.Get(t.Context(), id, who); err != nil {
			t.Errorf("%s: %v", who.Principal, err)
		}
	}
	if len(here.unshared) != 0 {
		t.Errorf("%d are to be shared with later ones", len(here.unshared))
	}
	p.err = pool.ErrAway
	p.back(t.Context())
	if n := len(here.unshared); n != 2 || here.unshared[0].owner != given {
		t.Errorf("%d wait when it went again: %+v", n, here.unshared)
	}
	p.err = nil
	for n := range maxUnshared {
		put(fmt.Sprint("new", n))
	}
	clear(p.values)
	if p.back(t.Context()); len(p.values) != maxUnshared {
		t.Errorf("%d are shared again", len(p.values))
	}
}
