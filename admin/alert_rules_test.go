package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/notify/alert/rule"
)

// TestAlertRuleList: rules come in pages, and are searched, filtered and sorted as every list.
func TestAlertRuleList(t *testing.T) {
	w := newWorld(t)
	presets := len(rule.Presets())
	for i := range 4 {
		body := fmt.Sprintf(`{"name":"own-%d","metric":"errors","threshold":%d,"window":"10m","severity":%q}`, i, i+1, []string{"info", "warning"}[i%2])
		want[alert.Rule](w, w.do("POST", "/v1/alert-rules", body), http.StatusCreated)
	}
	get := func(query string) admin.List[alert.Rule] {
		t.Helper()
		return want[admin.List[alert.Rule]](w, w.do("GET", "/v1/alert-rules?"+query, nil), http.StatusOK)
	}
	var names []string
	query := "limit=5"
	for pages := 1; ; pages++ {
		page := get(query)
		for _, r := range page.Items {
			names = append(names, r.Name)
		}
		if page.NextCursor == "" {
			if pages != (presets+4+4)/5 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		if len(page.Items) != 5 {
			t.Fatalf("a page of %d rules", len(page.Items))
		}
		query = "limit=5&cursor=" + page.NextCursor
	}
	if len(names) != presets+4 || names[0] != rule.Presets()[0] || strings.Join(names[presets:], " ") != "own-0 own-1 own-2 own-3" {
		t.Errorf("%q", names)
	}
	f := func(q, filter, orderBy, want string) {
		t.Helper()
		var got []string
		for _, r := range get(url.Values{"q": {q}, "filter": {filter}, "orderBy": {orderBy}}.Encode()).Items {
			got = append(got, r.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q %q %q: %q, want %q", q, filter, orderBy, got, want)
		}
	}
	f("", "preset:false severity:info", "", "own-0 own-2")
	f("", "preset:false", "-threshold", "own-3 own-2 own-1 own-0")
	f("own-3", "", "", "own-3")
	f("", "metric:errors threshold:>2", "name", "own-2 own-3")
	f("", "enabled:false", "", "")
	want[alert.Rule](w, w.do("PATCH", "/v1/alert-rules/upstream.slow", `{"enabled":false}`), http.StatusOK)
	f("", "enabled:false", "", "upstream.slow")
	f("", "changed:yes -updatedAt:never", "", "upstream.slow")
	if a := w.do("GET", "/v1/alert-rules?filter=severty:info", nil); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "did you mean severity?") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}
