package ask

import (
	"time"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// askWait is how long a server that asks outside of a call waits for the client: a
	// person reads the question and answers it.
	askWait = 5 * time.Minute
	// maxHeard and maxHeardBytes bound what a client is told in each hearWindow of what one
	// server says outside of calls. The rest is left out: nobody reads more log lines.
	maxHeard      = 100
	maxHeardBytes = 256 << 10
	hearWindow    = time.Second
)

// Hearing passes on to the client of a session what a server says outside of its calls.
type Hearing struct {
	Session *session.Session
	Server  string // as the toolset names it
	Tasks   mcp.TaskNames

	// Of the goroutine that reads the stream.
	begun       time.Time // of the window
	count, size int       // in it
}

// Ask puts a request of the server to the client.
func (h *Hearing) Ask(method string, params jsonscan.Value, done <-chan struct{}) []byte {
	return Question{
		Session: h.Session, Server: h.Server, Deadline: time.Now().Add(askWait),
		Send: func(q *session.Question) bool {
			h.Session.Send(mcp.AppendRequest(nil, q, method, params, h.Tasks)) // now, or when the client listens again
			return true
		},
	}.Ask(method, params, done)
}

// Tell passes a notification on, and reports whether it was one to pass on.
func (h *Hearing) Tell(method string, params jsonscan.Value) bool {
	message := mcp.AppendHeard(nil, h.Session, method, params, h.Tasks)
	if len(message) == 0 {
		return false
	}
	if h.room(len(message), time.Now()) {
		h.Session.Send(message)
	}
	return true
}

// room reports whether a message of a size may be passed on now.
func (h *Hearing) room(size int, now time.Time) bool {
	if now.Sub(h.begun) >= hearWindow {
		h.begun, h.count, h.size = now, 0, 0
	}
	h.count++
	h.size += size
	return h.count <= maxHeard && h.size <= maxHeardBytes
}
