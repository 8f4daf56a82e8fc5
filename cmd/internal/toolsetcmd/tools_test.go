package toolsetcmd

import (
	"errors"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestInCommands: what the API advises programs is said as a command; other remedies stay.
func TestInCommands(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{problem.New(problem.Precondition, "it was changed meanwhile").Fix("read it again and repeat the change"), "somebody else changed shop at the same moment: run the command again"},
		{problem.New(problem.TestFailed, noTest).Fix("test it"), "sluice toolset test shop   or deploy it untested: sluice toolset deploy shop --reason TEXT"},
		{problem.New(problem.TestFailed, "the toolset was changed while it was tested").Fix("test it again"), "test it again"},
		{problem.New(problem.NotFound, "there is no tool").Fix("look"), "look"},
	} {
		if got := problem.As(inCommands(c.err, "shop")).Remedy; got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	other := errors.New("disk")
	if got := inCommands(other, "shop"); !errors.Is(got, other) {
		t.Error(got)
	}
}
