package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/sluicegate/sluice/gateway/pool/pooltest"
)

// TestAnswers: what one node keeps others find, under the same owner and key only; the server
// neither learns what it has nor can move it.
func TestAnswers(t *testing.T) {
	s := pooltest.Start(t)
	a, b, stranger := open(t, s, testKey), open(t, s, testKey), open(t, s, bytes.Repeat([]byte("s"), keyBytes))
	ctx := t.Context()
	const key, value = "ts_1\x00GET\x00https://api.example/x?key=hunter2", `{"name":"permalink"}`
	if err := a.PutAnswer(ctx, "ts_1", key, []byte(value), time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Answer(ctx, "ts_1", key); err != nil || string(got) != value {
		t.Errorf("%s, %v", got, err)
	}
	for _, c := range []struct {
		of         *Store
		owner, key string
	}{{b, "ts_2", key}, {b, "ts_1", key + "3"}, {stranger, "ts_1", key}} {
		if got, err := c.of.Answer(ctx, c.owner, c.key); !errors.Is(err, ErrNone) {
			t.Errorf("%q %q: %s, %v", c.owner, c.key, got, err)
		}
	}
	raw := *a.client.Load()
	names, err := raw.Do(ctx, raw.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(names) != 3 {
		t.Fatal(names, err)
	}
	of, _, _ := derive(testKey).answer("ts_1", key)
	for _, name := range names {
		dump, err := raw.Do(ctx, raw.B().Dump().Key(name).Build()).AsBytes()
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hunter2", "ts_1", "permalink", "api.example"} {
			if strings.Contains(name, secret) || bytes.Contains(dump, []byte(secret)) {
				t.Errorf("the server learns %q", secret)
			}
		}
		left, err := raw.Do(ctx, raw.B().Pttl().Key(name).Build()).AsInt64()
		if err != nil || left <= 0 || left > time.Minute.Milliseconds() {
			t.Errorf("%s ends in %d ms, %v", name, left, err)
		}
	}
	sealed, err := raw.Do(ctx, raw.B().Get().Key(of[0]).Build()).AsBytes()
	if err != nil {
		t.Fatal(err)
	}
	other, _, _ := derive(testKey).answer("ts_1", "other")
	for name, text := range map[string][]byte{other[0]: sealed, of[0]: append(sealed, 0)} {
		if err := raw.Do(ctx, raw.B().Set().Key(name).Value(valkey.BinaryString(text)).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{key, "other"} {
		if got, err := b.Answer(ctx, "ts_1", key); !errors.Is(err, ErrNone) {
			t.Errorf("what somebody else wrote is given: %s, %v", got, err)
		}
	}
}

// TestAnswersAreBounded: by number and by size the ones of an owner that end first go, those of
// others stay, and one that is too large is not shared.
func TestAnswersAreBounded(t *testing.T) {
	s := pooltest.Start(t)
	p := open(t, s, testKey)
	ctx := t.Context()
	put := func(owner string, i, size int) {
		t.Helper()
		// The later ones end first: it is not the oldest that goes.
		if err := p.PutAnswer(ctx, owner, strconv.Itoa(i), make([]byte, size), time.Hour-time.Duration(i)*100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	has := func(owner string, i int) bool {
		_, err := p.Answer(ctx, owner, strconv.Itoa(i))
		return err == nil
	}
	put("other", 0, 1)
	const overhead = 28 // of what is sealed
	many := maxAnswersBytes / MaxAnswer
	for i := range many {
		put("bytes", i, MaxAnswer-overhead)
	}
	if !has("bytes", many-1) {
		t.Error("at the largest sum one is gone")
	}
	put("bytes", 0, MaxAnswer-overhead) // again: it does not count twice
	if !has("bytes", many-1) {
		t.Error("what is kept again counts twice")
	}
	put("bytes", many, 1)
	if has("bytes", many-1) || !has("bytes", many) || !has("bytes", many-2) {
		t.Error("past the largest sum the one that ends first is not what went")
	}
	put("large", 0, MaxAnswer)
	put("large", 1, MaxAnswer+1)
	if !has("large", 0) || has("large", 1) {
		t.Error("the largest answer is not the bound")
	}
	for i := range maxAnswers {
		put("many", i, 1)
	}
	if !has("many", maxAnswers-1) {
		t.Error("at the largest number one is gone")
	}
	put("many", maxAnswers, 1)
	if has("many", maxAnswers-1) || !has("many", maxAnswers) || !has("many", 0) {
		t.Error("past the largest number the one that ends first is not what went")
	}
	if !has("other", 0) {
		t.Error("another owner's is gone")
	}
	// The server lost what it counts by, as one without memory may: it goes on.
	raw := *p.client.Load()
	for i, suffix := range []string{"", ":sizes"} {
		if err := raw.Do(ctx, raw.B().Del().Key(derive(testKey).name("answers", "bytes")+suffix).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		put("bytes", many+1+i, 1)
		if !has("bytes", many+1+i) {
			t.Errorf("without %q nothing is kept", suffix)
		}
	}
}

// TestAnswersEnd by themselves, and are forgotten with what counts them.
func TestAnswersEnd(t *testing.T) {
	p := open(t, pooltest.Start(t), testKey)
	ctx := t.Context()
	if err := p.PutAnswer(ctx, "ts", "never", nil, time.Millisecond-1); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Answer(ctx, "ts", "never"); !errors.Is(err, ErrNone) {
		t.Errorf("what ends at once: %v", err)
	}
	raw := *p.client.Load()
	sizes := func() int64 {
		n, err := raw.Do(ctx, raw.B().Hlen().Key(derive(testKey).name("answers", "ts")+":sizes").Build()).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range endedAtOnce + 1 {
		if err := p.PutAnswer(ctx, "ts", fmt.Sprint("short ", i), []byte("x"), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for { // until those have ended
		if err := p.PutAnswer(ctx, "ts", "long", []byte("x"), time.Hour); err != nil {
			t.Fatal(err)
		}
		if sizes() == 2 { // the long one and the sum
			break
		}
	}
	if _, err := p.Answer(ctx, "ts", "long"); err != nil {
		t.Error(err)
	}
}

// TestSearches: the newest request by which a caller found a tool is given once, to any node,
// and the server learns nothing of it.
func TestSearches(t *testing.T) {
	s := pooltest.Start(t)
	a, b := open(t, s, testKey), open(t, s, testKey)
	ctx := t.Context()
	put := func(caller, request string, tools ...string) {
		t.Helper()
		if err := a.PutSearch(ctx, caller, request, tools, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	take := func(caller, tool, want string) {
		t.Helper()
		got, err := b.TakeSearch(ctx, caller, tool)
		if got != want || (want == "") != errors.Is(err, ErrNone) {
			t.Errorf("%s %s: %q, %v, want %q", caller, tool, got, err, want)
		}
	}
	put("ann", "first", "x", "y")
	put("ann", "second", "y", "z")
	raw := *a.client.Load()
	names, err := raw.Do(ctx, raw.B().Keys().Pattern("sluice:searches:*").Build()).AsStrSlice()
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if dump, err := raw.Do(ctx, raw.B().Dump().Key(names[0]).Build()).AsBytes(); err != nil || bytes.Contains(dump, []byte("second")) || strings.Contains(names[0], "ann") {
		t.Errorf("the server has %q, %v", dump, err)
	}
	if left, err := raw.Do(ctx, raw.B().Pttl().Key(names[0]).Build()).AsInt64(); err != nil || left <= 0 || left > time.Minute.Milliseconds() {
		t.Errorf("it ends in %d ms, %v", left, err)
	}
	take("bob", "y", "")
	take("ann", "y", "second")
	take("ann", "y", "")
	take("ann", "x", "first")
	take("ann", "w", "")
	for i := range maxSearched - 1 { // z is there
		put("ann", "more", fmt.Sprint(i))
	}
	put("ann", "again", "z") // known: it takes no room
	take("ann", "z", "again")
	put("ann", "again", "z")
	put("ann", "one more", "past")
	take("ann", "z", "")
	take("ann", "past", "one more")
	if err := a.PutSearch(ctx, "ann", "late", []string{"x"}, -time.Second); err != nil {
		t.Fatal(err)
	}
	take("ann", "x", "")
}

// TestLater: jobs run one after the other, and there are no more than there is room for.
func TestLater(t *testing.T) {
	p := open(t, pooltest.Start(t), testKey)
	begun, hold := make(chan struct{}), make(chan struct{})
	p.Later(0, func(context.Context) { close(begun); <-hold })
	<-begun
	ran, last := 0, make(chan struct{})
	job := func(context.Context) {
		if ran++; ran == maxLater {
			close(last)
		}
	}
	if !p.Later(maxLaterBytes, job) || p.Later(1, job) {
		t.Error("jobs of the largest size together are not the bound")
	}
	for i := range maxLater - 1 {
		if !p.Later(0, job) {
			t.Fatalf("job %d has no room", i)
		}
	}
	if p.Later(0, job) {
		t.Error("there is room for one more than there may be")
	}
	close(hold)
	<-last
	pooltest.Settle(t, p)
	if ran != maxLater || p.waiting.Load() != 0 {
		t.Errorf("%d ran, %d bytes wait", ran, p.waiting.Load())
	}
	if !p.Later(1, job) {
		t.Error("there is no room again")
	}
}
