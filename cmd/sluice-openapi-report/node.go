package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

const github = "specs/github/api.github.com.json"

// node imports GitHub's specification into a running node, three times under
// three names, and calls a tool: the time from the request to the first answer.
func (r *report) node(ctx context.Context) error {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	defer upstream.Close()
	data := filepath.Join(r.temp, "node")
	//nolint:gosec // the binary under test
	cmd := exec.CommandContext(ctx, r.sluice, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data", data)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			fmt.Fprintln(r.out, "the node ended with", err)
		}
	}()
	endpoint, token, err := awaitNode(ctx, data, ended)
	if err != nil {
		return err
	}
	document, err := os.ReadFile(filepath.Join(r.corpus, github))
	if err != nil {
		return err
	}
	var took []float64
	for n := range 3 {
		body, err := json.Marshal(map[string]any{
			"slug": "github-" + strconv.Itoa(n), "source": map[string]any{"openapi": map[string]any{"document": string(document)}}, "baseUrl": upstream.URL,
		})
		if err != nil {
			return err
		}
		start := time.Now()
		var made struct {
			URL, Status string
			Test        struct{ Tool string }
		}
		if err := post(ctx, endpoint+"/v1/toolsets", token, body, &made); err != nil {
			return err
		}
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, made.Test.Tool)
		var answer struct {
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := post(ctx, made.URL, "", []byte(call), &answer); err != nil {
			return err
		}
		if answer.Result.IsError || len(answer.Result.Content) != 1 || answer.Result.Content[0].Text != `{"ok":true}` {
			return fmt.Errorf("the call answers %+v", answer)
		}
		took = append(took, time.Since(start).Seconds())
	}
	slices.Sort(took)
	r.add("GitHub: import → published → first call on a running node (median of 3)", "≤ 2 s", took[1] <= 2, "%.2f s", took[1])
	return nil
}

// awaitNode waits until the node has written where it is and answers.
func awaitNode(ctx context.Context, data string, ended <-chan error) (endpoint, token string, err error) {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		select {
		case err := <-ended:
			return "", "", fmt.Errorf("the node ended: %w", err)
		case <-ctx.Done():
			return "", "", ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		at, errAt := os.ReadFile(filepath.Join(data, "endpoint"))
		key, errKey := os.ReadFile(filepath.Join(data, "admin.token"))
		if errAt != nil || errKey != nil {
			continue
		}
		endpoint, token = strings.TrimSpace(string(at)), strings.TrimSpace(string(key))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/readyz", http.NoBody)
		if err != nil {
			return "", "", err
		}
		res, err := client.Do(req)
		if err != nil {
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return endpoint, token, nil
		}
	}
	return "", "", errors.New("the node was not ready within a minute")
}

// client talks to the node and the upstream of this machine only.
var client = &http.Client{Timeout: time.Minute}

func post(ctx context.Context, url, token string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Prefer", "wait=60")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	} else {
		req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode > 299 || res.StatusCode == http.StatusAccepted {
		return fmt.Errorf("%s answered %d: %.500s", url, res.StatusCode, b)
	}
	return json.Unmarshal(b, out)
}

// build makes and opens the connector of a specification of the corpus.
func (r *report) build(ctx context.Context, file string) (*connector.Connector, string, error) {
	data, err := os.ReadFile(filepath.Join(r.corpus, file))
	if err != nil {
		return nil, "", err
	}
	dir := filepath.Dir(filepath.Join(r.corpus, file))
	api := new(operation.API)
	b := connector.NewBuilder(api)
	opts := openapi.Options{Each: b.Add, Open: func(path string) ([]byte, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return root.ReadFile(filepath.FromSlash(path))
	}}
	res, err := openapi.Compile(ctx, openapi.Source{Name: file, Data: data, Path: filepath.Base(file)}, opts)
	if err != nil || res.Tools == 0 {
		return nil, "", err
	}
	*api = *res.API
	a, err := b.Finish()
	if err != nil {
		return nil, "", err
	}
	c, err := connector.Open(a.Module)
	return c, a.Digest, err
}

// memory imports specifications fifty times and looks at what stays.
func (r *report) memory(ctx context.Context) error {
	specs, err := r.specs()
	if err != nil {
		return err
	}
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	digests := map[string]string{}
	same := true
	var base uint64
	const imports, warm = 50, 10
	for n := range warm + imports {
		if n == warm {
			base = live()
		}
		file := github
		if n%warm > 0 {
			file = specs[n%warm*11%len(specs)].file
		}
		_, digest, err := r.build(ctx, file)
		if err != nil {
			return err
		}
		if was, ok := digests[file]; ok && was != digest {
			same = false
		}
		digests[file] = digest
	}
	growth := int64(live()) - int64(base)
	const slack = 1 << 20
	r.add("live heap after 50 imports over that after the first 10", "≤ 1 MB more", growth <= slack, "%+.2f MB", float64(growth)/(1<<20))
	r.add("the same specification gives the same bytes", "always", same, "%d specifications, 5 or more times each", len(digests))
	return nil
}
