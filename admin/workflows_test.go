package admin_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/plugins/guest"
)

// publishThread publishes the workflow of package guest's tests.
func (w *world) publishThread() {
	w.t.Helper()
	const dir = "../testdata/plugins/thread/"
	read := func(name string) []byte {
		b, err := os.ReadFile(dir + name)
		if err != nil {
			w.t.Fatal(err)
		}
		return b
	}
	p, err := guest.Open(read("thread.wasm"))
	if err != nil {
		w.t.Fatal(err)
	}
	k := newPublisher(w.t)
	w.trust(k, "Ada")
	body := map[string]any{
		"module": base64.StdEncoding.EncodeToString(p.Code), "signature": signatureOf(w.t, k, p),
		"cases": []any{map[string]any{"name": "example", "case": json.RawMessage(read("testdata/example.json"))}},
	}
	want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", body), http.StatusCreated)
}

// TestWorkflowEdits: the tool of a workflow is renamed, described and disabled as any
// other; it is found by a search and counted where selections are weighed; each of two
// bindings has its own edits, and an export holds them.
func TestWorkflowEdits(t *testing.T) {
	w := newWorld(t)
	w.publishThread()
	ts := w.create("Pets", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	calls := map[string]any{"plugin": "thread", "calls": map[string]string{"get_issue": "get_pet", "list_comments": "list_pets"}}
	bound := want[binding.ToolsetPlugins](w, w.bind(ts.ID, calls, calls), http.StatusOK)
	if o := []string{bound.Bindings[0].Offers, bound.Bindings[1].Offers}; !slices.Equal(o, []string{"issue_with_comments", "thread_issue_with_comments"}) {
		t.Fatalf("offered %v", o)
	}
	all := w.get(ts.ID).EnabledTools
	patch := func(tool string, body map[string]any, status int) answer {
		t.Helper()
		a := w.do("PATCH", at+"/tools/"+tool, body)
		if a.StatusCode != status {
			t.Fatalf("%s %v: %d %s", tool, body, a.StatusCode, a.body)
		}
		return a
	}
	renamed := want[toolset.Tool](w, patch("thread_issue_with_comments", map[string]any{"name": "read_pet", "description": "Read all about a pet."}, 200), 200)
	if renamed.Name != "read_pet" || renamed.OriginalName != "issue_with_comments" || renamed.Operation.Path != "/thread/2" || renamed.Description != "Read all about a pet." {
		t.Errorf("renamed %+v", renamed)
	}
	if first := want[toolset.Tool](w, w.do("GET", at+"/tools/issue_with_comments", nil), 200); first.Operation.Path != "/thread" || first.Description == renamed.Description {
		t.Errorf("the other binding: %+v", first)
	}
	for _, taken := range []string{"get_pet", "Issue_With_Comments"} {
		if e := want[front.Problem](w, patch("read_pet", map[string]any{"name": taken}, 409), 409); !strings.Contains(e.Detail, "another tool is named") {
			t.Errorf("named %s: %+v", taken, e)
		}
	}
	if e := want[front.Problem](w, patch("read_pet", map[string]any{"answers": map[string]any{"format": "json"}}, 400), 400); !strings.Contains(e.Detail, "tool of a workflow") {
		t.Errorf("settings of answers: %+v", e)
	}

	search := func() (names []string) {
		t.Helper()
		for _, r := range want[advice.SearchAnswer](w, w.do("GET", at+"/search?k=9&q=read+all+about+a+pet", nil), 200).Results {
			names = append(names, r.Name)
		}
		return names
	}
	if found := search(); len(found) == 0 || found[0] != "read_pet" {
		t.Errorf("found %v", found)
	}
	weigh := func() *advice.SelectionAdvice {
		t.Helper()
		s := want[advice.ToolSelection](w, w.do("POST", at+"/selection/preview", map[string]any{"useCase": "Create a pet."}), 200)
		var workflows int
		for _, tool := range s.Tools {
			if tool.Plugin == "thread" && tool.Tokens > 0 {
				workflows++
			}
		}
		if s.Advice.UseCase.Tools != len(s.Tools) || s.Advice.All.Tools-4 != workflows {
			t.Errorf("%d tools of workflows among %+v, weighed %+v", workflows, s.Tools, s.Advice)
		}
		return s.Advice
	}
	both := weigh()
	disabled := want[toolset.Tool](w, patch("read_pet", map[string]any{"enabled": false}, 200), 200)
	if disabled.Enabled || disabled.Name != "read_pet" {
		t.Errorf("disabled %+v", disabled)
	}
	if one := weigh(); one.All.Tools != both.All.Tools-1 || one.All.Tokens != both.All.Tokens-disabled.Tokens || one.UseCase.Tokens != both.UseCase.Tokens-disabled.Tokens {
		t.Errorf("with %+v, without %+v, %d tokens", both.All, one.All, disabled.Tokens)
	}
	if got := w.get(ts.ID).EnabledTools; got != all-1 {
		t.Errorf("%d tools are enabled, of %d", got, all)
	}
	if found := search(); slices.Contains(found, "read_pet") || !slices.Contains(found, "issue_with_comments") {
		t.Errorf("found %v", found)
	}
	shown := want[binding.ToolsetPlugins](w, w.do("GET", at+"/plugins", nil), 200).Bindings
	if shown[0].Status != "ok" || shown[1].Status != "disabled" || shown[1].Offers != "read_pet" {
		t.Errorf("bindings %+v", shown)
	}

	doc, _ := w.export("")
	plan := w.importing("?dryRun=true", doc)
	if plan.Changes != 0 {
		t.Errorf("an export changes %+v", plan.Toolsets)
	}
	i := slices.IndexFunc(doc.Toolsets[0].Tools, func(e declare.DeclaredTool) bool { return e.Path == "/thread/2" })
	if i < 0 {
		t.Fatalf("the export has no edit of the workflow: %+v", doc.Toolsets[0].Tools)
	}
	doc.Toolsets[0].Tools[i].Disabled = false
	if w.importing("", doc).Changes != 1 || !want[toolset.Tool](w, w.do("GET", at+"/tools/read_pet", nil), 200).Enabled {
		t.Error("an import did not enable the tool")
	}

	// Exactly what enable names is enabled, tools of workflows too.
	want[view.ToolsetDetail](w, w.do("POST", at+"/tools/batch-update", map[string]any{"enable": []string{"*_pet*"}}), 200)
	var on []string
	for _, tool := range want[admin.List[toolset.Tool]](w, w.do("GET", at+"/tools", nil), 200).Items {
		if tool.Plugin != "" && tool.Enabled {
			on = append(on, tool.Name)
		}
	}
	if !slices.Equal(on, []string{"read_pet"}) {
		t.Errorf("enabled %v", on)
	}
	if again := want[toolset.Tool](w, patch("read_pet", map[string]any{"name": ""}, 200), 200); again.Name != "issue_with_comments" || again.Description != "Read all about a pet." {
		t.Errorf("with the name that it had: %+v", again)
	}
}
