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
	if r.byID[first] == nil || r.count[mine] != maxPrincipal {
		t.Fatalf("at the limit %d are held", r.count[mine])
	}
	r.Put(t.Context(), &Answer{Owner: mine, Doc: []byte("1")})
	if r.byID[first] != nil || r.byID[other] == nil || r.count[mine] != maxPrincipal {
		t.Errorf("past the limit %d are held, the oldest %v, the other caller's %v", r.count[mine], r.byID[first], r.byID[other])
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
	r := New(1<<20, nil)
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
	if sum != r.bytes || r.count[me] != maxPrincipal {
		t.Errorf("%d bytes and %d answers are counted, %d are there", r.bytes, r.count[me], sum)
	}
	for i := range 2000 { // more than there is room for
		who := Owner{"t", strconv.Itoa(i)}
		if r.Put(t.Context(), &Answer{Owner: who, Doc: doc(i, 3500+i%500)}); r.bytes > r.most {
			t.Fatalf("%d bytes are held of %d", r.bytes, r.most)
		}
	}
}

// TestConcurrentUse: what one reads another's answer never becomes.
func TestConcurrentUse(t *testing.T) {
	r := New(64<<10, nil) // for a few answers
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			who, want := Owner{"t", strconv.Itoa(i)}, bytes.Repeat([]byte{'a' + byte(i)}, 4000)
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
