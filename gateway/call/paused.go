package call

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// maxPaused bounds the calls that wait for an answer of a client without a session, each
	// with a connection to its server, and maxPausedOwner those of one caller at one tool.
	maxPaused      = 256
	maxPausedOwner = 8
	// pauseTime is how long such a call may take in all: a person reads a question and
	// answers it, or has left.
	pauseTime = 5 * time.Minute
	// maxDeclared is the longest text of capabilities that is declared to a server.
	maxDeclared = 2 << 10
)

// paused is a call of a server of an older revision, which asks by requests, for a client of
// 2026-07-28, which is asked by results: the call goes on while the client answers with
// another request. It belongs to the caller and the tool of the first.
type paused struct {
	id, owner string
	client    jsonscan.Value // what it can be asked
	exchange  mcpclient.Exchange
	target    mcpclient.Target
	call      mcpclient.Call
	cancel    upstream.Cancel
	expires   time.Time
	done      chan struct{} // closed when the call has ended
	err       error         // of the call, then
	wake      chan struct{} // holds one token: look at asked
	progress  chan struct{} // holds one token: the server reported progress

	mu     sync.Mutex
	asked  []pausedQuestion                           // guarded by mu; not answered yet
	count  int                                        // guarded by mu; of questions so far
	notify func(method string, params jsonscan.Value) // guarded by mu; of the request that waits; nil: none does
}

type pausedQuestion struct {
	key, request []byte // JSON
	answer       chan []byte
}

// pauses are the calls that wait for an answer, and all that run so.
type pauses struct {
	mu      sync.Mutex
	closed  bool               // guarded by mu
	waiting map[string]*paused // guarded by mu; by id
	all     map[*paused]bool   // guarded by mu
	running sync.WaitGroup
}

// server is what the answer of the server is read from.
func (x *exchange) server() *mcpclient.Exchange {
	if x.paused != nil {
		return &x.paused.exchange
	}
	return &x.mcp
}

// canBeAsked reports whether the client speaks 2026-07-28 and declared something.
func (x *exchange) canBeAsked() bool {
	return x.request != nil && x.request.Modern() && len(x.call.Capabilities) > len(`{}`)
}

// declared is what a client can be asked, as its server is told and as it is kept; nil:
// nothing, or more than is kept.
func (x *exchange) declared() []byte {
	if !x.canBeAsked() || len(x.call.Capabilities) > maxDeclared {
		return nil
	}
	return bytes.Clone(x.call.Capabilities)
}

// callPausing makes a call that may ask its client, or goes on with the one whose questions
// the request answers. When there is something to ask, x.question is set.
func (x *exchange) callPausing(t *mcpclient.Target) error {
	all, owner := &x.c.pauses, x.ts.ID+"\x00"+x.principalKey+"\x00"+x.tool.Name
	var h *paused
	if state := x.request.RequestState; state.Exists() {
		if h = all.take(string(state.AppendText(nil)), owner); h == nil {
			return problem.New(problem.InvalidArguments, "the question that this answers has expired").Fix("call the tool again without requestState")
		}
		h.answer(x.request.InputResponses)
	} else {
		h = x.hold(t, owner)
		if !all.start(h, x.c.mcp) {
			return problem.New(problem.Unavailable, "this gateway is stopping").Fix("try again")
		}
	}
	x.paused = h
	h.listen(x.call.Notify)
	defer h.listen(nil)
	timer := time.NewTimer(time.Until(x.deadline))
	defer timer.Stop()
	tick := time.NewTicker(cancelPoll)
	defer tick.Stop()
	for {
		select {
		case <-h.done: // whatever was asked, nobody waits for it
			return h.err
		default:
		}
		if question := h.question(); question != nil {
			if all.put(h) {
				x.paused, x.question = nil, question
				return nil
			}
			h.refuse()
		}
		select {
		case <-h.done:
			return h.err
		case <-h.wake:
		case <-h.progress: // begins the time anew, as in calls that cannot ask
			if x.deadline = time.Now().Add(x.limit); x.deadline.After(x.latest) {
				x.deadline = x.latest
			}
			timer.Reset(time.Until(x.deadline))
		case <-timer.C:
			h.cancel.Cancel()
			<-h.done
			return problem.New(problem.Timeout, "%s did not answer in time", t.Endpoint.Addr()).Fix("try again")
		case <-tick.C:
			if x.cancel.Cancelled() {
				h.cancel.Cancel()
				<-h.done
				return x.gone()
			}
		}
	}
}

// hold makes a call that outlives the request: everything of the request is copied.
func (x *exchange) hold(t *mcpclient.Target, owner string) *paused {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	h := &paused{
		id: hex.EncodeToString(id[:]), owner: owner, target: *t, call: x.call, expires: time.Now().Add(pauseTime),
		client: jsonscan.Trusted(t.Capabilities), done: make(chan struct{}), wake: make(chan struct{}, 1), progress: make(chan struct{}, 1),
	}
	h.target.Deadline, h.target.Idle, h.target.Cancel = h.expires, 0, &h.cancel
	if t.Certificate != nil {
		own := *t.Certificate
		h.target.Certificate = &own
	}
	k := &h.call
	k.Arguments, k.Meta, k.LogLevel = bytes.Clone(k.Arguments), bytes.Clone(k.Meta), bytes.Clone(k.LogLevel)
	k.Headers, k.Capabilities, k.InputResponses, k.RequestState = slices.Clone(k.Headers), nil, nil, nil
	k.Ask = h.ask
	if k.Notify != nil {
		k.Notify = h.tell
	}
	return h
}

// ask puts a question of the server where the next answer to the client finds it.
func (h *paused) ask(method string, params jsonscan.Value, done <-chan struct{}) []byte {
	if !declares(h.client, method, params) {
		return []byte(memberNoCapability)
	}
	request := append(jsonscan.AppendStringOf([]byte(`{"method":`), method), `,"params":`...)
	if params.Kind() == jsonscan.Object {
		request = append(request, params.Raw()...)
	} else {
		request = append(request, '{', '}')
	}
	q := pausedQuestion{request: append(request, '}'), answer: make(chan []byte, 1)}
	h.mu.Lock()
	h.count++
	q.key = strconv.AppendInt([]byte("request-"), int64(h.count), 10)
	h.asked = append(h.asked, q)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
	select {
	case member := <-q.answer:
		return member
	case <-done:
		return []byte(memberNoAnswer)
	}
}

// question is the result that asks the client what is not answered yet; nil: nothing is
// asked.
func (h *paused) question() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asked) == 0 {
		return nil
	}
	b := []byte(`{"resultType":"input_required","inputRequests":{`)
	mark := len(b)
	for i := range h.asked {
		b = jsonscan.AppendMember(b, mark, h.asked[i].key, h.asked[i].request)
	}
	return append(append(append(b, `},"requestState":"`...), h.id...), '"', '}')
}

// answer gives the server what the client answered.
func (h *paused) answer(answers jsonscan.Value) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = slices.DeleteFunc(h.asked, func(q pausedQuestion) bool {
		v := answers.Get(string(q.key))
		if v.Exists() {
			q.answer <- append([]byte(`"result":`), v.Raw()...)
		}
		return v.Exists()
	})
}

// refuse answers everything that is asked with an error: too many calls wait.
func (h *paused) refuse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, q := range h.asked {
		q.answer <- []byte(memberTooMany)
	}
	h.asked = nil
}

func (h *paused) listen(notify func(string, jsonscan.Value)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notify = notify
}

// tell passes a notification on to the request that waits, under the lock: the stream of
// the request must not end meanwhile.
func (h *paused) tell(method string, params jsonscan.Value) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.notify != nil {
		h.notify(method, params)
	}
	if method == "notifications/progress" {
		select {
		case h.progress <- struct{}{}:
		default:
		}
	}
}

// start runs the call; false: the pauses is closed.
func (a *pauses) start(h *paused, client *mcpclient.Client) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	if a.all == nil {
		a.all, a.waiting = map[*paused]bool{}, map[string]*paused{}
	}
	a.all[h] = true
	a.running.Go(func() {
		h.err = client.Call(&h.exchange, &h.target, &h.call)
		close(h.done)
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.all, h)
		if h.err != nil {
			delete(a.waiting, h.id) // the client answers too late
		}
	})
	return true
}

// put keeps a call until its client answers; false: too many wait.
func (a *pauses) put(h *paused) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	own, now := 0, time.Now()
	for id, other := range a.waiting {
		if now.After(other.expires) {
			delete(a.waiting, id)
		} else if other.owner == h.owner {
			own++
		}
	}
	if a.closed || len(a.waiting) >= maxPaused || own >= maxPausedOwner {
		return false
	}
	a.waiting[h.id] = h
	return true
}

// take returns the call that waits for the answer of a caller to a tool; nil: none does.
func (a *pauses) take(id, owner string) *paused {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.waiting[id]
	if h == nil || h.owner != owner {
		return nil
	}
	delete(a.waiting, id)
	return h
}

// close ends all calls and waits for them.
func (a *pauses) close() {
	a.mu.Lock()
	a.closed, a.waiting = true, nil
	for h := range a.all {
		h.cancel.Cancel()
	}
	a.mu.Unlock()
	a.running.Wait()
}
