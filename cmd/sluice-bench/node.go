package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// node is one running sluice binary.
type node struct {
	*child
	gateway, admin string // host:port
	scheme         string // of the gateway's URLs
	data           string
	temp           bool // data is removed with the node
	client         *http.Client
}

// tempNode starts "sluice run" with args on a data directory of its own, which Close removes.
func (b *bench) tempNode(args ...string) (*node, error) {
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, err
	}
	n, err := b.node(dir, args...)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	n.temp = true
	return n, nil
}

// Close ends the process and removes a data directory of its own.
func (n *node) Close() {
	n.child.Close()
	if n.temp {
		_ = os.RemoveAll(n.data) // a temporary one
	}
}

// demoNode starts a node with the demo API, and names its toolset and the safe tools of it.
func (b *bench) demoNode(ctx context.Context) (n *node, slug string, tools []string, err error) {
	if n, err = b.tempNode("--demo"); err != nil {
		return nil, "", nil, err
	}
	if slug, tools, err = n.safeTools(ctx); err != nil {
		n.Close()
		return nil, "", nil, err
	}
	return n, slug, tools, nil
}

// proxyNode starts an MCP server of the official SDK, and a node with a toolset of it, acme.
func (b *bench) proxyNode(ctx context.Context) (server *child, n *node, err error) {
	if server, err = b.role(ctx, "mcp-gosdk"); err != nil {
		return nil, nil, err
	}
	if n, err = b.tempNode(); err == nil {
		if err = n.addServer(ctx, "acme", "http://"+server.addr+"/"); err == nil {
			return server, n, nil
		}
		n.Close()
	}
	server.Close()
	return nil, nil, err
}

// node starts "sluice run" with args on a data directory.
func (b *bench) node(data string, args ...string) (*node, error) {
	return b.startNode(data, func(n *node) []string {
		return append([]string{"run", "--listen", n.gateway, "--admin-listen", n.admin, "--data", data, "--allow-private-upstreams=127.0.0.0/8", "--no-input"}, args...)
	})
}

// startNode starts a node at two free addresses, with the arguments that args makes of them.
func (b *bench) startNode(data string, args func(*node) []string) (*node, error) {
	n := &node{data: data, scheme: "http://", client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	for _, a := range []*string{&n.gateway, &n.admin} {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		*a = l.Addr().String()
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	binary, err := filepath.Abs(b.sluice)
	if err != nil {
		return nil, err
	}
	//nolint:gosec,noctx // the binary under test; Close ends it
	n.child, err = start(exec.Command(binary, args(n)...))
	return n, err
}

// poll calls f until it succeeds.
func (n *node) poll(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-n.done:
			return fmt.Errorf("sluice ended: %s", n.log)
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w\n%s", startTimeout, err, n.log)
		case <-tick.C:
		}
	}
}

// pollEvery is short against a start, which takes tens of milliseconds.
const pollEvery = time.Millisecond

// ready waits until the node says that it serves.
func (n *node) ready(ctx context.Context) error {
	return n.poll(ctx, func() error {
		_, err := n.do(ctx, http.MethodGet, n.scheme+n.gateway+"/readyz", nil, nil)
		return err
	})
}

// api calls the admin API and decodes the answer into out.
func (n *node) api(ctx context.Context, method, path string, in, out any) error {
	token, err := os.ReadFile(filepath.Join(n.data, "admin.token"))
	if err != nil {
		return err
	}
	var body []byte
	if in != nil {
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	answer, err := n.do(ctx, method, "http://"+n.admin+path, body, http.Header{
		"Authorization": {"Bearer " + strings.TrimSpace(string(token))},
		"Content-Type":  {"application/json"},
		"Prefer":        {"wait=60"},
		"If-Match":      {"*"},
	})
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

// call runs one tool of a toolset. An answer that is an error, or empty, is an error.
func (n *node) call(ctx context.Context, slug, tool, arguments string) error {
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := n.mcp(ctx, slug, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s,`, tool, arguments), &r); err != nil {
		return err
	}
	if r.IsError || len(r.Content) == 0 {
		return fmt.Errorf("tools/call %s of %s: %v", tool, slug, r)
	}
	return nil
}

// listedTool is what the benchmarks need of a tool.
type listedTool struct {
	Name        string
	Annotations struct{ ReadOnlyHint bool }
	InputSchema struct{ Required []string }
}

// list returns the tools of a toolset.
func (n *node) list(ctx context.Context, slug string) ([]listedTool, error) {
	var r struct{ Tools []listedTool }
	err := n.mcp(ctx, slug, "tools/list", "", "", &r)
	return r.Tools, err
}

// mcp sends one request of the newer era with params, which end in a comma, and
// decodes the result into out.
func (n *node) mcp(ctx context.Context, slug, method, name, params string, out any) error {
	const version = "2026-07-28"
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"sluice-bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params, version)
	header := http.Header{
		"Content-Type":         {"application/json"},
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {version},
		"Mcp-Method":           {method},
	}
	if name != "" {
		header.Set("Mcp-Name", name)
	}
	answer, err := n.do(ctx, http.MethodPost, n.scheme+n.gateway+"/t/"+slug, []byte(body), header)
	if err != nil {
		return err
	}
	var r struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(answer, &r); err != nil {
		return err
	}
	if r.Result == nil {
		return fmt.Errorf("%s of %s: %s", method, slug, answer)
	}
	return json.Unmarshal(r.Result, out)
}

func (n *node) do(ctx context.Context, method, url string, body []byte, header http.Header) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	res, err := n.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %.500s", method, url, res.Status, b)
	}
	return b, nil
}
