package cache

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

// FuzzShared: what another node wrote is an answer that is fresh, or none, and an answer that
// was read is written as it was.
func FuzzShared(f *testing.F) {
	now := time.UnixMilli(1_700_000_000_000)
	e := &Entry{Key: []byte("k"), Status: 200, ContentType: []byte("text/plain"), Link: []byte("<a>; rel=next"), Body: []byte("body\nof two lines"), Expires: now.Add(time.Second)}
	f.Add(e.shared(now))
	f.Add([]byte("{\"kept\":9000000000000000000,\"expires\":-9000000000000000000}\n"))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := readShared(b, []byte("k"), now, time.Minute)
		if got == nil {
			return
		}
		if !now.Before(got.Expires) || got.Unfinished || !bytes.HasSuffix(b, got.Body) {
			t.Fatalf("%+v of %q", got, b)
		}
		again := readShared(got.shared(now), []byte("k"), now, time.Duration(1<<62))
		if again == nil || !reflect.DeepEqual(again, got) && again.Expires.Equal(got.Expires) {
			t.Fatalf("%+v, and written again %+v", got, again)
		}
	})
}
