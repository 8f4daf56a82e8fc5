package admin_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/toolset"
)

// TestNullRestores: in every PATCH null restores the default, as RFC 7396 has it, and what is
// absent stays.
func TestNullRestores(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID
	// f patches what is at a path, and has the answer compared with what it was before any.
	f := func(at, changed, cleared string) {
		t.Helper()
		show := func() string {
			t.Helper()
			members := want[map[string]any](w, w.do("GET", at, nil), http.StatusOK)
			delete(members, "version")
			delete(members, "updatedAt")
			b, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		patch := func(body string) {
			t.Helper()
			if a := w.do("PATCH", at, body, "If-Match", "*"); a.StatusCode != http.StatusOK {
				t.Fatalf("%s %s: %d %s", at, body, a.StatusCode, a.body)
			}
		}
		before := show()
		patch(changed)
		if show() == before {
			t.Errorf("%s: %s changed nothing", at, changed)
		}
		patch(cleared)
		if after := show(); after != before {
			t.Errorf("%s: %s leaves\n%s\nnot\n%s", at, cleared, after, before)
		}
	}
	f(path, `{"description":"Of a shop","instructions":"Be kind","profile":"off","cache":{"ttlSeconds":60},"answers":{"format":"json","fields":"-id"}}`,
		`{"description":null,"instructions":null,"profile":null,"cache":null,"answers":null}`)
	f(path, `{"answers":{"format":"json"}}`, `{"answers":{"format":null}}`)
	f(path, `{"selection":"search","batch":true,"scriptsMayDestroy":true,"learn":true}`, `{"learn":null,"scriptsMayDestroy":null,"batch":null,"selection":null}`)
	tool := path + "/tools/list_pets"
	of := want[toolset.Tool](w, w.do("GET", tool, nil), http.StatusOK)
	f(tool, `{"title":"T","description":"D","enabled":false,"annotations":{"openWorldHint":false,"idempotentHint":false},"answers":{"fields":"-id","limit":3}}`,
		`{"title":null,"description":null,"enabled":null,"annotations":null,"answers":null}`)
	f(tool, `{"fixed":{"limit":7}}`, `{"fixed":null}`)
	f(tool, `{"fixed":{"limit":7}}`, `{"fixed":{"limit":null}}`)
	f(tool, `{"argumentTexts":{"limit":"How many."}}`, `{"argumentTexts":null}`)
	f(tool, `{"argumentTexts":{"limit":""}}`, `{"argumentTexts":{"limit":null}}`)
	w.do("PATCH", tool, `{"annotations":{"openWorldHint":false,"idempotentHint":false}}`)
	if got := want[toolset.Tool](w, w.do("PATCH", tool, `{"annotations":{"idempotentHint":null}}`), http.StatusOK); got.Annotations.OpenWorld || got.Annotations.Idempotent != of.Annotations.Idempotent {
		t.Errorf("one annotation of two is restored: %+v, was %+v", got.Annotations, of.Annotations)
	}
	w.do("PATCH", tool, `{"title":"T"}`)
	w.do("POST", path+"/tools/batch-update", `{"updates":[{"tool":"list_pets","title":null}]}`, "If-Match", "*")
	if got := want[toolset.Tool](w, w.do("GET", tool, nil), http.StatusOK); got.Title != of.Title {
		t.Errorf("null in a batch leaves the title %q", got.Title)
	}

	detail := want[view.ToolsetDetail](w, w.do("GET", path, nil), http.StatusOK)
	connector := path + "/connectors/" + detail.Connectors[0].Name
	w.do("PATCH", connector, `{"baseUrl":null}`, "If-Match", "*") // the test's own
	f(connector, `{"baseUrl":"https://other.example","fixed":{"limit":5},"answers":{"format":"json"}}`, `{"baseUrl":null,"fixed":null,"answers":null}`)

	want[alert.Rule](w, w.do("POST", "/v1/alert-rules", `{"name":"own","metric":"calls","threshold":5}`), http.StatusCreated)
	f("/v1/alert-rules/own", `{"tool":"list_pets","connector":"pets","caller":"ann","window":"30m","severity":"critical"}`,
		`{"tool":null,"connector":null,"caller":null,"window":null,"severity":null}`)
	if a := w.do("PATCH", "/v1/alert-rules/own", `{"metric":null}`); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "there is no metric") {
		t.Errorf("a rule without a metric: %d %s", a.StatusCode, a.body)
	}

	m := want[people.Member](w, w.do("POST", "/v1/members", `{"email":"ben@a.example","role":"viewer"}`), http.StatusCreated)
	f("/v1/members/"+m.ID, `{"name":"Ben"}`, `{"name":null}`)
	if a := w.do("PATCH", "/v1/members/"+m.ID, `{"role":null}`, "If-Match", "*"); a.StatusCode < 400 || !strings.Contains(a.body, "role cannot be null") {
		t.Errorf("a member without a role: %d %s", a.StatusCode, a.body)
	}

	c := want[notify.Channel](w, w.do("POST", "/v1/channels", `{"name":"ops","kind":"webhook","url":"https://hooks.example/x"}`), http.StatusCreated)
	f("/v1/channels/"+c.ID, `{"routes":{"minSeverity":"critical"},"quiet":{"from":"22:00","to":"07:00"},"digest":{"every":"hourly"},"enabled":false}`,
		`{"routes":null,"quiet":null,"digest":null,"enabled":null}`)
}
