package admin_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/registry"
)

// TestLearned: what nodes report is kept for a toolset that learns and no other,
// improves its search once it is in the draft, and is gone for good when it is deleted.
func TestLearned(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	var create toolset.Operation
	var createTool string
	for _, tool := range ts.Tools {
		if tool.Operation.Method == http.MethodPost {
			create, createTool = tool.Operation, tool.Name
		}
	}
	sequence := uint64(0)
	report := func(queries ...string) {
		t.Helper()
		sequence++
		r := &registry.UsageReport{Epoch: "E", Sequence: sequence, Oldest: 1, Minute: w.now().Truncate(time.Minute).Unix(), Posted: w.now()}
		for _, q := range queries {
			r.Found = append(r.Found, registry.UsageFound{Workspace: "default", Toolset: ts.ID, Method: create.Method, Path: create.Path, Query: q, Calls: 2})
		}
		r.Found = append(r.Found, registry.UsageFound{Workspace: "default", Toolset: "ts_gone", Method: "GET", Path: "/x", Query: "of nothing", Calls: 1})
		if receipt, err := w.srv.Usage().PostUsage(t.Context(), r); err != nil || !receipt.Applied {
			t.Fatal(receipt, err)
		}
	}
	const path = "/v1/toolsets/pets/learned"
	show := func() advice.LearnedRequests {
		t.Helper()
		return want[advice.LearnedRequests](w, w.do("GET", path, nil), http.StatusOK)
	}
	patch := func(status int, body map[string]any) {
		t.Helper()
		at := w.do("GET", "/v1/toolsets/pets", nil).Header.Get("ETag")
		if a := w.do("PATCH", "/v1/toolsets/pets", body, "If-Match", at, "Content-Type", "application/merge-patch+json"); a.StatusCode != status {
			t.Fatalf("%v: %d %s", body, a.StatusCode, a.body)
		}
	}
	report("before it learned")
	patch(http.StatusBadRequest, map[string]any{"learn": true}) // not a search
	patch(http.StatusOK, map[string]any{"selection": "search", "learn": true})
	if l := show(); !l.Learn || l.Total != 0 || !w.get("pets").Learn {
		t.Fatalf("%+v", l)
	}
	var queries []string
	for who := range strings.FieldsSeq("Rex Bello Luna Milo Simba Nala Kira Balu Sammy Charly Lilly Oskar Rocky Lucky Paul Emma Lotte Fritz Max Moritz Susi Strolch Ben Leo Mia Lina Sam Pia Tom Ida Udo Kim Uwe Eva Kai Jan Ina Pit Ole Ute") {
		queries = append(queries, who+" moved in with us")
	}
	report(queries...)
	l := show()
	if l.Total != len(queries) || l.Items[0].Tool != createTool || l.Items[0].Uses != 2 || l.Items[0].Used {
		t.Fatalf("%d: %+v", l.Total, l.Items[:1])
	}
	search := func() advice.SearchAnswer {
		t.Helper()
		return want[advice.SearchAnswer](w, w.do("GET", "/v1/toolsets/pets/search?k=4&q="+url.QueryEscape("Waldi moved in with us"), nil), http.StatusOK)
	}
	// They count from the draft's next change on, or when that is asked for.
	before := w.get("pets")
	if a := search(); len(a.Results) > 0 && a.Results[0].Components["examples"] > 0 {
		t.Errorf("counted before the draft has them: %+v", a.Results)
	}
	if a := w.do("POST", path+"/use", map[string]any{}); a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if now := w.get("pets"); now.Digest == before.Digest || !show().Items[0].Used {
		t.Errorf("the draft is as it was: %+v", show().Items[0])
	}
	if a := search(); len(a.Results) == 0 || a.Results[0].Name != createTool {
		t.Errorf("%+v", a.Results)
	}
	e := want[choice.ToolExamples](w, w.do("GET", "/v1/toolsets/pets/tools/"+createTool+"/examples", nil), http.StatusOK)
	if len(e.Operator) != 0 || len(e.Learned) != len(queries) || e.Learned[0].Weight <= 0 || e.Learned[0].Weight > .5 {
		t.Errorf("%+v", e)
	}
	digest := w.get("pets").Digest
	if a := w.do("POST", path+"/use", map[string]any{}); a.StatusCode != http.StatusOK || w.get("pets").Digest != digest {
		t.Error("nothing new made another draft")
	}

	// Deleting one, then all.
	if a := w.do("DELETE", path+"?query=nothing+like+it", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := w.do("DELETE", path+"?tool=no_tool", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if d := want[advice.DeletedRequests](w, w.do("DELETE", path+"?tool="+createTool+"&query="+url.QueryEscape(queries[0]), nil), http.StatusOK); d.Deleted != 1 {
		t.Errorf("%+v", d)
	}
	report(queries[0])
	if l := show(); l.Total != len(queries)-1 || w.get("pets").Digest == digest {
		t.Errorf("%d after deleting one", l.Total)
	}
	if d := want[advice.DeletedRequests](w, w.do("DELETE", path, nil), http.StatusOK); d.Deleted != len(queries)-1 {
		t.Errorf("%+v", d)
	}
	if w.get("pets").Digest != before.Digest {
		t.Error("the draft without them is not the one before them")
	}

	// Turned off, at once nothing is kept any more. The audit log has no request.
	report("a new one comes")
	patch(http.StatusOK, map[string]any{"selection": "all"})
	report("one too late")
	if l := show(); l.Learn || l.Total != 1 || w.get("pets").Learn {
		t.Errorf("%+v", l)
	}
	log := w.do("GET", "/v1/audit?limit=100", nil)
	if log.StatusCode != http.StatusOK || strings.Contains(log.body, "moved in") || strings.Contains(log.body, "a new one") || !strings.Contains(log.body, "toolset.learned.delete") {
		t.Errorf("%d %s", log.StatusCode, log.body)
	}
}

// TestLearnedOfSeveral: what a tool learned is of its connector, though another one has the
// same operation; it stays when the tool is renamed or another connector goes, and goes
// with its own.
func TestLearnedOfSeveral(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Shop", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	w.addTo(ts.ID, http.StatusCreated, w.petsBody("pets-eu"))
	want[view.Toolset](w, w.send("PATCH", at, map[string]any{"selection": "search", "learn": true}, at), http.StatusOK)
	sequence := uint64(0)
	report := func(connector, query string) {
		t.Helper()
		sequence++
		r := &registry.UsageReport{Epoch: "E", Sequence: sequence, Oldest: 1, Minute: w.now().Truncate(time.Minute).Unix(), Posted: w.now()}
		r.Found = []registry.UsageFound{{Workspace: "default", Toolset: ts.ID, Connector: connector, Method: "GET", Path: "/pets", Query: query, Calls: 1}}
		if receipt, err := w.srv.Usage().PostUsage(t.Context(), r); err != nil || !receipt.Applied {
			t.Fatal(receipt, err)
		}
	}
	report("pets-eu", "animals of Europe")
	report("pet-store", "animals of the store")
	report("", "said by an older node")
	want[view.Toolset](w, w.do("POST", at+"/learned/use", map[string]any{}), http.StatusOK)
	w.renameTool(ts.ID, "pets_eu_list_pets", "europe")
	examples := func(tool string) (out []string) {
		t.Helper()
		for _, l := range want[choice.ToolExamples](w, w.do("GET", at+"/tools/"+tool+"/examples", nil), http.StatusOK).Learned {
			out = append(out, l.Text)
		}
		slices.Sort(out)
		return out
	}
	if got := examples("europe"); !slices.Equal(got, []string{"animals of Europe"}) {
		t.Errorf("Europe learned %q", got)
	}
	if got := examples("list_pets"); !slices.Equal(got, []string{"animals of the store", "said by an older node"}) {
		t.Errorf("the store learned %q", got)
	}
	l := want[advice.LearnedRequests](w, w.do("GET", at+"/learned?tool=europe", nil), http.StatusOK)
	if l.Total != 1 || l.Items[0].Operation.Connector != "pets-eu" || !l.Items[0].Used {
		t.Errorf("%+v", l)
	}
	want[view.Toolset](w, w.send("DELETE", at+"/connectors/pet-store", nil, at), http.StatusOK)
	if got := examples("europe"); !slices.Contains(got, "animals of Europe") || slices.Contains(got, "animals of the store") {
		t.Errorf("Europe has %q after the other one went", got)
	}
	w.addTo(ts.ID, http.StatusCreated, w.petsBody("pet-store"))
	for _, r := range want[advice.LearnedRequests](w, w.do("GET", at+"/learned", nil), http.StatusOK).Items {
		if r.Query == "animals of the store" {
			t.Errorf("what went with its connector is back: %+v", r)
		}
	}
}
