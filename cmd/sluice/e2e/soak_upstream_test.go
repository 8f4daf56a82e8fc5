package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// soakFaults are the ways in which the upstream of a soak answers, by the name of the
// tool. whole says that an agent gets what it asked for.
var soakFaults = []struct {
	name  string
	whole bool
	share int // of 1,000 calls
}{
	{"ok", true, 860},
	{"slow", true, 40},      // the body comes in pieces
	{"stall", true, 20},     // half a second of nothing before the answer
	{"hang", false, 5},      // nothing, until the connection is closed
	{"reset", false, 25},    // the connection is reset amid the answer
	{"refuse", false, 10},   // and before it
	{"truncate", false, 20}, // the body ends before its Content-Length
	{"short", false, 15},    // the Content-Length is less than the body
	{"garbage", false, 5},   // no HTTP
}

const soakStall = 500 * time.Millisecond

// soakSpec is an API with a tool for each fault.
func soakSpec(base string) []byte {
	paths := map[string]any{}
	for _, f := range soakFaults {
		paths["/"+f.name+"/{id}"] = map[string]any{"get": map[string]any{
			"operationId": f.name, "summary": "Answers " + f.name + ".",
			"parameters": []any{map[string]any{"name": "id", "in": "path", "required": true, "schema": map[string]any{"type": "string"}}},
			"responses":  map[string]any{"200": map[string]any{"description": "OK", "content": map[string]any{"application/json": map[string]any{}}}},
		}}
	}
	doc := map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "rest", "version": "1"}, "servers": []any{map[string]any{"url": base}}, "paths": paths}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // of maps and texts
	}
	return b
}

// soakUpstream is an API and, at /mcp, an MCP server of 2026-07-28 that misbehave as
// they are asked.
func soakUpstream(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			soakMCP(w, r)
			return
		}
		fault, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		misbehave(w, r, fault, "application/json", fmt.Sprintf(`{"fault":%q,"id":%q,"more":%q}`, fault, id, strings.Repeat("x", 200)))
	}))
	s.Start()
	t.Cleanup(func() { _ = s.Listener.Close(); s.CloseClientConnections(); s.Close() })
	return s
}

func soakMCP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string `json:"name"`
			Arguments struct {
				ID string `json:"id"`
			} `json:"arguments"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	say := func(result string) string {
		return `{"jsonrpc":"2.0","id":` + string(in.ID) + `,"result":` + result + `}`
	}
	switch in.Method {
	case "server/discover":
		misbehave(w, r, "ok", "application/json", say(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcp","version":"1"}}}`))
	case "tools/list":
		var tools []string
		for _, f := range soakFaults {
			tools = append(tools, fmt.Sprintf(`{"name":"mcp_%s","description":"Answers.","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}},"annotations":{"readOnlyHint":true}}`, f.name))
		}
		misbehave(w, r, "ok", "application/json", say(`{"resultType":"complete","tools":[`+strings.Join(tools, ",")+`]}`))
	case "tools/call":
		fault := strings.TrimPrefix(in.Params.Name, "mcp_")
		text, _ := json.Marshal(fmt.Sprintf(`{"fault":%q,"id":%q}`, fault, in.Params.Arguments.ID)) // a text can be marshalled
		body := say(`{"resultType":"complete","content":[{"type":"text","text":` + string(text) + `}]}`)
		if len(in.Params.Arguments.ID)%2 == 0 { // as a stream
			misbehave(w, r, fault, "text/event-stream", ": hello\n\ndata: "+body+"\n\n")
			return
		}
		misbehave(w, r, fault, "application/json", body)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// misbehave answers with body, or what a fault makes of it.
func misbehave(w http.ResponseWriter, r *http.Request, fault, kind, body string) {
	h := w.Header()
	h.Set("Content-Type", kind)
	switch fault {
	case "stall":
		select {
		case <-time.After(soakStall):
		case <-r.Context().Done():
			return
		}
		fallthrough
	case "ok":
		h.Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = io.WriteString(w, body)
		return
	case "slow":
		for i := 0; i < len(body); i += 60 {
			_, _ = io.WriteString(w, body[i:min(i+60, len(body))])
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
		return
	case "hang":
		<-r.Context().Done()
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	head := func(length int) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", kind, length)
	}
	reset := func() {
		if c, ok := conn.(*net.TCPConn); ok {
			_ = c.SetLinger(0)
		}
	}
	switch fault {
	case "reset":
		_, _ = io.WriteString(conn, head(len(body))+body[:len(body)/2])
		reset()
	case "refuse":
		reset()
	case "truncate":
		_, _ = io.WriteString(conn, head(len(body)+100)+body)
	case "short":
		_, _ = io.WriteString(conn, head(len(body)-20)+body)
	default:
		_, _ = io.WriteString(conn, "this is not HTTP\r\n\r\n"+body)
	}
}
