package admin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/trial"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/alert"
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

// TestRolledBackIsReported: a report with which a canary is worse makes a webhook that reports
// its roll-back, and a deployment one that says that it is over.
func TestRolledBackIsReported(t *testing.T) {
	w := newAlertWorld(t)
	ts := w.keyed("Europe")
	etag := func() string { return w.do("GET", "/v1/toolsets/"+ts.ID, nil).Header.Get("ETag") }
	want[view.Toolset](w, w.do("PATCH", "/v1/toolsets/"+ts.ID, map[string]any{"description": "another"}, "If-Match", etag()), 200)
	run := want[trial.Rollout](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/rollouts", map[string]any{"mode": "canary", "percent": 10, "untestedReason": "a test"}, "If-Match", etag()), 201)
	e := w.enrolEdge(`{}`)
	r, _ := w.webhook("ops", notify.Routes{})
	tells := func(what, kind string, do func()) {
		t.Helper()
		n := len(r.hooks(t))
		do()
		w.until(what, func() bool { return len(r.hooks(t)) > n })
		if h := r.hooks(t)[n]; h.Type != kind || h.Data.Alert.Kind != alert.KindRolledBack || h.Data.Alert.Details.Toolset != ts.Slug ||
			!strings.Contains(h.Data.Alert.Details.Cause, "of its 60 calls failed") {
			t.Errorf("%s: %+v", what, h)
		}
	}
	tells("the roll-back is reported", alert.TypeFired, func() {
		u := &registry.UsageReport{Epoch: "E", Sequence: 1, Oldest: 1, Minute: w.now().Truncate(time.Minute).Unix(), Posted: w.now(), Trials: []registry.UsageTrial{{
			Workspace: "default", Toolset: ts.ID, Trial: run.ID,
			TrialCounts: registry.TrialCounts{Live: registry.TrialSide{Calls: 600}, Candidate: registry.TrialSide{Calls: 60, Errors: 30}},
		}}}
		want[registry.UsageReceipt](w, e.usage(u), 200)
	})
	tells("the deployment that ends it is reported", alert.TypeResolved, func() {
		want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/deploy", `{"reason":"mended"}`), 200)
	})
}
