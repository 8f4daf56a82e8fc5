package mcpclient

import (
	"bytes"
	"errors"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// maxAsks is how many requests of a server may wait for the client of one call.
	maxAsks = 16
	// answerTimeout bounds the POST that gives a server the answer to its request.
	answerTimeout = 10 * time.Second
	// maxNotifications and maxNotified bound what a server says during one call besides
	// its result, in messages and in bytes. A tool that reports ten times a second is
	// below them for more than an hour; clients cannot use more.
	maxNotifications = 50_000
	maxNotified      = 16 << 20
)

var errFlood = errors.New("too many notifications")

// flood counts what a server says during a call besides its result.
type flood struct {
	count, bytes int
	overrun      bool
}

// over counts one message, and reports whether it is one too many.
func (f *flood) over(size int) bool {
	f.count++
	f.bytes += size
	f.overrun = f.overrun || f.count > maxNotifications || f.bytes > maxNotified
	return f.overrun
}

func flooding(t *Target) error {
	return problem.New(problem.UpstreamTooLarge, "%s sent more than %d notifications, or %d MiB besides its answer, during one call", t.Endpoint.server(), maxNotifications, maxNotified>>20).
		Fix("let the tool report less often").Because(errFlood)
}

// asks are the requests of a server that wait for the client of a call.
type asks struct {
	ask  func(method string, params jsonscan.Value, done <-chan struct{}) []byte
	done chan struct{} // closed when the call has ended

	mu      sync.Mutex
	ended   bool           // guarded by mu
	open    int            // guarded by mu
	running sync.WaitGroup // calls of ask
}

// end makes all that wait return: what they use is the call's.
func (a *asks) end() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	close(a.done)
	a.running.Wait()
}

func (a *asks) begin() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || a.open >= maxAsks {
		return false
	}
	a.open++
	a.running.Add(1)
	return true
}

// answer asks the client; nil: the call has ended, and nobody waits for the answer.
func (a *asks) answer(method string, params jsonscan.Value) []byte {
	defer a.running.Done()
	member := a.ask(method, params, a.done)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open--; a.ended {
		return nil
	}
	return member
}

// requested serves a request of the server: a ping is answered, others go to the client of
// the call, if it can be asked. It keeps nothing of its arguments.
func (c *Client) requested(a *asks, t *Target, l *link, id, method, params jsonscan.Value) {
	ping := method.EqualText("ping")
	if ping || method.Kind() != jsonscan.String || !a.begin() {
		c.reply(t, l, id.Raw(), ping)
		return
	}
	head := append(append([]byte(`{"jsonrpc":"2.0","id":`), id.Raw()...), ',')
	name := string(method.AppendText(nil))
	kept := jsonscan.Trusted(bytes.Clone(params.Raw()))
	own := *t
	if !c.begin() {
		a.running.Done()
		return
	}
	go func() {
		defer c.work.Done()
		member := a.answer(name, kept)
		if member == nil {
			return
		}
		target := own.Endpoint.target
		if l.stream != nil {
			target = l.stream.target
		}
		own.Deadline, own.Cancel = time.Now().Add(answerTimeout), nil
		var x Exchange
		_ = c.post(&x, &own, target, &message{body: append(append(head, member...), '}'), link: l, version: l.version}) // the call shows whether it came
	}()
}

// setLevel tells a server of an older revision the level of log messages in the session of
// the caller, when it is another than before.
func (c *Client) setLevel(x *Exchange, t *Target, l *link, call *Call) error {
	if l.modern || !l.stateful() || !l.about.logging || len(call.SetLevel) == 0 {
		return nil
	}
	level := string(call.SetLevel)
	if told := l.level.Load(); told != nil && *told == level {
		return nil
	}
	id := c.ids.Add(1)
	x.body = append(append(append(appendRequest(x.body[:0], id, "logging/setLevel"), `"level":`...), level...), '}', '}')
	x.notify, x.link = nil, nil
	m := &message{method: "logging/setLevel", id: id, body: x.body, link: l, version: l.version, repeatable: true}
	var err error
	if l.stream != nil {
		err = c.ask(x, t, l, m)
	} else {
		err = c.post(x, t, t.Endpoint.target, m)
	}
	if err == nil && x.result.Exists() { // the call itself shows what else is wrong
		l.level.Store(&level)
	}
	return err
}

// tellRoots tells a server of an older revision that the roots of the client changed since it was
// told last. It asks for them again when it likes.
func (c *Client) tellRoots(t *Target, l *link, call *Call) {
	if l.modern || !l.stateful() || l.roots.Swap(call.Roots) == call.Roots {
		return
	}
	target := t.Endpoint.target
	if l.stream != nil {
		target = l.stream.target
	}
	var x Exchange
	m := &message{body: []byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`), link: l, version: l.version}
	_ = c.post(&x, t, target, m) // the call itself shows what is wrong
}
