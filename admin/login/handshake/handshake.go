package handshake

import (
	"fmt"
	"strings"
	"time"
)

// Names of the steps, in their order.
const (
	Reach          = "reach"
	Protocol       = "protocol"
	Authentication = "authentication"
	List           = "list"
)

// States of a step.
const (
	Running = "running"
	Done    = "done"
	Failed  = "failed"
	// Skipped is a step whose outcome only a later one could tell, which failed.
	Skipped = "skipped"
)

// Step is one step of connecting to an MCP server, as it stands.
type Step struct {
	Name    string  `json:"name" enum:"reach,protocol,authentication,list" doc:"reach: name, address, TLS and a first answer. protocol: transport and revision. authentication: which it wants. list: its tools, prompts and resources."`
	State   string  `json:"state" enum:"running,done,failed,skipped" doc:"skipped: it cannot be told before the step that failed."`
	Detail  string  `json:"detail,omitempty" doc:"What was found, or why it failed." example:"MCP 2026-07-28 over Streamable HTTP"`
	Seconds float64 `json:"seconds" doc:"Since the test began."`
	Wants   *Wants  `json:"wants,omitempty" doc:"Which authentication the server wants, where that step failed."`
}

// Kinds of authentication that a server wants.
const (
	OAuth  = "oauth"
	Bearer = "bearer"
	Basic  = "basic"
	// Unknown is what a server wants that answers 401 and says no more.
	Unknown = "unknown"
)

// Wants is the authentication that a server asks for.
type Wants struct {
	Kind        string   `json:"kind" enum:"oauth,bearer,basic,unknown" doc:"oauth: a login at the authorization server. bearer, basic: a token, or a user name and a password. unknown: it does not say."`
	Issuer      string   `json:"issuer,omitempty" doc:"The authorization server."`
	Scopes      []string `json:"scopes,omitempty" doc:"That it names."`
	Registers   bool     `json:"registers,omitempty" doc:"A client is registered there automatically, or is read from this node's document."`
	RedirectURL string   `json:"redirectUrl,omitempty" doc:"What a client that you register yourself must allow."`
}

// OfChallenge is what a WWW-Authenticate header asks for.
func OfChallenge(challenge string) *Wants {
	switch scheme, _, _ := strings.Cut(challenge, " "); {
	case strings.EqualFold(scheme, "Bearer"):
		return &Wants{Kind: Bearer}
	case strings.EqualFold(scheme, "Basic"):
		return &Wants{Kind: Basic}
	}
	return &Wants{Kind: Unknown}
}

// Event is something that a client notices while it connects: an answer came, a revision
// was agreed, or with neither, a page of tools was read.
type Event struct {
	Status int    // of an answer to the handshake
	Agreed string // the revision that is spoken
	SSE    bool   // with Agreed: over HTTP with SSE of 2024-11-05
	Tools  int    // listed so far
}

// Watch turns what a client notices into steps, each told when it changes.
type Watch struct {
	tell   func(Step)
	now    func() time.Time
	began  time.Time
	keyed  bool // a credential is sent
	states map[string]string
}

// New returns a watch that reports the first step. keyed says that a credential is sent.
func New(keyed bool, now func() time.Time, tell func(Step)) *Watch {
	w := &Watch{tell: tell, now: now, began: now(), keyed: keyed, states: map[string]string{}}
	w.set(Reach, Running, "")
	return w
}

func (w *Watch) set(name, state, detail string) {
	w.put(Step{Name: name, State: state, Detail: detail})
}

func (w *Watch) put(s Step) {
	s.Seconds = w.now().Sub(w.began).Seconds()
	w.states[s.Name] = s.State
	w.tell(s)
}

// finish ends a step that is not over, and begins the next.
func (w *Watch) finish(name, detail, next string) {
	if w.states[name] == Done {
		return
	}
	w.set(name, Done, detail)
	if next != "" {
		w.set(next, Running, "")
	}
}

// Notice takes what a client noticed.
func (w *Watch) Notice(e Event) {
	switch {
	case e.Agreed != "":
		w.finish(Reach, "", Protocol)
		transport := "Streamable HTTP"
		if e.SSE {
			transport = "HTTP with SSE"
		}
		w.finish(Protocol, "MCP "+e.Agreed+" over "+transport, Authentication)
	case e.Status != 0:
		w.finish(Reach, fmt.Sprintf("It answered HTTP %d", e.Status), Protocol)
	default:
		w.authenticated()
		w.set(List, Running, plural(e.Tools, "tool")+" so far")
	}
}

// authenticated ends the step of authentication: a server that lists what it has lets the
// caller in.
func (w *Watch) authenticated() {
	detail := "None is wanted"
	if w.keyed {
		detail = "The credential was accepted"
	}
	w.finish(Authentication, detail, List)
}

// Succeed ends the last step. protocol and sse are what was agreed.
func (w *Watch) Succeed(protocol string, sse bool, tools, prompts, resources int) {
	w.Notice(Event{Agreed: protocol, SSE: sse})
	w.authenticated()
	detail := plural(tools, "tool")
	if prompts > 0 {
		detail += ", " + plural(prompts, "prompt")
	}
	if resources > 0 {
		detail += ", " + plural(resources, "resource")
	}
	w.set(List, Done, detail)
}

// Fail ends the step that the cause belongs to. wants is the authentication that the server
// asks for; nil: the cause is another one.
func (w *Watch) Fail(detail string, wants *Wants) {
	if wants != nil {
		w.finish(Reach, "", "")
		if w.states[Protocol] != Done {
			w.set(Protocol, Skipped, "The server tells it after the authentication")
		}
		w.put(Step{Name: Authentication, State: Failed, Detail: detail, Wants: wants})
		return
	}
	for _, name := range []string{List, Authentication, Protocol, Reach} {
		if w.states[name] == Running {
			w.set(name, Failed, detail)
			return
		}
	}
	w.set(Reach, Failed, detail)
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// WantsAuthError is the cause of a problem with a server that wants authentication.
type WantsAuthError struct {
	// Challenge is the WWW-Authenticate of its answer; may be "". It comes from
	// outside.
	Challenge string
	// Wants is what it asks for, once that was looked up.
	Wants *Wants
}

// Error says nothing of the challenge, which is for machines.
func (*WantsAuthError) Error() string { return "the server wants authentication" }
