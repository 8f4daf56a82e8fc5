package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/metrics"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/promtext"
	"github.com/sluicegate/sluice/registry"
)

// readyTimeout bounds all checks of one /readyz: an orchestrator asks every few
// seconds.
const readyTimeout = 2 * time.Second

// serveHealth answers /livez, /healthz, /readyz without authentication, as probes
// expect, and /metrics so on a listener of this machine.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.writeProblem(w, r, statusProblem(http.StatusMethodNotAllowed, "the resource does not know the method "+request.SafeMethod(r.Method)))
		return
	}
	switch r.URL.Path {
	case "/metrics":
		if s.o.GuardMetrics {
			s.withToken(s.serveMetrics)(w, r)
			return
		}
		s.writeMetrics(w)
	case "/readyz":
		text, ready := s.readiness(r.Context(), r.URL.Query().Has("verbose"))
		s.plain(w, text, ready)
	default:
		s.plain(w, "ok\n", true)
	}
}

// serveMetrics writes the metrics for who may read all of the node: they name the
// toolsets of every workspace.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if request.Of(r.Context()).Token.WorkspaceID != request.Operator {
		s.writeProblem(w, r, problem.New(problem.Forbidden, "metrics are of all workspaces, and the token is of one").
			Fix("use a token of workspace %q; the role viewer is enough", request.Operator))
		return
	}
	s.writeMetrics(w)
}

func (s *Server) writeMetrics(w http.ResponseWriter) {
	w.Header().Set("Content-Type", promtext.ContentType)
	promtext.WritePage(w, append([]func(io.Writer){s.metrics.WritePrometheus}, s.o.Metrics...)...)
}

// newMetrics makes the metrics of the control plane.
func (s *Server) newMetrics() *metrics.Metrics {
	return metrics.New(metrics.Options{
		Store: s.o.Store, KeylessTypes: []string{registry.AuthNone, registry.AuthOAuth2, registry.AuthOIDC}, Edges: func(ctx context.Context) (map[string]int, error) { return s.fleet.ByState(ctx) },
		Published: func() uint64 {
			if rel := s.o.Publisher.Current(); rel != nil {
				return rel.Release().Revision
			}
			return 0
		},
		Stopped: func(ctx context.Context) error {
			return errors.Join(s.o.Publisher.Stopped(""), s.o.Store.Claimed(ctx))
		},
	})
}

// outerRoute names what is served beside the API, without what a client may choose.
func outerRoute(at string) string {
	switch at {
	case "/livez", "/healthz", "/readyz", "/metrics":
		return at
	}
	for _, prefix := range []string{"/v1/", "/edge/v1/", "/v2/", "/oauth/", "/assets/", notify.UnsubscribePath} {
		if strings.HasPrefix(at, prefix) {
			return prefix
		}
	}
	return "/"
}

func (s *Server) plain(w http.ResponseWriter, text string, ok bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = io.WriteString(w, text) // the client is gone when this fails
}

// readiness runs the checks in their order; verbose lists them as Kubernetes
// does.
func (s *Server) readiness(ctx context.Context, verbose bool) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ready := true
	var b strings.Builder
	for _, c := range append([]Check{{Name: "store", Check: s.o.Store.Health}}, s.o.Ready...) {
		if err := c.Check(ctx); err != nil {
			ready = false
			fmt.Fprintf(&b, "[-]%s %s\n", c.Name, request.Detail(err))
			continue
		}
		fmt.Fprintf(&b, "[+]%s ok\n", c.Name)
	}
	// A control plane that publishes nothing is ready: its operator decides through it,
	// and the gateway beside it serves what is live.
	for _, err := range []error{s.o.Publisher.Stopped(""), s.o.Store.Claimed(ctx)} {
		if err != nil {
			fmt.Fprintf(&b, "[!]publishing %s\n", request.Detail(err))
		}
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
