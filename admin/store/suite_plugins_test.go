package store_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

func pluginVersion(version string) *store.PluginVersion {
	return &store.PluginVersion{
		Name: "mask", Version: version, Kind: "filter", Description: "d", Repository: "one/plugins/mask", Tag: version, Manifest: "sha256:m" + version,
		Digest: "sha256:d" + version, Config: "sha256:c" + version, SizeBytes: 7, Document: `{"name":"mask"}`, KeyID: "key1", Cases: []byte(`[{"name":"a"}]`), Report: "{}", CreatedBy: "tok",
	}
}

func testPlugins(t *testing.T, h harness) {
	s := h.open(t, nil)
	w, other := s.Workspace("one"), s.Workspace("two")
	ctx := t.Context()
	refused := func(what string, kind problem.Kind, w *store.Workspace, fn func(tx *store.Tx) error) {
		t.Helper()
		if err := w.Update(ctx, fn); !problem.Is(err, kind) {
			t.Errorf("%s: %v, want %s", what, err, kind)
		}
	}
	key := func(id string) *store.PublisherKey {
		return &store.PublisherKey{ID: id, Name: "Ada", PublicKey: []byte{1, 2, 3}, Algorithm: "ed25519", CreatedBy: "tok"}
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddPublisherKey(ctx, key("key1")) })
	refused("a key twice", problem.Conflict, w, func(tx *store.Tx) error { return tx.AddPublisherKey(ctx, key("key1")) })
	if _, err := other.PublisherKey(ctx, "key1"); !problem.Is(err, problem.NotFound) {
		t.Errorf("another workspace reads the key: %v", err)
	}
	got, err := w.PublisherKey(ctx, "key1")
	if err != nil || got.Name != "Ada" || !bytes.Equal(got.PublicKey, []byte{1, 2, 3}) || !got.RevokedAt.IsZero() {
		t.Fatalf("%+v %v", got, err)
	}

	for _, v := range []string{"1.0.0", "1.1.0"} {
		update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddPluginVersion(ctx, pluginVersion(v)) })
	}
	refused("a version twice", problem.Conflict, w, func(tx *store.Tx) error { return tx.AddPluginVersion(ctx, pluginVersion("1.0.0")) })
	row, err := w.PluginVersion(ctx, "mask", "1.1.0")
	if err != nil || row.Digest != "sha256:d1.1.0" || row.CreatedAt.IsZero() || len(row.Cases) != 0 {
		t.Fatalf("%+v %v", row, err)
	}
	if cases, err := w.PluginCases(ctx, "mask", "1.1.0"); err != nil || string(cases) != `[{"name":"a"}]` {
		t.Fatalf("%s %v", cases, err)
	}
	if _, err := other.PluginVersion(ctx, "mask", "1.1.0"); !problem.Is(err, problem.NotFound) {
		t.Errorf("another workspace reads the plugin: %v", err)
	}
	if _, err := other.PluginCases(ctx, "mask", "1.1.0"); !problem.Is(err, problem.NotFound) {
		t.Errorf("another workspace reads the cases: %v", err)
	}
	if names, next, err := w.PluginNames(ctx, store.Page{}); err != nil || next != "" || !slices.Equal(names, []string{"mask"}) {
		t.Errorf("%v %q %v", names, next, err)
	}
	if names, _, err := other.PluginNames(ctx, store.Page{}); err != nil || len(names) != 0 {
		t.Errorf("another workspace lists %v %v", names, err)
	}
	contents, err := s.PluginContents(ctx)
	if err != nil || len(contents) != 6 || !slices.Contains(contents, "sha256:m1.0.0") || !slices.Contains(contents, "sha256:c1.1.0") {
		t.Errorf("%v %v", contents, err)
	}

	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.Yank(ctx, "mask", "1.0.0", "leaks") })
	if row, err := w.PluginVersion(ctx, "mask", "1.0.0"); err != nil || row.YankedAt.IsZero() || row.YankReason != "leaks" {
		t.Errorf("%+v %v", row, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.Yank(ctx, "mask", "1.0.0", "") })
	if row, err := w.PluginVersion(ctx, "mask", "1.0.0"); err != nil || !row.YankedAt.IsZero() {
		t.Errorf("%+v %v", row, err)
	}
	refused("yanking nothing", problem.NotFound, w, func(tx *store.Tx) error { return tx.Yank(ctx, "mask", "9.0.0", "x") })
	refused("yanking another's", problem.NotFound, other, func(tx *store.Tx) error { return tx.Yank(ctx, "mask", "1.0.0", "x") })

	use := &registry.PluginCalls{
		PluginKey:    registry.PluginKey{Name: "mask", Version: "1.0.0"},
		PluginCounts: registry.PluginCounts{Calls: 3, Errors: 1, Micros: 50, BytesIn: 100, BytesOut: 60},
	}
	for range 2 {
		update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddPluginUsage(ctx, use) })
		update(t, other, func(ctx context.Context, tx *store.Tx) error { return tx.AddPluginUsage(ctx, use) })
	}
	if u, err := w.PluginUsage(ctx, "mask", "1.0.0"); err != nil || u.Calls != 6 || u.Errors != 2 || u.Traps != 0 || u.Micros != 100 || u.BytesOut != 120 {
		t.Errorf("%+v %v", u, err)
	}
	if u, err := other.PluginUsage(ctx, "mask", "1.0.0"); err != nil || u.Calls != 0 {
		t.Errorf("%+v %v", u, err)
	}

	var yanked int64
	update(t, w, func(ctx context.Context, tx *store.Tx) (err error) {
		yanked, err = tx.RevokePublisherKey(ctx, "key1", "stolen")
		return err
	})
	if row, err := w.PluginVersion(ctx, "mask", "1.1.0"); err != nil || row.YankedAt.IsZero() || yanked != 2 {
		t.Errorf("%d %+v %v", yanked, row, err)
	}
	refused("revoking twice", problem.NotFound, w, func(tx *store.Tx) error {
		_, err := tx.RevokePublisherKey(ctx, "key1", "again")
		return err
	})
	refused("a revoked key again", problem.Conflict, w, func(tx *store.Tx) error { return tx.AddPublisherKey(ctx, key("key1")) })
	if valid, err := w.ValidPublisherKeys(ctx); err != nil || len(valid) != 0 {
		t.Errorf("%v %v", valid, err)
	}
	if all, _, err := w.PublisherKeys(ctx, store.Page{}); err != nil || len(all) != 1 || all[0].Reason != "stolen" {
		t.Errorf("%+v %v", all, err)
	}
	for i := range store.MaxPublisherKeys {
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddPublisherKey(ctx, key("k"+string(rune('A'+i))))
		})
	}
	refused("one key too many", problem.Conflict, w, func(tx *store.Tx) error { return tx.AddPublisherKey(ctx, key("last")) })
}
