package call

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

// hearing passes on to the client of a session what a server says outside of its calls.
type hearing struct {
	s *session.Session

	// Of the goroutine that reads the stream.
	begun       time.Time // of the window
	count, size int       // in it
}

// ask puts a request of the server to the client.
func (h *hearing) ask(method string, params jsonscan.Value, done <-chan struct{}) []byte {
	return question{
		session: h.s, deadline: time.Now().Add(askWait),
		send: func(q *session.Question) bool {
			h.s.Send(mcp.AppendRequest(nil, q, method, params)) // now, or when the client listens again
			return true
		},
	}.ask(method, params, done)
}

// tell passes a notification on, and reports whether it was one to pass on.
func (h *hearing) tell(method string, params jsonscan.Value) bool {
	message := mcp.AppendHeard(nil, h.s, method, params)
	if len(message) == 0 {
		return false
	}
	if h.room(len(message), time.Now()) {
		h.s.Send(message)
	}
	return true
}

// room reports whether a message of a size may be passed on now.
func (h *hearing) room(size int, now time.Time) bool {
	if now.Sub(h.begun) >= hearWindow {
		h.begun, h.count, h.size = now, 0, 0
	}
	h.count++
	h.size += size
	return h.count <= maxHeard && h.size <= maxHeardBytes
}
