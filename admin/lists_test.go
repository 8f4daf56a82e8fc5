package admin_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/toolset"
)

// Every field that the document names of a list filters it, and sorts it, in SQL or in
// memory; what it does not name is refused with what there is.
func TestListFields(t *testing.T) {
	w := newWorld(t)
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody("Pets", "pets.yaml")), 201)
	ada, _ := w.invite("ada@example.com", "viewer")
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []struct{ Name, In, Description string }
		}
	}
	if err := json.Unmarshal(document(t, w), &doc); err != nil {
		t.Fatal(err)
	}
	value := map[string]string{"(time)": ">=24h", "(number)": "1..5", "(true, false)": "true", "": "x"}
	lists := 0
	for path, item := range doc.Paths {
		for _, p := range item["get"].Parameters {
			if p.In != "query" || p.Name != "filter" && p.Name != "orderBy" {
				continue
			}
			lists++
			at := strings.NewReplacer("/v1/members/{id}", "/v1/members/"+ada.ID, "{id}", ts.ID, "{name}", ts.Connector.Name).Replace(path) + "?"
			_, names, ok := strings.Cut(strings.TrimSuffix(p.Description, "."), " Fields: ")
			if !ok {
				t.Errorf("%s: %s does not say its fields: %s", path, p.Name, p.Description)
				continue
			}
			depth := 0
			for _, f := range strings.FieldsFunc(names, func(r rune) bool {
				depth += map[rune]int{'(': 1, ')': -1}[r]
				return r == ',' && depth == 0
			}) {
				name, kind, _ := strings.Cut(strings.TrimSpace(f), " ")
				v := value[kind]
				if v == "" {
					v, _, _ = strings.Cut(strings.Trim(kind, "()"), ",")
				}
				q := url.Values{"orderBy": {"-" + name}}
				if p.Name == "filter" {
					q = url.Values{"filter": {name + ":" + v + " -" + name + ":" + v}}
				}
				a := w.do("GET", at+q.Encode(), nil)
				if a.StatusCode != http.StatusOK {
					t.Errorf("%s %s: %d %s", path, q, a.StatusCode, a.body)
				} else if p.Name == "filter" && !strings.Contains(a.body, `"items":[]`) {
					t.Errorf("%s %s: %s; want none", path, q, a.body)
				}
			}
			if a := w.do("GET", at+p.Name+"=nothing:x", nil); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "takes: ") {
				t.Errorf("%s %s=nothing:x: %d %s", path, p.Name, a.StatusCode, a.body)
			}
		}
	}
	if lists < 40 {
		t.Errorf("%d parameters of lists", lists)
	}
}

// A list is searched, filtered and sorted together, and its pages go on where the one before
// ended, also when an item of it changes meanwhile.
func TestListQueries(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"Alpha pets", "beta pets", "Gamma pets", "Delta birds"} {
		body := w.createBody(name, "pets.yaml")
		if name == "Gamma pets" {
			body["deploy"] = map[string]any{"skip": true}
		}
		want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	}
	names := func(a answer) (out []string) {
		t.Helper()
		for _, ts := range want[admin.List[view.Toolset]](w, a, 200).Items {
			out = append(out, ts.Name)
		}
		return out
	}
	for _, x := range []struct{ q, filter, orderBy, want string }{
		{"", "", "name", "Alpha pets,beta pets,Delta birds,Gamma pets"},
		{"", "", "-name", "Gamma pets,Delta birds,beta pets,Alpha pets"},
		{"PETS", "", "name", "Alpha pets,beta pets,Gamma pets"},
		{"pets -beta", "", "name", "Alpha pets,Gamma pets"},
		{"", "status:draft", "", "Gamma pets"},
		{"", "-status:draft pets", "name", "Alpha pets,beta pets"},
		{"", `name:"delta birds"`, "", "Delta birds"},
		{"", "name:alpha,gamma", "-name", "Gamma pets,Alpha pets"},
		{"", "createdAt:<24h", "", ""},
		{"", "updatedAt:>=1h enabledTools:>100", "", ""},
		{"100%", "", "", ""},
		{"_", "", "", ""},
	} {
		q := url.Values{"q": {x.q}, "filter": {x.filter}, "orderBy": {x.orderBy}}.Encode()
		if got := strings.Join(names(w.do("GET", "/v1/toolsets?"+q, nil)), ","); got != x.want {
			t.Errorf("%+v: %q", x, got)
		}
	}

	// One by one, each page by its link, which has all parameters.
	var got []string
	for next := "/v1/toolsets?limit=1&orderBy=-name&q=pets"; next != "" && len(got) < 5; {
		a := w.do("GET", next, nil)
		got = append(got, names(a)...)
		next, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
	}
	if !slices.Equal(got, []string{"Gamma pets", "beta pets", "Alpha pets"}) {
		t.Errorf("pages: %q", got)
	}
	first := want[admin.List[view.Toolset]](w, w.do("GET", "/v1/toolsets?limit=1&orderBy=name", nil), 200)
	a := w.do("GET", "/v1/toolsets?limit=1&orderBy=-name&cursor="+first.NextCursor, nil)
	if a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "other parameters") {
		t.Errorf("a cursor of another order: %d %s", a.StatusCode, a.body)
	}

	// A list in memory: what is disabled between two pages takes no other tool with it.
	const path = "/v1/toolsets/alpha-pets/tools"
	all := want[admin.List[toolset.Tool]](w, w.do("GET", path+"?filter=enabled:true&orderBy=-name", nil), 200).Items
	page := want[admin.List[toolset.Tool]](w, w.do("GET", path+"?filter=enabled:true&orderBy=-name&limit=1", nil), 200)
	want[toolset.Tool](w, w.do("PATCH", path+"/"+page.Items[0].Name, map[string]any{"enabled": false}), 200)
	rest := want[admin.List[toolset.Tool]](w, w.do("GET", path+"?filter=enabled:true&orderBy=-name&limit=200&cursor="+page.NextCursor, nil), 200).Items
	if len(rest) != len(all)-1 || rest[0].Name != all[1].Name {
		t.Errorf("after %s: %+v, want the rest of %+v", page.Items[0].Name, rest, all)
	}
}

func TestAuditFilters(t *testing.T) {
	w := newWorld(t)
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody("Pets", "pets.yaml")), 201)
	count := func(filter string) int {
		t.Helper()
		return len(want[admin.List[json.RawMessage]](w, w.do("GET", "/v1/audit?filter="+url.QueryEscape(filter), nil), 200).Items)
	}
	me := want[admin.Me](w, w.do("GET", "/v1/me", nil), 200)
	if n := count("action:toolset.* actor:" + me.TokenID + " time:>=24h"); n == 0 {
		t.Error("no record of what was done just now")
	}
	all := count("action:toolset.create")
	for _, f := range []string{"resourceName:pets", `resourceName:"PET"`} {
		if n := count("action:toolset.create " + f); n != all || n == 0 {
			t.Errorf("%s: %d of %d records of the toolset", f, n, all)
		}
	}
	if n := count("resourceName:none action:toolset.create"); n != 0 {
		t.Errorf("%d records of a toolset without its name", n)
	}
	for _, f := range []string{"action:toolset.nothing", "actor:tok_x", "time:<24h", "outcome:refused", "resourceName:birds"} {
		if n := count(f); n != 0 {
			t.Errorf("%s: %d records", f, n)
		}
	}
}
