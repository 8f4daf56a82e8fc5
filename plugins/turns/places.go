package turns

import (
	"context"
	"sync"
	"time"
)

// Places bounds how many calls go on at once, for the memory that each has. Neither the
// calls of one share nor those of one caller may have all of them: the next caller would
// wait until one ends. It is safe for concurrent use.
type Places struct {
	most, share, caller int // of all, of one share, of one caller

	mu    sync.Mutex
	taken int      // guarded by mu, as are the others
	held  []holder // those with places
	line  line
}

// A holder is a caller with places.
type holder struct {
	share, caller string
	places        int
}

// NewPlaces makes so many places, of which the calls of one share, and those of one caller,
// may have so many at once. Callers without a name are not told apart, and may have as many
// as their share.
func NewPlaces(most, ofShare, ofCaller int) *Places {
	return &Places{most: most, share: ofShare, caller: ofCaller}
}

// Part is three quarters of the places, at least one, and all but one where there are two.
func Part(places int) int { return max(1, places*3/4) }

// Take takes a place for a call, or waits so long for one. It fails with
// [ErrBusy], also when too many wait, and with ctx's error. [Places.Give] gives the place
// back.
func (p *Places) Take(ctx context.Context, patience time.Duration, share, caller string) error {
	if p.try(share, caller) {
		return nil
	}
	w := &waiter{share: share, caller: caller}
	switch has, waits := p.ask(w); {
	case has:
		return nil
	case !waits:
		return ErrBusy
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	err := ErrBusy
	select {
	case <-w.granted:
		if w.refused {
			return ErrBusy
		}
		return nil
	case <-late.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line.withdraw(w) {
		return nil
	}
	return err
}

// try takes a place when one is free.
func (p *Places) try(share, caller string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take(share, caller)
}

// ask takes a place when one is free, and otherwise waits for one.
func (p *Places) ask(w *waiter) (has, waits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.take(w.share, w.caller) {
		return true, false
	}
	return false, p.line.add(w)
}

// take takes a place when one is free for the caller. Those that wait have none that is: what
// is free is not for them. p.mu is held.
func (p *Places) take(share, caller string) bool {
	if !p.free(share, caller) {
		return false
	}
	p.taken++
	for n := range p.held {
		if h := &p.held[n]; h.caller == caller && h.share == share {
			h.places++
			return true
		}
	}
	p.held = append(p.held, holder{share, caller, 1})
	return true
}

// free reports whether there is a place for a caller. p.mu is held.
func (p *Places) free(share, caller string) bool {
	if p.taken >= p.most {
		return false
	}
	ofShare, ofCaller := 0, 0
	for n := range p.held {
		if h := &p.held[n]; h.share == share {
			ofShare += h.places
			if h.caller == caller && caller != "" {
				ofCaller += h.places
			}
		}
	}
	return ofShare < p.share && ofCaller < p.caller
}

// Give gives a place of a caller back, to the call that is next.
func (p *Places) Give(share, caller string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	for n := range p.held {
		h := &p.held[n]
		if h.caller != caller || h.share != share {
			continue
		}
		if h.places--; h.places == 0 {
			last := len(p.held) - 1
			p.held[n], p.held[last] = p.held[last], holder{}
			p.held = p.held[:last]
		}
		break
	}
	if w := p.line.serve(func(w *waiter) bool { return p.free(w.share, w.caller) }); w != nil {
		p.take(w.share, w.caller)
	}
}

// Taken is how many places are taken.
func (p *Places) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}
