package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

func TestUnmatched(t *testing.T) {
	many := strings.Repeat(`{"id":1},`, maxLookedAt)
	for _, c := range []struct{ mask, doc, want string }{
		{"id,name", `{"id":1,"name":null}`, ""},
		{"items(id,neme)", `{"items":[{"id":1},{"id":2,"name":"x"}]}`, "items.neme name"},
		{"-items.metadta", `{"items":[{"metadata":{}}]}`, "items.metadta metadata"},
		{"itmes(id,name)", `{"items":[{"id":1}]}`, "itmes items"}, // not what is below it
		{"items(id)", `{"items":[]}`, ""},
		{"items(id)", `{"items":null}`, ""},
		{"id.sub", `{"id":1}`, ""}, // a text or number has no members, and the schema may have more
		{"id", `[[{"id":1}]]`, ""},
		{"zzz", `[{"id":1}]`, "zzz "},
		{"*(id,nope)", `{"a":{"id":1},"b":{"id":2}}`, "*.nope "},
		{"a,*(nope)", `{"a":{"nope":1},"b":{"id":2}}`, "*.nope "},
		{"id", `"text"`, ""},
		{`late`, `[` + many + `{"late":1}]`, "late "},
		{`late`, `[` + strings.TrimPrefix(many, `{"id":1},`) + `{"late":1}]`, ""},
	} {
		m, err := ReadMask(c.mask)
		if err != nil {
			t.Fatalf("%s: %v", c.mask, err)
		}
		doc, err := jsonscan.Parse([]byte(c.doc), 64)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range m.Unmatched(doc) {
			got = append(got, u.Path+" "+u.Nearest)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s of %.60s: %q, want %q", c.mask, c.doc, got, c.want)
		}
	}
}

// TestUnmatchedBound: of many names that are not there the first are told.
func TestUnmatchedBound(t *testing.T) {
	for n := MaxUnmatched - 1; n <= MaxUnmatched+1; n++ {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("missing%d", i))
		}
		m, err := ReadMask(strings.Join(names, ","))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonscan.Parse([]byte(`{"id":1}`), 8)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Unmatched(doc); len(got) != min(n, MaxUnmatched) {
			t.Errorf("%d names: %d told", n, len(got))
		}
	}
}
