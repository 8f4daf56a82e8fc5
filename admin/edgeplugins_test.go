package admin_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/registry"
)

// TestEdgePlugins: what an edge says of plugins is added to the workspace it serves,
// and to none else; an unbinding is recorded and told.
func TestEdgePlugins(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	w.publishMask(k, "1.0.0")
	w.create("Everywhere", "pets.yaml")
	e := w.enrolEdge(`{}`)
	post := func(status int, p registry.EdgePlugins) {
		t.Helper()
		if a := w.do("POST", registry.EdgePluginsPath, p, "Authorization", "Bearer "+e.id.Token.Reveal()); a.StatusCode != status {
			t.Fatalf("%d %s; want %d", a.StatusCode, a.body, status)
		}
	}
	mask := registry.PluginKey{Workspace: "default", Name: "mask", Version: "1.0.0"}
	calls := registry.PluginCalls{PluginKey: mask, PluginCounts: registry.PluginCounts{Calls: 7, Traps: 1, Micros: 70, BytesIn: 100, BytesOut: 50}}
	unbound := registry.PluginUnbound{PluginKey: mask, Reason: "more than half\nof 20 calls failed"}
	post(204, registry.EdgePlugins{Calls: []registry.PluginCalls{calls}, Unbound: []registry.PluginUnbound{unbound}})
	post(204, registry.EdgePlugins{Calls: []registry.PluginCalls{calls}})
	other := calls
	other.Name = "nobody"
	lost := unbound
	lost.Name = "nobody"
	elsewhere := calls
	elsewhere.Workspace = "another"
	post(204, registry.EdgePlugins{Calls: []registry.PluginCalls{other}, Unbound: []registry.PluginUnbound{lost}})
	v := want[plugin.PluginVersion](w, w.do("GET", "/v1/plugins/mask/versions/1.0.0", nil), 200)
	if v.Live.Calls != 14 || v.Live.Traps != 2 || v.Live.BytesIn != 200 {
		t.Errorf("%+v", v.Live)
	}
	if n := len(slices.DeleteFunc(w.audits(), func(a string) bool { return a != "plugin.unbind" })); n != 1 {
		t.Errorf("%d unbindings were recorded", n)
	}
	// An edge of one workspace speaks of that one, whatever it says.
	post(204, registry.EdgePlugins{Calls: []registry.PluginCalls{elsewhere}})
	if v := want[plugin.PluginVersion](w, w.do("GET", "/v1/plugins/mask/versions/1.0.0", nil), 200); v.Live.Calls != 21 {
		t.Errorf("%+v", v.Live)
	}
	bad := calls
	bad.Version = "one"
	post(400, registry.EdgePlugins{Calls: []registry.PluginCalls{bad}})
	bad = calls
	bad.Calls = 1<<50 + 1
	post(400, registry.EdgePlugins{Calls: []registry.PluginCalls{bad}})
	at := registry.EdgePlugins{Unbound: make([]registry.PluginUnbound, registry.MaxUnbindings)}
	for i := range at.Unbound {
		at.Unbound[i] = lost
		at.Unbound[i].Name = fmt.Sprint("n", i)
	}
	post(204, at)
	at.Unbound = append(at.Unbound, lost)
	post(400, at)
	if a := w.do("POST", registry.EdgePluginsPath, registry.EdgePlugins{}); a.StatusCode == http.StatusNoContent {
		t.Error("an API token speaks for an edge")
	}
}
