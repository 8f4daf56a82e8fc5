package streamable

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// maxCalls limits the calls of one stdio client that run at the same time. Clients run a
// handful; beyond it a new message waits, as with a full pipe.
const maxCalls = 64

// Bridge copies MCP messages between stdio and Streamable HTTP. It changes none of them:
// the client on stdio and the server negotiate everything themselves, so the sessions of
// the SDK, which do that for their user, are of no use here.
type Bridge struct {
	URL     string
	HTTP    *http.Client
	Header  http.Header // sent with each request
	Version string      // of this program
	Log     func(format string, args ...any)
	// Explain writes an error of the network for people.
	Explain func(error) string

	outMu sync.Mutex
	out   io.Writer // guarded by outMu

	mu      sync.Mutex
	version string                        // guarded by mu; settled by initialize
	session string                        // guarded by mu
	calls   map[string]context.CancelFunc // guarded by mu; running requests by their JSON id
}

// message is what the bridge needs to know of one.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string          `json:"name"`
		URI             string          `json:"uri"`
		TaskID          string          `json:"taskId"`
		RequestID       json.RawMessage `json:"requestId"`
		ProtocolVersion string          `json:"protocolVersion"`
		Meta            struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// Run copies until in ends; what is running then may finish. It returns the cause of ctx
// when that ends first.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	b.out, b.calls = out, map[string]context.CancelFunc{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, maxCalls)
	lines := make(chan []byte, maxCalls)
	readErr := make(chan error, 1)
	go func() { readErr <- b.readLines(ctx, in, lines) }()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case line, more := <-lines:
			if !more {
				return <-readErr
			}
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				b.write([]byte(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"the message is not JSON"}}`))
				continue
			}
			if m.Method == "notifications/cancelled" {
				b.cancel(m.Params.RequestID)
			}
			if m.Method == "initialize" || len(m.ID) == 0 {
				b.forward(ctx, &m, line) // what follows needs its answer, or must not overtake it
				continue
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			running.Go(func() {
				defer func() { <-slots }()
				b.forward(ctx, &m, line)
			})
		}
	}
}

// readLines sends each line of in that is not blank, and closes lines. It ends with in, or
// with ctx when somebody has to take the next line. What cancels a call does so at once:
// while as many calls run as may, no line is taken until one of them ends.
func (b *Bridge) readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	defer close(lines)
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), maxMessage)
	for s.Scan() {
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		if bytes.Contains(line, []byte(`"notifications/cancelled"`)) {
			var m message
			if json.Unmarshal(line, &m) == nil && m.Method == "notifications/cancelled" {
				b.cancel(m.Params.RequestID)
			}
		}
		select {
		case lines <- bytes.Clone(line):
		case <-ctx.Done():
			return nil
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("reading stdin: %w", err)
	}
	return nil
}

// cancel ends a running request: in the modern era closing its stream is how a
// server learns of it.
func (b *Bridge) cancel(id json.RawMessage) {
	b.mu.Lock()
	stop := b.calls[string(id)]
	b.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// forward posts one message and writes what comes back.
func (b *Bridge) forward(ctx context.Context, m *message, line []byte) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.mu.Lock()
	version, session := b.version, b.session
	if m.Params.Meta.Version != "" {
		version = m.Params.Meta.Version
	}
	if m.Method != "" && len(m.ID) > 0 {
		b.calls[string(m.ID)] = stop
	}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.calls, string(m.ID))
		b.mu.Unlock()
	}()
	if m.Method == "notifications/cancelled" && version >= Modern {
		return // the stream was closed; over HTTP the modern era has no such message
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL, bytes.NewReader(line))
	if err != nil {
		b.fail(m, "the toolset URL cannot be used")
		return
	}
	maps.Copy(req.Header, b.Header)
	name := ""
	switch m.Method {
	case "tools/call", "prompts/get":
		name = m.Params.Name
	case "resources/read":
		name = m.Params.URI
	case "tasks/get", "tasks/update", "tasks/cancel":
		name = m.Params.TaskID
	}
	b.setHeaders(req.Header, version, session, m.Method, name)
	resp, err := b.HTTP.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			b.Log("✗ %s: %s", m.Method, b.Explain(err))
			b.fail(m, b.Explain(err))
		}
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent {
		return
	}
	answered := false
	err = eachMessage(resp, func(msg []byte) bool {
		var r answer
		if json.Unmarshal(msg, &r) == nil && r.Method == "" {
			answered = true
			if m.Method == "initialize" {
				b.settle(resp, r.Result)
			}
			if r.aboutHTTP() && len(m.ID) > 0 {
				// A client on stdio would wait for its answer for ever.
				b.Log("✗ %s: HTTP %d: %s", m.Method, resp.StatusCode, r.Error.Message)
				msg = errorMessage(m.ID, r.Error.Code, r.Error.Message)
			}
		}
		b.write(msg)
		return true
	})
	if ctx.Err() != nil || answered && err == nil {
		return
	}
	if err == nil {
		err = errors.New("the server closed the connection without an answer")
	}
	b.Log("✗ %s: %s", m.Method, err)
	if !answered {
		b.fail(m, err.Error())
	}
}

// settle keeps what initialize decided, for the headers of what follows.
func (b *Bridge) settle(resp *http.Response, result json.RawMessage) {
	var r struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(result, &r) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.version, b.session = r.ProtocolVersion, resp.Header.Get("Mcp-Session-Id")
}

// fail answers a request that the server did not.
func (b *Bridge) fail(m *message, text string) {
	if m.Method == "" || len(m.ID) == 0 {
		return
	}
	const internalError = -32603
	b.write(errorMessage(m.ID, internalError, text))
}

func errorMessage(id json.RawMessage, code int64, text string) []byte {
	out, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	if err != nil {
		panic("BUG: " + err.Error()) // id was read as JSON
	}
	return out
}

// write writes one message as one line.
func (b *Bridge) write(msg []byte) {
	var line bytes.Buffer
	if bytes.ContainsAny(msg, "\r\n") {
		if json.Compact(&line, msg) != nil {
			return
		}
	} else {
		line.Write(msg)
	}
	line.WriteByte('\n')
	b.outMu.Lock()
	defer b.outMu.Unlock()
	_, _ = b.out.Write(line.Bytes()) // a client that left closes stdin as well, and that ends us
}

// headerValue encodes a name for Mcp-Name: as it is when it is plain, else as
// MCP 2026-07-28 writes it, =?base64?…?=.
func headerValue(s string) string {
	plain := s == strings.TrimSpace(s) && !strings.HasPrefix(s, "=?base64?")
	for i := range len(s) {
		plain = plain && s[i] >= 0x20 && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// setHeaders sets what each POST of MCP carries.
func (b *Bridge) setHeaders(h http.Header, version, session, method, name string) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("User-Agent", "sluice/"+b.Version)
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	if version != "" && method != "initialize" {
		h.Set("MCP-Protocol-Version", version)
	}
	if version >= Modern {
		h.Set("Mcp-Method", method)
		if name != "" {
			h.Set("Mcp-Name", headerValue(name))
		}
	}
}
