package edge_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/registry"
)

// What could not be sent is added up, and an unbinding is told at once.
func TestPluginReporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // sleeping in the bubble orders nothing
		var posted []registry.EdgePlugins
		sent := func() []registry.EdgePlugins {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(posted)
		}
		var down atomic.Bool
		down.Store(true)
		mask := registry.PluginKey{Workspace: "w", Name: "mask", Version: "1.0.0"}
		unbound := make(chan registry.PluginUnbound)
		r := &edge.PluginReporter{
			Post: func(_ context.Context, p *registry.EdgePlugins) error {
				if down.Load() {
					return errors.New("the control plane is down")
				}
				mu.Lock()
				defer mu.Unlock()
				posted = append(posted, *p)
				return nil
			},
			Usage: func() []registry.PluginCalls {
				return []registry.PluginCalls{{PluginKey: mask, PluginCounts: registry.PluginCounts{Calls: 2, Micros: 10}}}
			},
			Unbound: unbound,
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(46 * time.Second) // three reports that fail
		synctest.Wait()
		down.Store(false)
		before := time.Now()
		unbound <- registry.PluginUnbound{PluginKey: mask, Reason: "slow"}
		synctest.Wait()
		got := sent()
		if time.Since(before) != 0 || len(got) != 1 || len(got[0].Calls) != 1 || got[0].Calls[0].Calls != 8 || len(got[0].Unbound) != 1 {
			t.Fatalf("%+v", got)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		got = sent()
		if len(got) != 2 || got[1].Calls[0].Calls != 2 || len(got[1].Unbound) != 0 {
			t.Fatalf("%+v", got)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}
