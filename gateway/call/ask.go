package call

import (
	"bytes"
	"time"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// maxRounds is how often one call may ask its client, each time for several things.
	maxRounds = 8
	// cancelPoll is how often a call that waits for a person looks whether it was
	// cancelled.
	cancelPoll = 100 * time.Millisecond
)

// Answers to a server whose request cannot be put to the client, as the member of a
// response.
const (
	memberNoCapability = `"error":{"code":-32601,"message":"the client has no such capability"}`
	memberTooMany      = `"error":{"code":-32603,"message":"the client has too many requests to answer"}`
	memberNoAnswer     = `"error":{"code":-32603,"message":"the client did not answer in time"}`
)

// askClient puts a request of an MCP server to the client of the session, on the stream of
// the call, and returns the member of the client's response. It runs beside the call, and
// ends with it.
func (x *exchange) askClient(method string, params jsonscan.Value, done <-chan struct{}) []byte {
	return question{
		session: x.request.Session, cancel: x.cancel, deadline: x.deadline,
		send: func(q *session.Question) bool { return x.request.Stream.Request(q, method, params) },
	}.ask(method, params, done)
}

// question is what a client is asked.
type question struct {
	session  *session.Session
	send     func(*session.Question) bool // false: there is no room
	cancel   *upstream.Cancel             // nil: nothing cancels
	deadline time.Time
}

// ask waits for the member of the client's response, until done is closed at most.
func (k question) ask(method string, params jsonscan.Value, done <-chan struct{}) []byte {
	if !declares(jsonscan.Trusted(k.session.Client().Capabilities), method, params) {
		return []byte(memberNoCapability)
	}
	q := k.session.Ask()
	if q == nil {
		return []byte(memberTooMany)
	}
	defer q.Close()
	if !k.send(q) {
		return []byte(memberTooMany)
	}
	timer := time.NewTimer(time.Until(k.deadline))
	defer timer.Stop()
	tick := time.NewTicker(cancelPoll)
	defer tick.Stop()
	for !k.cancel.Cancelled() {
		select {
		case member, ok := <-q.Answer():
			if ok {
				return member
			}
			return []byte(memberNoAnswer)
		case <-timer.C:
			return []byte(memberNoAnswer)
		case <-done:
			return []byte(memberNoAnswer)
		case <-tick.C:
		}
	}
	return []byte(memberNoAnswer)
}

// roundsMCP makes the call. A server of 2026-07-28 that wants input of the client in its
// result gets that of a client with a session, which is asked as the older revisions ask,
// and the call is made again with it (MCP 2026-07-28 "Multi Round-Trip Requests").
func (x *exchange) roundsMCP() error {
	return rounds(x.askMCP, func() (more bool, err error) {
		result := x.server().Result()
		if x.call.Ask == nil || !result.Get("resultType").EqualText("input_required") {
			return false, nil
		}
		return true, x.answerInput(result)
	})
}

// rounds makes a call as long as there is more to answer.
func rounds(call func() error, answer func() (more bool, err error)) error {
	for range maxRounds {
		if err := call(); err != nil {
			return err
		}
		if more, err := answer(); !more || err != nil {
			return err
		}
	}
	return problem.New(problem.Unsupported, "the MCP server asked more than %d times in one call", maxRounds).Fix("use another tool")
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
			return problem.New(problem.Unsupported, "this tool asks its user something during the call (%s), and the client did not answer", askedFor(result)).
				Fix("use another tool, or a client that can answer")
		}
		answers = jsonscan.AppendMember(answers, 1, it.Key(), value)
	}
	x.call.InputResponses = append(answers, '}')
	x.call.RequestState = bytes.Clone(result.Get("requestState").Raw())
	return nil
}

// declares reports whether a client with these capabilities can be asked so.
func declares(capabilities jsonscan.Value, method string, params jsonscan.Value) bool {
	switch method {
	case "sampling/createMessage":
		return capabilities.Get("sampling").Exists()
	case "roots/list":
		return capabilities.Get("roots").Exists()
	case "elicitation/create":
		declared := capabilities.Get("elicitation")
		if params.Get("mode").EqualText("url") {
			return declared.Get("url").Exists()
		}
		// One that names no mode has forms (MCP 2025-11-25 "Elicitation").
		return declared.Exists() && (declared.Get("form").Exists() || !declared.Get("url").Exists())
	}
	return false
}
