package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
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
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	n, err := b.node(dir, "--demo")
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.ready(ctx); err != nil {
		return err
	}
	slug, tools, err := n.safeTools(ctx)
	if err != nil {
		return err
	}
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

// safeTools returns the first toolset and its enabled GET tools without required arguments.
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
	var page struct {
		Items []struct {
			Name        string          `json:"name"`
			Enabled     bool            `json:"enabled"`
			InputSchema json.RawMessage `json:"inputSchema"`
			Operation   struct {
				Method string `json:"method"`
			} `json:"operation"`
		} `json:"items"`
	}
	if err := n.api(ctx, http.MethodGet, "/v1/toolsets/"+sets.Items[0].ID+"/tools?limit=200", nil, &page); err != nil {
		return "", nil, err
	}
	for _, t := range page.Items {
		var schema struct {
			Required []string `json:"required"`
		}
		if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
			return "", nil, fmt.Errorf("input schema of %s: %w", t.Name, err)
		}
		if t.Enabled && t.Operation.Method == http.MethodGet && len(schema.Required) == 0 {
			tools = append(tools, t.Name)
		}
	}
	if len(tools) == 0 {
		return "", nil, errors.New("the demo has no safe tool without required arguments")
	}
	slug = sets.Items[0].Slug
	return slug, tools, n.poll(ctx, func() error { return n.call(ctx, slug, tools[0], "{}") })
}
