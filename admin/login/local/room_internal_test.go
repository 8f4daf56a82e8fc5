package local

import (
	"fmt"
	"reflect"
	"testing"
)

// TestLastWords: of what a command wrote, the newest lines of its own are in a fault of it,
// each once: it was started several times.
func TestLastWords(t *testing.T) {
	lines := []Line{
		{Text: "installation: Traceback"},
		{Text: "installation: no licence"},
		{Text: "installation: ended: it ended with status 7"},
		{Text: "ABCDEF started"},
		{Text: "ABCDEF Traceback"},
		{Text: "ABCDEF no licence"},
		{Text: "ABCDEF "},
		{Text: "ABCDEF ended: it ended with status 7"},
	}
	if got := lastWords(lines); !reflect.DeepEqual(got, []string{"Traceback", "no licence"}) {
		t.Errorf("got %q", got)
	}
	var many []Line
	for i := range maxSaid + 1 {
		many = append(many, Line{Text: fmt.Sprint("ABCDEF line ", i)})
	}
	if got := lastWords(many); len(got) != maxSaid || got[0] != "line 1" {
		t.Errorf("of %d lines %q", maxSaid+1, got)
	}
	if got := lastWords(nil); got != nil {
		t.Errorf("of nothing %q", got)
	}
}
