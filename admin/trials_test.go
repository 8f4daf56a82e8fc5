package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/trial"
	"github.com/sluicegate/sluice/admin/view"
	"github.com/sluicegate/sluice/registry"
)

// TestRolloutWaitsForOldEdges: an edge that cannot read a release with a candidate would
// follow no release until the end of the roll-out, so none begins while it reports.
func TestRolloutWaitsForOldEdges(t *testing.T) {
	w := newWorld(t)
	ts := w.keyed("Europe")
	e := w.enrolEdge(`{"labels":{"region":"eu"}}`)
	if _, status := e.credentials(""); status != 200 {
		t.Fatalf("credentials: %d", status)
	}
	report := func(s registry.EdgeStatus) {
		t.Helper()
		if a := w.do("POST", registry.EdgeStatusPath, s, "Authorization", "Bearer "+e.id.Token.Reveal()); a.StatusCode >= 300 {
			t.Fatalf("report: %d %s", a.StatusCode, a.body)
		}
	}
	etag := w.do("GET", "/v1/toolsets/"+ts.ID, nil).Header.Get("ETag")
	want[view.Toolset](w, w.do("PATCH", "/v1/toolsets/"+ts.ID, map[string]any{"description": "another"}, "If-Match", etag), 200)
	start := func() answer {
		etag := w.do("GET", "/v1/toolsets/"+ts.ID, nil).Header.Get("ETag")
		return w.do("POST", "/v1/toolsets/"+ts.ID+"/rollouts", map[string]any{"mode": "canary", "percent": 10, "untestedReason": "a test"}, "If-Match", etag)
	}
	report(registry.EdgeStatus{Ready: true, Epoch: 1, Revision: 1})
	if a := start(); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "cannot read a release with a roll-out") {
		t.Fatalf("beside an edge of an older version: %d %s", a.StatusCode, a.body)
	}
	report(registry.EdgeStatus{Ready: true, Epoch: 1, Revision: 1, Trials: true})
	if r := want[trial.Rollout](w, start(), 201); r.State != "running" || r.Percent != 10 {
		t.Errorf("started %+v", r)
	}
}
