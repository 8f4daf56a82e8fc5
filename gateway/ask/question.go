package ask

import (
	"time"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// maxRounds is how often one call may ask its client, each time for several things.
	maxRounds = 8
	// CancelPoll is how often a call that waits for a person looks whether it was
	// cancelled.
	CancelPoll = 100 * time.Millisecond
)

// Answers to a server whose request cannot be put to the client, as the member of a
// response.
const (
	memberNoCapability = `"error":{"code":-32601,"message":"the client has no such capability"}`
	memberTooMany      = `"error":{"code":-32603,"message":"the client has too many requests to answer"}`
	memberNoTask       = `"error":{"code":-32602,"message":"the client has no such task of this server"}`
	memberBadTask      = `"error":{"code":-32603,"message":"the client gave its task no name, one that is too long, or that of a task of another server"}`
	memberNoAnswer     = `"error":{"code":-32603,"message":"the client did not answer in time"}`
)

// Question puts a request of a server to the client of a session.
type Question struct {
	Session  *session.Session
	Server   string                       // that asks, as the toolset names it
	Send     func(*session.Question) bool // false: there is no room
	Cancel   *upstream.Cancel             // nil: nothing cancels
	Deadline time.Time
}

// Ask waits for the member of the client's response, until done is closed at most.
func (k Question) Ask(method string, params jsonscan.Value, done <-chan struct{}) []byte {
	if !Declares(jsonscan.Trusted(k.Session.Client().Capabilities), method, params) {
		return []byte(memberNoCapability)
	}
	if !k.mayAsk(method, params) {
		return []byte(memberNoTask)
	}
	q := k.Session.Ask()
	if q == nil {
		return []byte(memberTooMany)
	}
	defer q.Close()
	if !k.Send(q) {
		return []byte(memberTooMany)
	}
	timer := time.NewTimer(time.Until(k.Deadline))
	defer timer.Stop()
	tick := time.NewTicker(CancelPoll)
	defer tick.Stop()
	for !k.Cancel.Cancelled() {
		select {
		case member, ok := <-q.Answer():
			if ok {
				return k.answered(method, params, member)
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

// Rounds makes a call as long as there is more to answer.
func Rounds(call func() error, answer func() (more bool, err error)) error {
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

// Declares reports whether a client with these capabilities can be asked so.
func Declares(capabilities jsonscan.Value, method string, params jsonscan.Value) bool {
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
	tasks := capabilities.Get("tasks")
	switch method {
	case tasksGet, tasksResult:
		return tasks.Get("requests").Exists()
	case tasksList:
		return tasks.Get("list").Exists()
	case tasksCancel:
		return tasks.Get("cancel").Exists()
	}
	return false
}

// AskedFor names the methods of what a result asks.
func AskedFor(result jsonscan.Value) string {
	for it := result.Get("inputRequests").Members(); it.Next(); {
		for _, m := range [...]string{"elicitation/create", "sampling/createMessage", "roots/list"} {
			if it.Value().Get("method").EqualText(m) {
				return m
			}
		}
	}
	return "input required"
}
