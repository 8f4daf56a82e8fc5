package call

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestAppendHTMLText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(appendHTMLText([]byte("> "), []byte(in))); got != "> "+want && got != strings.TrimRight("> "+want, " ") {
			t.Fatalf("text of %q = %q, want %q", in, got, want)
		}
	}
	f("plain", "plain")
	f("<h1>502 Bad Gateway</h1><hr><center>nginx</center>", "502 Bad Gateway nginx")
	f("a<b>b</b>c", "a b c")
	f("a &amp; b&nbsp;&lt;c&gt;", "a & b <c>")
	f("<script>if (a < b) {}</script>x", "x")
	f("<SCRIPT type=x>evil</SCRIPT >x<style>y{}</style>z", "x z")
	f("<script>never closed", "")
	f("<!-- <b>no</b> -->x", "x")
	f("<!-- never closed", "")
	f("a < b", "a")
	f("  a\n\n\tb  ", "a b")
	f("<scripted>x</scripted>", "x")
	f("", "")
}

// FuzzHTMLText: whatever the page, no tag is left (a "<" can only come from an
// entity), and the text is not longer than the page.
func FuzzHTMLText(f *testing.F) {
	for _, s := range []string{"<p>a</p>", "<script></script", "<!--", "&#x3c;b>", "<style>a</style><", "\xff<\xfe>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		out := appendHTMLText(nil, page)
		if len(out) > len(page)+1 { // an invalid byte stays one byte; entities shrink
			t.Fatalf("%q became %q", page, out)
		}
		if bytes.IndexByte(page, '&') < 0 && bytes.IndexByte(out, '<') >= 0 {
			t.Fatalf("%q left a tag in %q", page, out)
		}
	})
}

func TestAppendErrorBody(t *testing.T) {
	f := func(contentType, body, want string) {
		t.Helper()
		if got := string(appendErrorBody(nil, []byte(contentType), []byte(body))); got != want {
			t.Fatalf("%s %q:\n got %q\nwant %q", contentType, body, got, want)
		}
	}
	f("application/json", `{"message":"Not Found"}`, "Not Found")
	f("application/json", `{"message": "Not Found", "documentation_url": "https://docs.example.com/rest"}`,
		"Not Found\n"+`{"message":"Not Found","documentation_url":"https://docs.example.com/rest"}`)
	f("application/problem+json", `{"type":"about:blank","title":"Bad Request","status":400,"detail":"name is too long"}`,
		"name is too long; Bad Request\n"+`{"type":"about:blank","title":"Bad Request","status":400,"detail":"name is too long"}`)
	f("application/json", `{"error":{"message":"No such customer","type":"invalid_request_error","param":"id"}}`, // Stripe
		"No such customer\n"+`{"error":{"message":"No such customer","type":"invalid_request_error","param":"id"}}`)
	f("application/json", `{"errorMessages":["Issue does not exist"],"errors":{}}`, "Issue does not exist\n"+`{"errorMessages":["Issue does not exist"],"errors":{}}`) // Jira
	f("application/json", `{"errors":{"summary":"is required"}}`, "is required\n"+`{"errors":{"summary":"is required"}}`)
	f("application/json", `{"error":"invalid_grant","error_description":"expired"}`, "expired; invalid_grant\n"+`{"error":"invalid_grant","error_description":"expired"}`)
	f("application/json", `["a","b"]`, "a; b")
	f("application/json", `"just text"`, "just text")
	f("application/json", `{"code":7}`, `{"code":7}`)
	f("application/json", `{"a": nope`, `{"a": nope`)
	f("text/plain", "  upstream connect error \n", "upstream connect error")
	f("text/plain", `{"message":"json in disguise"}`, "json in disguise")
	f("text/html", "<title>Error</title><h1>Oops</h1>", "Error Oops")
	f("application/octet-stream", "\x00\x01", "")
	f("", "", "")
	long := strings.Repeat("x", 3*maxFailure)
	if got := appendErrorBody(nil, []byte("application/json"), []byte(`{"message":"short","trace":"`+long+`"}`)); string(got) != "short" {
		t.Fatalf("a long body beside a message: %.80q", got)
	}
	for n, cut := range map[int]bool{maxFailure: false, maxFailure + 1: true} {
		got := string(appendErrorBody(nil, []byte("text/plain"), []byte(long[:n])))
		if strings.HasSuffix(got, "[…]") != cut {
			t.Fatalf("%d bytes: cut %v, want %v", n, !cut, cut)
		}
	}
}

func TestKindOf(t *testing.T) {
	f := func(contentType, body string, wantsJSON bool, want kind) {
		t.Helper()
		if got := kindOf([]byte(contentType), []byte(body), wantsJSON); got != want {
			t.Fatalf("kindOf(%q, %q, %v) = %d, want %d", contentType, body, wantsJSON, got, want)
		}
	}
	f("application/json; charset=utf-8", "x", false, kindJSON)
	f("Application/HAL+JSON", "x", false, kindJSON)
	f("text/html; charset=utf-8", "{}", true, kindHTML)
	f("text/plain", `{"a":1}`, true, kindJSON)
	f("text/plain", `{"a":1}`, false, kindText)
	f("", ` [1]`, false, kindJSON)
	f("", "<!DOCTYPE HTML>x", true, kindHTML)
	f("", "hello", true, kindText)
	f("application/xml", "<a/>", true, kindXML)
	f("application/atom+xml", "<a/>", true, kindXML)
	f("application/x-ndjson", "{}\n{}", true, kindStream)
	f("text/csv", "a,b", true, kindText)
	f("image/png", "x", true, kindImage)
	f("image/svg+xml", "<svg/>", true, kindText)
	f("audio/wav", "x", true, kindAudio)
	f("application/octet-stream", "readable", true, kindText)
	f("application/octet-stream", "a\x00b", true, kindBinary)
	f("application/pdf", "%PDF\xff", true, kindBinary)
}

type fields map[string]string

func (f fields) Header(name string) []byte { return []byte(f[name]) }

func TestFreshness(t *testing.T) {
	f := func(h fields, want time.Duration) {
		t.Helper()
		if got := freshness(h, time.Minute); got != want && (want > 0 || got > 0) {
			t.Fatalf("freshness(%v) = %v, want %v", h, got, want)
		}
	}
	f(fields{}, time.Minute)
	f(fields{"Cache-Control": "private, max-age=30"}, 30*time.Second)
	f(fields{"Cache-Control": "max-age=3600"}, time.Minute)
	f(fields{"Cache-Control": `MAX-AGE="10"`}, 10*time.Second)
	f(fields{"Cache-Control": "max-age=30", "Age": "20"}, 10*time.Second)
	f(fields{"Cache-Control": "max-age=30", "Age": "30"}, 0)
	f(fields{"Cache-Control": "max-age=0"}, 0)
	f(fields{"Cache-Control": "max-age=soon"}, 0)
	f(fields{"Cache-Control": "max-age=99999999999999999999"}, 0)
	f(fields{"Cache-Control": "no-store"}, 0)
	f(fields{"Cache-Control": "public, No-Cache"}, 0)
	f(fields{"Vary": "Accept, *"}, 0)
	f(fields{"Vary": "Accept"}, time.Minute)
	f(fields{"Set-Cookie": "a=b"}, 0)
	f(fields{"Expires": "0"}, 0)
	f(fields{"Expires": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:07 GMT"}, 30*time.Second)
	f(fields{"Expires": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0)
	f(fields{"Expires": "0", "Cache-Control": "max-age=30"}, 30*time.Second)
}

func TestAppendProblem(t *testing.T) {
	p := problem.New(problem.InvalidArguments, "2 arguments are wrong").Fix("correct them")
	p.Parts = []*problem.Error{
		problem.New(problem.InvalidArguments, "expected integer, got string").At("", 0, 0, "/id"),
		problem.New(problem.InvalidArguments, "is required").At("", 0, 0, "/name"),
	}
	want := "2 arguments are wrong (correct them)\n- /id: expected integer, got string\n- /name: is required"
	if got := string(appendProblem(nil, p)); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestReserved(t *testing.T) {
	for name, want := range map[string]bool{"host": true, "Transfer-Encoding": true, "te": true, "X-Host": false, "Accept": false, "Hosts": false} {
		if reserved(name) != want {
			t.Errorf("reserved(%q) = %v", name, !want)
		}
	}
}
