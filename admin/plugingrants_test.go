package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/draft/trial"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestGrantsOfBindings: what a plugin asks for is decided when it is bound, and again
// before a version that asks for more.
func TestGrantsOfBindings(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	publish := func(version string, deadline int, hosts ...string) {
		t.Helper()
		p := maskPlugin(t, func(m *manifest.Manifest) {
			m.Version, m.Capabilities, m.Limits = version, &manifest.Capabilities{Hosts: hosts}, &manifest.Limits{DeadlineMS: deadline}
		})
		want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", publication(t, k, p)), http.StatusCreated)
	}
	publish("1.0.0", 2000, "a.example")
	ts := w.create("Pets", "pets.yaml")
	if v := want[plugin.PluginVersion](w, w.do("GET", "/v1/plugins/mask/versions/1.0.0", nil), 200); v.Asks == nil || v.Asks.Record().String() != "hosts=a.example,deadline=2s" {
		t.Errorf("it asks for %+v", v.Asks)
	}
	if e := want[front.Problem](w, w.bind(ts.ID, map[string]any{"plugin": "mask"}), 403); !strings.Contains(e.Detail, "asks for hosts=a.example,deadline=2s") || !strings.Contains(e.Remedy, "--grant") {
		t.Errorf("nothing decided: %+v", e)
	}
	if e := want[front.Problem](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "grants": map[string]any{"hosts": []string{"b.example"}}}), 400); !strings.Contains(e.Detail, "does not ask for hosts=b.example") {
		t.Errorf("another host: %+v", e)
	}
	some := map[string]any{"hosts": []string{"a.example"}}
	b := want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "grants": some}), 200).Bindings[0]
	if b.Grants.Record().String() != "hosts=a.example" || b.Asks.DeadlineMs != 2000 || b.Waits != nil {
		t.Errorf("bound %+v", b)
	}
	// The same asks move without a question, more of it waits.
	publish("1.1.0", 2000, "a.example")
	publish("1.2.0", 2000, "a.example", "b.example")
	b = want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "version": "^1.0.0", "grants": some, "update": true}), 200).Bindings[0]
	if b.Pinned != "1.1.0" || b.Newer != "1.2.0" || b.Waits.Record().String() != "hosts=b.example" {
		t.Errorf("updated to %+v", b)
	}
	b = want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "version": "^1.0.0", "grants": some, "update": true, "decided": true}), 200).Bindings[0]
	if b.Pinned != "1.2.0" || b.Waits != nil || b.Grants.Record().String() != "hosts=a.example" {
		t.Errorf("refused and updated to %+v", b)
	}
	publish("1.3.0", 3000, "a.example", "b.example")
	all := map[string]any{"hosts": []string{"a.example", "b.example"}, "deadlineMs": 3000}
	b = want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "version": "^1.0.0", "grants": all, "update": true}), 200).Bindings[0]
	if b.Pinned != "1.3.0" || b.Grants.DeadlineMs != 3000 {
		t.Errorf("granted and updated to %+v", b)
	}
}

// TestYankedStaysAway: neither a deploy nor a roll-back brings back a version that was
// yanked; what is live goes on.
func TestYankedStaysAway(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	w.publishMask(k, "1.0.0")
	ts := w.create("Pets", "pets.yaml")
	deploy := func(status int) answer {
		t.Helper()
		a := w.do("POST", "/v1/toolsets/"+ts.ID+"/deploy", map[string]any{"reason": "x"})
		if a.StatusCode != status {
			t.Fatalf("%d %s, want %d", a.StatusCode, a.body, status)
		}
		return a
	}
	yanked := func(in map[string]any) {
		t.Helper()
		want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins/mask/versions/1.0.0/yank", in), 200)
	}
	yank, undo := map[string]any{"reason": "leaks"}, map[string]any{"undo": true}
	rollback := func(revision uint64, status int) answer {
		t.Helper()
		a := w.do("POST", "/v1/toolsets/"+ts.ID+"/rollback", map[string]any{"revision": revision, "reason": "x"})
		if a.StatusCode != status {
			t.Fatalf("%d %s, want %d", a.StatusCode, a.body, status)
		}
		return a
	}
	refused := func(a answer) {
		t.Helper()
		if e := want[front.Problem](w, a, 409); !strings.Contains(e.Detail, "bring back plugin mask 1.0.0, which was yanked: leaks") {
			t.Errorf("%+v", e)
		}
	}
	deploy(200)
	without := w.get(ts.ID).Revision
	want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "version": "^1.0.0"}), 200)
	yanked(yank) // before it was live
	refused(deploy(409))
	yanked(undo)
	deploy(200)
	with := w.get(ts.ID).Revision
	yanked(yank)
	// It is live, so it may stay in another revision.
	want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "version": "^1.0.0", "config": map[string]any{"mask": "-"}}), 200)
	deploy(200)
	rollback(without, 200)
	refused(rollback(with, 409)) // now it is not
	yanked(undo)
	rollback(with, 200)
}

// TestYankedInRollout: a roll-out neither begins with a version that was yanked nor makes one
// live, and what ends it does not either.
func TestYankedInRollout(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	w.publishMask(k, "1.0.0")
	ts := w.create("Pets", "pets.yaml")
	etag := func() string { return w.do("GET", "/v1/toolsets/"+ts.ID, nil).Header.Get("ETag") }
	begin := func(mode string) answer {
		in := map[string]any{"mode": mode, "untestedReason": "a test"}
		return w.do("POST", "/v1/toolsets/"+ts.ID+"/rollouts", in, "If-Match", etag())
	}
	yanked := func(in map[string]any) {
		t.Helper()
		want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins/mask/versions/1.0.0/yank", in), 200)
	}
	refused := func(a answer) {
		t.Helper()
		if e := want[front.Problem](w, a, 409); !strings.Contains(e.Detail, "bring back plugin mask 1.0.0, which was yanked: leaks") {
			t.Errorf("%+v", e)
		}
	}
	live := func() string {
		got := want[binding.ToolsetPlugins](w, w.do("GET", "/v1/toolsets/"+ts.ID+"/plugins", nil), 200)
		for _, b := range got.Live {
			if b.Plugin == "mask" {
				return b.Version
			}
		}
		return ""
	}
	yank, undo := map[string]any{"reason": "leaks"}, map[string]any{"undo": true}
	want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/deploy", map[string]any{"reason": "x"}), 200)
	want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "version": "^1.0.0"}), 200)
	for _, mode := range []string{"canary", "shadow"} {
		yanked(yank)
		refused(begin(mode))
		yanked(undo)
		run := want[trial.Rollout](w, begin(mode), 201)
		yanked(yank)
		path := "/v1/toolsets/" + ts.ID + "/rollouts/" + run.ID
		refused(w.do("POST", path+"/promote", map[string]any{"reason": "x"}))
		if a := w.do("POST", path+"/abort", map[string]any{"reason": "x"}); a.StatusCode >= 300 {
			t.Fatalf("abort: %d %s", a.StatusCode, a.body)
		}
		refused(begin(mode)) // the same candidate again
		refused(w.do("POST", "/v1/toolsets/"+ts.ID+"/deploy", map[string]any{"reason": "x"}))
		if v := live(); v != "" {
			t.Errorf("%s: mask %s is live", mode, v)
		}
		yanked(undo)
	}
}
