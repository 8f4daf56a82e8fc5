package exit

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestExitCodes(t *testing.T) {
	f := func(err error, want int) {
		t.Helper()
		if got := Code(t.Context(), err); got != want {
			t.Errorf("exitCode(%v) = %d, want %d", err, got, want)
		}
	}
	f(nil, 0)
	f(Usagef("x"), 2)
	f(problem.New(problem.NotFound, "x"), 3)
	f(problem.New(problem.Forbidden, "x"), 4)
	f(SilentError(5), 5)
	f(problem.New(problem.InvalidSpec, "x"), 6)
	f(problem.New(problem.Precondition, "x"), 7)
	f(problem.New(problem.Timeout, "x"), 8)
	f(problem.New(problem.TestFailed, "x"), 1)
}

func TestWriteError(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		var b strings.Builder
		WriteError(&b, err)
		if b.String() != want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), want)
		}
	}
	clash := problem.New(problem.Conflict, "two tools have one name")
	clash.Parts = []*problem.Error{problem.New(problem.Conflict, "two tools have one name").Fix("rename one")}
	f(clash, "✗ two tools have one name\n      rename one\n") // without an empty line where no place is known
	two := problem.New(problem.InvalidSpec, "broken.yaml has 2 errors")
	two.Place.File = "broken.yaml"
	two.Parts = []*problem.Error{
		problem.New(problem.InvalidSpec, "required member is missing").At("", 41, 9, "/paths/~1pets/get/responses").Fix("add one"),
		problem.New(problem.InvalidSpec, "does not exist").At("", 88, 15, "/x"),
	}
	f(two, "✗ Invalid OpenAPI spec: broken.yaml has 2 errors\n  line 41, column 9   /paths/~1pets/get/responses   required member is missing\n      add one\n  line 88, column 15   /x   does not exist\n")
	f(problem.New(problem.InvalidSpec, "the document is a string").At("a.yaml", 1, 1, "").Fix("give a document"),
		"✗ Invalid OpenAPI spec: a.yaml\n  line 1, column 1   the document is a string\n      give a document\n")
	f(problem.New(problem.NotFound, "there is no toolset %q", "x").Fix("see the list"), "✗ there is no toolset \"x\"\n      see the list\n")
	f(problem.New(problem.InvalidArgument, "a name is too long").At("", 0, 0, "#/name").Fix("shorten it"), "✗ a name is too long\n  /name\n      shorten it\n")
}
