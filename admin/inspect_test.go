package admin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/front/job"
)

// What an API answered to an inspected test is for its caller: neither the toolset nor
// the job that the test became keeps it.
func TestInspectedTest(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID + "/test"
	run := want[admin.TestAnswer](w, w.do("POST", path, map[string]any{"keepDraft": true}), 200)
	if run.Inspection != nil {
		t.Fatalf("not asked for: %+v", run.Inspection)
	}
	run = want[admin.TestAnswer](w, w.do("POST", path, map[string]any{"keepDraft": true, "inspect": true}), 200)
	if run.Inspection == nil || run.Inspection.Received != run.Answer || run.Answer == "" || run.Deployed {
		t.Fatalf("asked for: %+v", run)
	}
	if b, _ := json.Marshal(run.Toolset); strings.Contains(string(b), "inspection") {
		t.Errorf("the toolset keeps it: %s", b)
	}
	viewer := w.withRole("default", "viewer")
	want[front.Problem](w, w.do("POST", path, map[string]any{"inspect": true}, bearer(viewer)...), 403)

	// A test that became a job: every member may read the job.
	going := want[job.Job](w, w.do("POST", path, map[string]any{"keepDraft": true, "inspect": true}, "Prefer", "wait=0"), 202)
	for going.State == "running" {
		going = want[job.Job](w, w.do("GET", "/v1/jobs/"+going.ID, nil), 200)
	}
	if going.State != "succeeded" || strings.Contains(string(going.Result), "inspection") || strings.Contains(string(going.Result), `"answer"`) {
		t.Errorf("the job keeps what the API answered: %+v %s", going, going.Result)
	}
}
