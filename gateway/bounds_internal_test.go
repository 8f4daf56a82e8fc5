package gateway

import (
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/registry"
)

// TestMaxListeners: so many streams may be open; one more is refused and counts for nothing.
func TestMaxListeners(t *testing.T) {
	s, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{{
		ID: "ts_acme", Slug: "acme", Revision: 1,
		Bundle: &registry.Toolset{Workspace: "test", ID: "ts_acme", Slug: "acme", Name: "acme", Access: registry.Access{Mode: registry.AccessNone}, Profile: registry.ProfileConcise},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := newListeners(nil, nil, nil)
	a.open.Store(maxListeners - 1)
	for past, want := range []error{nil, errTooManyListeners} {
		if err := a.hijack(&fasthttp.RequestCtx{}, s.Slug("acme"), access.Pass{}, &listener{}); err != want {
			t.Errorf("%d past the bound: %v, want %v", past, err, want)
		}
		if got := a.open.Load(); got != maxListeners {
			t.Errorf("%d past the bound: %d are open, want %d", past, got, maxListeners)
		}
	}
}
