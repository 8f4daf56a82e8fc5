package call

import (
	"bytes"
	"errors"

	"github.com/sluicegate/sluice/gateway/ask"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// askClient puts a request of an MCP server to the client of the session, on the stream of
// the call, and returns the member of the client's response. It runs beside the call, and
// ends with it.
func (x *exchange) askClient(method string, params jsonscan.Value, done <-chan struct{}) []byte {
	return ask.Question{
		Session: x.request.Session, Server: x.tool.Binding.Name, Cancel: x.cancel, Deadline: x.deadline,
		Send: func(q *session.Question) bool { return x.request.Stream.Request(q, method, params) },
	}.Ask(method, params, done)
}

// roundsMCP makes the call. A server of 2026-07-28 that wants input of the client in its
// result gets that of a client with a session, which is asked as the older revisions ask,
// and the call is made again with it (MCP 2026-07-28 "Multi Round-Trip Requests").
func (x *exchange) roundsMCP() error {
	return ask.Rounds(x.askMCP, func() (more bool, err error) {
		result := x.server().Result()
		if x.call.Ask == nil || !result.Get("resultType").EqualText("input_required") {
			return false, nil
		}
		return true, x.answerInput(result)
	})
}

// answerInput asks the client everything that a result wants to know, and puts its answers
// into the next call.
func (x *exchange) answerInput(result jsonscan.Value) error {
	answers := []byte{'{'}
	for it := result.Get("inputRequests").Members(); it.Next(); {
		method := string(it.Value().Get("method").AppendText(nil))
		member := x.askClient(method, it.Value().Get("params"), nil)
		value, ok := bytes.CutPrefix(member, []byte(`"result":`))
		if !ok {
			return problem.New(problem.Unsupported, "this tool asks its user something during the call (%s), and the client did not answer", ask.AskedFor(result)).
				Fix("use another tool, or a client that can answer")
		}
		answers = jsonscan.AppendMember(answers, 1, it.Key(), value)
	}
	x.call.InputResponses = append(answers, '}')
	x.call.RequestState = bytes.Clone(result.Get("requestState").Raw())
	return nil
}

// server is what the answer of the server is read from.
func (x *exchange) server() *mcpclient.Exchange {
	if x.paused != nil {
		return &x.paused.Exchange
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

// maxDeclared is the longest text of capabilities that is declared to a server.
const maxDeclared = 2 << 10

// callPausing makes a call that may ask its client, or goes on with the one whose questions
// the request answers. When there is something to ask, x.question is set.
func (x *exchange) callPausing(t *mcpclient.Target) error {
	all, owner := &x.c.pauses, x.ts.ID+"\x00"+x.principalKey+"\x00"+x.tool.Name
	var h *ask.Paused
	if state := x.request.RequestState; state.Exists() {
		if h = all.Take(string(state.AppendText(nil)), owner); h == nil {
			return problem.New(problem.InvalidArguments, "the question that this answers has expired").Fix("call the tool again without requestState")
		}
		h.Answer(x.request.InputResponses)
	} else {
		h = ask.New(owner, t, &x.call)
		if !all.Start(h, x.c.mcp) {
			return problem.New(problem.Unavailable, "this gateway is stopping").Fix("try again")
		}
	}
	x.paused = h
	h.Listen(x.call.Notify)
	defer h.Listen(nil)
	p := ask.Patience{Limit: x.limit, Deadline: x.deadline, Latest: x.latest, Cancel: x.cancel}
	question, err := h.Wait(all, &p)
	switch x.deadline = p.Deadline; {
	case question != nil:
		x.paused, x.question = nil, question
	case errors.Is(err, ask.ErrGone):
		return x.gone()
	}
	return err
}
