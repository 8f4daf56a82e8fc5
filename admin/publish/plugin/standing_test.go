package plugin_test

import (
	"encoding/json"
	"testing"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// TestSameBindings: what a deploy would change of the bindings, and nothing else.
func TestSameBindings(t *testing.T) {
	base := func(change func(*registry.PluginRef)) []registry.PluginRef {
		r := registry.PluginRef{Name: "mask", Version: "1.0.0", Digest: "sha256:a", Connector: "shop", Method: "GET", Path: "/a", Config: json.RawMessage(`{"a":1}`)}
		if change != nil {
			change(&r)
		}
		return []registry.PluginRef{r}
	}
	f := func(what string, same bool, change func(*registry.PluginRef)) {
		t.Helper()
		if got := plugin.SameBindings(base(nil), base(change)); got != same {
			t.Errorf("%s: %v", what, got)
		}
	}
	f("nothing", true, nil)
	f("where it is stored", true, func(r *registry.PluginRef) { r.Repository, r.Manifest = "w/plugins/mask", "sha256:m" })
	f("version", false, func(r *registry.PluginRef) { r.Version, r.Digest = "1.1.0", "sha256:b" })
	f("place", false, func(r *registry.PluginRef) { r.Path = "/b" })
	f("configuration", false, func(r *registry.PluginRef) { r.Config = json.RawMessage(`{"a":2}`) })
	f("on error", false, func(r *registry.PluginRef) { r.OnError = registry.OnErrorPass })
	f("grants", false, func(r *registry.PluginRef) { r.Grants = &manifest.Grants{Clock: true} })
	if plugin.SameBindings(base(nil), nil) || plugin.SameBindings(base(nil), append(base(nil), base(nil)...)) {
		t.Error("lists of other lengths are the same")
	}
	empty := base(func(r *registry.PluginRef) { r.Config = json.RawMessage("{}") })
	if !plugin.SameBindings(empty, base(func(r *registry.PluginRef) { r.Config = nil })) {
		t.Error("an empty configuration is one")
	}
}
