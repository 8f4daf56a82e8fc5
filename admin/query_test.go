package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/front"
)

// TestUnknownQuery: a mistyped filter is refused with the nearest one, also where an
// operation takes none, and never instead of a refusal of the caller.
func TestUnknownQuery(t *testing.T) {
	w := newWorld(t)
	for path, remedy := range map[string]string{
		"/v1/toolsets?limti=1":       "did you mean limit?",
		"/v1/toolsets?limit=1&zzz=2": "takes: ",
		"/v1/me?a=b":                 "takes none",
	} {
		p := want[front.Problem](w, w.do("GET", path, nil), http.StatusBadRequest)
		if !strings.Contains(p.Detail, "there is no query parameter") || !strings.Contains(p.Remedy, remedy) {
			t.Errorf("%s: %+v", path, p)
		}
	}
	for _, path := range []string{"/v1/toolsets?limit=1", "/v1/keys?limit=200", "/v1/grants?limit=1&cursor="} {
		if r := w.do("GET", path, nil); r.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %d", path, r.StatusCode)
		}
	}
}

// TestUnknownProperty: a mistyped property of a body is refused with the nearest one, in
// objects and lists within it too; where none is close, with those that there are.
func TestUnknownProperty(t *testing.T) {
	w := newWorld(t)
	made := w.create("Pets", "pets.yaml").ID
	for _, row := range []struct {
		method, path, body, location, remedy string
	}{
		{"POST", "/v1/toolsets", `{"nam":"a","source":{"openapi":"x"}}`, "body.nam", "did you mean name?"},
		{"POST", "/v1/toolsets", `{"source":{"openapy":"x"}}`, "body.source.openapy", "did you mean openapi?"},
		{"POST", "/v1/tokens", `{"name":"ci","role":"viewer","zzzzzzzz":1}`, "body.zzzzzzzz", "there are: "},
		{"PATCH", "/v1/toolsets/" + made, `{"useCse":"x"}`, "body.useCse", "did you mean useCase?"},
	} {
		p := want[front.Problem](w, w.do(row.method, row.path, row.body), http.StatusUnprocessableEntity)
		found := false
		for _, f := range p.Errors {
			if f.Location == row.location {
				found = true
				if !strings.HasPrefix(f.Remedy, row.remedy) {
					t.Errorf("%s %s: remedy %q, want %q", row.method, row.body, f.Remedy, row.remedy)
				}
			}
		}
		if !found {
			t.Errorf("%s %s: no fault at %s: %+v", row.method, row.body, row.location, p.Errors)
		}
	}
	p := want[front.Problem](w, w.do("POST", "/v1/tokens", `name=ci`, "Content-Type", "text/plain"), http.StatusUnsupportedMediaType)
	if p.Remedy != "send Content-Type: application/json" {
		t.Errorf("remedy of another type of content: %q", p.Remedy)
	}
}
