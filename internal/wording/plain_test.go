package wording

import (
	"slices"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	f := func(name, text string, n int, want ...string) {
		t.Helper()
		if got := Plain(strings.Fields(name), text, n); !slices.Equal(got, want) {
			t.Errorf("Plain(%q, %q, %d) = %q, want %q", name, text, n, got, want)
		}
	}
	f("create refund", "Creates a refund.", 4, "money back", "new", "set up")
	f("create refund", "Creates a refund.", 2, "money back", "new")
	f("create refund", "Gives money back.", 4)
	// The longest thing that is known, at the end of the name, in the singular.
	f("list shop pull requests", "Lists them.", 4, "PR", "proposed change", "merge")
	f("delete gizmo", "Deletes a gizmo.", 4) // everybody knows the verb
	f("refund", "", 4)
	f("", "", 4)
}
