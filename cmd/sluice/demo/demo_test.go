package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func newServer(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func do(s *Server, method, target, body string, header ...string) (int, string) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Every operation answers as its own document says: path parameters from their
// examples, the declared status, a body that the declared schema accepts.
func TestAnswersMatchDocument(t *testing.T) {
	s := newServer(t, Options{})
	var doc map[string]any
	if err := json.Unmarshal(s.Document(), &doc); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{
		"createIssue": `{"title":"A","labels":["bug"],"assignees":["tomas-n"]}`, "updateIssue": `{"state":"closed"}`, "createComment": `{"body":"B"}`,
		"createCustomer": `{"email":"a@b.example","name":"A"}`, "updateCustomer": `{"name":"B"}`,
		"createCharge": fmt.Sprintf(`{"customer":%q,"amount":5,"currency":"eur"}`, objectID("cus", 2)),
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("doc.json", doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.routes() {
		target := r.path
		for _, p := range r.parameters {
			if p.in == "path" {
				target = strings.ReplaceAll(target, "{"+p.name+"}", fmt.Sprint(p.example))
			} else if p.required {
				target += "?" + p.name + "=" + fmt.Sprint(p.example)
			}
		}
		status, body := do(s, r.method, target, bodies[r.id])
		if status != r.status {
			t.Errorf("%s: %s %s answered %d, want %d: %.200s", r.id, r.method, target, status, r.status, body)
			continue
		}
		if r.result == nil {
			if body != "" {
				t.Errorf("%s: body %q, want none", r.id, body)
			}
			continue
		}
		if strings.Contains(body, "\n") || strings.Contains(body, `": `) && json.Valid([]byte(body)) && bytes.Contains([]byte(body), []byte("\": {")) {
			t.Errorf("%s: the answer is not minified", r.id)
		}
		escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(r.path)
		pointer := fmt.Sprintf("doc.json#/paths/%s/%s/responses/%d/content/application~1json/schema", escaped, strings.ToLower(r.method), r.status)
		schema, err := compiler.Compile(strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
		if err != nil {
			t.Fatalf("%s: %v", r.id, err)
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: the answer is not what the document says: %v", r.id, err)
		}
	}
}

func TestSameBytesAtEveryStart(t *testing.T) {
	a, b := newServer(t, Options{}), newServer(t, Options{})
	if !bytes.Equal(a.Document(), b.Document()) {
		t.Error("two servers have different documents")
	}
	for _, path := range []string{"/issues?per_page=100&state=all", "/v1/customers?limit=100", "/v1/charges?limit=100", "/rest/projects", "/rest/projects/PAY/tickets"} {
		_, x := do(a, "GET", path, "")
		_, y := do(b, "GET", path, "")
		if x != y || len(x) < 500 {
			t.Errorf("GET %s differs between two servers, or is nearly empty (%d bytes)", path, len(x))
		}
	}
}

func TestRequests(t *testing.T) {
	s := newServer(t, Options{})
	f := func(method, target, body string, status int, contains ...string) {
		t.Helper()
		got, answer := do(s, method, target, body)
		if got != status {
			t.Errorf("%s %s answered %d, want %d: %.200s", method, target, got, status, answer)
		}
		for _, c := range contains {
			if !strings.Contains(answer, c) {
				t.Errorf("%s %s does not contain %s: %.300s", method, target, c, answer)
			}
		}
	}
	f("GET", "/repos/acme/none", "", 404, `"message":"Not Found"`, `"status":"404"`)
	f("GET", "/repos/acme/anvil/issues/999", "", 404)
	f("GET", "/nothing", "", 404)
	f("PUT", "/issues", "", 405)
	f("GET", "/issues?per_page=0", "", 422, "per_page must be a number from 1 to 100")
	f("GET", "/issues?labels=bug&labels=question", "", 200, `[]`)
	f("GET", "/repos/acme/anvil/issues?state=closed&per_page=1", "", 200, `"state":"closed"`)
	f("POST", "/repos/acme/anvil/issues", `{"title":`, 400, "Problems parsing JSON")
	f("POST", "/repos/acme/anvil/issues", `{}`, 422, "title is missing")
	f("POST", "/repos/acme/anvil/issues", `{"title":"New one"}`, 201, `"number":25`)
	f("GET", "/repos/acme/anvil/issues/25", "", 200, `"title":"New one"`)
	f("PATCH", "/repos/acme/anvil/issues/25", `{"state":"gone"}`, 422)
	f("GET", "/search/issues?q=INVOICE+total", "", 200, `"total_count":1`)
	f("GET", "/v1/charges?status=failed&status=pending", "", 200, `"card_declined"`)
	f("GET", "/v1/customers?starting_after="+objectID("cus", 7), "", 200, `"has_more":false`, objectID("cus", 8))
	f("DELETE", "/v1/customers/"+objectID("cus", 8), "", 200, `"deleted":true`)
	f("GET", "/v1/customers/"+objectID("cus", 8), "", 404)
	f("POST", "/v1/charges", `{"customer":"cus_none","amount":1,"currency":"eur"}`, 400, "No such customer")
}

func TestIdempotencyKey(t *testing.T) {
	s := newServer(t, Options{})
	body := fmt.Sprintf(`{"customer":%q,"amount":5,"currency":"eur"}`, objectID("cus", 1))
	_, a := do(s, "POST", "/v1/charges", body, "Idempotency-Key", "k1")
	_, b := do(s, "POST", "/v1/charges", body, "Idempotency-Key", "k1")
	_, c := do(s, "POST", "/v1/charges", body, "Idempotency-Key", "k2")
	if a != b || a == c {
		t.Errorf("same key: %s and %s; other key: %s", a, b, c)
	}
}

func TestAPIKey(t *testing.T) {
	s := newServer(t, Options{APIKey: "let-me-in"})
	if !bytes.Contains(s.Document(), []byte(`"securitySchemes":{"apiKey":{"type":"apiKey","in":"header","name":"X-Api-Key"}}`)) {
		t.Error("the document does not declare the key")
	}
	for key, want := range map[string]int{"": 401, "wrong": 401, "let-me-in": 200} {
		if got, body := do(s, "GET", "/rest/projects", "", KeyHeader, key); got != want {
			t.Errorf("with key %q: %d, want %d: %s", key, got, want, body)
		}
	}
	if got, _ := do(s, "GET", "/openapi.json", ""); got != 200 {
		t.Errorf("the document answered %d without a key, want 200", got)
	}
}

func TestBounds(t *testing.T) {
	s := newServer(t, Options{})
	if got, _ := do(s, "POST", "/repos/acme/anvil/issues", `{"title":"`+strings.Repeat("a", maxBody-13)+`"}`); got != 201 {
		t.Errorf("a body of the largest size answered %d, want 201", got)
	}
	if got, _ := do(s, "POST", "/repos/acme/anvil/issues", `{"title":"`+strings.Repeat("a", maxBody)+`"}`); got != 413 {
		t.Errorf("a larger body answered %d, want 413", got)
	}
	for len(s.issues) < maxObjects {
		s.issues = append(s.issues, newIssue(len(s.issues)+1, issueInput{Title: "x"}, 0))
	}
	if got, _ := do(s, "POST", "/repos/acme/anvil/issues", `{"title":"one more"}`); got != 422 {
		t.Errorf("an issue beyond the limit answered %d, want 422", got)
	}
}

func TestListen(t *testing.T) {
	base, wait, err := newServer(t, Options{}).Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(base + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !json.Valid(b) {
		t.Errorf("GET /openapi.json: %d, %v, %d bytes", resp.StatusCode, err, len(b))
	}
	t.Cleanup(func() { // the context of the test has ended by now
		if err := wait(); err != nil {
			t.Errorf("wait: %v", err)
		}
	})
}
