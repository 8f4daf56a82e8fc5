package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// greedyMoods are what plugin moody does in the toolsets that are attacked with it;
// modestMood is what it does in the one that is measured.
var greedyMoods = []string{"loop", "recurse", "grow"}

const (
	modestMood     = "echo"
	greedyCallers  = 16
	modestCallers  = 2
	modestPause    = 5 * time.Millisecond // leaves the processors to what is measured
	modestDuration = 4 * time.Second
)

// benchForeign measures on the binary what hostile plugins of some toolsets cost the
// calls of another toolset, which has a plugin too.
func benchForeign(ctx context.Context, b *bench) error {
	up, err := b.role(ctx, "rest-upstream")
	if err != nil {
		return err
	}
	defer up.Close()
	dir, err := os.MkdirTemp("", "sluice-bench-foreign-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	n, err := b.node(filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.ready(ctx); err != nil {
		return err
	}
	if err := b.publishMoody(ctx, n, dir); err != nil {
		return err
	}
	for _, mood := range append(slices.Clone(greedyMoods), modestMood) {
		if err := b.moodyToolset(ctx, n, mood, "http://"+up.addr); err != nil {
			return fmt.Errorf("toolset %s: %w", mood, err)
		}
	}
	// The modest toolset's answers must be right; what the greedy ones get is their own.
	modest := load{addr: n.gateway, connections: modestCallers, duration: modestDuration, pause: modestPause, timed: true, want: []byte("stargazers_count"), request: moodyCall(n.gateway, modestMood)}
	p99 := func() (float64, error) {
		l := modest
		if _, _, err := l.run(ctx); err != nil {
			return 0, err
		}
		slices.Sort(l.times)
		return float64(l.times[len(l.times)*99/100].Microseconds()) / 1000, nil
	}
	var alone, beside, added []float64
	for range b.count {
		quiet, err := p99()
		if err != nil {
			return err
		}
		attack, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for i := range greedyCallers {
			request := moodyCall(n.gateway, greedyMoods[i%len(greedyMoods)])
			wg.Go(func() {
				for attack.Err() == nil { // also after an answer that is no 200: too many wait
					l := load{addr: n.gateway, connections: 1, duration: time.Second, request: request}
					_, _, _ = l.run(attack)
				}
			})
		}
		busy, err := p99()
		stop()
		wg.Wait()
		if err != nil {
			return fmt.Errorf("a call of the other toolset failed: %w", err)
		}
		alone, beside, added = append(alone, quiet), append(beside, busy), append(added, busy-quiet)
	}
	b.report("plugins.foreign.added_p99.ms", median(added), fmt.Sprintf("%.2f ms over %.2f ms, no call failed", median(beside), median(alone)))
	return nil
}

// publishMoody publishes the plugin of the tests that behaves as its configuration says.
func (b *bench) publishMoody(ctx context.Context, n *node, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "cases"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "cases", "echo.json"), []byte(`{"config":{"mood":"echo"},"input":{"a":1},"output":{"a":1}}`), 0o600); err != nil {
		return err
	}
	code, err := os.ReadFile("testdata/plugins/moody/moody.wasm")
	if err != nil {
		return err
	}
	wasm, key := filepath.Join(dir, "moody.wasm"), filepath.Join(dir, "publisher.key")
	if err := os.WriteFile(wasm, code, 0o600); err != nil { //nolint:gosec // a directory that the benchmark made
		return err
	}
	for _, command := range [][]string{
		{"plugin", "sign", wasm, "--key", key},
		{"plugin", "key", "add", key + ".pub", "--name", "benchmark"},
		{"plugin", "publish", wasm, "--cases", filepath.Join(dir, "cases")},
	} {
		args := append(command, "--server", "http://"+n.admin, "--token-file", filepath.Join(n.data, "admin.token"), "--no-input")
		//nolint:gosec // the binary under test
		if out, err := exec.CommandContext(ctx, b.sluice, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("sluice %s: %w: %s", command[1], err, out)
		}
	}
	return nil
}

// moodyToolset makes a live toolset of one tool, named after the mood of the plugin that
// is bound to it. The plugin is never left out, so that the attack goes on.
func (b *bench) moodyToolset(ctx context.Context, n *node, mood, upstream string) error {
	doc, err := json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": mood, "version": "1"}, "servers": []any{map[string]any{"url": upstream}},
		"paths": map[string]any{"/orgs/acme/repos": map[string]any{"get": map[string]any{"operationId": "listRepos", "responses": map[string]any{"200": map[string]any{"description": "repositories"}}}}},
	})
	if err != nil {
		return err
	}
	in := map[string]any{"name": mood, "slug": mood, "source": map[string]any{"openapi": map[string]any{"document": string(doc)}}}
	if err := n.api(ctx, http.MethodPost, "/v1/toolsets", in, nil); err != nil {
		return err
	}
	args := []string{
		"plugin", "bind", mood, "moody", "--set", fmt.Sprintf(`{"mood":%q}`, mood), "--max-errors", "100", "--max-mean", "60000",
		"--server", "http://" + n.admin, "--token-file", filepath.Join(n.data, "admin.token"), "--no-input",
	}
	//nolint:gosec // the binary under test
	if out, err := exec.CommandContext(ctx, b.sluice, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("sluice plugin bind: %w: %s", err, out)
	}
	return n.api(ctx, http.MethodPost, "/v1/toolsets/"+mood+"/deploy", map[string]any{"reason": "benchmark"}, nil)
}

func moodyCall(addr, toolset string) []byte {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_repos","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"sluice-bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	return fmt.Appendf(nil, "POST /t/%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: list_repos\r\nContent-Length: %d\r\n\r\n%s", toolset, addr, len(body), body)
}
