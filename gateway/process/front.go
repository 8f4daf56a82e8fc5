package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// EnvHeader begins the header that gives a new session a credential as an
	// environment variable: "Sluice-Env-GITHUB_TOKEN". The name is in capitals.
	EnvHeader = "Sluice-Env-"
	// ProblemHeader has the remedy of an answer that is not an MCP: its body says what is
	// wrong.
	ProblemHeader = "Sluice-Remedy"

	sessionHeader = "Mcp-Session-Id"
	// maxHeader bounds the headers of a request: credentials, and arguments that a
	// server wants repeated.
	maxHeader = 1 << 20
	// maxRequest bounds a message to a server, as that of a client of the gateway with
	// room for what is added.
	maxRequest = 16 << 20
)

// serve speaks Streamable HTTP; the Host names the command.
func (s *Servers) serve(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	var one *session
	if id != "" {
		if one = s.find(id, r.Host); one == nil {
			http.Error(w, "the session has ended", http.StatusNotFound)
			return
		}
		<-one.started
	}
	switch {
	case r.Method == http.MethodPost:
		s.post(w, r, one)
	case one == nil:
		http.Error(w, "there is no stream without a session", http.StatusMethodNotAllowed)
	case r.Method == http.MethodDelete:
		s.drop(one)
		s.keepSpare(context.WithoutCancel(r.Context()), one, credentialsOf(r.Header))
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet:
		s.stream(w, r, one)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// post takes a message and answers a request.
func (s *Servers) post(w http.ResponseWriter, r *http.Request, one *session) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the message is too large", http.StatusRequestEntityTooLarge)
		return
	}
	v, err := jsonscan.Parse(body, jsonscan.DefaultMaxDepth)
	if err != nil || v.Kind() != jsonscan.Object {
		http.Error(w, "the message is not JSON", http.StatusBadRequest)
		return
	}
	id, method := v.Get("id"), v.Get("method")
	begins := method.EqualText("initialize") || method.EqualText("server/discover")
	isNew := one == nil
	probes := isNew && method.EqualText("server/discover")
	if isNew {
		if !begins {
			http.Error(w, "there is no session", http.StatusBadRequest)
			return
		}
		if one, err = s.begin(r.Context(), r.Host, credentialsOf(r.Header)); err != nil {
			refuse(w, err)
			return
		}
		one.probe(probes)
	}
	line := jsonscan.AppendMinified(nil, body) // one line
	if !id.Exists() || !method.Exists() {
		if one.child.send(line) != nil {
			http.Error(w, "the session has ended", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	q := one.ask(string(id.Raw()))
	if q == nil {
		if one.child.ended() {
			http.Error(w, "the session has ended", http.StatusNotFound)
			return
		}
		refuse(w, problem.New(problem.Unavailable, "too many calls of one session are running").Fix("try again in a few seconds"))
		return
	}
	defer func() {
		if one.leave(q) && !one.child.ended() {
			s.abandon(one, id, isNew)
		}
	}()
	if one.child.send(line) != nil && one.child.ended() && !isNew {
		http.Error(w, "the session has ended", http.StatusNotFound) // it was not taken
		return
	}
	s.answer(w, r, one, q, isNew, probes)
}

// abandon tells a server that nobody waits for an answer any more. A session that
// did not begin is ended.
func (s *Servers) abandon(one *session, id jsonscan.Value, isNew bool) {
	if isNew {
		s.drop(one)
		return
	}
	one.mu.Lock()
	modern := one.modern
	one.mu.Unlock()
	if modern { // else the client tells by itself
		line := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), id.Raw()...)
		_ = one.child.send(append(line, `,"reason":"the client has gone"}}`...)) // it has ended
	}
}

// answer writes what comes for a request: one answer as JSON, what comes before it as
// a stream. A server of an older revision may end at a probe with server/discover, or say
// nothing: it gets the handshake that it knows in another process.
func (s *Servers) answer(w http.ResponseWriter, r *http.Request, one *session, q *queue, isNew, probes bool) {
	streams := false
	var silent <-chan time.Time
	if probes {
		timer := time.NewTimer(s.patience)
		defer timer.Stop()
		silent = timer.C
	}
	for {
		select {
		case <-q.ready:
		case <-silent:
			unknown(w, q, "the server says nothing to it")
			return
		case <-r.Context().Done():
			return
		}
		items, answer, ended := q.take()
		for i, b := range items {
			last := answer && i == len(items)-1
			if last && isNew {
				s.settle(w, one, b, probes)
			}
			if last && !streams {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(b) //nolint:gosec // JSON for mcpclient; else the client has gone
				return
			}
			streams = true
			writeEvent(w, b)
		}
		switch {
		case ended && !streams && len(items) == 0:
			<-one.child.done
			if probes {
				unknown(w, q, "the process ended: "+one.child.reason)
				return
			}
			refuse(w, problem.New(problem.UpstreamStatus, "the process of the MCP server ended before it answered: %s", one.child.reason).
				Fix("look at what it wrote: sluice logs TOOLSET --stderr"))
			return
		case ended:
			return
		case streams:
			_ = http.NewResponseController(w).Flush() // the client has gone
		}
	}
}

// unknown answers a probe as a server does that does not know the method.
func unknown(w http.ResponseWriter, q *queue, why string) {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), q.id...)
	b = jsonscan.AppendStringOf(append(b, `,"error":{"code":-32601,"message":`...), why)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '}', '}')) //nolint:gosec // JSON for mcpclient; else the client has gone
}

// settle notes what a new session speaks. One that answers server/discover with an
// error begins anew with initialize.
func (s *Servers) settle(w http.ResponseWriter, one *session, answer []byte, discovers bool) {
	result := jsonscan.Trusted(answer).Get("result")
	if !result.Exists() {
		s.drop(one)
		return
	}
	one.mu.Lock()
	one.modern = discovers
	one.mu.Unlock()
	w.Header().Set(sessionHeader, one.id)
}

// stream writes what belongs to no request until the client or the command goes.
func (s *Servers) stream(w http.ResponseWriter, r *http.Request, one *session) {
	q := one.listen()
	if q == nil {
		http.Error(w, "the session has a stream", http.StatusConflict)
		return
	}
	defer one.unlisten()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for {
		_ = http.NewResponseController(w).Flush() // the client has gone
		select {
		case <-q.ready:
		case <-r.Context().Done():
			return
		}
		items, _, ended := q.take()
		for _, b := range items {
			writeEvent(w, b)
		}
		if ended {
			return
		}
	}
}

// writeEvent writes a message, which is one line.
func writeEvent(w http.ResponseWriter, b []byte) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", b) //nolint:gosec // events for mcpclient; else the client has gone
}

// credentialsOf are the environment variables that a request gives a new session.
func credentialsOf(h http.Header) map[string]string {
	var out map[string]string
	for name, values := range h {
		if env, ok := strings.CutPrefix(name, EnvHeader); ok && envName.MatchString(env) {
			if out == nil {
				out = map[string]string{}
			}
			out[strings.ToUpper(env)] = values[0]
		}
	}
	return out
}

// refuse answers what no server did.
func refuse(w http.ResponseWriter, err error) {
	p := problem.As(err)
	if p == nil {
		p = problem.New(problem.Unavailable, "the command cannot be started").Because(err)
	}
	status := http.StatusServiceUnavailable
	switch p.Kind {
	case problem.NotFound:
		status = http.StatusGone
	case problem.UpstreamStatus:
		status = http.StatusBadGateway
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set(ProblemHeader, oneLine(p.Remedy))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, oneLine(p.Detail)) //nolint:gosec // plain text for mcpclient; else the client has gone
}

// oneLine is text as a header may carry it.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)
}
