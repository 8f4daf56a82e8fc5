package cluster

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/sluicegate/sluice/internal/problem"
)

// retryAfter is what a client is told that found no leader, in seconds: most fail-overs are
// shorter.
const retryAfter = 2

// writeProblem answers as the admin API does (RFC 9457).
func writeProblem(w http.ResponseWriter, err error) {
	p := problem.As(err)
	if p == nil {
		p = problem.New(problem.Unavailable, "the request cannot be passed on to the control plane that leads")
	}
	b, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Code   string `json:"code"`
		Remedy string `json:"remedy,omitempty"`
	}{p.Kind.Type(), p.Kind.Title(), p.Kind.Status(), p.Detail, string(p.Kind), p.Remedy})
	if err != nil {
		panic("BUG: a problem is not JSON: " + err.Error())
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.Kind == problem.Unavailable {
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	w.WriteHeader(p.Kind.Status())
	_, _ = w.Write(b) // the client is gone when this fails
}

// errNoLeader: nobody leads for now.
var errNoLeader = problem.New(problem.Unavailable, "no control plane leads at the moment: nothing was done").
	Fix("repeat the request in a few seconds; if that goes on, look at the logs of the control planes and at the database")

// errLost: the leader was reached, and gave no answer.
var errLost = problem.New(problem.Unavailable, "the leading control plane stopped or was disconnected before it answered: the request may have been carried out").
	Fix("look whether the change is there before you repeat it; with the same Idempotency-Key it is made once")

// errBusy: too many requests are passed on already.
var errBusy = problem.New(problem.Unavailable, "this control plane already forwards as many requests as it can").
	Fix("repeat the request in a moment, or ask another control plane")

var (
	// errUnsent is around what failed before anything of a request was sent.
	errUnsent = errors.New("nothing was sent")
	// errLeads: this node took the lead while a request waited.
	errLeads = errors.New("this node leads")
)
