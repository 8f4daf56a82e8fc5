package cache

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestShared: an answer comes back as it was kept, for as long as both say, the toolset as it was
// and as it is; what no node wrote is none.
func TestShared(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	e := &Entry{
		Key: []byte("key"), Status: 200, ContentType: []byte("text/plain"), Link: []byte("</x>; rel=next"), Headers: []byte(`"ETag":"1"`),
		Body: []byte("a\nb\xff\n"), Expires: now.Add(time.Minute),
	}
	b := e.shared(now)
	if got := readShared(b, []byte("key"), now, time.Minute); !reflect.DeepEqual(got, e) {
		t.Errorf("%+v, want %+v", got, e)
	}
	for _, c := range []struct {
		after, ttl time.Duration
		fresh      bool
	}{
		{time.Minute - time.Millisecond, time.Hour, true},
		{time.Minute, time.Hour, false},
		{9 * time.Second, 10 * time.Second, true},
		{10 * time.Second, 10 * time.Second, false},
	} {
		got := readShared(b, []byte("key"), now.Add(c.after), c.ttl)
		if (got != nil) != c.fresh || got != nil && got.Expires.Sub(now) > c.ttl {
			t.Errorf("after %v, kept for %v: %+v", c.after, c.ttl, got)
		}
	}
	for _, b := range []string{"", "\n", "{}", "{}\n", "null\nx", "[]\nx", string(b[:20]), string(b[:bytes.IndexByte(b, '\n')]), strings.Repeat("[", 1<<16) + "\n"} {
		if got := readShared([]byte(b), nil, now, time.Hour); got != nil {
			t.Errorf("%.20q is %+v", b, got)
		}
	}
}
