package arazzo

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// errCrashed ends the steps beside one that panicked.
var errCrashed = errors.New("a step panicked")

// parallel runs each step as soon as those it waits for have ended. The first that fails
// ends the others.
func (f *frame) parallel(parent context.Context, after [][]int) (*transfer, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var steps sync.WaitGroup
	var crashed atomic.Pointer[string]
	ended := make([]chan struct{}, len(after))
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	for i, s := range f.w.Steps {
		steps.Go(func() {
			defer close(ended[i])
			// A fault of ours is one of the whole run, and for whoever runs it to catch: in a
			// goroutine of its own it would end the process.
			defer func() {
				if v := recover(); v != nil {
					text := fmt.Sprintf("%v, in step %s of a workflow\n%s", v, s.ID, debug.Stack())
					crashed.CompareAndSwap(nil, &text)
					cancel(errCrashed)
				}
			}()
			for _, j := range after[i] {
				<-ended[j]
			}
			if ctx.Err() != nil {
				return
			}
			if _, err := f.step(ctx, s); err != nil {
				cancel(err) // only the first counts
			}
		})
	}
	steps.Wait()
	if text := crashed.Load(); text != nil {
		panic(*text)
	}
	if ctx.Err() == nil {
		return nil, nil
	}
	return nil, context.Cause(ctx)
}
