package people

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestMaxTokenLife: a token lives as long as was asked for, up to maxTokenLife; one that was
// asked for without an end has none.
func TestMaxTokenLife(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sluice.db"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.EnsureWorkspace(t.Context(), "acme", "acme"); err != nil {
		t.Fatal(err)
	}
	ws := s.Workspace("acme")
	ctx := request.With(t.Context(), &request.Request{Workspace: "acme"})
	const most = int64(maxTokenLife / time.Second)
	for seconds, want := range map[int64]time.Duration{60: time.Minute, most - 1: maxTokenLife - time.Second, most: maxTokenLife, most + 1: maxTokenLife, math.MaxInt64: maxTokenLife} {
		tok, err := AddToken(ctx, ws, &CreateAPIToken{Name: "t", Role: store.RoleViewer, TTLSeconds: seconds})
		if err != nil || tok.Token == "" || !tok.ExpiresAt.Equal(now.Add(want)) {
			t.Errorf("%d seconds: it ends %v, %v; want %s", seconds, tok.ExpiresAt, err, now.Add(want))
		}
	}
	if tok, err := AddToken(ctx, ws, &CreateAPIToken{Name: "t", Role: store.RoleAdmin}); err != nil || !tok.ExpiresAt.IsZero() {
		t.Errorf("a token without an end: %v, %v", tok.ExpiresAt, err)
	}
	if _, err := AddToken(ctx, ws, &CreateAPIToken{Name: "t", Role: "owner"}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("a role that there is not: %v", err)
	}
}
