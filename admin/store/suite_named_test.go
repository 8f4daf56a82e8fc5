package store_test

import (
	"context"
	"testing"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testMistyped asks for records by a name that is nearly right.
func testMistyped(t *testing.T, h harness) {
	s := h.open(t, nil)
	w := s.Workspace("one")
	seed(t, w, "pets")
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddMember(ctx, &store.Member{Email: "ann@example.com", Role: store.RoleViewer}); err != nil {
			return err
		}
		return tx.AddChannel(ctx, &store.Channel{ID: "ch_1", Name: "operations", Kind: "webhook"})
	})
	ctx := t.Context()
	for _, row := range []struct {
		what, remedy string
		read         func() error
	}{
		{"toolset", "did you mean pets?", func() error { _, err := w.ToolsetBySlug(ctx, "pest"); return err }},
		{"toolset, far off", "", func() error { _, err := w.ToolsetBySlug(ctx, "weather"); return err }},
		{"toolset of another workspace", "", func() error {
			_, err := s.Workspace("two").ToolsetBySlug(ctx, "pest")
			return err
		}},
		{"member", "did you mean ann@example.com?", func() error { _, err := w.Member(ctx, "anne@example.com"); return err }},
		{"channel", "did you mean operations?", func() error { _, err := w.Channel(ctx, "operatoins"); return err }},
	} {
		p := problem.As(row.read())
		if p == nil || p.Kind != problem.NotFound || p.Remedy != row.remedy {
			t.Errorf("%s: %v, want the remedy %q", row.what, p, row.remedy)
		}
	}
}
