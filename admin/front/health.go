package front

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/promtext"
)

// readyTimeout bounds all checks of one /readyz: an orchestrator asks every few
// seconds.
const readyTimeout = 2 * time.Second

// Check is one condition of readiness.
type Check struct {
	Name string
	// Check returns nil when the condition holds. Its error's text is shown with
	// ?verbose only.
	Check func(ctx context.Context) error
	// Warns: the node is ready without it.
	Warns bool
}

// Health answers probes, and who reads metrics.
type Health struct {
	Front     *Room
	Publisher *publish.Publisher
	// Ready are the conditions of readiness beside the records, in this order.
	Ready []Check
	// Metrics write what /metrics answers beside those of the control plane.
	Metrics []func(io.Writer)
	// Guard asks for an API token of the operator's workspace at /metrics.
	Guard bool
}

// Serve answers /livez, /healthz, /readyz without authentication, as probes
// expect, and /metrics so on a listener of this machine.
func (h *Health) Serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		h.Front.WriteProblem(w, r, NotAllowed(r))
		return
	}
	switch r.URL.Path {
	case "/metrics":
		if h.Guard {
			h.Front.WithToken(h.serveMetrics)(w, r)
			return
		}
		h.writeMetrics(w)
	case "/readyz":
		text, ready := h.readiness(r.Context(), r.URL.Query().Has("verbose"))
		h.plain(w, text, ready)
	default:
		h.plain(w, "ok\n", true)
	}
}

// serveMetrics writes the metrics for who may read all of the node: they name the
// toolsets of every workspace.
func (h *Health) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if request.Of(r.Context()).Token.WorkspaceID != request.Operator {
		h.Front.WriteProblem(w, r, problem.New(problem.Forbidden, "metrics cover all workspaces, and the token belongs to one").
			Fix("use a token of workspace %q; the role viewer is enough", request.Operator))
		return
	}
	h.writeMetrics(w)
}

func (h *Health) writeMetrics(w http.ResponseWriter) {
	w.Header().Set("Content-Type", promtext.ContentType)
	promtext.WritePage(w, append([]func(io.Writer){h.Front.Metrics.WritePrometheus}, h.Metrics...)...)
}

func (h *Health) plain(w http.ResponseWriter, text string, ok bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = io.WriteString(w, text) // the client is gone when this fails
}

// advice is what is wrong and what to do.
func advice(err error) string {
	if err == context.DeadlineExceeded { //nolint:errorlint // alone, it says nothing of what did not answer
		return "did not answer within " + readyTimeout.String()
	}
	if p := request.Fault(err); p != nil && p.Remedy != "" {
		return p.Detail + ": " + p.Remedy
	}
	return request.Detail(err)
}

// readiness runs the checks in their order; verbose lists them as Kubernetes
// does.
func (h *Health) readiness(ctx context.Context, verbose bool) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ready := true
	var b strings.Builder
	checks := append([]Check{{Name: "store", Check: h.Front.Store.Health}}, h.Ready...)
	// At the same time: one that hangs must not take the time of those behind it, which would
	// be blamed.
	results := make([]error, len(checks))
	var wait sync.WaitGroup
	for i, c := range checks {
		wait.Go(func() { results[i] = c.Check(ctx) })
	}
	claimed := h.Front.Store.Claimed(ctx)
	wait.Wait()
	for i, c := range checks {
		switch err := results[i]; {
		case err == nil:
			fmt.Fprintf(&b, "[+]%s ok\n", c.Name)
		case c.Warns:
			fmt.Fprintf(&b, "[!]%s %s\n", c.Name, advice(err))
		default:
			ready = false
			fmt.Fprintf(&b, "[-]%s %s\n", c.Name, advice(err))
		}
	}
	// A control plane that publishes nothing is ready: its operator decides through it,
	// and the gateway beside it serves what is live.
	for _, err := range []error{h.Publisher.Stopped(""), claimed} {
		if err != nil {
			fmt.Fprintf(&b, "[!]publishing %s\n", advice(err))
		}
	}
	if err := h.Publisher.Damaged(); err != nil {
		fmt.Fprintf(&b, "[!]registry %s\n", request.Detail(err))
	}
	switch {
	case verbose && ready:
		b.WriteString("ready\n")
		return b.String(), true
	case verbose:
		b.WriteString("not ready\n")
		return b.String(), false
	case ready:
		return "ok\n", true
	}
	return "not ready\n", false
}
