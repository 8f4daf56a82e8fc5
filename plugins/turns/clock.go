package turns

import (
	"runtime"
	"time"
)

// longestStretch is what a stretch counts at most. A quantum takes a quarter of a
// millisecond of ordinary code and a few at worst; but the scheduler, which cannot stop
// the code while it runs, gives its thread to others just before we look, and what they
// use there is not its own.
const longestStretch = 5 * time.Millisecond

// A Clock counts the processor time that a call uses itself: what passes while it waits
// for a processor, a turn, a host or a tool is not its own. It counts in stretches
// between two looks, each a quantum of work without a break. It belongs to one
// goroutine.
type Clock struct {
	used   time.Duration // in the stretches that ended
	since  time.Time     // when the stretch began
	thread int           // where; 0: not known
	mark   time.Duration // what that thread had used then
}

// Reset forgets what was used.
func (c *Clock) Reset() { c.used = 0 }

// Used is the time of the stretches that ended.
func (c *Clock) Used() time.Duration { return c.used }

// Begin begins a stretch. What it takes is measured by the wall clock, which is cheaper, when
// thread is false.
func (c *Clock) Begin(thread bool) {
	c.since, c.thread = time.Now(), 0
	if thread {
		c.thread, c.mark = threadTime()
	}
}

// End adds what a stretch took to what was used.
func (c *Clock) End() {
	took := time.Since(c.since)
	if c.thread != 0 {
		if thread, now := threadTime(); thread == c.thread && now >= c.mark {
			took = now - c.mark
		}
	}
	c.used += min(took, longestStretch)
	c.since, c.thread = time.Now(), 0
}

// Stretch is how long the stretch has lasted, by the wall clock.
func (c *Clock) Stretch() time.Duration { return time.Since(c.since) }

// Measure runs f and says how much processor time that took: by the wall clock where threads
// cannot be measured.
func Measure(f func() error) (time.Duration, error) {
	runtime.LockOSThread() // what others do on this thread is not f's
	defer runtime.UnlockOSThread()
	begin := time.Now()
	thread, mark := threadTime()
	err := f()
	took := time.Since(begin)
	if same, now := threadTime(); thread != 0 && same == thread && now >= mark {
		took = now - mark
	}
	return took, err
}
