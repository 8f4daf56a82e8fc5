package streamable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// bridgeLines runs the bridge on input and returns the messages it wrote.
func bridgeLines(t *testing.T, url, input string) []string {
	t.Helper()
	var out bytes.Buffer
	b := &Bridge{URL: url, HTTP: http.DefaultClient, Version: "test", Log: func(string, ...any) {}, Explain: func(error) string { return "cannot be reached" }}
	if err := b.Run(t.Context(), strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// A server that fails in any way still leaves one answer for each request, so a
// client on stdio never waits for ever.
func TestBridgeAnswersWhenTheServerDoesNot(t *testing.T) {
	const request = `{"jsonrpc":"2.0","id":"a","method":"tools/list"}` + "\n"
	f := func(name string, handler http.HandlerFunc, want string) {
		t.Helper()
		srv := httptest.NewServer(handler)
		defer srv.Close()
		got := bridgeLines(t, srv.URL, request)
		var m struct {
			ID    string `json:"id"`
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if len(got) != 1 || json.Unmarshal([]byte(got[0]), &m) != nil || m.ID != "a" || !strings.Contains(m.Error.Message, want) {
			t.Errorf("%s: wrote %q, want one error for id a with %q", name, got, want)
		}
	}
	text := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	f("plain text", text(500, "text/plain", "sorry"), "HTTP 500")
	f("html", text(200, "text/html", "<p>login</p>"), "login")
	f("not JSON-RPC", text(404, "application/json", `{"detail":"nothing here"}`), "nothing here")
	f("error without id", text(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"bad origin"}}`), "bad origin")
	f("error with the id null", text(401, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":401,"message":"needs a token"}}`), "needs a token")
	f("empty event stream", text(200, "text/event-stream", ": nothing\n\n"), "without an answer")
	f("closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "cannot be reached")
}

func TestBridgeMessages(t *testing.T) {
	var headers http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(b, &m)
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		headers = r.Header
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":%s,\"result\":{}}\n\n", m.ID)
	}))
	defer srv.Close()
	got := bridgeLines(t, srv.URL, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n\n"+
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"přidej","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	want := []string{`{"jsonrpc":"2.0","method":"notifications/progress"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("wrote %q, want %q", got, want)
	}
	for name, want := range map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?cMWZaWRlag==?=", "Mcp-Protocol-Version": "2026-07-28"} {
		if got := headers.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := bridgeLines(t, srv.URL, "no json\n"); len(got) != 1 || !strings.Contains(got[0], "-32700") {
		t.Errorf("a line that is not JSON: %q, want error -32700", got)
	}
}

func TestHeaderValue(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := headerValue(in); got != want {
			t.Errorf("headerValue(%q) = %q, want %q", in, got, want)
		}
	}
	f("list_pets", "list_pets")
	f(" x", "=?base64?IHg=?=")
	f("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?=")
}

// TestMaxCalls: so many calls run at a time. One more waits, and a call that is cancelled
// meanwhile makes room for it: a client whose calls all hang can end them.
func TestMaxCalls(t *testing.T) {
	began := make(chan string, 2*maxCalls)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var m struct{ ID json.Number }
		if _ = json.Unmarshal(b, &m); m.ID == "" {
			return // a notification
		}
		began <- m.ID.String()
		<-r.Context().Done() // it hangs
	}))
	defer srv.Close()
	in, write := io.Pipe()
	b := &Bridge{URL: srv.URL, HTTP: srv.Client(), Version: "test", Log: func(string, ...any) {}, Explain: func(error) string { return "cannot be reached" }}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx, in, io.Discard) }()
	for i := range maxCalls {
		fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`+"\n", i+1)
	}
	for range maxCalls {
		<-began
	}
	fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`+"\n", maxCalls+1)
	select {
	case id := <-began:
		t.Errorf("call %s began beside %d others", id, maxCalls)
	default:
	}
	fmt.Fprintln(write, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if id := <-began; id != fmt.Sprint(maxCalls+1) {
		t.Errorf("after one was cancelled %s began", id)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_ = write.Close()
}
