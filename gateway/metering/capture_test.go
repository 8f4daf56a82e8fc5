//go:build !race

package metering

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// TestCaptureBounds: texts are kept up to a bound, and each report of them is one that
// is taken. Redaction is slow under the race detector.
func TestCaptureBounds(t *testing.T) {
	m := New()
	tool := m.Tool(ToolID{Workspace: "w", Toolset: "ts_1", Slug: "s", Tool: "list"})
	big := []byte(strings.Repeat("<&> ", 4000)) // six bytes each in JSON
	for range maxCaptured/maxRawCapture + 1 {
		tool.Call(&Call{Outcome: Timeout, Capture: CaptureFailed, Arguments: big})
	}
	u := m.Drain()
	n := 0
	for i := range u.Calls {
		if u.Calls[i].Captured {
			n++
		}
		if got := len(u.Calls[i].Arguments); got > registry.MaxCaptureBytes {
			t.Fatalf("%d bytes are kept", got)
		}
	}
	if n != maxCaptured/maxRawCapture || len(u.Calls) != n+1 {
		t.Fatalf("%d of %d calls are captured", n, len(u.Calls))
	}
	// Each report of them is one that is taken.
	s := &Spool{}
	s.take(u, time.Now())
	total := 0
	for i, r := range s.pending {
		r.Epoch, r.Sequence, r.Oldest, r.Posted = "E", uint64(i+1), 1, time.Now()
		b, err := json.Marshal(r)
		if err != nil || len(b) > registry.MaxUsageBytes {
			t.Fatalf("report %d has %d bytes, %v", i, len(b), err)
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		total += len(r.Calls)
	}
	if total != n+1 {
		t.Fatalf("%d of %d calls are in the reports", total, n+1)
	}
}
