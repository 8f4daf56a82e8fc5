package ask

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
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
	// maxHeld and maxHeldBytes bound the notifications of a call that are kept while its client
	// answers: then the newest count.
	maxHeld      = 64
	maxHeldBytes = 64 << 10
)

// Paused is a call of a server of an older revision, which asks by requests, for a client of
// 2026-07-28, which is asked by results: the call goes on while the client answers with
// another request. It belongs to the caller and the tool of the first.
type Paused struct {
	// Exchange has the answer of the server, once the call has ended.
	Exchange mcpclient.Exchange

	id, owner string
	client    jsonscan.Value // what it can be asked
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
	held   []note                                     // guarded by mu; what came meanwhile, oldest first
	size   int                                        // guarded by mu; of what is held
}

// note is a notification of the server.
type note struct {
	method string
	params []byte // JSON
}

type pausedQuestion struct {
	key, request []byte // JSON
	answer       chan []byte
}

// Pauses are the calls that wait for an answer, and all that run so.
type Pauses struct {
	mu      sync.Mutex
	closed  bool               // guarded by mu
	waiting map[string]*Paused // guarded by mu; by id
	all     map[*Paused]bool   // guarded by mu
	running sync.WaitGroup
}

// New makes a call that outlives the request: everything of the request is copied. owner names
// the caller and the tool. It runs once [Pauses.Start] is called.
func New(owner string, t *mcpclient.Target, call *mcpclient.Call) *Paused {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	h := &Paused{
		id: hex.EncodeToString(id[:]), owner: owner, target: *t, call: *call, expires: time.Now().Add(pauseTime),
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
	k.Ask, k.Hears = h.Ask, true // it has no stream of its own
	if k.Notify != nil {
		k.Notify = h.tell
	}
	return h
}

// Patience is how long a request waits for a call, and what ends it.
type Patience struct {
	Limit    time.Duration    // without progress
	Deadline time.Time        // which progress moves
	Latest   time.Time        // behind which it does not
	Cancel   *upstream.Cancel // nil: nothing cancels
}

// ErrGone says that the client cancelled its request, or has gone.
var ErrGone = errors.New("the client has gone")

// Wait waits until the call has ended, and returns its error, or until there is something to
// ask of the client: then question is the result that asks it, and the call waits in all for
// the answer. It fails with [ErrGone] and, when p.Deadline has passed, with [problem.Timeout];
// either ends the call.
func (h *Paused) Wait(all *Pauses, p *Patience) (question []byte, err error) {
	timer := time.NewTimer(time.Until(p.Deadline))
	defer timer.Stop()
	tick := time.NewTicker(CancelPoll)
	defer tick.Stop()
	for {
		select {
		case <-h.done: // whatever was asked, nobody waits for it
			return nil, h.err
		default:
		}
		if question := h.Question(); question != nil {
			if all.Put(h) {
				return question, nil
			}
			h.Refuse()
		}
		select {
		case <-h.done:
			return nil, h.err
		case <-h.wake:
		case <-h.progress: // begins the time anew, as in calls that cannot ask
			if p.Deadline = time.Now().Add(p.Limit); p.Deadline.After(p.Latest) {
				p.Deadline = p.Latest
			}
			timer.Reset(time.Until(p.Deadline))
		case <-timer.C:
			h.cancel.Cancel()
			<-h.done
			return nil, problem.New(problem.Timeout, "%s did not answer in time", h.target.Endpoint.Name()).Fix("try again")
		case <-tick.C:
			if p.Cancel.Cancelled() {
				h.cancel.Cancel()
				<-h.done
				return nil, ErrGone
			}
		}
	}
}

// Ask puts a question of the server where the next answer to the client finds it.
func (h *Paused) Ask(method string, params jsonscan.Value, done <-chan struct{}) []byte {
	if !Declares(h.client, method, params) {
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

// Question is the result that asks the client what is not answered yet; nil: nothing is
// asked.
func (h *Paused) Question() []byte {
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

// Answer gives the server what the client answered.
func (h *Paused) Answer(answers jsonscan.Value) {
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

// Refuse answers everything that is asked with an error: too many calls wait.
func (h *Paused) Refuse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, q := range h.asked {
		q.answer <- []byte(memberTooMany)
	}
	h.asked = nil
}

// Listen sets who gets notifications: the request that waits, or nobody. What came while
// nobody was is told first.
func (h *Paused) Listen(notify func(string, jsonscan.Value)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.notify = notify; notify == nil {
		return
	}
	for _, n := range h.held {
		notify(n.method, jsonscan.Trusted(n.params))
	}
	h.held, h.size = nil, 0
}

// hold keeps a notification for the next request. The caller holds mu.
func (h *Paused) hold(method string, params jsonscan.Value) {
	n := note{method, bytes.Clone(params.Raw())}
	h.held, h.size = append(h.held, n), h.size+len(n.params)
	for len(h.held) > maxHeld || h.size > maxHeldBytes {
		h.size -= len(h.held[0].params)
		h.held = h.held[1:]
	}
}

// tell passes a notification on to the request that waits, under the lock: the stream of
// the request must not end meanwhile.
func (h *Paused) tell(method string, params jsonscan.Value) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.notify != nil {
		h.notify(method, params)
	} else {
		h.hold(method, params)
	}
	if method == "notifications/progress" {
		select {
		case h.progress <- struct{}{}:
		default:
		}
	}
}

// Start runs the call; false: [Pauses.Close] was called.
func (a *Pauses) Start(h *Paused, client *mcpclient.Client) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	if a.all == nil {
		a.all, a.waiting = map[*Paused]bool{}, map[string]*Paused{}
	}
	a.all[h] = true
	a.running.Go(func() {
		h.err = client.Call(&h.Exchange, &h.target, &h.call)
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

// Put keeps a call until its client answers; false: too many wait.
func (a *Pauses) Put(h *Paused) bool {
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

// Take returns the call that waits for the answer of a caller to a tool; nil: none does.
func (a *Pauses) Take(id, owner string) *Paused {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.waiting[id]
	if h == nil || h.owner != owner {
		return nil
	}
	delete(a.waiting, id)
	return h
}

// Close ends all calls and waits for them.
func (a *Pauses) Close() {
	a.mu.Lock()
	a.closed, a.waiting = true, nil
	for h := range a.all {
		h.cancel.Cancel()
	}
	a.mu.Unlock()
	a.running.Wait()
}
