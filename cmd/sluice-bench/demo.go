package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	demoConnections = 16
	demoDuration    = 10 * time.Second
)

// benchDemo loads "sluice run --demo" with calls of its safe tools and takes the
// largest resident set that the process reached.
func benchDemo(ctx context.Context, b *bench) error {
	n, slug, tools, err := b.demoNode(ctx)
	if err != nil {
		return err
	}
	defer n.Close()
	ctx, cancel := context.WithTimeout(ctx, demoDuration)
	defer cancel()
	var (
		wg    sync.WaitGroup
		calls atomic.Int64
		fault = make(chan error, demoConnections)
	)
	for c := range demoConnections {
		wg.Go(func() {
			for i := c; ctx.Err() == nil; i++ {
				if err := n.call(ctx, slug, tools[i%len(tools)], "{}"); err != nil {
					if ctx.Err() == nil {
						fault <- err
					}
					return
				}
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	close(fault)
	if err := <-fault; err != nil {
		return err
	}
	peak, err := n.memory("VmHWM")
	if err != nil {
		return err
	}
	b.report("demo.rss.mb", float64(peak)/(1<<20), fmt.Sprintf("peak over %d calls, %d connections", calls.Load(), demoConnections))
	return nil
}

// safeTools returns the first toolset and its read-only tools without required arguments.
func (n *node) safeTools(ctx context.Context) (slug string, tools []string, err error) {
	var sets struct {
		Items []struct {
			ID   string `json:"id"`
			Slug string `json:"slug"`
		} `json:"items"`
	}
	err = n.poll(ctx, func() error {
		if err := n.api(ctx, http.MethodGet, "/v1/toolsets", nil, &sets); err != nil {
			return err
		}
		if len(sets.Items) == 0 {
			return errors.New("no toolset yet")
		}
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	slug = sets.Items[0].Slug
	var all []listedTool
	if err := n.poll(ctx, func() error { all, err = n.list(ctx, slug); return err }); err != nil {
		return "", nil, err
	}
	for _, t := range all {
		if t.Annotations.ReadOnlyHint && len(t.InputSchema.Required) == 0 {
			tools = append(tools, t.Name)
		}
	}
	if len(tools) == 0 {
		return "", nil, errors.New("the demo has no safe tool without required arguments")
	}
	return slug, tools, nil
}
