package admin

import (
	"context"
	"sync"
)

// keyedMutex is a mutex for each key. Unlike sync.Mutex, waiting for one ends with a
// context. The zero value is ready to use.
type keyedMutex struct {
	mu   sync.Mutex
	held map[string]*keyLock // guarded by mu
}

type keyLock struct {
	token chan struct{} // holds one value while the key is locked
	users int           // holders and waiters, guarded by keyedMutex.mu
}

// lock waits until key is free and locks it. unlock may be called more than once. It
// fails with the cause of ctx.
func (t *keyedMutex) lock(ctx context.Context, key string) (unlock func(), err error) {
	t.mu.Lock()
	if t.held == nil {
		t.held = map[string]*keyLock{}
	}
	own := t.held[key]
	if own == nil {
		own = &keyLock{token: make(chan struct{}, 1)}
		t.held[key] = own
	}
	own.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.held, key)
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
