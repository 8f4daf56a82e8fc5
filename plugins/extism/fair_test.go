package extism

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/turns"
)

// TestCallersAreFair: a caller whose calls are stopped, few or many of them at once, costs
// other callers of the same plugin no call, and no rest.
func TestCallersAreFair(t *testing.T) {
	for name, most := range map[string]int{"one": 1, "few": 4, "many": 3 * turns.MaxWaiting} {
		t.Run(name, func(t *testing.T) {
			p := load(t, newHost(t, Options{}), Spec{
				Name: "moody", Share: "toolset", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Deadline: 20 * time.Millisecond},
			})
			if err := p.Compile(t.Context()); err != nil {
				t.Fatal(err)
			}
			over, stopped, room := make(chan struct{}), make(chan struct{}), make(chan struct{})
			var hostile sync.WaitGroup
			for range most {
				hostile.Go(func() {
					for {
						select {
						case <-over:
							return
						default:
						}
						if _, err := p.Call(t.Context(), nil, Call{Export: "spin", Owner: "mallory"}); errors.Is(err, ErrBusy) {
							select {
							case <-room:
							case <-over:
							}
							continue
						}
						for _, c := range []chan struct{}{stopped, room} {
							select {
							case c <- struct{}{}: // to one who waits
							default:
							}
						}
					}
				})
			}
			const calls = 80
			took := make([]time.Duration, calls)
			var good sync.WaitGroup
			for n := range took {
				if n%8 == 0 {
					<-stopped // now the others have to rest
				}
				good.Go(func() {
					start := time.Now()
					if out, err := p.Call(t.Context(), nil, Call{Export: "echo", Owner: "ada", Input: []byte("x")}); err != nil || string(out) != "x" {
						t.Errorf("call %d of another caller after %v: %q %v", n, time.Since(start), out, err)
					}
					took[n] = time.Since(start)
				})
			}
			good.Wait()
			close(over)
			hostile.Wait()
			slices.Sort(took)
			t.Logf("median %v, 9 of 10 within %v, longest %v", took[calls/2], took[calls*9/10], took[calls-1])
			if name != "many" && took[calls*3/4] > longestForOthers { // so many callers have a processor for themselves
				t.Errorf("of another caller's calls 3 of 4 take %v, longer than %v", took[calls*3/4], longestForOthers)
			}
		})
	}
}

// longestForOthers is a part of the time that a share rests, and many times what a call takes.
const longestForOthers = 15 * time.Millisecond
