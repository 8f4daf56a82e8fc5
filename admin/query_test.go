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
