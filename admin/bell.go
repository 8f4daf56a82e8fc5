package admin

import "sync"

// bell wakes everybody who waits for a change. The zero bell works.
type bell struct {
	mu sync.Mutex
	ch chan struct{} // guarded by mu
}

// wait returns a channel that the next ring closes.
func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
