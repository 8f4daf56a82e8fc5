//go:build !race

package enginepool

import (
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

// TestTransformDoesNotAllocate covers results and errors, in WebAssembly and on
// the reference.
func TestTransformDoesNotAllocate(t *testing.T) {
	in := listIssues(5, 2700)
	table, err := engine.Compile(issueProgram("body"))
	if err != nil {
		t.Fatal(err)
	}
	where := &engine.Program{Root: &engine.Node{Where: &engine.Predicate{Cmp: engine.CmpContains, Path: []string{"body"}, Value: `"\r\n"`}}}
	rows, err := engine.Compile(where)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []bool{false, true} {
		h := newPool(t, Options{ReferenceOnly: ref})
		dst := make([]byte, 0, 2*len(in))
		for name, f := range map[string]func(){
			"projection": func() { dst, _, _ = h.Transform(dst[:0], table, in) },
			"rows":       func() { dst, _, _ = h.Transform(dst[:0], rows, in) },
			"error":      func() { dst, _, _ = h.Transform(dst[:0], table, in[:len(in)-3]) },
		} {
			f()
			if n := testing.AllocsPerRun(100, f); n != 0 {
				t.Errorf("%s, reference only %v: %v allocations per call, want 0", name, ref, n)
			}
		}
	}
}
