package call

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

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
