package connector

import (
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

// TestMaxDiffDepth: schemas are compared as deep, of what is published and of what is sent.
func TestMaxDiffDepth(t *testing.T) {
	for n, want := range map[int]bool{maxDiffDepth: true, maxDiffDepth + 1: false} {
		nested := func(leaf string) map[string]any {
			m := map[string]any{"type": leaf}
			for range n {
				m = map[string]any{"type": "object", "properties": map[string]any{"a": m}}
			}
			return m
		}
		plan := func(leaf operation.Type) *operation.Schema {
			s := &operation.Schema{Type: leaf}
			for range n {
				s = &operation.Schema{Type: operation.TypeObject, Properties: []operation.Property{{Name: "a", Schema: s}}}
			}
			return s
		}
		for what, compare := range map[string]func(d *differ){
			"input":  func(d *differ) { d.input("", nested("string"), nested("boolean"), 0) },
			"output": func(d *differ) { d.output("", nested("string"), nested("boolean"), 0) },
			"sent":   func(d *differ) { d.narrower("", plan(operation.TypeString), plan(operation.TypeBoolean), 0) },
		} {
			var d differ
			compare(&d)
			if got := len(d.details) > 0; got != want {
				t.Errorf("%s, a difference %d levels deep: found %v, want %v", what, n, got, want)
			}
		}
	}
}
