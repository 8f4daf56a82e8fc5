package ask

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestDeclares: a client is asked only what it said it can be asked.
func TestDeclares(t *testing.T) {
	for _, c := range []struct {
		method, capabilities, params string
		want                         bool
	}{
		{"sampling/createMessage", `{"sampling":{}}`, `{}`, true},
		{"sampling/createMessage", `{"elicitation":{},"roots":{}}`, `{}`, false},
		{"roots/list", `{"roots":{"listChanged":true}}`, `{}`, true},
		{"roots/list", `{}`, `{}`, false},
		{"elicitation/create", `{"elicitation":{}}`, `{}`, true},
		{"elicitation/create", `{"elicitation":{}}`, `{"mode":"form"}`, true},
		{"elicitation/create", `{"elicitation":{}}`, `{"mode":"url"}`, false},
		{"elicitation/create", `{"elicitation":{"form":{}}}`, `{}`, true},
		{"elicitation/create", `{"elicitation":{"form":{}}}`, `{"mode":"url"}`, false},
		{"elicitation/create", `{"elicitation":{"url":{}}}`, `{"mode":"url"}`, true},
		{"elicitation/create", `{"elicitation":{"url":{}}}`, `{}`, false},
		{"elicitation/create", `{"elicitation":{"url":{}}}`, `{"mode":"form"}`, false},
		{"elicitation/create", `{"elicitation":{"form":{},"url":{}}}`, `{}`, true},
		{"elicitation/create", `{"elicitation":{"form":{},"url":{}}}`, `{"mode":"url"}`, true},
		{"elicitation/create", `{}`, `{}`, false},
		{"ping", `{"ping":{},"sampling":{},"roots":{},"elicitation":{}}`, `{}`, false},
	} {
		if got := Declares(jsonscan.Trusted([]byte(c.capabilities)), c.method, jsonscan.Trusted([]byte(c.params))); got != c.want {
			t.Errorf("%s with %s of a client with %s: %v", c.method, c.params, c.capabilities, got)
		}
	}
}

// TestQuestion: a question has one answer, whatever becomes of the client, the call or the
// server, and is over then.
func TestQuestion(t *testing.T) {
	const answer = `"result":{"action":"accept"}`
	cancelled := &upstream.Cancel{}
	cancelled.Cancel()
	gone := make(chan struct{})
	close(gone)
	for name, c := range map[string]struct {
		capabilities string
		owes         int // questions that the client has not answered
		send         func(*session.Table, *session.Session, *session.Question) bool
		cancel       *upstream.Cancel
		deadline     time.Duration
		done         chan struct{}
		want         string
	}{
		"answered": {
			capabilities: `{"elicitation":{}}`, deadline: time.Minute, want: answer,
			send: func(_ *session.Table, s *session.Session, q *session.Question) bool {
				return s.Resolve(q.ID, []byte(answer))
			},
		},
		"one more is owed": {
			capabilities: `{"elicitation":{}}`, owes: 31, deadline: time.Minute, want: answer,
			send: func(_ *session.Table, s *session.Session, q *session.Question) bool {
				return s.Resolve(q.ID, []byte(answer))
			},
		},
		"too many are owed": {capabilities: `{"elicitation":{}}`, owes: 32, deadline: time.Minute, want: memberTooMany},
		"not declared":      {capabilities: `{"roots":{}}`, deadline: time.Minute, want: memberNoCapability},
		"nothing declared":  {deadline: time.Minute, want: memberNoCapability},
		"no room": {
			capabilities: `{"elicitation":{}}`, deadline: time.Minute, want: memberTooMany,
			send: func(*session.Table, *session.Session, *session.Question) bool { return false },
		},
		"the session ends": {
			capabilities: `{"elicitation":{}}`, deadline: time.Minute, want: memberNoAnswer,
			send: func(all *session.Table, s *session.Session, _ *session.Question) bool {
				all.End(t.Context(), s)
				return true
			},
		},
		"no answer in time":  {capabilities: `{"elicitation":{}}`, deadline: -time.Second, want: memberNoAnswer},
		"the server is gone": {capabilities: `{"elicitation":{}}`, deadline: time.Minute, done: gone, want: memberNoAnswer},
		"cancelled":          {capabilities: `{"elicitation":{}}`, deadline: time.Minute, cancel: cancelled, want: memberNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			all := session.New(session.Options{})
			s := all.Open(session.Owner{Toolset: "t"}, session.Client{Capabilities: []byte(c.capabilities)})
			for range c.owes {
				s.Ask()
			}
			var asked *session.Question
			k := Question{Session: s, Cancel: c.cancel, Deadline: time.Now().Add(c.deadline), Send: func(q *session.Question) bool {
				asked = q
				return c.send == nil || c.send(all, s, q)
			}}
			if got := string(k.Ask("elicitation/create", jsonscan.Trusted([]byte(`{"message":"?"}`)), c.done)); got != c.want {
				t.Errorf("the server gets %s, want %s", got, c.want)
			}
			if asked == nil != (c.want == memberNoCapability || c.owes == 32) {
				t.Errorf("the client was asked: %v", asked != nil)
			}
			if asked != nil && s.Resolve(asked.ID, []byte(answer)) {
				t.Error("an answer that comes later is waited for")
			}
		})
	}
}

// sink keeps what is sent to a client, and reports each message.
type sink struct{ sent chan string }

func (s sink) Write(events []byte) bool { s.sent <- string(events); return true }
func (s sink) End()                     {}

// TestHearing: what a server says outside of calls reaches the client of a session, who
// answers what it asks.
func TestHearing(t *testing.T) {
	all := session.New(session.Options{})
	s := all.Open(session.Owner{Toolset: "t"}, session.Client{Version: "2025-06-18", Capabilities: []byte(`{"roots":{},"elicitation":{"url":{}}}`)})
	to := sink{make(chan string, 1)}
	if !s.Attach(to, "") {
		t.Fatal("no stream")
	}
	h := &Hearing{Session: s}
	for _, c := range []struct {
		method, params string
		told           bool
	}{
		{"notifications/message", `{"level":"info","data":"x"}`, true},
		{"notifications/message", `{"level":"debug","data":"x"}`, false},
		{"notifications/message", `"x"`, false},
		{"notifications/elicitation/complete", `{"elicitationId":"e"}`, true},
		{"notifications/tools/list_changed", `{}`, false},
	} {
		if got := h.Tell(c.method, jsonscan.Trusted([]byte(c.params))); got != c.told {
			t.Errorf("%s %s: %v", c.method, c.params, got)
		}
		if !c.told {
			continue
		}
		if got := <-to.sent; !strings.Contains(got, fmt.Sprintf(`"method":%q`, c.method)) || !strings.Contains(got, c.params) {
			t.Errorf("%s: the client is told %q", c.method, got)
		}
	}
	answered := make(chan []byte, 1)
	go func() { answered <- h.Ask("roots/list", jsonscan.Value{}, nil) }()
	if got := <-to.sent; !strings.Contains(got, `"id":1,"method":"roots/list"`) {
		t.Fatalf("the client is asked %q", got)
	}
	if !s.Resolve(1, []byte(`"result":{"roots":[]}`)) {
		t.Fatal("nobody waits for the answer")
	}
	if got := string(<-answered); got != `"result":{"roots":[]}` {
		t.Errorf("the server gets %s", got)
	}
}

// TestWait: the request that waits for a call gets its end, a question for its client, or
// why there is neither; then the call has ended.
func TestWait(t *testing.T) {
	failed := errors.New("the server failed")
	cancelled := &upstream.Cancel{}
	cancelled.Cancel()
	full := &Pauses{waiting: map[string]*Paused{}}
	for i := range maxPausedOwner {
		full.Put(waiting(fmt.Sprint(i), "ada"))
	}
	for name, c := range map[string]struct {
		all      *Pauses
		ended    bool
		asks     bool
		patience Patience
		question string
		is       error
		kind     problem.Kind
		refused  bool
	}{
		"the call ended":               {ended: true, patience: Patience{Deadline: time.Now().Add(time.Minute)}, is: failed},
		"ended, whatever it asks":      {ended: true, asks: true, patience: Patience{Deadline: time.Now().Add(time.Minute)}, is: failed},
		"ended, too late":              {ended: true, patience: Patience{Deadline: time.Now().Add(-time.Minute)}, is: failed},
		"a question":                   {asks: true, patience: Patience{Deadline: time.Now().Add(time.Minute)}, question: `"requestState":"x"`},
		"no time":                      {patience: Patience{Deadline: time.Now().Add(-time.Minute)}, kind: problem.Timeout},
		"the client has gone":          {patience: Patience{Deadline: time.Now().Add(time.Minute), Cancel: cancelled}, is: ErrGone},
		"a question with no room":      {all: full, asks: true, patience: Patience{Deadline: time.Now().Add(-time.Minute)}, kind: problem.Timeout, refused: true},
		"a question, and then no time": {asks: true, patience: Patience{Deadline: time.Now().Add(-time.Minute)}, question: `"requestState":"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			all := c.all
			if all == nil {
				all = &Pauses{waiting: map[string]*Paused{}}
			}
			h := waiting("x", "ada")
			h.target.Endpoint = endpoint(t)
			h.err = failed
			member := make(chan []byte, 1)
			if c.asks {
				h.asked = []pausedQuestion{{key: []byte("request-1"), request: []byte(`{}`), answer: member}}
			}
			if c.ended {
				close(h.done)
			} else {
				h.cancel.After(func() { close(h.done) }) // as a call does
			}
			p := c.patience
			question, err := h.Wait(all, &p)
			if !strings.Contains(string(question), c.question) || (question == nil) != (c.question == "") {
				t.Errorf("the client is asked %s", question)
			}
			if c.is != nil && !errors.Is(err, c.is) || c.kind != "" && !problem.Is(err, c.kind) || c.question != "" && err != nil {
				t.Errorf("%v", err)
			}
			if all.Take("x", "ada") == nil == (c.question != "") {
				t.Errorf("the call waits for an answer: %v", c.question == "")
			}
			if c.refused && string(<-member) != memberTooMany {
				t.Error("the server is not told that too many wait")
			}
		})
	}
}

// TestWaitProgress: each report of progress begins the time anew, but not beyond the latest.
func TestWaitProgress(t *testing.T) {
	for name, latest := range map[string]time.Time{"within": time.Now().Add(time.Hour), "beyond": time.Now().Add(-time.Second)} {
		h := waiting("x", "ada")
		h.progress = make(chan struct{}, 1)
		h.target.Endpoint = endpoint(t)
		h.cancel.After(func() { close(h.done) })
		told := 0
		h.Listen(func(string, jsonscan.Value) { told++ })
		h.tell("notifications/progress", jsonscan.Value{})
		h.tell("notifications/message", jsonscan.Value{})
		p := Patience{Limit: time.Minute, Deadline: time.Now().Add(time.Hour), Latest: latest}
		if name == "within" { // ends once the progress is seen
			go func() {
				h.progress <- struct{}{} // has room when the first was taken
				close(h.done)
			}()
		}
		_, err := h.Wait(&Pauses{waiting: map[string]*Paused{}}, &p)
		if want := name == "beyond"; problem.Is(err, problem.Timeout) != want || p.Deadline.After(time.Now().Add(time.Minute)) || want && !p.Deadline.Equal(latest) {
			t.Errorf("%s: %v, until %v", name, err, p.Deadline)
		}
		if told != 2 {
			t.Errorf("%s: %d notifications are passed on", name, told)
		}
	}
}

// TestNewCopies: a call that outlives its request holds nothing of it.
func TestNewCopies(t *testing.T) {
	arguments, meta := []byte(`{"a":1}`), []byte(`{"m":1}`)
	call := &mcpclient.Call{Arguments: arguments, Meta: meta, RequestState: []byte("s"), InputResponses: []byte("{}")}
	target := &mcpclient.Target{Capabilities: []byte(`{"roots":{}}`), Certificate: &upstream.ClientCertificate{}}
	h := New("ada", target, call)
	arguments[2], meta[2] = 'x', 'x'
	if string(h.call.Arguments) != `{"a":1}` || string(h.call.Meta) != `{"m":1}` || h.target.Certificate == target.Certificate {
		t.Errorf("it holds the request's own: %s %s", h.call.Arguments, h.call.Meta)
	}
	if h.call.RequestState != nil || h.call.InputResponses != nil || h.call.Ask == nil || h.call.Notify != nil || h.target.Cancel != &h.cancel {
		t.Errorf("it answers for another request: %+v", h.call)
	}
	if other := New("ada", target, call); other.id == h.id || len(h.id) != 32 {
		t.Errorf("ids %s, %s", h.id, other.id)
	}
}

func endpoint(t *testing.T) *mcpclient.Endpoint {
	t.Helper()
	e, err := mcpclient.ParseEndpoint("https://mcp.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	return e
}
