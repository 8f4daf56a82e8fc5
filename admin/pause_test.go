package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/registry"
)

// TestPause: a pause is in the signed document without a new revision, outlasts deploys and
// changes of access, and ends only when the toolset is resumed.
func TestPause(t *testing.T) {
	w := newWorld(t)
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody("Pets", "pets.yaml")), 201)
	path := "/v1/toolsets/" + ts.ID
	paused := func() *registry.Pause {
		t.Helper()
		d := w.liveAccess(ts.ID)
		if d == nil {
			return nil
		}
		return d.Paused
	}
	if got := want[view.Toolset](w, w.do("POST", path+"/resume", nil), 200); got.Paused != nil || paused() != nil {
		t.Errorf("resumed before a pause: %+v", got.Paused)
	}
	got := want[view.Toolset](w, w.do("POST", path+"/pause", map[string]any{"reason": "moving"}), 200)
	if got.Paused == nil || got.Paused.Reason != "moving" || got.Paused.By == "" || got.Paused.Since.IsZero() || got.Revision != ts.Toolset.Revision {
		t.Fatalf("paused: %+v, revision %d", got.Paused, got.Revision)
	}
	if p := paused(); p == nil || p.Reason != "moving" {
		t.Fatalf("the access document says %+v", p)
	}
	since := got.Paused.Since
	got = want[view.Toolset](w, w.do("POST", path+"/pause", nil), 200)
	if got.Paused == nil || got.Paused.Reason != "" || !got.Paused.Since.Equal(since) || paused() == nil {
		t.Errorf("paused again, without a reason: %+v", got.Paused)
	}
	want[struct{}](w, w.do("PUT", path+"/access", map[string]any{"mode": "token"}), 200)
	want[struct{}](w, w.do("POST", path+"/deploy", map[string]any{"reason": "again"}), 200)
	if d := w.liveAccess(ts.ID); d.Mode != registry.AccessToken || d.Paused == nil {
		t.Errorf("after a change of access and a deploy: %+v", d)
	}
	for filter, n := range map[string]int{"paused:true": 1, "paused:false": 0, "-paused:true": 0} {
		if l := want[admin.List[view.Toolset]](w, w.do("GET", "/v1/toolsets?filter="+filter, nil), 200); len(l.Items) != n {
			t.Errorf("%s: %d toolsets, want %d", filter, len(l.Items), n)
		}
	}
	if got = want[view.Toolset](w, w.do("POST", path+"/resume", nil), 200); got.Paused != nil || paused() != nil {
		t.Errorf("resumed: %+v", got.Paused)
	}
	if a := w.do("POST", path+"/pause", map[string]any{"reason": strings.Repeat("é", registry.MaxPauseReason)}); a.StatusCode != http.StatusOK {
		t.Errorf("the longest reason: %d %s", a.StatusCode, a.body)
	}
	for _, bad := range []string{strings.Repeat("x", registry.MaxPauseReason+1), "a\x00b"} {
		if a := w.do("POST", path+"/pause", map[string]any{"reason": bad}); a.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("reason %.20q: %d %s", bad, a.StatusCode, a.body)
		}
	}
	want[struct{}](w, w.do("POST", "/v1/toolsets/nope/pause", nil), 404)
}

// TestPauseDraft: nobody calls a draft, so there is nothing to pause.
func TestPauseDraft(t *testing.T) {
	w := newWorld(t)
	body := w.createBody("Pets", "pets.yaml")
	body["deploy"] = map[string]any{"skip": true}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	want[struct{}](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/pause", nil), 409)
}
