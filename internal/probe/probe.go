// Package probe runs a check that costs something, such as a write that is synced, for
// many who ask, at most once in a while. It does not judge what the check finds.
package probe

import (
	"context"
	"sync"
	"time"
)

// Probe answers with the result of its check. It is safe for concurrent use; a Probe must
// not be copied.
type Probe struct {
	// Check is what costs something. It runs in a goroutine of its own, one at a time,
	// and should end with its context. Required.
	Check func(ctx context.Context) error
	// Every is how long a good result is told again. Required.
	Every time.Duration
	// Again is how long a bad one is. Required.
	Again time.Duration
	// Patience is how long a check may take. Until it is over the result before holds;
	// then its context ends. Required.
	Patience time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time

	mu      sync.Mutex
	known   bool          // guarded by mu; there is a result
	at      time.Time     // guarded by mu; of the result
	err     error         // guarded by mu; the result
	running chan struct{} // guarded by mu; closed when the check that runs ends
}

// Result is the result of the check, which runs first when the last one is too old. When
// ctx ends before it does, the last result holds; without one it is ctx's error.
func (p *Probe) Result(ctx context.Context) error {
	p.mu.Lock()
	now := p.now()
	fresh := p.Every
	if p.err != nil {
		fresh = p.Again
	}
	if p.known && now.Sub(p.at) < fresh && !now.Before(p.at) {
		defer p.mu.Unlock()
		return p.err
	}
	if p.running == nil {
		p.running = make(chan struct{})
		go p.run(context.WithoutCancel(ctx), p.running)
	}
	running := p.running
	p.mu.Unlock()
	select {
	case <-running:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known {
		return ctx.Err()
	}
	return p.err
}

func (p *Probe) run(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, p.Patience)
	defer cancel()
	err := p.Check(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known, p.at, p.err, p.running = true, p.now(), err, nil
	close(done)
}

func (p *Probe) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}
