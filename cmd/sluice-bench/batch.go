package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	batchCalls = 20
	batchTakes = 200 * time.Millisecond
	batchSpec  = `{"openapi":"3.0.3","info":{"title":"Slow","version":"1"},"servers":[{"url":%q}],"paths":{"/wait":{"get":{"operationId":"wait","responses":{"200":{"description":"OK"}}}}}}`
)

// benchBatch times a batch of 20 calls to one upstream that takes 200 ms for each.
func benchBatch(ctx context.Context, b *bench) error {
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(batchTakes):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"waited":true}`))
	}))
	defer up.Close()
	spec := filepath.Join(dir, "slow.json")
	if err := os.WriteFile(spec, fmt.Appendf(nil, batchSpec, up.URL), 0o600); err != nil {
		return err
	}
	n, err := b.node(filepath.Join(dir, "data"), spec)
	if err != nil {
		return err
	}
	defer n.Close()
	slug, tools, err := n.safeTools(ctx)
	if err != nil {
		return err
	}
	if err := n.api(ctx, http.MethodPatch, "/v1/toolsets/"+slug, map[string]any{"batch": true}, nil); err != nil {
		return err
	}
	if err := n.api(ctx, http.MethodPost, "/v1/toolsets/"+slug+"/test", map[string]any{"tool": tools[0]}, nil); err != nil {
		return err
	}
	one := fmt.Sprintf(`{"tool":%q}`, tools[0])
	arguments := `{"calls":[` + strings.Repeat(one+",", batchCalls-1) + one + `]}`
	var took []float64
	for range b.count {
		begin := time.Now()
		if err := n.call(ctx, slug, "batch", arguments); err != nil {
			return err
		}
		took = append(took, float64(time.Since(begin).Microseconds())/1e3)
	}
	b.report("batch.20x200.ms", median(took), fmt.Sprintf("%d calls of %s, %d batches", batchCalls, batchTakes, b.count))
	return nil
}
