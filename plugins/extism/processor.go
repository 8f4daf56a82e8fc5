package extism

import "time"

// A plugin is judged by the processor time that it used itself: what passes while it
// waits for a processor, a turn, a host or a tool is not its own. It is counted in
// stretches between two looks, each a quantum of work without a break.

// longestStretch is what a stretch counts at most. A quantum takes a quarter of a
// millisecond of ordinary code and a few at worst; but the scheduler, which cannot stop
// a plugin while it runs, gives its thread to others just before we look, and what they
// use there is not the plugin's.
const longestStretch = 5 * time.Millisecond

// beginStretch begins a stretch. What it takes is told by the wall clock, which is cheaper, when
// seen is false.
func (i *Instance) beginStretch(seen bool) {
	i.since, i.thread = time.Now(), 0
	if seen {
		i.thread, i.mark = threadTime()
	}
}

// endStretch adds what a stretch took to what the call used.
func (i *Instance) endStretch() {
	took := time.Since(i.since)
	if i.thread != 0 {
		if thread, now := threadTime(); thread == i.thread && now >= i.mark {
			took = now - i.mark
		}
	}
	i.used += min(took, longestStretch)
	i.since, i.thread = time.Now(), 0
}
