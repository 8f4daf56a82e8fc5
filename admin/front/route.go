package front

import (
	"net/http"
	"path"
	"strings"
	"unicode"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/internal/problem"
)

// Routed serves what the mux has a pattern for; the text answers of a ServeMux for
// everything else become problems.
func (f *Room) Routed() http.HandlerFunc {
	mux := f.Mux
	return func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		// A ServeMux redirects a path that is not clean, with a body of HTML; control
		// characters are in no identifier, and a database may refuse them.
		if path.Clean(r.URL.Path) != r.URL.Path || strings.ContainsFunc(r.URL.Path, unicode.IsControl) {
			f.WriteProblem(w, r, NotHere(r))
			return
		}
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &recorder{header: http.Header{}}
		h.ServeHTTP(probe, r)
		if probe.status == http.StatusMethodNotAllowed {
			if r.Method == http.MethodOptions {
				w.Header().Set("Allow", probe.header.Get("Allow")+", OPTIONS")
				w.WriteHeader(http.StatusNoContent)
				return
			}
			w.Header().Set("Allow", probe.header.Get("Allow"))
			f.WriteProblem(w, r, NotAllowed(r))
			return
		}
		f.WriteProblem(w, r, NotHere(r))
	}
}

// NotHere is the problem of a path that nothing is at.
func NotHere(r *http.Request) error {
	return problem.New(problem.NotFound, "there is nothing at %.200q", r.URL.Path).Fix("see /v1/openapi.json for what there is")
}

// route is the pattern of a request, of which there are few.
func (f *Room) route(r *http.Request) string {
	if _, pattern := f.Mux.Handler(r); pattern != "" {
		return pattern
	}
	return outerRoute(r.URL.Path)
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
