package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Protocol versions this client speaks: the stateless one first, and the newest
// with a handshake for servers that do not know it.
const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
)

// maxMessage of MCP that is read: results are cut by the gateway far below.
const maxMessage = 64 << 20

// mcpClient calls a toolset URL for "sluice call" and "sluice doctor". It speaks
// MCP over Streamable HTTP in both eras: 2026-07-28 is tried first, and a server
// that does not know it is greeted with initialize.
type mcpClient struct {
	url     string
	http    *http.Client
	access  secrets.Secret // opens the URL; zero: nothing is sent
	version string         // settled by connect
	session string         // Mcp-Session-Id of a server that has sessions
	nextID  atomic.Int64
	trace   io.Writer
}

// rpcError is a JSON-RPC error answer.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (MCP error %d)", e.Message, e.Code) }

// rpcAnswer is a JSON-RPC response.
type rpcAnswer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// connect settles the protocol version.
func (c *mcpClient) connect(ctx context.Context) error {
	c.version = modernVersion
	_, err := c.request(ctx, "server/discover", "", map[string]any{})
	if err == nil {
		return nil
	}
	if status, ok := errors.AsType[*statusError](err); ok && (status.status == http.StatusUnauthorized || status.status == http.StatusForbidden) {
		return problem.New(problem.Unauthenticated, "%s refuses the credentials: %s", redactURL(c.url), status.Error()).
			Fix("put a valid access token into SLUICE_ACCESS_TOKEN; see: sluice toolset access TOOLSET").Because(err)
	}
	rpc, isRPC := errors.AsType[*rpcError](err)
	if _, isStatus := errors.AsType[*statusError](err); !isStatus && !isRPC {
		return err
	}
	const unsupportedVersion, methodNotFound = -32022, -32601
	if isRPC && rpc.Code != unsupportedVersion && rpc.Code != methodNotFound && rpc.Code != -32600 && rpc.Code != -32602 {
		return err
	}
	return c.initialize(ctx, legacyVersion)
}

// initialize does the handshake of the older protocol versions.
func (c *mcpClient) initialize(ctx context.Context, version string) error {
	c.version = version
	result, err := c.request(ctx, "initialize", "", map[string]any{
		"protocolVersion": version, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "sluice", "version": versionOrDevel()},
	})
	if err != nil {
		return err
	}
	var r struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(result, &r); err != nil || r.ProtocolVersion == "" {
		return problem.New(problem.Unavailable, "%s does not speak MCP: initialize has no protocolVersion", redactURL(c.url))
	}
	c.version = r.ProtocolVersion
	_, err = c.send(ctx, "notifications/initialized", "", []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), nil)
	return err
}

func versionOrDevel() string { return first(version, "devel") }

// statusError is an HTTP answer without a JSON-RPC message.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s %s", e.status, http.StatusText(e.status), e.body))
}

// request sends one request and returns its result. name is the tool of a call,
// which the modern protocol repeats in a header.
func (c *mcpClient) request(ctx context.Context, method, name string, params map[string]any) (json.RawMessage, error) {
	if c.version == modernVersion {
		meta, _ := params["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["io.modelcontextprotocol/protocolVersion"] = modernVersion
		if meta["io.modelcontextprotocol/clientCapabilities"] == nil {
			meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
		}
		meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": "sluice", "version": versionOrDevel()}
		params["_meta"] = meta
	}
	id := c.nextID.Add(1)
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, fmt.Errorf("writing the %s request: %w", method, err)
	}
	answer, err := c.send(ctx, method, name, body, json.RawMessage(strconv.FormatInt(id, 10)))
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	return answer.Result, nil
}

// send posts one message and returns the response with id; nil for a notification.
func (c *mcpClient) send(ctx context.Context, method, name string, body []byte, id json.RawMessage) (*rpcAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("writing the %s request: %w", method, err)
	}
	mcpHeaders(req.Header, c.version, c.session, method, name)
	showAccess(req.Header, c.access)
	resp, err := c.http.Do(req)
	if err != nil {
		if p := asUnreachable(err); p != nil {
			return nil, p
		}
		return nil, fmt.Errorf("sending %s: %w", method, err)
	}
	defer resp.Body.Close()
	if c.trace != nil {
		fmt.Fprintf(c.trace, "> POST %s  %s\n< %d %s\n", redactURL(c.url), method, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	if s := resp.Header.Get("Mcp-Session-Id"); s != "" && method == "initialize" {
		c.session = s
	}
	if id == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxMessage)) // so that the connection is used again
		if resp.StatusCode >= 300 {
			return nil, &statusError{status: resp.StatusCode}
		}
		return nil, nil //nolint:nilnil // a notification has no answer
	}
	var found *rpcAnswer
	err = eachMessage(resp, func(m []byte) bool {
		var a rpcAnswer
		if json.Unmarshal(m, &a) == nil && a.Method == "" && (bytes.Equal(a.ID, id) || len(a.ID) == 0 && a.Error != nil) {
			found = &a
		}
		return found == nil
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, problem.New(problem.Unavailable, "%s ended its answer to %s without a result", redactURL(c.url), method)
	}
	return found, nil
}

// mcpHeaders sets what each POST of MCP carries.
func mcpHeaders(h http.Header, version, session, method, name string) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("User-Agent", "sluice/"+versionOrDevel())
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	if version != "" && method != "initialize" {
		h.Set("MCP-Protocol-Version", version)
	}
	if version >= modernVersion {
		h.Set("Mcp-Method", method)
		if name != "" {
			h.Set("Mcp-Name", headerValue(name))
		}
	}
}

// showAccess puts the access token on a request.
func showAccess(h http.Header, token secrets.Secret) {
	if !token.IsZero() {
		h.Set("Authorization", "Bearer "+token.Reveal())
	}
}

// eachMessage gives every JSON-RPC message of an HTTP answer to f until it
// returns false: the body of a JSON answer, each event of an event stream. An
// answer that is neither is a *statusError.
func eachMessage(resp *http.Response, f func([]byte) bool) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	body := io.LimitReader(resp.Body, maxMessage)
	switch {
	case kind == "text/event-stream" && resp.StatusCode < 300:
		return eachEvent(body, f)
	case kind == "application/json":
		b, err := io.ReadAll(body)
		if err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		var m struct {
			JSONRPC string `json:"jsonrpc"`
		}
		if json.Unmarshal(b, &m) != nil || m.JSONRPC == "" {
			return &statusError{resp.StatusCode, clip(string(b), 300)}
		}
		f(b)
		return nil
	default:
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // only to show its beginning
		return &statusError{resp.StatusCode, clip(string(b), 300)}
	}
}

// eachEvent gives the data of every event of a stream to f (HTML Living Standard,
// server-sent events).
func eachEvent(r io.Reader, f func([]byte) bool) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxMessage)
	var data []byte
	for s.Scan() {
		line := bytes.TrimSuffix(s.Bytes(), []byte("\r"))
		switch {
		case len(line) == 0:
			if len(data) > 0 && !f(data) {
				return nil
			}
			data = data[:0]
		case bytes.HasPrefix(line, []byte("data:")):
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(line[len("data:"):], []byte(" "))...)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("reading the event stream: %w", err)
	}
	if len(data) > 0 {
		f(data)
	}
	return nil
}

// clip cuts text from outside for an error and takes control characters out.
func clip(s string, n int) string {
	s = printable(strings.Join(strings.Fields(s), " "))
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
