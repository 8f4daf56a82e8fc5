package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const withProgress = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"q":"x"},"_meta":{"progressToken":"p\n1","io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

func streamed(body, accept string) *fasthttp.RequestCtx {
	return request(body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo", "Accept", accept)
}

const both = "application/json, text/event-stream"

// TestStream: what a call notifies precedes its result in a stream, and a call
// that notifies nothing, or whose client cannot read a stream, has a plain answer.
func TestStream(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	notify := func(to *Stream) {
		to.Progress(1, 4, "one\ntwo")
		to.Progress(1, 4, "again") // must increase
		to.Log(LevelDebug, "x", []byte(`"too little"`))
		to.Log(LevelError, "x", []byte("{\n\"a\":1}"))
		to.Progress(4, 4, "")
	}
	f := func(body, accept string, calling func(*Stream), want ...string) {
		t.Helper()
		ts := newStub(t)
		ts.calling = calling
		rc := streamed(body, accept)
		s.Serve(rc, ts)
		stream := string(rc.Response.Header.ContentType()) == "text/event-stream"
		if stream && len(ts.done) != 0 {
			t.Error("done before the stream was read")
		}
		out := rc.Response.Body() // reads the stream and closes it
		if len(ts.done) != 1 || ts.done[0].Method != MethodToolsCall {
			t.Errorf("done %+v", ts.done)
		}
		if !stream {
			out = appendEvent(nil, out)
		} else if len(want) == 1 {
			t.Errorf("%s: a stream", body)
		}
		got := events(t, out)
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i, w := range want {
			if !strings.Contains(got[i], w) {
				t.Errorf("event %d is %s, want %s", i, got[i], w)
			}
		}
	}
	f(withProgress, both, notify,
		`"method":"notifications/progress","params":{"progressToken":"p\n1","progress":1,"total":4,"message":"one\ntwo"}`,
		`"method":"notifications/message","params":{"level":"error","logger":"x","data":{ "a":1}}`,
		`"progress":4,"total":4}`,
		`"id":3,"result":{"resultType":"complete","content":`)
	f(withProgress, both, nil, `"id":3,"result"`)
	f(withProgress, "application/json", notify, `"id":3,"result"`)
	f(withProgress, "text/event-stream;q=0", notify, `"id":3,"result"`)
	f(modernCall, both, notify, `"id":3,"result"`)
	f(withProgress, both, func(to *Stream) { to.Progress(1, 0, ""); panic("x") }, `"progress":1}`, `"id":3,"error":{"code":-32603`)
}

// TestPending: what waits for a client that does not read is bounded.
func TestPending(t *testing.T) {
	s := &Stream{token: []byte("1"), wake: make(chan struct{}, 1)}
	text := strings.Repeat("x", 1000)
	for n := range 3000 {
		s.Progress(float64(n), 0, text)
		if len(s.pending) > maxPending {
			t.Fatalf("%d bytes are pending", len(s.pending))
		}
	}
	if len(s.pending) < maxPending-2000 {
		t.Fatalf("%d bytes are pending, the bound is %d", len(s.pending), maxPending)
	}
	if n := len(events(t, s.pending)); n < 900 || n > 1100 {
		t.Fatalf("%d events are pending", n)
	}
}

// events takes a stream apart as a client does.
func events(t *testing.T, stream []byte) (out []string) {
	t.Helper()
	for event := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "event: message\ndata: ")
		if !ok || strings.ContainsAny(data, "\r\n") || !json.Valid([]byte(data)) {
			t.Fatalf("event %q", event)
		}
		out = append(out, data)
	}
	return out
}

// TestBeat: a call that takes long says so at once a second, then less often, and
// with progress that increases.
func TestBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		ts := newStub(t)
		ts.calling = func(to *Stream) {
			to.Beat("waiting")
			time.Sleep(12 * time.Second)
		}
		rc := streamed(withProgress, both)
		s.Serve(rc, ts)
		got := events(t, rc.Response.Body())
		if len(got) != 4 || !strings.Contains(got[0], `"progress":1,"message":"waiting"`) || !strings.Contains(got[1], `"progress":6,`) || !strings.Contains(got[2], `"progress":11,`) {
			t.Fatalf("events %q", got)
		}
	})
}

// TestStreamClosed: a client that goes away in the middle ends the call.
func TestStreamClosed(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ts := newStub(t)
	ts.cancelled = make(chan struct{})
	ts.calling = func(to *Stream) {
		to.Progress(1, 2, "")
		<-ts.cancelled
	}
	rc := streamed(withProgress, both)
	s.Serve(rc, ts)
	w := bufio.NewWriterSize(brokenWriter{}, 16)
	if err := rc.Response.Write(w); err == nil {
		t.Fatal("writing to a closed connection worked")
	}
	if len(ts.done) != 1 {
		t.Fatalf("done %+v", ts.done)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestListen: what a subscription's events look like.
func TestListen(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var card *Card // of more than tools
	call := func(id, notifications string) (*fasthttp.RequestCtx, *stub) {
		ts := newStub(t)
		if card != nil {
			ts.card = card
		}
		rc := request(`{"jsonrpc":"2.0","id":`+id+`,"method":"subscriptions/listen","params":{"notifications":`+notifications+
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
		s.Serve(rc, ts)
		return rc, ts
	}
	f := func(id, notifications, ack string) {
		t.Helper()
		rc, ts := call(id, notifications)
		if ts.sub == nil || len(rc.Response.Body()) != 0 {
			t.Fatalf("%s: %d %s", notifications, rc.Response.StatusCode(), rc.Response.Body())
		}
		meta := `{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}`
		if got := events(t, ts.sub.AppendAck(nil))[0]; got != `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":`+meta+`,"notifications":`+ack+`}}` {
			t.Errorf("acknowledged with %s", got)
		}
		if got := events(t, ts.sub.AppendChanged(nil, ListTools))[0]; got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":`+meta+`}}` {
			t.Errorf("changed: %s", got)
		}
		if got := events(t, ts.sub.AppendChanged(nil, ListPrompts|ListResources)); len(got) != 2 || got[0] != `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":`+meta+`}}` ||
			!strings.Contains(got[1], "notifications/resources/list_changed") {
			t.Errorf("changed: %s", got)
		}
		if got := events(t, ts.sub.AppendEnd(nil))[0]; got != `{"jsonrpc":"2.0","id":`+id+`,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}}` {
			t.Errorf("end: %s", got)
		}
	}
	f(`7`, `{"toolsListChanged":true,"promptsListChanged":true}`, `{"toolsListChanged":true}`)
	card = NewCard(Info{Name: "acme", Prompts: true, Resources: true})
	f(`7`, `{"resourcesListChanged":true,"promptsListChanged":true,"x":true}`, `{"promptsListChanged":true,"resourcesListChanged":true}`)
	card = NewCard(Info{Name: "acme", Resources: true, Subscribe: true})
	f(`7`, `{"resourceSubscriptions":["a://b",1,"c\"d","a://b"]}`, `{"resourceSubscriptions":["a://b","c\"d"]}`)
	_, ts := call("1", `{"resourceSubscriptions":["`+strings.Join(strings.Split(strings.Repeat("x", maxFollowed+1), ""), `","`)+`"]}`)
	if n := len(ts.sub.URIs()); n != 1 {
		t.Errorf("%d resources of one name", n)
	}
	var many []string
	for i := range maxFollowed + 1 {
		many = append(many, fmt.Sprintf("%q", fmt.Sprint("x://", i)))
	}
	_, ts = call("1", `{"resourceSubscriptions":[`+strings.Join(many, ",")+`]}`)
	if n := len(ts.sub.URIs()); n != maxFollowed {
		t.Errorf("%d resources are followed, not %d", n, maxFollowed)
	}
	if got := events(t, ts.sub.AppendUpdated(nil, `x"`))[0]; got != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"uri":"x\""}}` {
		t.Errorf("updated: %s", got)
	}
	card = nil
	f(`"a\"b"`, `{"toolsListChanged":false}`, `{}`)
	f(`"`+strings.Repeat("x", maxSubscriptionID-2)+`"`, `{}`, `{}`)
	for _, c := range [][3]string{
		{`7`, `[]`, "notifications"}, {`"full"`, `{}`, "too many"}, {`"` + strings.Repeat("x", maxSubscriptionID-1) + `"`, `{}`, "too long"},
	} {
		rc, ts := call(c[0], c[1])
		if len(ts.done) != 1 || rc.Response.StatusCode() < 400 || !bytes.Contains(rc.Response.Body(), []byte(c[2])) {
			t.Errorf("%s: %d %s", c[1], rc.Response.StatusCode(), rc.Response.Body())
		}
	}
}

func TestSetLevel(t *testing.T) {
	for _, level := range levelNames[1:] {
		if got := levelOf(jsonscan.Trusted([]byte(`"` + level + `"`))); got.String() != level {
			t.Errorf("level %s is %s", level, got)
		}
	}
	if levelOf(jsonscan.Trusted([]byte(`""`))) != LevelNone || levelOf(jsonscan.Trusted([]byte(`3`))) != LevelNone {
		t.Error("no level is one")
	}
}

// FuzzEvent: whatever JSON a message is, a client that reads the stream line by
// line gets the same message.
func FuzzEvent(f *testing.F) {
	f.Add([]byte("{\"a\":\n 1}"))
	f.Add([]byte("\"\\r\\n\""))
	f.Add([]byte("[1,\r2]"))
	f.Fuzz(func(t *testing.T, message []byte) {
		if !json.Valid(message) {
			t.Skip("messages are JSON")
		}
		lines := bufio.NewScanner(bytes.NewReader(appendEvent(nil, message)))
		lines.Buffer(nil, len(message)+100)
		var data []string
		ends := 0
		for lines.Scan() {
			switch line := lines.Text(); {
			case line == "":
				ends++
			case strings.HasPrefix(line, "data: "):
				data = append(data, line[len("data: "):])
			case line != "event: message":
				t.Fatalf("%q has the line %q", message, line)
			}
		}
		var want, got bytes.Buffer
		if json.Compact(&want, message) != nil || len(data) != 1 || json.Compact(&got, []byte(data[0])) != nil || !bytes.Equal(got.Bytes(), want.Bytes()) || ends != 1 {
			t.Fatalf("%q became %q with %d ends", message, data, ends)
		}
	})
}
