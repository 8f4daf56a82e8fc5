package admin

import (
	"context"
	"sync"
)

// turns lets one at a time work under a key. The zero turns works.
type turns struct {
	mu   sync.Mutex
	busy map[string]*turn // guarded by mu
}

type turn struct {
	token chan struct{} // holds one value while somebody has the turn
	users int           // who has it or waits for it, guarded by turns.mu
}

// take waits for the turn of key and returns what gives it back, which may be
// called more than once. It fails with the cause of ctx.
func (t *turns) take(ctx context.Context, key string) (giveBack func(), err error) {
	t.mu.Lock()
	if t.busy == nil {
		t.busy = map[string]*turn{}
	}
	own := t.busy[key]
	if own == nil {
		own = &turn{token: make(chan struct{}, 1)}
		t.busy[key] = own
	}
	own.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.busy, key)
		}
	}
	select {
	case own.token <- struct{}{}:
		return sync.OnceFunc(func() {
			<-own.token
			leave()
		}), nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
