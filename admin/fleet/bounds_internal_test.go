package fleet

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// TestMaxEdgeWait: a question is held as long as it asks for, but no longer than proxies do.
func TestMaxEdgeWait(t *testing.T) {
	most := int(registry.MaxEdgeWait / time.Second)
	for seconds, want := range map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, strconv.Itoa(most - 1): registry.MaxEdgeWait - time.Second, strconv.Itoa(most): registry.MaxEdgeWait,
		strconv.Itoa(most + 1): registry.MaxEdgeWait, "9223372036854775807": registry.MaxEdgeWait, // which overflows as a duration
	} {
		if got, err := waitOf(seconds); got != want || err != nil {
			t.Errorf("%q: %s, %v; want %s", seconds, got, err, want)
		}
	}
	for _, seconds := range []string{"-1", "1.5", "long", "9223372036854775808"} {
		if got, err := waitOf(seconds); !problem.Is(err, problem.InvalidArgument) || got != 0 {
			t.Errorf("%q: %s, %v", seconds, got, err)
		}
	}
}

// TestMaxStatusText: of each thing that an edge says of itself so much is kept, and it is
// always text.
func TestMaxStatusText(t *testing.T) {
	at := strings.Repeat("x", maxStatusText)
	for in, want := range map[string]string{at: at, at + "y": at, at[1:] + "\u00e4": at[1:], "a\xffb": "ab"} {
		s := registry.EdgeStatus{Version: in, Following: in, Cache: in, Disk: in, Secrets: in, Usage: in}
		clipStatus(&s)
		for name, got := range map[string]string{"version": s.Version, "following": s.Following, "cache": s.Cache, "disk": s.Disk, "secrets": s.Secrets, "usage": s.Usage} {
			if got != want {
				t.Errorf("%s of %d bytes: %d are kept, want %d", name, len(in), len(got), len(want))
			}
		}
	}
}
