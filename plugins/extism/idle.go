package extism

import (
	"slices"
	"sync"
)

// idle are the instances of a plugin that wait for the next call of their owners.
type idle struct {
	room int // how many it keeps

	mu   sync.Mutex
	list []*Instance // guarded by mu; the one that waited longest is first
}

// take returns an owner's instance that was used last; nil when there is none.
func (l *idle) take(owner string) *Instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, i := range slices.Backward(l.list) {
		if i.owner == owner {
			l.list = slices.Delete(l.list, n, n+1)
			return i
		}
	}
	return nil
}

// put keeps an instance and returns the one that has to make room for it; nil for none.
func (l *idle) put(i *Instance) *Instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out *Instance
	if len(l.list) >= l.room {
		if len(l.list) == 0 {
			return i
		}
		out = l.list[0]
		l.list = slices.Delete(l.list, 0, 1)
	}
	l.list = append(l.list, i)
	return out
}

// takeAll returns all of them and keeps none.
func (l *idle) takeAll() []*Instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.list
	l.list = nil
	return out
}
