package edge_test

import (
	"context"
	"os"
	"testing"

	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// TestPlugins: the plugins of a bundle are fetched, opened in their order and kept
// for a start without the control plane.
func TestPlugins(t *testing.T) {
	w := newWorld(t)
	code, err := os.ReadFile("../../testdata/plugins/mask/mask.wasm")
	if err != nil {
		t.Fatal(err)
	}
	g, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := w.pub.Plugin(t.Context(), "acme", "", g)
	if err != nil {
		t.Fatal(err)
	}
	ref := stored.Ref
	second := ref
	second.Config = []byte(`{"mask":"x"}`)
	b, err := w.pub.Bundle(t.Context(), &registry.Toolset{
		Workspace: "acme", ID: "ts_one", Slug: "one", Name: "one", Connectors: []registry.ConnectorRef{w.pushConnector("one", "a")},
		Plugins: []registry.PluginRef{ref, second}, Access: registry.Access{Mode: registry.AccessNone},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.live["one"] = registry.ReleaseToolset{ID: "ts_one", Workspace: "acme", Slug: "one", Revision: 1, Repository: b.Repository, Bundle: b.Digest}
	w.mu.Unlock()
	content, err := w.pub.Content(t.Context(), b.Repository, b.Digest)
	if err != nil || len(content.Digests) != 12 { // bundle, connector and the plugin twice, three each
		t.Fatalf("content %v, %v", content, err)
	}
	r := w.release()
	dir := t.TempDir()
	check := func(n *node) {
		t.Helper()
		ts := n.newest().Toolsets[0]
		if len(ts.Plugins) != 2 || ts.Plugins[0].Digest != g.Digest || ts.Plugins[0] != ts.Plugins[1] {
			t.Fatalf("plugins %v", ts.Plugins)
		}
	}
	n := w.start(dir, nil)
	n.persisted(r)
	check(n)
	n.stop()
	cutOff := &wire{Source: w.source}
	cutOff.set(func(context.Context, registry.Digest) ([]byte, error) { return nil, errDown })
	check(w.start(dir, cutOff))
}
