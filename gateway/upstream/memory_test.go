package upstream

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/upstreamtest"
)

// ask sends one request and keeps its answer.
func ask(c *Client, base *Base, target string, lim Limits) (*Exchange, error) {
	x := &Exchange{}
	x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte(target)))
	return x, c.Do(x, base, lim, nil)
}

// TestMemory: long answers that are held leave room for as many as fit, whatever way they come.
// Another one waits, until one goes, its caller goes, or its time is up; other hosts and short answers do not.
func TestMemory(t *testing.T) {
	const long = 9 << 20
	up, other := upstreamtest.New(t), upstreamtest.New(t)
	for _, s := range []*upstreamtest.Server{up, other} {
		s.Handle("/announced", upstreamtest.Huge(long, false))
		s.Handle("/chunked", upstreamtest.Huge(long, true))
		s.Handle("/packed", upstreamtest.Bomb(long, "gzip"))
		s.Handle("/closed", upstreamtest.Bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"+strings.Repeat("1", long)))
		s.Handle("/lines", upstreamtest.Text(200, "application/x-ndjson", strings.Repeat("[1]\n", long/4)))
		s.Handle("/short", upstreamtest.Huge(freeBody, false))
		s.Handle("/short-chunked", upstreamtest.Huge(freeBody, true))
	}
	base, elsewhere := mustBase(t, up.URL), mustBase(t, other.URL)
	for target, fit := range map[string]int{"/announced": 3, "/chunked": 4, "/packed": 4, "/closed": 4, "/lines": 4} { // of unknown length: 8 MiB each
		t.Run(target[1:], func(t *testing.T) {
			c := newClient(t, Options{})
			var held []*Exchange
			for range fit {
				x, err := ask(c, base, target, Limits{})
				if err != nil || len(x.Body()) != long {
					t.Fatalf("%d bytes, %v", len(x.Body()), err)
				}
				held = append(held, x)
			}
			x, err := ask(c, base, target, Limits{Deadline: time.Now().Add(300 * time.Millisecond)})
			if !problem.Is(err, problem.Unavailable) || !strings.Contains(fmt.Sprint(err), "other long answers held the memory") {
				t.Errorf("one that does not fit: %v", err)
			}
			x.Reset()
			var cancel Cancel
			time.AfterFunc(50*time.Millisecond, cancel.Cancel)
			if x, err = ask(c, base, target, Limits{Cancel: &cancel}); !problem.Is(err, problem.Cancelled) {
				t.Errorf("one whose caller goes: %v", err)
			}
			x.Reset()
			for at, what := range map[*Base][]string{base: {"/short", "/short-chunked"}, elsewhere: {target}} {
				for _, what := range what {
					x, err := ask(c, at, what, Limits{})
					if err != nil {
						t.Errorf("%s of %s: %v", what, at.Name(), err)
					}
					x.Reset()
				}
			}
			time.AfterFunc(50*time.Millisecond, held[0].Reset)
			if x, err = ask(c, base, target, Limits{}); err != nil || len(x.Body()) != long {
				t.Errorf("behind one that went: %v", err)
			}
			for _, x := range append(held[1:], x) {
				x.Reset()
			}
			if !c.bodies.TryAcquire(maxBodies) {
				t.Error("memory was not given back")
			}
		})
	}
}

// TestMemoryOfAll: the bound over all hosts holds too, and bounds are reached exactly.
func TestMemoryOfAll(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.Huge(freeBody+1, false))
	c, base := newClient(t, Options{}), mustBase(t, up.URL)
	if !c.bodies.TryAcquire(maxBodies-freeBody) || c.bodies.TryAcquire(freeBody+1) {
		t.Fatal("bound is not maxBodies")
	}
	x, err := ask(c, base, "/", Limits{Deadline: time.Now().Add(200 * time.Millisecond)})
	if !problem.Is(err, problem.Unavailable) {
		t.Errorf("one byte too many: %v", err)
	}
	x.Reset()
	c.bodies.Release(1)
	if x, err = ask(c, base, "/", Limits{}); err != nil || x.reserved != freeBody+1 {
		t.Errorf("as many as there are: %v", err)
	}
	h := x.host
	x.Reset()
	if !h.bodies.TryAcquire(maxHostBodies) || h.bodies.TryAcquire(1) {
		t.Error("a failure kept a part of the host's share, or the share is not maxHostBodies")
	}
	h.bodies.Release(maxHostBodies)
	c.bodies.Release(maxBodies - freeBody - 1)
	var y Exchange
	y.bodies, y.host, y.limits = c.bodies, h, Limits{Deadline: time.Now().Add(time.Minute)}
	for n, want := range map[int]int64{freeBody: 0, freeBody + 1: freeBody + 1, maxHostBodies: maxHostBodies, maxHostBodies + 1: maxHostBodies} {
		if err := y.reserve(n); err != nil || y.reserved != want {
			t.Errorf("%d bytes count as %d, %v; want %d", n, y.reserved, err, want)
		}
		y.free()
	}
	for n, want := range map[int]int{freeBody - 1: freeBody - 1, freeBody: unknownBody, unknownBody + 1: unknownBody + 1} {
		if got := grown(n); got != want {
			t.Errorf("%d bytes that grow count as %d, want %d", n, got, want)
		}
	}
}

// TestMemoryOfEvents: what reads events asks itself, and a stream that stays open holds nothing.
func TestMemoryOfEvents(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.Text(http.StatusOK, "text/event-stream", "data: 1\n\n"))
	c, base := newClient(t, Options{}), mustBase(t, up.URL)
	for standing, want := range map[bool]int64{false: unknownBody, true: 0} {
		x := &Exchange{Standing: standing}
		x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte("/")))
		x.Events = func(int, io.Reader) error {
			if err := x.Reserve(freeBody); err != nil || x.reserved != want {
				t.Errorf("standing %v: %d bytes, %v; want %d", standing, x.reserved, err, want)
			}
			return nil
		}
		if err := c.Do(x, base, Limits{}, nil); err != nil {
			t.Error(err)
		}
		x.Reset()
		if err := x.Reserve(freeBody); err != nil || x.reserved != 0 {
			t.Errorf("without a stream: %d bytes, %v", x.reserved, err)
		}
	}
}
