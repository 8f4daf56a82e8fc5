package plugincmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestPluginFailed: each way of failing comes with what its author can do about that one.
func TestPluginFailed(t *testing.T) {
	p := &guest.Package{Manifest: &manifest.Manifest{Name: "mask"}}
	for _, c := range []struct {
		err    error
		remedy string
	}{
		{&extism.TrapError{Reason: "unreachable"}, "run it on a smaller body"},
		{&extism.TrapError{Reason: "unreachable, while it was started", Start: true}, "look at its start function"},
		{&extism.TrapError{Reason: "its output is outside its memory", Rule: true}, "correct what it hands to the host"},
		{&extism.TrapError{Reason: "it was not granted the host", Denied: true}, "ask for it in capabilities"},
		{extism.ErrDeadline, "raise limits.deadlineMs"},
		{fmt.Errorf("%w within 500ms of processor time", extism.ErrNotStarted), "do less in its start function"},
	} {
		if got := problem.As(pluginFailed(p, c.err)); got == nil || !strings.Contains(got.Remedy, c.remedy) {
			t.Errorf("%v: %+v, want %q", c.err, got, c.remedy)
		}
	}
}
