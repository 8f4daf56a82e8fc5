package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

func init() {
	roles["swap"] = serveSwap
}

const (
	swapToolsets = 10_000
	// swapEvery is far more often than anybody publishes: many calls must meet a swap.
	swapEvery = 100 * time.Millisecond
	// swapConnections leave processors to the swap; with more the calls wait for each other.
	swapConnections = 4
	swapCalled      = "t5000" // not one of the toolsets that change
)

// benchSwap compares the 99th percentile of the calls of a gateway with 10,000 toolsets
// while one release follows the other with the same without.
func benchSwap(ctx context.Context, b *bench) error {
	const body = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_users","arguments":{"q":"x"}}}`
	server, err := b.role(ctx, "swap")
	if err != nil {
		return err
	}
	defer server.Close()
	l := &load{addr: server.addr, connections: swapConnections, duration: mcpDuration / 3, want: []byte(`user16@example.com`)}
	l.request = fmt.Appendf(nil, "POST /t/%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s", swapCalled, l.addr, len(body), body)
	if _, _, err := l.run(ctx); err != nil { // warms up
		return err
	}
	l.duration, l.timed = mcpDuration, true
	measure := func() (time.Duration, error) {
		l.times = l.times[:0]
		if _, _, err := l.run(ctx); err != nil {
			return 0, errors.Join(err, server.ended())
		}
		slices.Sort(l.times)
		return l.times[len(l.times)*99/100], nil
	}
	var ratios, with, without []float64
	for range b.count {
		still, err := measure()
		if err != nil {
			return err
		}
		if err := server.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			return err
		}
		swapping, err := measure()
		if err != nil {
			return err
		}
		if err := server.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			return err
		}
		b.logf("p99 without swaps %v, with %v", still, swapping)
		ratios = append(ratios, float64(swapping)/float64(still))
		with, without = append(with, float64(swapping.Nanoseconds())), append(without, float64(still.Nanoseconds()))
	}
	b.report("control.swap.10000.p99", median(ratios), fmt.Sprintf("%s over %s", nanoseconds(median(with)), nanoseconds(median(without))))
	return nil
}

// serveSwap is the gateway with 10,000 toolsets, whose calls are answered from the
// cache. From one SIGUSR1 to the next it swaps to a snapshot in which one toolset
// changed, again and again, and ends when that did not share all the others.
func serveSwap(ctx context.Context, _ []string) error {
	upstream, err := serveUsers(ctx)
	if err != nil {
		return err
	}
	c, err := gatewaytest.Connector("acme", upstream, gatewaytest.Operation("get_users", "GET", "/users",
		gatewaytest.Param("q", operation.InQuery, operation.TypeString, true)))
	if err != nil {
		return err
	}
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		return err
	}
	toolset := func(i int, revision uint64) snapshot.ToolsetInput {
		return gatewaytest.Toolset(fmt.Sprintf("t%d", i), revision, c, func(t *registry.Toolset) {
			t.Cache, t.Answers = &registry.CachePolicy{TTLSeconds: 3600}, &registry.Answers{Format: registry.FormatJSON}
		})
	}
	toolsets := make([]snapshot.ToolsetInput, swapToolsets)
	for i := range toolsets {
		toolsets[i] = toolset(i, 1)
	}
	if err := s.Serve(toolsets...); err != nil {
		return err
	}
	toggle := make(chan os.Signal, 1)
	signal.Notify(toggle, syscall.SIGUSR1)
	defer signal.Stop(toggle)
	fmt.Println("listening " + s.Gateway.Addr().String())
	tick := time.NewTicker(swapEvery)
	defer tick.Stop()
	var due <-chan time.Time // nil: no swaps
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return s.Stop()
		case <-toggle:
			if due != nil {
				due = nil
			} else {
				due = tick.C
			}
		case <-due:
			before, changed := s.Holder.Load(), n%100
			n++
			toolsets[changed] = toolset(changed, uint64(1+n))
			if err := s.Serve(toolsets...); err != nil {
				return errors.Join(err, s.Stop())
			}
			if got := snapshot.Shared(before, s.Holder.Load()); got != swapToolsets-1 {
				return errors.Join(fmt.Errorf("%d of %d toolsets are shared between two snapshots, want all but the changed one", got, swapToolsets), s.Stop())
			}
		}
	}
}

// serveUsers serves the answer of the benchmarks' tool until ctx ends and returns where.
func serveUsers(ctx context.Context) (string, error) {
	payload := mcpPayload()
	ready, failed := make(chan string, 1), make(chan error, 1)
	go func() {
		failed <- serveHTTP(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(payload)) // the gateway is gone when this fails
		}), ready)
	}()
	select {
	case addr := <-ready:
		return "http://" + addr, nil
	case err := <-failed:
		return "", err
	}
}
