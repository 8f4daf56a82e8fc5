package errorbody

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

func TestAppendErrorBody(t *testing.T) {
	f := func(contentType, body, want string) {
		t.Helper()
		if got := string(Append(nil, []byte(contentType), []byte(body))); got != want {
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
	f("text/xml", "<?xml version='1.0'?><Error><Code>NoSuchKey</Code><Message>no &quot;a&quot;</Message></Error>", `{"Error":{"Code":"NoSuchKey","Message":"no \"a\""}}`) // S3
	f("application/soap+xml", `<s:Envelope xmlns:s="urn:s"><s:Body><s:Fault><faultstring xml:lang="en">Order 9 is closed</faultstring></s:Fault></s:Body></s:Envelope>`,
		`{"Envelope":{"Body":{"Fault":{"faultstring":{"@lang":"en","#text":"Order 9 is closed"}}}}}`)
	f("text/xml", "<Error> no end ", "<Error> no end")
	f("text/plain", "  upstream connect error \n", "upstream connect error")
	f("text/plain", `{"message":"json in disguise"}`, "json in disguise")
	f("text/html", "<title>Error</title><h1>Oops</h1>", "Error Oops")
	f("application/octet-stream", "\x00\x01", "")
	f("", "", "")
	long := strings.Repeat("x", 3*Max)
	if got := Append(nil, []byte("application/json"), []byte(`{"message":"short","trace":"`+long+`"}`)); string(got) != "short" {
		t.Fatalf("a long body beside a message: %.80q", got)
	}
	// Java's, Python's and .NET's: what stands beside a trace says which field is wrong.
	for _, name := range []string{"trace", "stackTrace", "stack_trace", "traceback", "exceptionStack"} {
		f("application/json", `{"status":400,"message":"Validation failed","`+name+`":"at a.b.C\n`+long+`","errors":[{"field":"name","defaultMessage":"must not be null"}],"traceId":"4bf9"}`,
			"Validation failed\n"+`{"status":400,"message":"Validation failed","errors":[{"field":"name","defaultMessage":"must not be null"}],"traceId":"4bf9"}`)
	}
	f("application/json", `{"code":7,"input":"`+long+`","frames":[`+strings.Repeat(`{"line":1},`, 100)+`0]}`, `{"code":7,"input":"`+long[:maxTextInError]+` […]"}`)
	for n, kept := range map[int]bool{maxTraceID: true, maxTraceID + 1: false} {
		in := `{"trace":"` + long[:n-2] + `"}`
		if got := string(appendTraceless(nil, jsonscan.Trusted([]byte(in)), maxTextInError, 0)); (got == in) != kept {
			t.Errorf("a trace of %d bytes: %s", n, got)
		}
	}
	for n, kept := range map[int]bool{maxTextInError: true, maxTextInError + 1: false} {
		in := `["` + long[:n] + `"]`
		if got := string(appendTraceless(nil, jsonscan.Trusted([]byte(in)), maxTextInError, 0)); (got == in) != kept {
			t.Errorf("a text of %d bytes: %s", n, got)
		}
	}
	for n, kept := range map[int]bool{maxTraceDepth: false, maxTraceDepth + 1: true} { // the object is one deeper
		in := strings.Repeat("[", n) + `{"trace":"` + long + `"}` + strings.Repeat("]", n)
		if got := string(appendTraceless(nil, jsonscan.Trusted([]byte(in)), maxTextInError, 0)); (got == in) != kept {
			t.Errorf("a trace in %d lists: %.80s", n, got)
		}
	}
	for n, cut := range map[int]bool{Max: false, Max + 1: true} {
		got := string(Append(nil, []byte("text/plain"), []byte(long[:n])))
		if strings.Contains(got, "[…]") != cut {
			t.Fatalf("%d bytes: cut %v, want %v", n, !cut, cut)
		}
	}
}

// TestLongErrorBodies: of a body that is far too long comes which fields are wrong, and what
// the end of a trace says.
func TestLongErrorBodies(t *testing.T) {
	many := func(n int, item string) string {
		var all []string
		for i := range n {
			all = append(all, strings.ReplaceAll(item, "N", fmt.Sprint(i)))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	long := strings.Repeat("x", 12000)
	for what, c := range map[string]struct {
		contentType, body string
		want              []string
	}{
		"long messages":     {"application/json", `{"message":"Validation failed","errors":` + many(80, `{"field":"items[N]","message":"sku N `+long+`"}`) + `}`, []string{"Validation failed\n", `"items[0]"`, `"items[40]"`, " of 80]"}},
		"a list in an item": {"application/json", `{"error":{"message":"bad","details":[{"@type":"t","fieldViolations":` + many(4000, `{"field":"fN","description":"`+long[:200]+`"}`) + `}]}}`, []string{"bad\n", `"f0"`, `"f40"`, " of 4000]"}},
		"a trace":           {"text/plain", "Traceback:\n" + strings.Repeat("  at line 1\n", 1000) + "ValueError: order 7 has no lines\n", []string{"Traceback:", "[…]\n", "\nValueError: order 7 has no lines"}},
		"one line":          {"text/plain", strings.Repeat("ü", 3000) + "end", []string{"[…]\nü", "üend"}},
	} {
		got := string(Append(nil, []byte(c.contentType), []byte(c.body)))
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q in %.300q … %q", what, w, got, got[max(0, len(got)-100):])
			}
		}
		if len(got) > Max+maxErrorItems+100 || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes", what, len(got))
		}
	}
	for n, cut := range map[int]bool{maxTextInErrors: false, maxTextInErrors + 1: true} {
		body := many(100, `{"f":"`+long[:n]+`"}`)
		if got := string(Append(nil, []byte("application/json"), []byte(body))); strings.Contains(got, "[…]") != cut {
			t.Errorf("texts of %d bytes: %.200s", n, got)
		}
	}
}

// TestMessagesOfErrorAreBounded guards how much of an error's body is repeated.
func TestMessagesOfErrorAreBounded(t *testing.T) {
	for over := range 2 {
		var list []string
		for i := range maxMessages + over {
			list = append(list, fmt.Sprintf(`"fault %c"`, 'a'+i))
		}
		var m messages
		m.collect(jsonscan.Trusted([]byte("["+strings.Join(list, ",")+"]")), 0)
		if m.count != maxMessages {
			t.Errorf("%d of %d messages are taken", m.count, len(list))
		}
	}
}
