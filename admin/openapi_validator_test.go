//go:build !race

package admin_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/front/job"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

// The validator takes ten times as long under the race detector, which watches what these
// requests do in other tests.

// The document is valid by somebody else's validator, and Sluice itself makes a
// tool of each of its operations.
func TestDocumentIsValid(t *testing.T) {
	w := newWorld(t)
	raw := document(t, w)
	doc, err := libopenapi.NewDocument(raw)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if ok, errs := v.ValidateDocument(); !ok {
		for _, e := range errs {
			t.Error(e.Message, e.Reason)
			for _, s := range e.SchemaValidationErrors {
				t.Error(s.Reason, s.FieldPath)
			}
		}
	}
	res, err := openapi.Compile(t.Context(), openapi.Source{Name: "openapi.json", Data: raw, BaseURL: "http://127.0.0.1:7301/v1/openapi.json"},
		openapi.Options{Each: func(*operation.Operation) error { return nil }, Limits: openapi.Limits{Timeout: time.Minute}}) // others use the machine
	if err != nil {
		t.Fatal(err)
	}
	if res.Tools != res.Operations || res.Operations < 20 {
		t.Errorf("%d of %d operations are tools: %+v", res.Tools, res.Operations, res.Unsupported)
	}
}

// What the API accepts and answers is what its document says.
func TestAnswersFollowTheDocument(t *testing.T) {
	w := newWorld(t)
	doc, err := libopenapi.NewDocument(document(t, w))
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	f := func(method, path string, body any, status int, headers ...string) answer {
		t.Helper()
		a := w.do(method, path, body, headers...)
		if a.StatusCode != status {
			t.Fatalf("%s %s: %d %s; want %d", method, path, a.StatusCode, a.body, status)
		}
		var sent io.Reader
		if body != nil {
			j, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			sent = bytes.NewReader(j)
		}
		req := httptest.NewRequest(method, path, sent)
		req.Header.Set("Content-Type", "application/json")
		if method == http.MethodPatch {
			req.Header.Set("Content-Type", "application/merge-patch+json")
		}
		req.Header.Set("Authorization", "Bearer "+w.token.Reveal())
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		if status < 400 {
			if ok, errs := v.ValidateHttpRequest(req); !ok {
				for _, e := range errs {
					t.Errorf("%s %s: request: %s %s %v", method, path, e.Message, e.Reason, e.SchemaValidationErrors)
				}
			}
		}
		a.Body = io.NopCloser(strings.NewReader(a.body))
		if ok, errs := v.ValidateHttpResponse(req, a.Response); !ok && a.body != "" {
			for _, e := range errs {
				t.Errorf("%s %s: answer: %s %s %v", method, path, e.Message, e.Reason, e.SchemaValidationErrors)
			}
		}
		return a
	}
	body := w.createBody("Pets", "pets.yaml")
	ts := want[change.CreatedToolset](w, f("POST", "/v1/toolsets", body, 201), 201)
	path := "/v1/toolsets/" + ts.ID
	f("POST", "/v1/toolsets", body, 200)
	f("GET", "/v1/toolsets", nil, 200)
	f("GET", path, nil, 200)
	f("GET", "/v1/toolsets/none", nil, 404)
	f("PATCH", path, map[string]any{"description": "d", "cache": map[string]any{"ttlSeconds": 5}}, 200, "If-Match", "*")
	f("PATCH", path, map[string]any{"description": "e"}, 428)
	f("GET", path+"/tools", nil, 200)
	f("GET", path+"/tools?schemas=true", nil, 200)
	f("GET", path+"/tools/list_pets", nil, 200)
	f("PATCH", path+"/tools/list_pets", map[string]any{"name": "pets"}, 200)
	f("POST", path+"/tools/batch-update", map[string]any{"enable": []string{"*"}, "updates": []any{map[string]any{"tool": "pets", "title": "T"}}}, 200)
	f("PUT", path+"/authentication", map[string]any{"authType": "header", "headerName": "X-Api-Key", "headerPrefix": "", "apiKey": upstreamKey}, 200)
	f("GET", path+"/authentication", nil, 200)
	f("POST", path+"/test", map[string]any{"tool": "get_pet", "arguments": map[string]any{"id": 7}}, 200)
	f("POST", path+"/deploy", map[string]any{}, 200)
	f("GET", path+"/revisions", nil, 200)
	f("GET", "/v1/revisions?limit=1", nil, 200)
	f("GET", path+"/access", nil, 200)
	f("PUT", path+"/access", map[string]any{"mode": "token"}, 200)
	f("POST", path+"/access-tokens", map[string]any{"name": "ci", "tools": []string{"*"}}, 201)
	f("GET", path+"/access-tokens", nil, 200)
	f("GET", "/v1/connectors", nil, 200)
	f("GET", "/v1/connectors/"+ts.Connector.Name, nil, 200)
	f("GET", "/v1/connectors/"+ts.Connector.Name+"/versions", nil, 200)
	f("POST", "/v1/connectors/preview", map[string]any{"source": body["source"]}, 200)
	w.tester.mu.Lock()
	w.tester.hold = make(chan struct{})
	w.tester.mu.Unlock()
	a := f("POST", path+"/test", map[string]any{"tool": "pets"}, 202, "Prefer", "wait=0")
	f("GET", a.Header.Get("Location"), nil, 200)
	close(w.tester.hold)
	f("GET", "/v1/jobs", nil, 200)
	f("GET", "/v1/audit", nil, 200)
	f("GET", "/v1/me", nil, 200)
	w.until("the job ends", func() bool {
		return want[job.Job](w, w.do("GET", a.Header.Get("Location"), nil), 200).State != "running"
	})
	f("DELETE", path, nil, 204, "If-Match", "*")
}
