package follow

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// TestFaultOfDigest: content that was swapped for other is refused, and the text says so.
func TestFaultOfDigest(t *testing.T) {
	s := &Source{Name: "oci://registry.example/catalog:latest"}
	err := s.fault(fmt.Errorf("pull: %w", registry.ErrCorrupt))
	if p := problem.As(err); p == nil || !strings.Contains(p.Detail, "not what it says it has") || !strings.Contains(p.Remedy, "sluice catalog push DIR oci://registry.example/catalog:latest") {
		t.Errorf("%v", err)
	}
}

// TestLogFaults: of the faults of a catalog some are logged, and how many more there are.
func TestLogFaults(t *testing.T) {
	for n, more := range map[int]bool{maxLogged: false, maxLogged + 1: true} {
		var log bytes.Buffer
		f := &Follower{Log: slog.New(slog.NewTextHandler(&log, nil))}
		faults := make([]error, n)
		for i := range faults {
			faults[i] = errors.New("broken")
		}
		parts := problem.New(problem.InvalidArgument, "the entry is not valid").At("a.yaml", 0, 0, "")
		parts.Parts = []*problem.Error{problem.New(problem.InvalidArgument, "broken").At("a.yaml", 3, 0, "/name")}
		faults[0] = parts
		f.logFaults("folder", "x", faults)
		if !strings.Contains(log.String(), `error="a.yaml, line 3, /name: broken"`) {
			t.Errorf("the log does not say what is wrong: %s", log.String())
		}
		if got := strings.Count(log.String(), "error=broken"); got != maxLogged-1 || strings.Contains(log.String(), "more entries") != more {
			t.Errorf("%d faults: %s", n, log.String())
		}
	}
}
