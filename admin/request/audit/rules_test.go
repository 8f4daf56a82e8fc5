package audit

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestRefusalsAreSampled: ten are recorded at once and one in six seconds then, of each
// workspace, and those that were left out are counted by the next record or when asked for.
func TestRefusalsAreSampled(t *testing.T) {
	var s sampler
	start := time.Unix(1e9, 0)
	take := func(workspace string, after time.Duration, record bool, skipped uint64) {
		t.Helper()
		if r, n := s.take(workspace, start.Add(after)); r != record || n != skipped {
			t.Errorf("%s after %s: recorded %v with %d before it, want %v with %d", workspace, after, r, n, record, skipped)
		}
	}
	if len(s.drain()) != 0 {
		t.Error("refusals before the first")
	}
	for range deniedBurst {
		take("a", 0, true, 0)
	}
	take("a", 0, false, 0)
	take("a", deniedEvery-1, false, 0)
	take("b", deniedEvery-1, true, 0)
	take("a", deniedEvery, true, 2)
	take("a", deniedEvery, false, 0)
	// What is left of six seconds counts for the next.
	take("a", 2*deniedEvery+deniedEvery/2, true, 1)
	take("a", 3*deniedEvery-1, false, 0)
	take("a", 3*deniedEvery, true, 1)
	take("a", 3*deniedEvery, false, 0)
	if got := s.drain(); len(got) != 1 || got["a"] != 1 {
		t.Errorf("left out: %v", got)
	}
	if got := s.drain(); len(got) != 0 {
		t.Errorf("counted twice: %v", got)
	}
	// Nobody saves up more than the first ten.
	for range deniedBurst {
		take("a", 1000*deniedEvery, true, 0)
	}
	take("a", 1000*deniedEvery, false, 0)
	take("a", 999*deniedEvery, false, 0) // a clock that was set back
}

// TestPathsOfRefusals: the paths of the API are recorded, of other paths the first segment,
// and nothing that cannot be printed.
func TestPathsOfRefusals(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/toolsets/shop": "/v1/toolsets/shop", "/v2/acme/manifests/x": "/v2/acme/manifests/x", "/edge/v1/status": "/edge/v1/status",
		"/v1": "/v1", "/v1x/secret": "/v1x", "/login/secret": "/login", "/": "/", "": "/", "/edge/v2/secret": "/edge", "/v1/a\nb": "/v1/a\uFFFDb", "/v1/\u202e": "/v1/\uFFFD", "/v1/\xff": "/v1/\uFFFD",
	} {
		if got := deniedPath(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// TestDenied: who was refused is in the log of their workspace, or in the operator's; what
// is not a refusal of somebody is in none.
func TestDenied(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "s.db"), Now: func() time.Time { return time.Unix(1.9e9, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	for _, id := range []string{request.Operator, "acme"} {
		if err := st.EnsureWorkspace(t.Context(), id, id); err != nil {
			t.Fatal(err)
		}
	}
	l := &Log{Store: st, Log: slog.New(slog.DiscardHandler)}
	newest := func(workspace string) []AuditRecord {
		t.Helper()
		out, _, err := Page(t.Context(), st.Workspace(workspace), store.Page{Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	token := &store.Token{ID: "token_1"}
	token.WorkspaceID = "acme"
	for i, c := range []struct {
		path, authorization string
		status              int
		of                  *request.Request
		workspace, actor    string // "": none is recorded
	}{
		{"/v1/x", "", http.StatusUnauthorized, nil, request.Operator, "unknown"},
		{"/v1/x", "Bearer x", http.StatusForbidden, &request.Request{Token: token}, "acme", "token"},
		{"/v1/x", "", http.StatusForbidden, &request.Request{Refused: &request.RefusedLogin{Workspace: "acme", Action: "request.denied", Resource: "PUT /v0", Reason: "another browser"}}, "acme", "unknown"},
		{"/v1/x", "", http.StatusNotFound, nil, "", ""},
		{"/v1/x", "", http.StatusOK, nil, "", ""},
		{"/v2/x", "", http.StatusUnauthorized, nil, "", ""},
		{"/v2/x", "Basic x", http.StatusUnauthorized, nil, request.Operator, "unknown"},
		{"/v2/x", "", http.StatusForbidden, nil, request.Operator, "unknown"},
		{"/v20/x", "", http.StatusUnauthorized, nil, request.Operator, "unknown"},
	} {
		before := map[string]int{}
		for _, id := range []string{request.Operator, "acme"} {
			before[id] = len(newest(id))
		}
		r := httptest.NewRequest(http.MethodPut, c.path, nil)
		if c.authorization != "" {
			r.Header.Set("Authorization", c.authorization)
		}
		if c.of != nil {
			r = r.WithContext(request.With(r.Context(), c.of))
		}
		l.Denied(r, c.status)
		for id, n := range before {
			list := newest(id)
			if want := n; id == c.workspace && len(list) != want+1 || id != c.workspace && len(list) != want {
				t.Errorf("%d: %d records in %s, %d before", i, len(list), id, n)
			}
			if id != c.workspace {
				continue
			}
			if got := list[0]; got.Actor.Type != c.actor || got.Action != "request.denied" || got.Outcome != request.OutcomeRefused || !strings.HasPrefix(got.Resource, "PUT /v") || !strings.Contains(string(got.After), `"notRecorded":0`) {
				t.Errorf("%d: %+v", i, got)
			} else if c.of != nil && c.of.Refused != nil && (got.Resource != "PUT /v0" || got.Reason != "another browser") {
				t.Errorf("%d: not as the login says: %+v", i, got)
			}
		}
	}
	for range deniedBurst + 3 {
		l.Denied(httptest.NewRequest(http.MethodGet, "/v1/x", nil), http.StatusForbidden)
	}
	l.Settle(t.Context())
	if got := newest(request.Operator)[0]; got.Action != "request.denied" || !strings.Contains(string(got.After), `"notRecorded":7`) {
		t.Errorf("what was left out: %+v", got)
	}
	n := len(newest(request.Operator))
	if l.Settle(t.Context()); len(newest(request.Operator)) != n {
		t.Error("it is said twice")
	}
	// Without heads there is none to show, and the chain is looked at all the same.
	ws := st.Workspace(request.Operator)
	if _, err := l.Head(ws); !problem.Is(err, problem.NotFound) {
		t.Errorf("a head of no keeper: %v", err)
	}
	if out, err := l.Verify(t.Context(), ws, nil); err != nil || !out.OK || out.Records != uint64(n) || out.Faults == nil {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestActors: a browser session is told from who has it; what a caller of a toolset is
// called stays whole.
func TestActors(t *testing.T) {
	for _, c := range []struct{ kind, id, want, session string }{
		{"member", "m/s", "m", "s"}, {"token", "t/s", "t", "s"}, {"member", "m", "m", ""}, {"user", "a/b", "a/b", ""}, {"edge", "e/x", "e/x", ""}, {"member", "m/s/x", "m", "s/x"},
	} {
		got := Show(&store.Audit{ActorType: c.kind, ActorID: c.id, Hash: []byte{1, 0xab}, Seq: 7}).Actor
		if got.ID != c.want || got.Session != c.session || got.Type != c.kind {
			t.Errorf("%s %s: %+v", c.kind, c.id, got)
		}
	}
	if got := Show(&store.Audit{Hash: []byte{1, 0xab}, Seq: 7}); got.Hash != "01ab" || got.Seq != 7 {
		t.Errorf("%+v", got)
	}
}
