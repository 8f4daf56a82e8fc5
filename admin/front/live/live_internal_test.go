package live

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestEnds: a stream ends with the node, with its client, and when a role is not what it was.
func TestEnds(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sluice.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if err := st.EnsureWorkspace(t.Context(), request.Operator, request.Operator); err != nil {
		t.Fatal(err)
	}
	ws := st.Workspace(request.Operator)
	token := &store.Token{Name: "watcher", Role: store.RoleViewer, Hash: slices.Repeat([]byte{7}, 32)}
	if err := ws.Update(t.Context(), func(tx *store.Tx) error { return tx.AddToken(t.Context(), token) }); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		role string
		end  func(stop chan struct{}, leave func()) // at the first event
		code problem.Kind                           // that Follow fails with; empty: it does not
	}{
		"the node ends":     {store.RoleViewer, func(stop chan struct{}, _ func()) { close(stop) }, ""},
		"the client leaves": {store.RoleViewer, func(_ chan struct{}, leave func()) { leave() }, ""},
		"another role":      {store.RoleAdmin, nil, problem.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			stop := make(chan struct{})
			r := &Room{Store: st, Log: slog.New(slog.DiscardHandler), Stopping: stop}
			as := *token
			as.Role = tc.role
			ctx, leave := context.WithTimeout(t.Context(), 30*time.Second)
			defer leave()
			s, err := r.Open(request.With(ctx, &request.Request{Token: &as}), ws)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			events := 0
			err = s.Follow(ctx, "", func(e Event) error {
				if events++; events == 1 && tc.end != nil {
					tc.end(stop, leave)
				}
				return nil
			})
			switch {
			case tc.code != "" && (!problem.Is(err, tc.code) || events > 0):
				t.Errorf("%d events, then %v; want none and %s", events, err, tc.code)
			case tc.code == "" && (err != nil || events != 1):
				t.Errorf("%d events, then %v; want one", events, err)
			}
		})
	}
}
