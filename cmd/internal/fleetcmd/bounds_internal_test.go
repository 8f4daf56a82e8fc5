package fleetcmd

import "testing"

// TestMaxLogLines: so many calls may be asked for.
func TestMaxLogLines(t *testing.T) {
	for n, ok := range map[int]bool{maxLogLines: true, maxLogLines + 1: false, 1: true, 0: false} {
		if _, err := (&logFlags{limit: n, since: "1h"}).query(nil); (err == nil) != ok {
			t.Errorf("--limit %d: %v", n, err)
		}
	}
}
