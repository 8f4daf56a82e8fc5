package extism

import "time"

// Calls that run for long take turns: as many run at once as there are processors but
// one, so that one is left for everybody else: calls of other plugins, garbage
// collections, and the timers that stop who waits.

// takeTurn gives the turn of a metered call to one that waits, if any does, and waits
// for the next. It returns at the deadline, or when the caller gives up, at the latest;
// the call may then have none.
func (i *Instance) takeTurn(left time.Duration) {
	i.endTurn()
	turns := i.p.h.turns
	select {
	case turns <- struct{}{}: // fails while others wait: they are served in their order
		i.turn = true
		return
	default:
	}
	if i.waiting == nil {
		i.waiting = time.NewTimer(left)
	} else {
		i.waiting.Reset(left)
	}
	defer i.waiting.Stop()
	select {
	case turns <- struct{}{}:
		i.turn = true
	case <-i.waiting.C:
	case <-i.ctx.Done():
	}
}

// endTurn gives the call's turn away, if it has one: it ended, or waits.
func (i *Instance) endTurn() {
	if i.turn {
		i.turn = false
		<-i.p.h.turns
	}
}
