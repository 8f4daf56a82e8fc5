package admin_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/registry"
)

// TestMetrics: requests are counted under the pattern of their route, never under what a
// client chose, and alerts, notices, edges and keys as the records have them.
func TestMetrics(t *testing.T) {
	w := newAlertWorld(t)
	ts := w.create("Pets", "pets.yaml")
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey})
	e := w.enrolEdge(`{}`)
	r, _ := w.webhook("ops", notify.Routes{})
	u := &registry.UsageReport{
		Epoch: "E", Sequence: 1, Oldest: 1, Minute: w.now().Truncate(time.Minute).Unix(), Posted: w.now(),
		Calls: []registry.UsageCall{w.answered(ts.ID, ts.Connectors[0].Name, "list_pets", 401, "act_1")},
	}
	w.get(ts.ID)
	w.do("GET", "/v1/toolsets/chosen-by-a-client", nil)
	w.do("GET", "/v1/nothing/chosen-by-a-client", nil)
	w.do("GET", "/chosen-by-a-client", nil)
	w.do("CHOSEN", "/v1/toolsets", nil)
	want[registry.UsageReceipt](w, e.usage(u), http.StatusOK)
	w.until("the alert is delivered", func() bool { return len(r.hooks(t)) > 0 })
	var page string
	w.until("the delivery is counted", func() bool {
		page = w.do("GET", "/metrics", nil).body
		return strings.Contains(page, `sluice_webhook_deliveries_total{channel="webhook",outcome="delivered"}`)
	})
	for _, line := range []string{
		`sluice_admin_requests_total{route="GET /v1/toolsets/{id}",code="200"} 1`,
		`sluice_admin_requests_total{route="GET /v1/toolsets/{id}",code="404"} 1`,
		`sluice_admin_requests_total{route="/v1/",code="404"} 1`,
		`sluice_admin_request_duration_seconds_count{route="GET /v1/toolsets/{id}"} 2`,
		`sluice_alerts{state="firing",severity="critical"} 1`,
		`sluice_edges{state="silent"} 0`,
		`sluice_store_up 1`,
		`sluice_publish_stopped 0`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(page, "chosen") || strings.Contains(page, "CHOSEN") {
		t.Error("a client chooses the name of a series")
	}
	_, age, _ := strings.Cut(page, "\n"+`sluice_key_age_seconds{toolset="`+ts.Slug+`"} `)
	age, _, _ = strings.Cut(age, "\n")
	if seconds, err := strconv.ParseFloat(age, 64); err != nil || seconds <= 0 || seconds > 120 {
		t.Errorf("the age of the key that was just made is %q", age)
	}
	if t.Failed() {
		t.Log(page)
	}
}

// TestMetricsWithoutDatabase: when the records cannot be read, the page says so and has
// what needs none.
func TestMetricsWithoutDatabase(t *testing.T) {
	w := newWorld(t)
	w.raw(`ALTER TABLE deliveries RENAME TO gone`)
	page := w.do("GET", "/metrics", nil).body
	if !strings.Contains(page, "\nsluice_store_up 0\n") || strings.Contains(page, "sluice_jobs") || !strings.Contains(page, "sluice_publish_stopped 0\n") {
		t.Error(page)
	}
}
