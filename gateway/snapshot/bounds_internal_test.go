package snapshot

import (
	"fmt"
	"testing"

	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// TestMaxSelections: lists of so many selections are kept rendered; one more begins anew,
// so that tokens with patterns of their own do not fill the memory, and is right.
func TestMaxSelections(t *testing.T) {
	s, err := Compile(Input{Toolsets: []ToolsetInput{{
		ID: "ts_acme", Slug: "acme", Revision: 1,
		Bundle: &registry.Toolset{Workspace: "test", ID: "ts_acme", Slug: "acme", Name: "acme", Access: registry.Access{Mode: registry.AccessNone}, Profile: registry.ProfileConcise},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ts := s.Slug("acme")
	for n := 1; n <= maxSelections+1; n++ {
		want := n
		if n > maxSelections {
			want = 1
		}
		name := fmt.Sprint("token ", n)
		l, err := ts.ListOf(name, func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ts.ListOf(name, nil); err != nil || again != l {
			t.Errorf("the list of %s is not kept: %v", name, err)
		}
		if got := len(ts.lists.some); got != want {
			t.Fatalf("%d selections: %d lists of tools are kept, want %d", n, got, want)
		}
		if _, err := ts.ItemList(manifest.Prompts, name, nil); err != nil {
			t.Fatal(err)
		}
		if got := len(ts.items.lists[manifest.Prompts]); got != want {
			t.Fatalf("%d selections: %d lists of prompts are kept, want %d", n, got, want)
		}
	}
}
