package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/toolset"
)

// After a roll-back the draft is what is live, so that the next edit does not bring
// the rejected ones back; those are kept aside under a name, to be read, applied again
// or dropped.
func TestRollbackResetsTheDraft(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID
	good := w.get(ts.ID)
	tools := want[admin.List[toolset.Tool]](w, w.do("GET", path+"/tools", nil), 200)
	w.renameTool(ts.ID, tools.Items[0].Name, "rejected_name")
	w.describe(ts.ID, "a rejected text")
	if a := w.do("PATCH", path, `{"instructions":"not even deployed","answers":{"tokenBudget":900}}`, "If-Match", "*"); a.StatusCode != http.StatusOK {
		t.Fatalf("patch: %d %s", a.StatusCode, a.body)
	}
	rejected := w.get(ts.ID)

	back := want[view.Toolset](w, w.do("POST", path+"/rollback", `{"reason":"it was wrong"}`), 200)
	if back.Digest != back.LiveDigest || back.LiveDigest != good.LiveDigest || back.Changed || back.Description != good.Description || back.Instructions != good.Instructions {
		t.Fatalf("the draft is not what is live: %+v", back)
	}
	if got := want[admin.List[toolset.Tool]](w, w.do("GET", path+"/tools", nil), 200); got.Items[0].Name != tools.Items[0].Name {
		t.Errorf("the tool is still named %s", got.Items[0].Name)
	}
	kept := want[admin.List[rollout.KeptDraft]](w, w.do("GET", path+"/drafts", nil), 200)
	if len(kept.Items) != 1 || kept.Items[0].Digest != rejected.Digest || kept.Items[0].Reason != "it was wrong" {
		t.Fatalf("kept: %+v", kept.Items)
	}
	name := kept.Items[0].Name
	detail := want[rollout.KeptDraftDetail](w, w.do("GET", path+"/drafts/"+name, nil), 200)
	for _, part := range []string{"rejected_name", "a rejected text", "not even deployed", `"tokenBudget":900`, `"kind":"openapi"`} {
		if !strings.Contains(string(detail.Document), part) {
			t.Errorf("what was kept lacks %q: %s", part, detail.Document)
		}
	}
	for _, part := range []string{`\"`, "WorkspaceID", "ToolsetID"} { // a record of the store, or JSON in a string
		if strings.Contains(string(detail.Document), part) {
			t.Errorf("what was kept has %q: %s", part, detail.Document)
		}
	}

	// The next edit is of what is live.
	w.describe(ts.ID, "a better text")
	if got := w.get(ts.ID); got.Instructions != good.Instructions {
		t.Errorf("a rejected edit became live again: %+v", got)
	}
	again := want[view.Toolset](w, w.do("POST", path+"/drafts/"+name+"/apply", nil, "If-Match", "*"), 200)
	if again.Digest != rejected.Digest || again.LiveDigest == again.Digest || !again.Changed {
		t.Errorf("applied again: %+v, want the draft %s", again, rejected.Digest)
	}
	// It would take edits away that nobody kept.
	want[front.Problem](w, w.do("POST", path+"/drafts/"+name+"/apply", nil, "If-Match", "*"), http.StatusConflict)
	if a := w.do("DELETE", path+"/drafts/"+name, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("drop: %d %s", a.StatusCode, a.body)
	}
	want[front.Problem](w, w.do("DELETE", path+"/drafts/"+name, nil), http.StatusNotFound)
	want[front.Problem](w, w.do("GET", path+"/drafts/"+name, nil), http.StatusNotFound)
	actions := strings.Join(w.audits(), " ")
	for _, action := range []string{"toolset.rollback", "toolset.draft.reset", "toolset.draft.apply", "toolset.draft.drop"} {
		if !strings.Contains(actions, action) {
			t.Errorf("%s is not audited: %s", action, actions)
		}
	}
}

// A roll-back without edits keeps nothing aside, and one to a revision of a version
// before copies leaves the draft.
func TestRollbackKeepsDraftWithoutCopy(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID
	w.describe(ts.ID, "the second")
	w.raw(`DELETE FROM draft_copies`)
	draft := w.get(ts.ID).Digest
	back := want[view.Toolset](w, w.do("POST", path+"/rollback", nil), 200)
	if back.Digest != draft || !back.Changed {
		t.Errorf("the draft was changed without a copy of what is live: %+v", back)
	}
	if kept := want[admin.List[rollout.KeptDraft]](w, w.do("GET", path+"/drafts", nil), 200); len(kept.Items) != 0 {
		t.Errorf("kept: %+v", kept.Items)
	}
}
