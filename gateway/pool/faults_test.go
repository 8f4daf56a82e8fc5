package pool

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/secrets"
)

// TestOddSearches: of what is sealed with the key of the pool, but by another version or long ago,
// nothing is given; a request without words is one.
func TestOddSearches(t *testing.T) {
	p := open(t, pooltest.Start(t), testKey)
	ctx, k := t.Context(), derive(testKey)
	name, field := k.name("searches", "ann"), k.field("search\x00x")
	raw := *p.client.Load()
	at := func(when time.Time, request string) []byte {
		return append(binary.BigEndian.AppendUint64(nil, uint64(when.UnixMilli())), request...)
	}
	for _, c := range []struct {
		name  string
		value []byte
		want  string
		none  bool
	}{
		{"too short", at(time.Now().Add(time.Hour), "")[:7], "", true},
		{"nothing", nil, "", true},
		{"over", at(time.Now().Add(-time.Second), "old"), "", true},
		{"without words", at(time.Now().Add(time.Hour), ""), "", false},
		{"as it should be", at(time.Now().Add(time.Hour), "new"), "new", false},
	} {
		if err := raw.Do(ctx, raw.B().Hset().Key(name).FieldValue().FieldValue(field, valkey.BinaryString(k.seal(name+"\x00"+field, c.value))).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if got, err := p.TakeSearch(ctx, "ann", "x"); got != c.want || errors.Is(err, ErrNone) != c.none || !c.none && err != nil {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

// TestFaultsAreNotNothing: a server that cannot say what it has is away. Whoever took that for
// "there is none" would ask the API, or forget the caller's search.
func TestFaultsAreNotNothing(t *testing.T) {
	server := pooltest.Start(t)
	ctx, k := t.Context(), derive(testKey)
	keys, _, _ := k.answer("ts_1", "key")
	for name, c := range map[string]struct {
		key string
		ask func(*Store) error
	}{
		"Answer":     {keys[0], func(p *Store) error { _, err := p.Answer(ctx, "ts_1", "key"); return err }},
		"TakeSearch": {k.name("searches", "ann"), func(p *Store) error { _, err := p.TakeSearch(ctx, "ann", "x"); return err }},
	} {
		p := open(t, server, testKey)
		raw := *p.client.Load()
		if err := raw.Do(ctx, raw.B().Rpush().Key(c.key).Element("a list").Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if err := c.ask(p); !errors.Is(err, ErrAway) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhoAsksWhileAway: while the server is away nobody asks, and after that one who probes,
// with whom it is back.
func TestWhoAsksWhileAway(t *testing.T) {
	p := open(t, pooltest.Start(t), testKey)
	close(p.done) // it probes by itself no more
	p.wait.Wait()
	p.done = make(chan struct{})
	ctx := t.Context()
	asked := func(name string) bool {
		ran := false
		err := p.do(ctx, name, func(context.Context, valkey.Client, *derivedKeys) error { ran = true; return nil })
		if ran == errors.Is(err, ErrAway) {
			t.Errorf("%s: asked %v, %v", name, ran, err)
		}
		return ran
	}
	away := func(until time.Time) { p.away.Store(until.UnixNano()) }
	if away(time.Now().Add(time.Hour)); asked("get") || asked(probing) {
		t.Error("a server that is away was asked")
	}
	if away(time.Now().Add(-time.Hour)); asked("get") {
		t.Error("a caller asked a server that may still be away")
	}
	if !asked(probing) || p.away.Load() != 0 || !asked("get") {
		t.Error("a server that is back is not asked")
	}
	away(time.Now().Add(-time.Hour))
	if p.probe(); p.away.Load() != 0 {
		t.Error("what probes does not find that it is back")
	}
}

// ends is a context that ends when somebody waits for its end.
type ends struct {
	context.Context

	cancel context.CancelFunc
}

func (c ends) Done() <-chan struct{} {
	c.cancel()
	return c.Context.Done()
}

// TestHearWithoutKey: a node that has no key yet hears nothing, and waits.
func TestHearWithoutKey(t *testing.T) {
	p, err := Open(Options{URL: secrets.New(pooltest.Start(t).URL()), Key: func() []byte { return nil }, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	p.Hear(ends{ctx, cancel}, "node", func() { t.Error("messages begin to come") }, func([]byte) { t.Error("a message came") })
}
