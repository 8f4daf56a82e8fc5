package ask

import (
	"testing"
	"time"
)

// TestHearingBounds: of a server that talks without end its client hears so much in each
// window, in messages and in bytes.
func TestHearingBounds(t *testing.T) {
	for _, size := range []int{1, maxHeardBytes / 4} {
		h, now, n := &Hearing{}, time.Now(), 0
		for range 2 * maxHeard {
			if h.room(size, now) {
				n++
			}
		}
		if want := min(maxHeard, maxHeardBytes/size); n != want {
			t.Errorf("%d messages of %d bytes, not %d", n, size, want)
		}
		if h.room(size, now.Add(hearWindow-1)) || !h.room(size, now.Add(hearWindow)) {
			t.Errorf("the window is not %v", hearWindow)
		}
	}
}
