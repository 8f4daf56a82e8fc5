package pool

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/sluicegate/sluice/gateway/pool/pooltest"
)

// TestRecords: a record is known at every node, to its owner only, changes for all, and is
// known as ended.
func TestRecords(t *testing.T) {
	server := pooltest.Start(t)
	a, b, stranger := open(t, server, testKey), open(t, server, testKey), open(t, server, bytes.Repeat([]byte("s"), keyBytes))
	ctx := t.Context()
	version, err := a.Open(ctx, "ann", "r1", map[string][]byte{"client": []byte("permalink"), "link:x\x00y": nil}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(ctx, "ann", "r1", nil, time.Minute); !errors.Is(err, ErrNone) {
		t.Errorf("made twice: %v", err)
	}
	if r, err := a.Touch(ctx, "ann", "r1", version, time.Minute); err != nil || r.Version != version || r.Fields != nil {
		t.Errorf("what is known is sent again: %v, %v", r, err)
	}
	r, err := b.Touch(ctx, "ann", "r1", "", time.Minute)
	if err != nil || r.Version != version || len(r.Fields) != 2 || string(r.Fields["client"]) != "permalink" || r.Fields["link:x\x00y"] == nil {
		t.Errorf("%v, %v", r, err)
	}
	for _, c := range []struct {
		of        *Store
		owner, id string
	}{{b, "bob", "r1"}, {b, "ann", "r2"}, {stranger, "ann", "r1"}} {
		if _, err := c.of.Touch(ctx, c.owner, c.id, "", time.Minute); !errors.Is(err, ErrNone) {
			t.Errorf("%s %s: %v", c.owner, c.id, err)
		}
	}
	// The first who sets a field once holds, and only what is meant is taken out.
	first, holds, err := b.Set(ctx, "ann", "r1", "home", []byte("b"), true)
	if err != nil || string(holds) != "b" || first == version {
		t.Errorf("%s %s %v", first, holds, err)
	}
	if again, holds, err := a.Set(ctx, "ann", "r1", "home", []byte("a"), true); err != nil || string(holds) != "b" || again != first {
		t.Errorf("%s %s %v", again, holds, err)
	}
	for value, left := range map[string]int{"a": 3, "b": 2} {
		if value == "b" {
			continue // after the other
		}
		if err := a.Unset(ctx, "ann", "r1", "home", []byte(value)); err != nil {
			t.Fatal(err)
		}
		if r, err := a.Touch(ctx, "ann", "r1", "", time.Minute); err != nil || len(r.Fields) != left {
			t.Errorf("without %s: %v, %v", value, r, err)
		}
	}
	if err := a.Unset(ctx, "ann", "r1", "home", []byte("b")); err != nil {
		t.Fatal(err)
	}
	if r, err := a.Touch(ctx, "ann", "r1", "", time.Minute); err != nil || len(r.Fields) != 2 {
		t.Errorf("%v, %v", r, err)
	}
	raw := *a.client.Load()
	keys, err := raw.Do(ctx, raw.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if strings.Contains(key, "ann") || strings.Contains(key, "r1") {
			t.Errorf("the key %q says whose it is, or which", key)
		}
		if strings.HasSuffix(key, "}") { // all of an owner
			continue
		}
		all, err := raw.Do(ctx, raw.B().Hgetall().Key(key).Build()).AsStrMap()
		if err != nil {
			t.Fatal(err)
		}
		for field, sealed := range all {
			if strings.Contains(field+sealed, "client") || strings.Contains(sealed, "permalink") {
				t.Errorf("the server has %q: %q", field, sealed)
			}
			for other := range all { // the same value by another name is nothing
				if field != ".v" && other != ".v" && field != other {
					if err := raw.Do(ctx, raw.B().Hset().Key(key).FieldValue().FieldValue(other, sealed).Build()).Error(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if r, err := b.Touch(ctx, "ann", "r1", "", time.Minute); err != nil || len(r.Fields) > 1 {
		t.Errorf("fields that were moved: %v, %v", r, err)
	}
	if ended, err := b.End(ctx, "ann", "r1", time.Hour, time.Minute); err != nil || ended {
		t.Errorf("a record in use was ended as idle: %v", err)
	}
	if ended, err := b.End(ctx, "ann", "r1", 0, time.Minute); err != nil || !ended {
		t.Errorf("ended: %v %v", ended, err)
	}
	if _, err := a.Touch(ctx, "ann", "r1", version, time.Minute); !errors.Is(err, ErrEnded) {
		t.Errorf("after its end: %v", err)
	}
	if _, _, err := a.Set(ctx, "ann", "r1", "home", nil, false); !errors.Is(err, ErrEnded) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := a.Open(ctx, "ann", "r1", nil, time.Minute); !errors.Is(err, ErrNone) {
		t.Errorf("it was made again: %v", err)
	}
}

// TestRecordsAreBounded: fields in number and size, and records of an owner, of which the one
// unused longest goes; others' stay.
func TestRecordsAreBounded(t *testing.T) {
	server := pooltest.Start(t)
	p, ctx := open(t, server, testKey), t.Context()
	if _, err := p.Open(ctx, "bob", "b", nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	for over := range 2 {
		_, _, err := p.Set(ctx, "bob", "b", "f", make([]byte, maxField-1+over), false)
		if want := []error{nil, ErrFull}[over]; !errors.Is(err, want) {
			t.Errorf("a field one above %d: %d, %v", maxField, over, err)
		}
	}
	for i := range maxFields {
		if _, _, err := p.Set(ctx, "bob", "b", strconv.Itoa(i), nil, false); (err == nil) != (i < maxFields-1) {
			t.Fatalf("field %d: %v", i+1, err)
		}
	}
	if r, err := p.Touch(ctx, "bob", "b", "", time.Minute); err != nil || len(r.Fields) != maxFields {
		t.Errorf("%d fields, %v", len(r.Fields), err)
	}
	if _, err := p.Open(ctx, "bob", "c", make(map[string][]byte, 0), time.Minute); err != nil {
		t.Fatal(err)
	}
	many := map[string][]byte{}
	for i := range maxFields + 1 {
		many[strconv.Itoa(i)] = nil
	}
	if _, err := p.Open(ctx, "bob", "d", many, time.Minute); !errors.Is(err, ErrFull) {
		t.Errorf("%d fields at once: %v", len(many), err)
	}
	for i := range maxRecords {
		if _, err := p.Open(ctx, "ann", strconv.Itoa(i), nil, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Touch(ctx, "ann", "0", "", time.Minute); err != nil {
		t.Errorf("the first of %d has gone: %v", maxRecords, err)
	}
	raw := *p.client.Load()
	all := p.keys.now().name("records", "ann")
	_, second := p.keys.now().record("ann", "1")
	// Time has milliseconds there: the one that is oldest by it must be one.
	if err := raw.Do(ctx, raw.B().Zadd().Key(all).Xx().ScoreMember().ScoreMember(1, second).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	n, err := raw.Do(ctx, raw.B().Zcard().Key(all).Build()).AsInt64()
	if err != nil || n != maxRecords {
		t.Errorf("%d records, %v", n, err)
	}
	for range 2 { // the first takes out what is too old, the second makes room
		if _, err := p.Open(ctx, "ann", "more"+strconv.Itoa(int(n)), nil, time.Minute); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n, err = raw.Do(ctx, raw.B().Zcard().Key(all).Build()).AsInt64(); err != nil || n != maxRecords {
		t.Errorf("%d records, %v", n, err)
	}
	if _, err := p.Touch(ctx, "bob", "c", "", time.Minute); err != nil {
		t.Errorf("another's has gone: %v", err)
	}
	for i := range maxRecords + 1 {
		if ended, err := p.End(ctx, "ann", strconv.Itoa(i), 0, time.Minute); err != nil || !ended {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	keys, err := raw.Do(ctx, raw.B().Keys().Pattern(all+":*").Build()).AsStrSlice()
	if err != nil || len(keys) != maxRecords+3 { // two that live, and the list of the ended ones
		t.Errorf("%d keys of an owner who ended %d records, %v", len(keys), maxRecords+1, err)
	}
}

// TestNodesHearEachOther: what is for one node, what for all, and nothing that was not sealed
// by one of them; again after the server was away.
func TestNodesHearEachOther(t *testing.T) {
	server := pooltest.Start(t)
	p := open(t, server, testKey)
	ctx, cancel := context.WithCancel(t.Context())
	began, heard, done := make(chan struct{}, 8), make(chan string, 8), make(chan struct{})
	go func() {
		defer close(done)
		p.Hear(ctx, "n1", func() { began <- struct{}{} }, func(m []byte) { heard <- string(m) })
	}()
	defer func() { cancel(); <-done }()
	say := func(node, text string) {
		t.Helper()
		if err := p.Tell(ctx, node, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		<-began
		say("n2", "for another")
		raw := *p.client.Load()
		if err := raw.Do(ctx, raw.B().Publish().Channel(p.keys.now().name("nodes", "n1")).Message(valkey.BinaryString([]byte("forged"))).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		say("n1", "for it")
		if got := <-heard; got != "for it" {
			t.Errorf("it hears %q", got)
		}
		say("", "for all")
		if got := <-heard; got != "for all" {
			t.Errorf("it hears %q", got)
		}
	}
	check()
	for over := range 2 {
		err := p.Tell(ctx, "n2", make([]byte, maxMessage+over))
		if want := []error{nil, ErrFull}[over]; !errors.Is(err, want) {
			t.Errorf("a message one above %d: %d, %v", maxMessage, over, err)
		}
	}
	server.Kill()
	server.Run()
	eventually(t, p)
	check()
}
