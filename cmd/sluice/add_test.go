package main

import (
	"testing"

	"github.com/sluicegate/sluice/admin/toolset"
)

// TestCountFindings: what only tells what was done with a specification is not a warning.
func TestCountFindings(t *testing.T) {
	warning, note := toolset.Diagnostic{Severity: "warning"}, toolset.Diagnostic{Severity: "info"}
	for want, list := range map[string][]toolset.Diagnostic{
		"":                      {},
		"1 warning":             {warning},
		"2 warnings":            {warning, warning},
		"1 note":                {note},
		"1 warning and 2 notes": {note, warning, note},
	} {
		if got := countFindings(list); got != want {
			t.Errorf("%v are %q, want %q", list, got, want)
		}
	}
}
