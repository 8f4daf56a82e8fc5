package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	toolsetCount     = 1000
	toolsPerToolset  = 10
	settleBeforeRSS  = 3 * time.Second // the runtime gives freed pages back by itself within this time
	progressInterval = 200
	keptUpstream     = "127.0.0.1:17399"
)

// benchToolsets makes data directories with one and with 1,000 toolsets through
// the admin API, starts the binary on each, and compares memory and the time to
// the first served call.
func benchToolsets(ctx context.Context, b *bench) error {
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":7,"name":"seven","url":"http://127.0.0.1/7","note":null}`))
	}))
	root := b.keep
	if root == "" {
		dir, err := os.MkdirTemp("", "sluice-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		root = dir
	} else { // toolsets that are used again know the address
		_ = upstream.Listener.Close()
		var err error
		if upstream.Listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", keptUpstream); err != nil {
			return err
		}
	}
	upstream.Start()
	defer upstream.Close()
	dirs := map[int]string{}
	var tools []listedTool // the same names in every toolset
	for _, n := range []int{1, toolsetCount} {
		dir := filepath.Join(root, strconv.Itoa(n))
		var err error
		if tools, err = b.populate(ctx, dir, n, upstream.URL); err != nil {
			return fmt.Errorf("make %d toolsets: %w", n, err)
		}
		dirs[n] = dir
	}

	// Warm: files are in the page cache, as after a restart of the process. The two
	// take turns, so that a slow moment of the machine hits both.
	starts := map[int][]float64{}
	rss := map[int][]float64{}
	for range b.count {
		for n, dir := range dirs {
			took, err := b.startToFirstCall(ctx, dir, tools[0].Name)
			if err != nil {
				return err
			}
			starts[n] = append(starts[n], float64(took))
		}
	}
	for range min(b.count, 3) {
		for n, dir := range dirs {
			bytes, err := b.residentAfterCalls(ctx, dir, tools[0].Name, n)
			if err != nil {
				return err
			}
			rss[n] = append(rss[n], float64(bytes))
		}
	}
	one, many := median(starts[1]), median(starts[toolsetCount])
	b.report("start.warm", many/one, fmt.Sprintf("%s over %s", time.Duration(many).Round(time.Millisecond/10), time.Duration(one).Round(time.Millisecond/10)))
	each := (median(rss[toolsetCount]) - median(rss[1])) / (toolsetCount - 1) / 1024
	b.report("toolsets.1000.kb", each, fmt.Sprintf("%.0f MB with %d, %.0f MB with one", median(rss[toolsetCount])/(1<<20), toolsetCount, median(rss[1])/(1<<20)))
	return nil
}

func slug(i int) string { return fmt.Sprintf("toolset-%04d", i) }

// populate makes n live toolsets in a new data directory, each of a connector of
// its own, and returns the tools of the last.
func (b *bench) populate(ctx context.Context, dir string, n int, upstream string) (tools []listedTool, err error) {
	node, err := b.node(dir)
	if err != nil {
		return nil, err
	}
	defer node.Close()
	if err := node.ready(ctx); err != nil {
		return nil, err
	}
	made, err := node.list(ctx, slug(n-1))
	if err == nil {
		return made, nil // kept from an earlier run
	}
	for i := range n {
		if i%progressInterval == 0 && i > 0 {
			b.logf("%d of %d toolsets", i, n)
		}
		var made struct {
			ID     string `json:"id"`
			Slug   string `json:"slug"`
			Status string `json:"status"`
		}
		doc, err := json.Marshal(specification(i, upstream))
		if err != nil {
			return nil, err
		}
		in := map[string]any{"name": slug(i), "slug": slug(i), "source": map[string]any{"openapi": map[string]any{"document": string(doc)}}}
		if err := node.api(ctx, http.MethodPost, "/v1/toolsets", in, &made); err != nil {
			return nil, err
		}
		if made.Slug != slug(i) {
			return nil, fmt.Errorf("toolset %s got the slug %q", slug(i), made.Slug)
		}
		if made.Status == "live" {
			continue
		}
		if err := node.api(ctx, http.MethodPost, "/v1/toolsets/"+made.ID+"/deploy", map[string]any{"reason": "benchmark"}, nil); err != nil {
			return nil, err
		}
	}
	err = node.poll(ctx, func() error { tools, err = node.list(ctx, slug(n-1)); return err })
	if err == nil && len(tools) != toolsPerToolset+1 { // and fetch_result
		err = fmt.Errorf("a toolset has %d tools, want %d", len(tools), toolsPerToolset+1)
	}
	return tools, err
}

// specification is an OpenAPI document of ten operations. It differs in every
// operation with i, so no two connectors are the same.
func specification(i int, upstream string) map[string]any {
	property := func(kind string) map[string]any { return map[string]any{"type": kind} }
	paths := map[string]any{}
	for op := range toolsPerToolset {
		paths[fmt.Sprintf("/v%d/things%d/{id}", i, op)] = map[string]any{"get": map[string]any{
			"operationId": fmt.Sprintf("getThing%d", op),
			"summary":     fmt.Sprintf("Get a thing of kind %d from service %d", op, i),
			"description": "Returns the thing with its name, its state, its owner and the labels that were given to it.",
			"parameters": []any{
				map[string]any{"name": "id", "in": "path", "required": true, "description": "Identifier of the thing", "schema": property("string")},
				map[string]any{"name": "state", "in": "query", "description": "Only a thing in this state", "schema": map[string]any{"type": "string", "enum": []string{"open", "closed"}}},
				map[string]any{"name": "limit", "in": "query", "description": "How many labels to return", "schema": property("integer")},
			},
			"responses": map[string]any{"200": map[string]any{"description": "The thing", "content": map[string]any{"application/json": map[string]any{"schema": map[string]any{
				"type": "object",
				"properties": map[string]any{
					"id": property("integer"), "name": property("string"), "state": property("string"), "note": property("string"),
					"url":    map[string]any{"type": "string", "format": "uri"},
					"owner":  map[string]any{"type": "object", "properties": map[string]any{"login": property("string"), "id": property("integer"), "avatar_url": map[string]any{"type": "string", "format": "uri"}}},
					"labels": map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"name": property("string"), "color": property("string")}}},
				},
			}}}}},
		}}
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": fmt.Sprintf("Service %d", i), "version": "1.0.0"},
		"servers": []any{map[string]any{"url": upstream}},
		"paths":   paths,
	}
}

// startToFirstCall returns the time from the start of the process to the answer of
// the first tool call that it served.
func (b *bench) startToFirstCall(ctx context.Context, dir, tool string) (time.Duration, error) {
	began := time.Now()
	node, err := b.node(dir)
	if err != nil {
		return 0, err
	}
	defer node.Close()
	err = node.poll(ctx, func() error { return node.call(ctx, slug(0), tool, `{"id":"7"}`) })
	return time.Since(began), err
}

// residentAfterCalls returns the resident memory of a process that has listed each
// of its n toolsets and called a tool of it.
func (b *bench) residentAfterCalls(ctx context.Context, dir, tool string, n int) (int64, error) {
	node, err := b.node(dir)
	if err != nil {
		return 0, err
	}
	defer node.Close()
	if err := node.ready(ctx); err != nil {
		return 0, err
	}
	for i := range n {
		if _, err := node.list(ctx, slug(i)); err != nil {
			return 0, err
		}
		if err := node.call(ctx, slug(i), tool, `{"id":"7"}`); err != nil {
			return 0, err
		}
	}
	select {
	case <-time.After(settleBeforeRSS):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return node.memory("VmRSS")
}
