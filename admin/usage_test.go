package admin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

// counted is a report of n calls of a tool, of which one failed.
func (w *world) counted(ws, toolset, tool string, sequence, n uint64) *registry.UsageReport {
	var h, up rollup.Histogram
	for range n {
		h.Add(10 * time.Millisecond)
		up.Add(8 * time.Millisecond)
	}
	key := registry.UsageKey{Workspace: ws, Toolset: toolset, Tool: tool, Outcome: "ok", Credential: "accepted"}
	failed := key
	failed.Outcome, failed.Credential = "tool_error", "refused"
	var one rollup.Histogram
	one.Add(20 * time.Millisecond)
	return &registry.UsageReport{
		Epoch: "E", Sequence: sequence, Oldest: sequence, Minute: w.now().Truncate(time.Minute).Unix(), Posted: w.now(),
		Series: []registry.UsageSeries{
			{UsageKey: key, UsageCounts: registry.UsageCounts{Calls: n, Duration: n * 10000, Upstream: n * 8000, TokensBefore: 10 * n, TokensAfter: 2 * n, Latency: h.AppendBinary(nil), UpstreamLatency: up.AppendBinary(nil)}},
			{UsageKey: failed, UsageCounts: registry.UsageCounts{Calls: 1, Duration: 20000, Latency: one.AppendBinary(nil)}},
		},
		Causes:  []registry.UsageCause{{Workspace: ws, Toolset: toolset, Tool: tool, Cause: "http_401", Calls: 1}},
		Samples: []registry.UsageSample{{Workspace: ws, Toolset: toolset, Tool: tool, Outcome: "tool_error", Cause: "http_401", Status: 401, At: w.now(), Text: "HTTP 401"}},
	}
}

func (e *edgeClient) usage(r *registry.UsageReport) answer {
	return e.w.do("POST", registry.EdgeUsagePath, r, "Authorization", "Bearer "+e.id.Token.Reveal())
}

func TestUsage(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	e := w.enrolEdge(`{}`)
	post := func(r *registry.UsageReport, applied bool) {
		t.Helper()
		if got := want[registry.UsageReceipt](w, e.usage(r), 200); got.Applied != applied {
			t.Fatalf("applied %v, want %v", got.Applied, applied)
		}
	}
	post(w.counted("default", ts.ID, "list_pets", 1, 9), true)
	post(w.counted("default", ts.ID, "list_pets", 1, 9), false)
	post(w.counted("default", ts.ID, "get_pet", 2, 1), true)
	// An edge of this workspace cannot write into another.
	post(w.counted("other", "ts_gone", "x", 3, 4), true)
	// A clock a year ahead, and a year behind: the minute is corrected.
	for i, off := range []time.Duration{366 * 24 * time.Hour, -366 * 24 * time.Hour} {
		r := w.counted("default", ts.ID, "skewed", uint64(4+i), 2)
		r.Posted = r.Posted.Add(off)
		r.Minute = r.Posted.Truncate(time.Minute).Unix()
		post(r, true)
	}

	get := func(query string) usage.UsageReportOutput {
		t.Helper()
		return want[usage.UsageReportOutput](w, w.do("GET", "/v1/usage"+query, nil), 200)
	}
	all := get("")
	if all.Totals.Calls != 10+2+5+3+3 || all.Totals.Errors != 5 || len(all.Groups) != 1 || all.Groups[0].Toolset != "" || all.StepSeconds != 600 {
		t.Errorf("all: %+v", all)
	}
	by := get("?by=toolset,tool&range=1h")
	if len(by.Groups) != 4 || by.Groups[0].Tool != "list_pets" || by.Groups[0].Toolset != ts.Slug || by.StepSeconds != 60 {
		t.Fatalf("by tool: %+v", by)
	}
	if n := by.Groups[0].Totals; n.Calls != 10 || n.Errors != 1 || n.Latency.MeanMs != 11 || n.TokensBefore != 90 || n.TokensAfter != 18 ||
		n.Latency.P50Ms < 8.8 || n.Latency.P50Ms > 11.4 || n.Latency.P99Ms < 17 || n.Upstream.MeanMs != 8 {
		t.Errorf("list_pets: %+v", n)
	}
	if g := by.Groups[2]; g.ToolsetID != "ts_gone" || g.Toolset != "" {
		t.Errorf("a deleted toolset: %+v", g)
	}
	if o := get("?by=outcome,credential&toolset=" + ts.Slug + "&tool=list_pets&range=30d"); len(o.Groups) != 2 || o.Groups[0].Outcome != "ok" || o.Groups[1].Credential != "refused" || o.StepSeconds != 21600 || len(o.Groups[0].Points) != 1 {
		t.Errorf("by outcome: %+v", o)
	}
	// Hours are kept when minutes are gone.
	w.later.Store(int64(100 * 24 * time.Hour))
	if err := w.st.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := get("?range=200d"); o.Totals.Calls != all.Totals.Calls || o.StepSeconds != 86400 {
		t.Errorf("after 100 days: %+v", o.Totals)
	}
	w.later.Store(0)
	errs := want[usage.UsageErrors](w, w.do("GET", "/v1/usage/errors?toolset="+ts.Slug, nil), 200)
	if len(errs.Causes) != 0 || len(errs.Samples) != 0 {
		t.Errorf("minutes and samples are past their time: %+v", errs)
	}
	post(w.counted("default", ts.ID, "list_pets", 9, 1), true)
	errs = want[usage.UsageErrors](w, w.do("GET", "/v1/usage/errors?toolset="+ts.Slug+"&range=1h", nil), 200)
	if len(errs.Causes) != 1 || errs.Causes[0].Cause != "http_401" || len(errs.Samples) != 1 || errs.Samples[0].Node != e.id.Edge || errs.Samples[0].Toolset != ts.Slug {
		t.Errorf("errors: %+v", errs)
	}

	bad := func(query string) {
		t.Helper()
		want[front.Problem](w, w.do("GET", "/v1/usage"+query, nil), http.StatusBadRequest)
	}
	bad("?range=0h")
	bad("?range=x")
	bad("?range=402d")
	bad("?range=24h&step=30s")
	bad("?range=24h&step=7")
	bad("?range=30d&step=1m")
	bad("?range=60d&step=10m")
	bad("?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z")
	want[front.Problem](w, w.do("GET", "/v1/usage?by=tool,user", nil), http.StatusUnprocessableEntity)
	want[front.Problem](w, w.do("GET", "/v1/usage?toolset=nothing", nil), http.StatusNotFound)

	// What is not a report, what is too large, and who is not an edge.
	want[front.Problem](w, e.w.do("POST", registry.EdgeUsagePath, `{}`, "Authorization", "Bearer "+e.id.Token.Reveal()), http.StatusBadRequest)
	want[front.Problem](w, e.w.do("POST", registry.EdgeUsagePath, strings.Repeat(" ", registry.MaxUsageBytes+1), "Authorization", "Bearer "+e.id.Token.Reveal()), http.StatusRequestEntityTooLarge)
	want[front.Problem](w, w.do("POST", registry.EdgeUsagePath, w.counted("default", ts.ID, "x", 5, 1)), http.StatusUnauthorized)
	if a := e.get(registry.EdgeUsagePath); a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", a.StatusCode)
	}
	// The gateway in this process reports for every workspace.
	if r, err := w.srv.Usage().PostUsage(t.Context(), w.counted("nowhere", ts.ID, "local", 1, 1)); err != nil || !r.Applied {
		t.Fatal(r, err)
	}
	if o := get("?by=tool&range=1h&tool=local"); o.Totals.Calls != 2 {
		t.Errorf("the local node: %+v", o.Totals)
	}
}
