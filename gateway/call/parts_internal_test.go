package call

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/script"
)

// TestTraceID: the trace of a request is in the call log when it is one.
func TestTraceID(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	for traceparent, want := range map[string]string{
		"00-" + id + "-0123456789abcdef-01": id, "00-" + id + "-0123456789abcdef-01-more": id, "00-" + id + "-0123456789abcdef-0": "", "": "", "00_" + id + "-0123456789abcdef-01": "",
		"00-" + id + "_0123456789abcdef-01": "", "00-" + strings.ToUpper(id) + "-0123456789abcdef-01": "", "00-/" + id[1:] + "-0123456789abcdef-01": "", "00-:" + id[1:] + "-0123456789abcdef-01": "",
		"00-`" + id[1:] + "-0123456789abcdef-01": "", "00-g" + id[1:] + "-0123456789abcdef-01": "",
	} {
		if got := string(traceID(jsonscan.Trusted([]byte(`{"traceparent":"` + traceparent + `"}`)))); got != want {
			t.Errorf("%q: %q, want %q", traceparent, got, want)
		}
	}
	for _, meta := range []jsonscan.Value{{}, jsonscan.Trusted([]byte(`{}`)), jsonscan.Trusted([]byte(`{"traceparent":1}`))} {
		if got := traceID(meta); got != nil {
			t.Errorf("%s: %q", meta.Raw(), got)
		}
	}
}

// TestPlainName: a name of what was left out stands in a line for the agent when it is short and
// cannot end the line.
func TestPlainName(t *testing.T) {
	for name, want := range map[string]bool{
		"": false, "a": true, "a-b_c.d": true, "a b": false, "a\nb": false, "a]": false, "~": true, "\x7f": false, "é": false, "!": true,
		strings.Repeat("a", maxToldName): true, strings.Repeat("a", maxToldName+1): false,
	} {
		if got := plainName([]byte(name)); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestResultsOfItems: what a server says of a prompt, a resource or a completion has the form of the
// protocol, or is told as the server's fault.
func TestResultsOfItems(t *testing.T) {
	many := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("{},", n), ",") + "]" }
	for _, c := range []struct {
		method mcp.Method
		result string
		ok     bool
	}{
		{mcp.MethodResourcesRead, `{"contents":[]}`, true},
		{mcp.MethodResourcesRead, `{"contents":{}}`, false},
		{mcp.MethodResourcesRead, `{"messages":[]}`, false},
		{mcp.MethodResourcesRead, `{}`, false},
		{mcp.MethodResourcesRead, `{"contents":[],"_meta":{}}`, true},
		{mcp.MethodResourcesRead, `{"contents":[],"_meta":1}`, false},
		{mcp.MethodResourcesRead, `{"contents":` + many(maxContentItems) + `}`, true},
		{mcp.MethodResourcesRead, `{"contents":` + many(maxContentItems+1) + `}`, false},
		{mcp.MethodPromptsGet, `{"messages":[]}`, true},
		{mcp.MethodPromptsGet, `{"contents":[]}`, false},
		{mcp.MethodComplete, `{"completion":{}}`, true},
		{mcp.MethodComplete, `{"completion":[]}`, false},
		{mcp.MethodSubscribe, `{}`, true},
		{mcp.MethodUnsubscribe, `{"contents":1}`, true},
	} {
		x := exchangeOf(t, nil)
		x.request = &mcp.CallParams{Method: c.method}
		if err := x.checkItem(jsonscan.Trusted([]byte(c.result))); (err == nil) != c.ok || err != nil && !problem.Is(err, problem.UpstreamMalformed) {
			t.Errorf("%s %.80s: %v", c.method, c.result, err)
		}
	}
}

// TestItemsOfContent: each kind of content has what it is made of.
func TestItemsOfContent(t *testing.T) {
	for item, says := range map[string]string{
		`{"type":"text","text":""}`: "", `{"type":"text"}`: "no text", `{"type":"text","text":1}`: "no text", `"text"`: "not an object", `{}`: "unknown type", `{"type":"video"}`: "unknown type",
		`{"type":"image","data":"","mimeType":""}`: "", `{"type":"image","data":""}`: "no data", `{"type":"audio","mimeType":""}`: "no data",
		`{"type":"resource_link","uri":"u","name":"n"}`: "", `{"type":"resource_link","uri":"u"}`: "no uri or name", `{"type":"resource_link","name":"n"}`: "no uri or name",
		`{"type":"resource","resource":{"uri":"u","text":""}}`: "", `{"type":"resource","resource":{"uri":"u","blob":""}}`: "", `{"type":"resource","resource":{"uri":"u"}}`: "no resource",
		`{"type":"resource","resource":{"uri":"u","text":"","blob":""}}`: "no resource", `{"type":"resource","resource":{"uri":"u","text":"","blob":1}}`: "no resource",
		`{"type":"resource","resource":{"uri":"u","text":1,"blob":""}}`: "no resource", `{"type":"resource","resource":{"text":""}}`: "no resource", `{"type":"resource","resource":[]}`: "no resource",
	} {
		if got := mcp.ContentFault(jsonscan.Trusted([]byte(item))); (got == "") != (says == "") || !strings.Contains(got, says) {
			t.Errorf("%s: %q, want %q", item, got, says)
		}
	}
}

// TestPublicURIs: the URIs of a server in a result get the names that clients know, wherever they
// stand but in _meta, which is the server's own.
func TestPublicURIs(t *testing.T) {
	public := func(own string) string {
		if own == "file:///a" {
			return `mcp://one/a"b`
		}
		return own
	}
	for in, want := range map[string]string{
		`{"uri":"file:///a","n":[{"uri":"file:///a"},{"uri":"file:///b"}],"_meta":{"uri":"file:///a"}}`: `{"uri":"mcp://one/a\"b","n":[{"uri":"mcp://one/a\"b"},{"uri":"file:///b"}],"_meta":{"uri":"file:///a"}}`,
		`{"uri":["file:///a"],"text":"file:///a"}`:                                                      `{"uri":["file:///a"],"text":"file:///a"}`,
		`[]`: `[]`, `{}`: `{}`, `"file:///a"`: `"file:///a"`, `{"\u0075ri":"file:///\u0061"}`: `{"\u0075ri":"mcp://one/a\"b"}`,
	} {
		if got := string(mcp.AppendPublic(nil, jsonscan.Trusted([]byte(in)), public)); got != want {
			t.Errorf("%s\nbecame %s\nwant %s", in, got, want)
		}
	}
}

// TestWhyAScriptFailed: the agent reads what it can do about it, and nothing that is the node's own.
func TestWhyAScriptFailed(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		change func(x *exchange)
		kind   problem.Kind
		says   string
	}{
		"its own":   {&script.Error{Message: "TypeError: x", Stack: "a\nb"}, nil, problem.InvalidArguments, "TypeError: x\na\nb"},
		"no code":   {&script.Error{Message: "SyntaxError: x"}, nil, problem.InvalidArguments, "plain JavaScript"},
		"memory":    {fmt.Errorf("x: %w", script.ErrMemory), nil, problem.InvalidArguments, "keep less"},
		"busy":      {fmt.Errorf("x: %w", script.ErrBusy), nil, problem.Unavailable, "try again in a few seconds"},
		"closed":    {fmt.Errorf("x: %w", script.ErrClosed), nil, problem.Unavailable, "try again in a few seconds"},
		"the node":  {errors.New("secret cause"), nil, problem.Unavailable, "ask the operator of shop"},
		"too late":  {errors.New("x"), func(x *exchange) { x.deadline = time.Now() }, problem.Timeout, "do less in one run"},
		"no client": {errors.New("x"), func(x *exchange) { x.ctx = over(context.Canceled) }, problem.Cancelled, "the client has gone"},
		"a stop":    {errors.New("x"), func(x *exchange) { x.ctx = over(ErrStopped) }, problem.Cancelled, "in another run"},
	} {
		x := exchangeOf(t, nil)
		x.ready.Answer = &answer.Plan{}
		if c.change != nil {
			c.change(x)
		}
		p := problem.As(x.scriptFailure(c.err, &scriptCalls{nested: nested{x: x}}))
		if p == nil || p.Kind != c.kind || !strings.Contains(p.Detail+p.Remedy, c.says) || strings.Contains(p.Detail+p.Remedy, "secret") {
			t.Errorf("%s: %+v, want %s %q", name, p, c.kind, c.says)
		}
	}
}

// over is a context that ended for a reason.
func over(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

// TestWhatIsCompared: two answers of a shadow are the same only when all that an agent gets of
// them is, and that one is an error is a part of it.
func TestWhatIsCompared(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(x *exchange){
		"nothing":    func(*exchange) {},
		"text":       func(x *exchange) { x.answer.text = []byte("a") },
		"an error":   func(x *exchange) { x.answer.text, x.answer.isError = []byte("a"), true },
		"structured": func(x *exchange) { x.answer.text, x.answer.structured = []byte("a"), []byte("{}") },
		"a note":     func(x *exchange) { x.answer.text, x.notes = []byte("a"), []byte("n") },
		"a file": func(x *exchange) {
			x.answer.text, x.answer.media, x.answer.file = []byte("a"), "image/png", []byte("f")
		},
		"another file": func(x *exchange) {
			x.answer.text, x.answer.media, x.answer.file = []byte("a"), "image/png", []byte("g")
		},
		"another type": func(x *exchange) {
			x.answer.text, x.answer.media, x.answer.file = []byte("a"), "image/gif", []byte("f")
		},
		"members":   func(x *exchange) { x.members = []byte(`"content":[]`) },
		"a failure": func(x *exchange) { x.failed = problem.New(problem.Timeout, "a") },
	} {
		x := exchangeOf(t, nil)
		change(x)
		got := string(x.appendShown(nil))
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s are the same: %q", name, other, got)
		}
		seen[got] = name
	}
	// A candidate gets the handles of the call in their order, and one that needs more gets none.
	x := exchangeOf(t, nil)
	x.c.beside = true
	x.lent = []string{"one", "two"}
	var got []string
	for range 3 {
		got = append(got, x.render(received{}).hold(nil))
	}
	if strings.Join(got, " ") != "one two shadow" {
		t.Errorf("handles %q", got)
	}
}

// TestConvertedAnswers: what is made of an answer that is not JSON is looked at for credentials again.
func TestConvertedAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(x *exchange)
		want   bool
	}{
		"JSON": {func(x *exchange) {
			x.answer.isJSON, x.answer.contentType, x.answer.body = true, []byte("application/json"), []byte("{}")
		}, false},
		"XML": {func(x *exchange) {
			x.answer.isJSON, x.answer.contentType, x.answer.body = true, []byte("application/xml"), []byte("<a/>")
		}, true},
		"text":             {func(x *exchange) { x.answer.contentType, x.answer.body = []byte("text/html"), []byte("<b>") }, true},
		"of an MCP server": {func(x *exchange) { x.members = []byte(`"content":[]`) }, false},
		"nothing":          {func(x *exchange) { x.ready = nil }, false},
	} {
		x := exchangeOf(t, nil)
		c.change(x)
		if got := x.converted(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
