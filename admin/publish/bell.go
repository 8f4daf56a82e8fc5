package publish

import "sync"

// Bell wakes everybody who waits for a change. The zero Bell works; it may be used by many
// goroutines.
type Bell struct {
	mu sync.Mutex
	ch chan struct{} // guarded by mu
}

// Wait returns a channel that the next Ring closes.
func (b *Bell) Wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// Ring wakes who waits.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
