package call

import (
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestAppendProblem(t *testing.T) {
	p := problem.New(problem.InvalidArguments, "2 arguments are wrong").Fix("correct them")
	p.Parts = []*problem.Error{
		problem.New(problem.InvalidArguments, "expected integer, got string").At("", 0, 0, "/id"),
		problem.New(problem.InvalidArguments, "is required").At("", 0, 0, "/name"),
	}
	want := "2 arguments are wrong (correct them)\n- /id: expected integer, got string\n- /name: is required"
	if got := string(appendProblem(nil, p)); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	// A detail that lists the faults is cut before them: agents pay for each word.
	p.Detail += ": " + p.Parts[0].Error() + "; " + p.Parts[1].Error()
	if got := string(appendProblem(nil, p)); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestReserved(t *testing.T) {
	for name, want := range map[string]bool{"host": true, "Transfer-Encoding": true, "te": true, "X-Host": false, "Accept": false, "Hosts": false} {
		if reserved(name) != want {
			t.Errorf("reserved(%q) = %v", name, !want)
		}
	}
}
