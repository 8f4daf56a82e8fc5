package held

import "testing"

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
