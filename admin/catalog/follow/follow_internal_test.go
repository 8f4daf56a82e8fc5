package follow

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestLogFaults: of the faults of a catalog some are logged, and how many more there are.
func TestLogFaults(t *testing.T) {
	for n, more := range map[int]bool{maxLogged: false, maxLogged + 1: true} {
		var log bytes.Buffer
		f := &Follower{Log: slog.New(slog.NewTextHandler(&log, nil))}
		faults := make([]error, n)
		for i := range faults {
			faults[i] = errors.New("broken")
		}
		f.logFaults("folder", "x", faults)
		if got := strings.Count(log.String(), "error=broken"); got != maxLogged || strings.Contains(log.String(), "more entries") != more {
			t.Errorf("%d faults: %s", n, log.String())
		}
	}
}
