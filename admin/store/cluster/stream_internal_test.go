package cluster

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// deadlined is a ResponseWriter that keeps the last deadline for reading.
type deadlined struct {
	*httptest.ResponseRecorder

	read time.Time
}

func (d *deadlined) SetReadDeadline(t time.Time) error {
	d.read = t
	return nil
}

// TestUpload: a client has some time for each piece of its body, and for all of it; what ends is
// told from what breaks off, and nothing is read once the request was answered.
func TestUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const still, long = time.Second, 90 * time.Second
		broken := errors.New("the client is gone")
		open := func(body io.Reader) (*upload, *deadlined) {
			d := &deadlined{ResponseRecorder: httptest.NewRecorder()}
			return &upload{ReadCloser: io.NopCloser(body), control: http.NewResponseController(d), still: still, until: time.Now().Add(long)}, d
		}
		u, d := open(strings.NewReader("body"))
		if u.finish(); !d.read.IsZero() {
			t.Error("of a body that nobody reads, an end is waited for")
		}
		u, d = open(strings.NewReader("body"))
		b := make([]byte, 2)
		for wait, want := range []time.Duration{still, still} {
			time.Sleep(time.Duration(wait) * time.Second)
			begun := time.Now()
			if n, err := u.Read(b); n != 2 || err != nil || !u.begun.Load() || u.over.Load() || u.broken.Load() || !d.read.Equal(begun.Add(want)) {
				t.Errorf("a piece: %d, %v, until %s", n, err, d.read.Sub(begun))
			}
		}
		time.Sleep(long)
		if n, err := u.Read(b); n != 0 || !errors.Is(err, io.EOF) || !u.over.Load() || u.broken.Load() || !d.read.IsZero() {
			t.Errorf("the end: %d, %v, over %t, broken %t, %v", n, err, u.over.Load(), u.broken.Load(), d.read)
		}
		if u.finish(); !d.read.IsZero() {
			t.Error("a body that is over is waited for")
		}
		u, d = open(iotest.ErrReader(broken))
		time.Sleep(long - still/2)
		if _, err := u.Read(b); !errors.Is(err, broken) || !u.over.Load() || !u.broken.Load() || !d.read.Equal(u.until) {
			t.Errorf("broken off: %v, over %t, broken %t, until %v", err, u.over.Load(), u.broken.Load(), d.read)
		}
		u, d = open(strings.NewReader("body"))
		if _, err := u.Read(b); err != nil {
			t.Error(err)
		}
		if u.finish(); !d.read.Equal(time.Now().Add(lingerTime)) {
			t.Errorf("behind an answer the client has until %v", d.read)
		}
		if n, err := u.Read(b); n != 0 || !errors.Is(err, errFinished) {
			t.Errorf("behind an answer %d are read, %v", n, err)
		}
	})
}

// TestSame: a change of any member that others act on is one, and so is a leader that comes or goes.
func TestSame(t *testing.T) {
	was := func() *store.Leader {
		return &store.Leader{Number: 1, Member: "m", URL: "u", Pin: "p", Keys: "k", Sealed: []byte("s")}
	}
	if !same(nil, nil) || same(was(), nil) || same(nil, was()) || !same(was(), was()) {
		t.Error("a leader that is there is as none, or another than itself")
	}
	for name, change := range map[string]func(*store.Leader){
		"number": func(l *store.Leader) { l.Number++ }, "member": func(l *store.Leader) { l.Member = "x" }, "address": func(l *store.Leader) { l.URL = "x" },
		"certificate": func(l *store.Leader) { l.Pin = "x" }, "keys": func(l *store.Leader) { l.Keys = "x" }, "sealed key": func(l *store.Leader) { l.Sealed = nil },
	} {
		if l := was(); true {
			if change(l); same(was(), l) {
				t.Errorf("another %s is no change", name)
			}
		}
	}
}

// TestRewrite: nothing that a client says of itself, or in the name of a member, reaches the
// leader.
func TestRewrite(t *testing.T) {
	in := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://control.example/v1/a?b=%zz;c", http.NoBody)
	for _, name := range []string{passHeader, refusedHeader, passHeader + "-Other", "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-Ip", "Upgrade", "Connection", "Accept", "Sluice-Pa"} {
		in.Header.Set(name, "x")
	}
	out := in.Clone(t.Context())
	out.URL.RawQuery = ""
	rewrite(&httputil.ProxyRequest{In: in, Out: out})
	if got, want := slices.Sorted(maps.Keys(out.Header)), []string{"Accept", "Sluice-Pa", "Via"}; !slices.Equal(got, want) {
		t.Errorf("%q goes on, want %q", got, want)
	}
	if out.URL.RawQuery != in.URL.RawQuery {
		t.Errorf("the query is %q", out.URL.RawQuery)
	}
}
