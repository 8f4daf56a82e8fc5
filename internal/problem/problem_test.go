package problem

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestErrorText(t *testing.T) {
	f := func(e *Error, want string) {
		t.Helper()
		if got := e.Error(); got != want {
			t.Fatalf("Error() = %q, want %q", got, want)
		}
	}
	f(New(InvalidSpec, "no paths").At("a.yaml", 3, 9, "/paths").Fix("add %s", "paths"),
		"Invalid OpenAPI spec: a.yaml, line 3, column 9, /paths: no paths (add paths)")
	f(New(InvalidArguments, "expected integer").InTool("get_issue").At("", 0, 0, "/number"),
		"tool get_issue, /number: expected integer")
	f(New(NotFound, "no such toolset"), "no such toolset")
}

func TestKinds(t *testing.T) {
	for k := range statuses {
		if k.Status() < 400 || k.Title() == "" {
			t.Errorf("%s: status %d, title %q", k, k.Status(), k.Title())
		}
	}
	if Kind("nope").Status() != 500 {
		t.Error("an unknown kind must be a 500")
	}
}

func TestAs(t *testing.T) {
	err := fmt.Errorf("load: %w", New(NotFound, "x").Because(io.EOF))
	if !Is(err, NotFound) || Is(err, Conflict) || !errors.Is(err, io.EOF) || As(io.EOF) != nil {
		t.Fatalf("chain of %v is not seen", err)
	}
}
