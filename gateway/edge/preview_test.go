package edge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// A preview is opened when everything about it is right, and is not a release that an edge
// would follow.
func TestOpenPreview(t *testing.T) {
	w := newWorld(t)
	ts := w.put("shop", "draft")
	issued := time.Now().Truncate(time.Second)
	expires := issued.Add(time.Hour)
	envelope, err := w.pub.Preview(t.Context(), "x1", ts, issued, expires)
	if err != nil {
		t.Fatal(err)
	}
	keys, group := publish.Trusted(w.key, nil), publish.PreviewGroup("x1")
	state, err := edge.OpenPreview(t.Context(), envelope, group, keys, w.source, expires)
	if err != nil || len(state.Toolsets) != 1 || state.Toolsets[0].Slug != "shop" || len(state.Toolsets[0].Connectors) != 1 {
		t.Fatalf("%+v, %v", state, err)
	}
	other, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, envelope []byte, group string, keys []registry.TrustedKey, now time.Time) {
		t.Helper()
		if state, err := edge.OpenPreview(t.Context(), envelope, group, keys, w.source, now); !problem.Is(err, problem.InvalidRelease) || state != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("past its time", envelope, group, keys, expires.Add(time.Second))
	f("another preview", envelope, publish.PreviewGroup("x2"), keys, issued)
	f("an edge's group", envelope, publish.DefaultGroup, keys, issued)
	f("another key", envelope, group, publish.Trusted(other, nil), issued)
	f("changed bytes", []byte(strings.Replace(string(envelope), `"sig":"`, `"sig":"A`, 1)), group, keys, issued)
	if state, err := edge.OpenPreview(t.Context(), envelope, group, nil, w.source, issued); err == nil || state != nil {
		t.Errorf("a preview that no key has signed for: %v", state)
	}
	if n := w.pub.Current().Release().Revision; n != 1 {
		t.Errorf("a preview made release %d", n)
	}
	ts.Bundle = registry.DigestOf([]byte("nothing"))
	if _, err := w.pub.Preview(t.Context(), "x3", ts, issued, expires); err == nil {
		t.Error("a preview of what is not there was signed")
	}
}
