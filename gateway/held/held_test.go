package held

import (
	"bytes"
	"strconv"
	"sync"
	"testing"
)

// TestHeldAnswersAreBounded: one caller does not push out the answers of others, and
// no answer takes all the memory.
func TestHeldAnswersAreBounded(t *testing.T) {
	r := New(8<<20, nil)
	other := r.Put(t.Context(), &Answer{Owner: Owner{"t", "other"}, Doc: []byte("1")})
	mine := Owner{"t", "me"}
	first := r.Put(t.Context(), &Answer{Owner: mine, Doc: []byte("1")})
	for range maxPrincipal - 1 {
		r.Put(t.Context(), &Answer{Owner: mine, Doc: []byte("1")})
	}
	if r.byID[first] == nil || r.count[mine].answers != maxPrincipal {
		t.Fatalf("at the limit %d are held", r.count[mine].answers)
	}
	r.Put(t.Context(), &Answer{Owner: mine, Doc: []byte("1")})
	if r.byID[first] != nil || r.byID[other] == nil || r.count[mine].answers != maxPrincipal {
		t.Errorf("past the limit %d are held, the oldest %v, the other caller's %v", r.count[mine].answers, r.byID[first], r.byID[other])
	}
	for over := range 2 {
		doc := make([]byte, r.most/maxShare-answerBytes+over)
		if id := r.Put(t.Context(), &Answer{Owner: mine, Doc: doc}); (id != "") != (over == 0) {
			t.Errorf("an answer of %d bytes: handle %q", len(doc), id)
		}
	}
}

// TestMemoryIsUsedAgain: the memory of an answer that goes is that of the next one of its
// size, unless somebody got it: that one stays what it was.
func TestMemoryIsUsedAgain(t *testing.T) {
	doc := func(i, n int) []byte { return bytes.Repeat([]byte{'a' + byte(i%26)}, n) }
	me := Owner{"t", "me"}
	r := New(4<<20, nil)
	var ids [maxPrincipal]string
	for i := range ids {
		ids[i] = r.Put(t.Context(), &Answer{Owner: me, Doc: doc(i, 4000)})
	}
	old := r.byID[ids[0]].Doc
	taken, err := r.Get(t.Context(), ids[1], me)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(t.Context(), ids[2], Owner{"t", "other"}); err == nil {
		t.Fatal("another's answer was given")
	}
	third := r.byID[ids[2]].Doc
	given := doc(25, 3900)
	first := r.byID[r.Put(t.Context(), &Answer{Owner: me, Doc: given})]
	if &first.Doc[0] != &old[0] {
		t.Error("the memory of an answer that nobody got was not used again")
	}
	clear(given)
	if !bytes.Equal(first.Doc, doc(25, 3900)) {
		t.Error("what is held is not the answer, or shares memory with its caller")
	}
	second := r.byID[r.Put(t.Context(), &Answer{Owner: me, Doc: doc(24, 4000)})]
	if &second.Doc[0] == &taken.Doc[0] || !bytes.Equal(taken.Doc, doc(1, 4000)) {
		t.Error("an answer that somebody got was written over")
	}
	for name, n := range map[string]int{"much smaller": 2000, "larger": 5000} {
		got := r.byID[r.Put(t.Context(), &Answer{Owner: me, Doc: doc(23, n)})]
		if cap(got.Doc) > n+n/8 || &got.Doc[0] == &third[0] {
			t.Errorf("an answer that is %s has %d bytes of memory for %d", name, cap(got.Doc), n)
		}
	}
	sum := 0
	for _, h := range r.byID {
		sum += cap(h.Doc) + answerBytes
	}
	if sum != r.bytes || r.count[me].answers != maxPrincipal {
		t.Errorf("%d bytes and %d answers are counted, %d are there", r.bytes, r.count[me].answers, sum)
	}
	for i := range 2000 { // more than there is room for
		who := Owner{"t", strconv.Itoa(i)}
		if r.Put(t.Context(), &Answer{Owner: who, Doc: doc(i, 3500+i%500)}); r.bytes > r.most {
			t.Fatalf("%d bytes are held of %d", r.bytes, r.most)
		}
	}
}

// TestShareOfAPrincipal: the answers of one caller take a share of the memory, whatever their
// number, and an answer that alone is larger is kept.
func TestShareOfAPrincipal(t *testing.T) {
	r, me := New(8<<20, nil), Owner{"t", "me"}
	put := func(n, mark int) string {
		return r.Put(t.Context(), &Answer{Owner: me, Doc: bytes.Repeat([]byte{byte(mark)}, n)})
	}
	half := r.most / principalShare / 2
	first, second := put(half, 1), put(half, 2)
	if r.byID[first] == nil || r.byID[second] == nil {
		t.Fatal("answers of the share together are not held")
	}
	if third := put(half, 3); r.byID[first] != nil || r.byID[second] == nil || r.byID[third] == nil {
		t.Errorf("past the share %v", r.count[me])
	}
	if large := put(2*half+1, 4); r.byID[large] == nil || len(r.byID) != 1 {
		t.Errorf("beside one that is larger than the share %d are held", len(r.byID))
	}
	if r.count[me] != (used{1, 2*half + 1}) || r.bytes != 2*half+1+answerBytes {
		t.Errorf("counted are %v, %d bytes", r.count[me], r.bytes)
	}
}

// TestSameAnswerAgain: what a caller already holds of a tool takes no memory again, and is not
// written over while one of its handles is there.
func TestSameAnswerAgain(t *testing.T) {
	r, me := New(8<<20, nil), Owner{"t", "me"}
	doc := bytes.Repeat([]byte{'a'}, leastShared)
	put := func(who Owner, tool string, doc []byte) *entry {
		return r.byID[r.Put(t.Context(), &Answer{Owner: who, Tool: tool, Doc: doc})]
	}
	first, again := put(me, "a", doc), put(me, "a", bytes.Clone(doc))
	if &first.Doc[0] != &again.Doc[0] || r.count[me] != (used{2, len(doc)}) || r.bytes != len(doc)+2*answerBytes {
		t.Fatalf("the same answer took memory again: %v, %d bytes", r.count[me], r.bytes)
	}
	changed := bytes.Clone(doc)
	changed[len(doc)-1]++
	for name, e := range map[string]*entry{
		"another caller's": put(Owner{"t", "other"}, "a", doc), "of another tool": put(me, "b", doc), "changed": put(me, "a", changed),
	} {
		if &e.Doc[0] == &first.Doc[0] {
			t.Errorf("an answer shares its memory with one that is %s", name)
		}
	}
	short := doc[:leastShared-1]
	if a, b := put(me, "c", short), put(me, "c", short); &a.Doc[0] == &b.Doc[0] {
		t.Errorf("answers of %d bytes share memory", len(short))
	}
	if first.kept.uses != 2 || len(first.kept.bytes) == 0 {
		t.Errorf("a comparison that failed left %d uses", first.kept.uses)
	}
	for i := range maxPrincipal - 6 { // six others of the caller are there: the next makes the first go
		put(me, "d", []byte(strconv.Itoa(i)))
	}
	last := put(me, "e", bytes.Repeat([]byte{'b'}, leastShared))
	if r.byID[first.id] != nil || r.byID[again.id] == nil || !bytes.Equal(again.Doc, doc) || &last.Doc[0] == &again.Doc[0] {
		t.Error("memory was used again that another answer has")
	}
}

// TestConcurrentUse: what one reads another's answer never becomes.
func TestConcurrentUse(t *testing.T) {
	r := New(256<<10, nil) // for a few answers
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			who, want := Owner{"t", strconv.Itoa(i)}, bytes.Repeat([]byte{'a' + byte(i)}, 4000)
			if i > 1 {
				who, want = Owner{"t", "same"}, bytes.Repeat([]byte{'s'}, leastShared) // two callers that share memory
			}
			for range 500 {
				h, err := r.Get(t.Context(), r.Put(t.Context(), &Answer{Owner: who, Doc: want}), who)
				if err == nil && !bytes.Equal(h.Doc, want) { // else it went already
					t.Error("an answer is another's")
					return
				}
			}
		})
	}
	wg.Wait()
}
