package turns

import "slices"

// MaxWaiting is how many calls of a share may wait for a turn, and how many may wait for
// places. What comes beyond fails at once, it would only be late: the call that came, or the
// last one of a caller that has more of them waiting.
const MaxWaiting = 128

// A line is where calls wait. The callers in it come in turn, whatever number of calls each
// has; the calls of one in the order of their arrival. It is guarded by its owner's mutex.
type line struct {
	list   []*waiter // in the order of arrival
	served uint64    // the number of the one that came last
}

// A waiter is a call that waits, or may. Its number says how many rounds it has to wait: a
// caller's second call waits one more than its first.
type waiter struct {
	share, caller string
	number        uint64
	held          bool          // it has what it waited for
	refused       bool          // it lost its place in the line
	granted       chan struct{} // has one element when it was served, or refused, while it waited
}

// of reports whether two calls are of one caller.
func (w *waiter) of(o *waiter) bool { return w.caller == o.caller && w.share == o.share }

// add lets a call wait, and reports whether it may. Where too many wait already the last
// call of a caller with more of them makes room, and is refused.
func (l *line) add(w *waiter) bool {
	w.refused, w.number = false, l.served+1
	last := w
	for _, o := range l.list {
		if o.of(w) {
			w.number = max(w.number, o.number+1)
		}
	}
	if len(l.list) >= MaxWaiting {
		for _, o := range l.list {
			if o.number > w.number && o.number >= last.number {
				last = o
			}
		}
		if last == w {
			return false
		}
		l.remove(last)
		last.refused = true
		last.granted <- struct{}{}
	}
	if w.granted == nil {
		w.granted = make(chan struct{}, 1)
	}
	l.list = append(l.list, w)
	return true
}

// serve gives what is waited for to the call that is next among those that fit, and returns
// it; nil when there is none. Fits may be nil: all do.
func (l *line) serve(fits func(*waiter) bool) *waiter {
	var next *waiter
	for _, w := range l.list {
		if (next == nil || w.number < next.number) && (fits == nil || fits(w)) {
			next = w
		}
	}
	if next == nil {
		return nil
	}
	l.remove(next)
	l.served = max(l.served, next.number)
	next.held = true
	next.granted <- struct{}{}
	return next
}

func (l *line) remove(w *waiter) {
	n := slices.Index(l.list, w)
	l.list = slices.Delete(l.list, n, n+1)
}

// withdraw gives up waiting, and reports whether the call was served meanwhile.
func (l *line) withdraw(w *waiter) bool {
	if w.held || w.refused {
		<-w.granted
		return w.held
	}
	l.remove(w)
	return false
}
