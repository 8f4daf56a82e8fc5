package call_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// answerWith answers with a status, headers in pairs, and a body.
func answerWith(status int, body string, headers ...string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			rw.Header().Set(headers[i], headers[i+1])
		}
		rw.WriteHeader(status)
		_, _ = rw.Write([]byte(body))
	})
}

// texts are all texts of a result.
func texts(r result) []string {
	var out []string
	for _, c := range r.Content {
		out = append(out, c.Text)
	}
	return out
}

// TestLeftOut: the answer says what the projection left out, once, and nothing when
// that is noise.
func TestLeftOut(t *testing.T) {
	w := newWorld(t)
	tool := w.serve(petOperation(), concise1)
	f := func(answer, args string, want ...string) {
		t.Helper()
		w.answer = upstreamtest.JSON(200, answer)
		if got := texts(w.call(tool, args, call.CallOptions{})); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: got %q, want %q", args, got, want)
		}
	}
	doc := `{"items":[{"id":1,"icons":"t","icon":{"a":1}},{"id":2,"icons":null,"icon":{}}],"total":2}`
	short := `{"items":[{"id":1},{"id":2}],"total":2}`
	f(doc, `{}`, short, "[left out: 2 members such as icons; fields=* gives all]")
	f(`{"items":[{"id":1,"icon":{"a":1}}]}`, `{}`, `{"items":[{"id":1}]}`, "[left out: 1 member such as icon; fields=* gives all]")
	f(doc, `{"fields":"items.id"}`, `{"items":[{"id":1},{"id":2}]}`)
	f(doc, `{"fields":"*"}`, "#A id icons icon\nitems:[A\n1 t {a:1}\n2 null {}\n]\ntotal:2")
	// Noise goes without a word.
	f(`{"items":[{"id":1,"icons":"","icon":[ ],"self_url":"https://api.x/s","url":"https://api.x/1","etag":"e","avatar":"a"}],"total":2}`, `{}`, `{"items":[{"id":1}],"total":2}`)
	// Table text ends in the line.
	w.answer = upstreamtest.JSON(200, `{"items":[`+strings.Repeat(`{"id":1,"name":"anvil","kind":"tool","icons":"t"},`, 20)+`{"id":2}]}`)
	got := w.text(tool, `{}`)
	text, note, _ := strings.Cut(got, "\n[left out: ")
	if note != "20 members such as icons; fields=* gives all]" {
		t.Fatalf("%q", got)
	}
	if _, err := compress.DecodeTable(nil, []byte(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	// Structured content and its text stay the same document.
	tool = w.serve(petOperation(), func(b *registry.Toolset) {
		concise1(b)
		b.Answers = &registry.Answers{Structured: true}
	})
	r := w.call(tool, `{}`, call.CallOptions{})
	if !json.Valid([]byte(r.Content[0].Text)) || r.Content[0].Text != string(r.StructuredContent) || len(r.Content) != 2 {
		t.Fatalf("%+v", r)
	}
}

func concise1(b *registry.Toolset) { b.Profile = registry.ProfileConcise }

// TestHeaders: headers that carry information reach the agent in one line.
func TestHeaders(t *testing.T) {
	w := newWorld(t)
	tool := w.serve(petOperation(), concise1)
	f := func(want string, status int, body string, headers ...string) {
		t.Helper()
		w.answer = answerWith(status, body, append([]string{"Content-Type", "application/json"}, headers...)...)
		r := w.call(tool, `{}`, call.CallOptions{})
		got := r.Content[len(r.Content)-1].Text
		got = got[strings.LastIndexByte(got, '\n')+1:]
		if want == "" {
			if strings.Contains(fmt.Sprint(texts(r)), "[headers") {
				t.Fatalf("%v: got %q", headers, texts(r))
			}
			return
		}
		if got != want || r.IsError {
			t.Fatalf("%v: got %q, want %q", headers, got, want)
		}
		if n := tokens.Count([]byte(got)); n > 25 {
			t.Errorf("%q: %d tokens", got, n)
		}
	}
	f("[headers: Location: /jobs/7]", 202, ``, "Location", w.up.URL+"/jobs/7")
	f("[headers: Location: /jobs/7; Retry-After: 30]", 202, `{"id":7}`, "Location", "/jobs/7", "Retry-After", "30")
	f("[headers: Location: https://other.example/jobs/7]", 201, ``, "Location", "https://other.example/jobs/7")
	f("[headers: Retry-After: 5; Operation-Location: /ops/9]", 202, ``, "Operation-Location", w.up.URL+"/ops/9", "Retry-After", "5")
	f("", 201, `{"self_url":"/jobs/7"}`, "Location", "/jobs/7") // it is in the answer
	f("", 200, `{"id":7}`, "Location", "/jobs/7", "X-Request-Id", "a", "ETag", `"e"`)
	f("[headers: X-Total-Count: 319]", 200, `[{"id":7}]`, "X-Total-Count", "319")
	f("[headers: Link rel=next: /pets?after=7]", 200, `[{"id":7}]`, "Link", "<"+w.up.URL+`/pets?after=7>; rel="next"`)
	f("[headers: X-Next-Cursor: abc]", 200, `[{"id":7}]`, "X-Next-Cursor", "abc")
	// A stranger's bytes: what nobody sees, the end of the line, and what is too long.
	f("[headers: X-Total-Count: 3 ]", 200, `[]`, "X-Total-Count", "3\u200b\u202e]")
	f("[headers: X-Total: 4]", 200, `[]`, "X-Total-Count", strings.Repeat("9", 257), "X-Total", "4")
	f("[headers: X-Total-Count: 1; X-Total: 2]", 200, `[]`, "X-Total-Count", "1", "X-Total", "2", "X-Cursor", strings.Repeat("q7", 100))

	// What the specification declares, before what is well known.
	declared := petOperation()
	declared.Plan.Told = []string{"X-Pages", "x-total-count", "Location"}
	tool = w.serve(declared, concise1)
	f("[headers: X-Pages: 9; X-Total-Count: 3]", 200, `[]`, "X-Total-Count", "3", "X-Pages", "9", "X-Other", "no")
	f("[headers: Location: /jobs/7]", 200, `{"id":7}`, "Location", w.up.URL+"/jobs/7")
	f("", 404, `{"id":7}`, "X-Pages", "9")

	// ETag where a tool wants it back.
	put := gatewaytest.Operation("put", "PUT", "/list", gatewaytest.Param("If-Match", operation.InHeader, operation.TypeString, false))
	tool = w.serve(put, concise1)
	f(`[headers: ETag: "e"]`, 200, `{"id":7}`, "ETag", `"e"`)

	// All that an answer to HEAD says is in its headers.
	tool = w.serve(gatewaytest.Operation("head", "HEAD", "/list"), concise1)
	w.answer = answerWith(200, "", "Content-Length", "512", "Content-Type", "video/mp4", "Last-Modified", "Mon, 02 Jan 2026 03:04:05 GMT", "Server", "x", "Set-Cookie", "a=b")
	got := w.text(tool, `{}`)
	for _, want := range []string{"Content-Length: 512", "Content-Type: video/mp4", "Last-Modified: Mon, 02 Jan 2026 03:04:05 GMT"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(got, "Server") || strings.Contains(got, "a=b") {
		t.Errorf("%q", got)
	}
	// The name of a file.
	tool = w.serve(petOperation(), concise1)
	w.answer = answerWith(200, "%PDF-1.7\x00", "Content-Type", "application/pdf", "Content-Disposition", `attachment; filename="bill.pdf"`)
	if got := w.text(tool, `{}`); !strings.HasSuffix(got, "\n"+`[headers: Content-Disposition: attachment; filename="bill.pdf"]`) {
		t.Errorf("%q", got)
	}
	// That of an image stands behind it, as a text of its own.
	w.answer = answerWith(200, "\x89PNG\r\n\x1a\n", "Content-Type", "image/png", "Content-Disposition", `inline; filename="plan.png"`)
	r := w.call(tool, `{}`, call.CallOptions{})
	if len(r.Content) != 2 || r.Content[0].Type != "image" || r.Content[1].Text != `[headers: Content-Disposition: inline; filename="plan.png"]` {
		t.Errorf("%+v", r.Content)
	}
	w.answer = answerWith(200, "\x89PNG\r\n\x1a\n", "Content-Type", "image/png")
	if r = w.call(tool, `{}`, call.CallOptions{}); len(r.Content) != 1 {
		t.Errorf("%+v", r.Content)
	}
}

// TestCharset: text is read in the encoding that it says it has.
func TestCharset(t *testing.T) {
	w := newWorld(t)
	tool := w.serve(petOperation(), concise1)
	f := func(contentType, body, want string) {
		t.Helper()
		w.answer = answerWith(200, body, "Content-Type", contentType)
		if got := w.text(tool, `{}`); got != want {
			t.Fatalf("%s: got %q, want %q", contentType, got, want)
		}
	}
	f("text/plain; charset=ISO-8859-1", "caf\xe9", "café")
	f(`application/json; charset="windows-1252"`, "{\"name\":\"\x80 5\"}", `{"name":"€ 5"}`)
	f("application/json;charset=Shift_JIS", "{\"name\":\"\x93\xfa\"}", `{"name":"日"}`)
	f("text/plain; charset=utf-16le", "h\x00i\x00", "hi")
	f("text/plain; charset=UTF-8", "café", "café")
	f("application/json", ")]}'\n{\"name\":\"Rex\",\"age\":null}", `{"name":"Rex"}`)
	f("application/json", "{\"name\":\"Rex\"}\n{\"name\":\"Max\",\"age\":null}\n", `[{"name":"Rex"},{"name":"Max"}]`)
	f("text/plain; charset=klingon", "caf\xc3\xa9", "café")
	// It may not become larger than an answer may be.
	tool = w.serve(petOperation(), func(b *registry.Toolset) { b.Answers = &registry.Answers{ResponseBytes: 1 << 10} })
	w.answer = answerWith(200, strings.Repeat("\xe9", 600), "Content-Type", "text/plain; charset=latin1")
	if got := w.failure(tool, `{}`); !strings.Contains(got, "as UTF-8") {
		t.Fatalf("%q", got)
	}
	w.answer = answerWith(200, strings.Repeat("\xe9", 512), "Content-Type", "text/plain; charset=latin1")
	w.text(tool, `{}`)
}

// TestStreamGoesOn: of a stream that does not end the events that came are given.
func TestStreamGoesOn(t *testing.T) {
	w := newWorld(t)
	tool := w.serve(petOperation(), concise1)
	f := func(contentType, body, want string, encoding ...string) {
		t.Helper()
		w.answer = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", contentType)
			for _, e := range encoding {
				rw.Header().Set("Content-Encoding", e)
			}
			_, _ = rw.Write([]byte(body))
			rw.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		out, _, err := w.s.Caller.Call(ctx, tool, jsonscan.Trusted([]byte(`{}`)), call.CallOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var r result
		if err := json.Unmarshal([]byte("{"+string(out)+"}"), &r); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(texts(r), "\n"); got != want {
			t.Fatalf("%s: got %q, want %q", contentType, got, want)
		}
	}
	const note = "[the stream goes on: this is what came before the time limit of the call]"
	f("text/event-stream", "data: a\n\ndata: b\n\ndata: c", "data: a\n\ndata: b\n\n\n"+note)
	f("application/x-ndjson; charset=utf-8", `{"id":1}`+"\n"+`{"id":2}`+"\n"+`{"id"`, `[{"id":1},{"id":2}]`+"\n"+note)
	// Compressed, as far as it was flushed.
	packed := func(body string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(body))
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	f("text/event-stream", packed("data: a\n\ndata: b\n\ndata: c"), "data: a\n\ndata: b\n\n\n"+note, "gzip")
	// One that ends is an answer as any.
	w.answer = upstreamtest.Text(200, "text/event-stream", "data: a\n\n")
	if got := w.text(tool, `{}`); got != "data: a\n\n" {
		t.Fatalf("%q", got)
	}
}

// TestLongErrors: of many faults whole ones are shown, and how many there are.
func TestLongErrors(t *testing.T) {
	w := newWorld(t)
	tool := w.serve(petOperation(), concise1)
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"field":"lines[%d].price","code":"invalid","message":"must be a positive number"}`, i)
		}
		return b.String()
	}
	w.answer = upstreamtest.JSON(422, `{"message":"Validation Failed","errors":[`+list(80)+`]}`)
	got := w.failure(tool, `{}`)
	for _, want := range []string{"HTTP 422", "Validation Failed", "lines[0].price", "lines[79].price"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %.300s", want, got)
		}
	}
	w.answer = upstreamtest.JSON(422, `{"message":"Validation Failed","errors":[`+list(300)+`]}`)
	got = w.failure(tool, `{}`)
	if !strings.Contains(got, "of 300]") || len(got) > 12000 || !strings.Contains(got, `positive number"}]}`+"\n[items 1-") {
		t.Errorf("%d bytes: …%s", len(got), got[max(0, len(got)-200):])
	}
	var b strings.Builder
	for i := range 80 {
		fmt.Fprintf(&b, `,"field%d":"what is wrong with it, said at some length"`, i)
	}
	w.answer = upstreamtest.JSON(400, `{"errors":{`+b.String()[1:]+`}}`)
	if got := w.failure(tool, `{}`); !strings.Contains(got, `"field0":"what`) || !strings.Contains(got, `"field79":"what`) {
		t.Errorf("%.200s", got)
	}
}
