package sim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/registry"
)

var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset by peer")
)

// link is the way of one edge to the control plane: an http.RoundTripper. What happens
// to a message depends on the seed, the edge, the path and how many went there before.
type link struct {
	w    *world
	n    *node
	gone chan struct{} // closed when the edge ends: nothing arrives at it any more

	mu  sync.Mutex
	cut time.Time // guarded by mu; until when nothing passes
}

// fate is what happens to one message.
type fate struct {
	there, back time.Duration
	lose        string // "", "request", "answer"
	hang        bool   // what was lost is waited for; else the connection is reset
	again       time.Duration
	keep        float64 // share of the answer that arrives; 1: all
}

func (l *link) fate(r *http.Request) fate {
	d := l.w.dice(l.n.name + " " + r.Method + " " + r.URL.Path)
	f := fate{keep: 1, there: latency(d, 20), back: latency(d, 20)}
	if l.w.storm() {
		switch x := d.Float64(); {
		case x < .06:
			f.lose, f.hang = "request", d.Float64() < .5
		case x < .12:
			f.lose, f.hang = "answer", d.Float64() < .5
		case x < .20:
			f.again = latency(d, 3000) // often behind what was sent after it
		case x < .26:
			f.keep = d.Float64()
		case x < .40:
			f.there = latency(d, 4000)
		case x < .50:
			f.back = latency(d, 4000)
		}
	}
	if r.URL.Path == registry.EdgeTokenPath {
		// The edge holds a lock while it renews its token, and goroutines that wait for a
		// lock keep virtual time from passing.
		f.there, f.back, f.hang = 0, 0, false
	}
	return f
}

// latency is a time of about the given milliseconds, in nanoseconds, so that hardly two
// things happen at once.
func latency(d *rand.Rand, milliseconds float64) time.Duration {
	return time.Duration((.2 + d.ExpFloat64()) * milliseconds * float64(time.Millisecond))
}

func (l *link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.cut)
}

func (l *link) cutFor(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = time.Now().Add(d)
}

// RoundTrip implements http.RoundTripper.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	// What the edge made of the answer before.
	if p := l.n.current.Load(); p != nil && p.link == l && p.loaded.Load() {
		if err := p.vault.Load().Missing(); err != nil {
			l.n.lacks(err)
		}
	}
	f := l.fate(r)
	resp, err := l.carry(r, body, f)
	what := r.Method + " " + r.URL.Path
	if i := strings.Index(what, "sha256:"); i > 0 {
		what = what[:i] + "…" // it depends on keys
	}
	if r.Context().Err() != nil && err == nil {
		err = r.Context().Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		// Not at the moment at which tickers of whole seconds tick.
		time.Sleep(time.Duration(1 + l.w.dice(l.n.name+" late").IntN(int(time.Millisecond))))
	}
	if err != nil {
		l.w.say(l.n.name, "%s: %v", what, err)
		return nil, err
	}
	l.w.say(l.n.name, "%s: %d", what, resp.StatusCode)
	return resp, nil
}

func (l *link) carry(r *http.Request, body []byte, f fate) (*http.Response, error) {
	ctx := r.Context()
	if err := l.pass(ctx, f.there); err != nil {
		return nil, err
	}
	if l.isCut() || f.lose == "request" {
		return nil, l.drop(ctx, f.hang || l.isCut() && f.keep < 1)
	}
	p := l.n.planeOf()
	if p == nil {
		return nil, errRefused
	}
	if f.again > 0 {
		p.work.Go(func() {
			if retry.Sleep(p.life, f.again) == nil {
				_, _ = p.serve(p.life, l.n, r, body) // a repetition: nobody waits for the answer
			}
		})
	}
	resp, err := p.serve(ctx, l.n, r, body)
	if err != nil {
		return nil, err
	}
	if err := l.pass(ctx, f.back); err != nil {
		return nil, err
	}
	if l.isCut() || f.lose == "answer" {
		return nil, l.drop(ctx, f.hang)
	}
	if f.keep < 1 {
		b, _ := io.ReadAll(resp.Body) // of memory
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(b[:int(f.keep*float64(len(b)))]), failing{}))
	}
	return resp, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// drop is what the sender of a message that does not arrive sees.
func (l *link) drop(ctx context.Context, hang bool) error {
	if !hang {
		return errReset
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.gone:
		return errReset
	}
}

// pass takes the time of the way.
func (l *link) pass(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.gone:
		return errReset
	}
}

// serve gives a request to the control plane's handler, as its listener does.
func (p *plane) serve(ctx context.Context, n *node, r *http.Request, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	in := r.Clone(ctx)
	in.Body, in.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	in.RequestURI, in.Host, in.RemoteAddr = r.URL.RequestURI(), controlHost, "192.0.2.1:40000"
	answer := make(chan *http.Response, 1)
	p.work.Go(func() {
		defer cancel()
		revoked := n.isRevoked()
		rec := httptest.NewRecorder()
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler {
				p.w.violated("no panic", "%s %s: %v", r.Method, r.URL.Path, v)
			}
			resp := rec.Result()
			n.answered(revoked, r, resp)
			answer <- resp
		}()
		p.srv.Handler().ServeHTTP(rec, in)
	})
	select {
	case resp := <-answer:
		select {
		case <-p.gone:
			return nil, errReset
		default:
		}
		return resp, nil
	case <-p.gone:
		cancel()
		return nil, errReset
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
