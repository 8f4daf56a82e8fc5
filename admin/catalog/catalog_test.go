package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/catalog"
)

func TestNamed(t *testing.T) {
	var own []*catalog.Entry
	for i := range maxNamed + 1 {
		own = append(own, &catalog.Entry{ID: fmt.Sprint("acme-", i), Name: fmt.Sprint("Acme ", i), Source: catalog.EntrySource{MCP: &catalog.EntryMCP{}}})
	}
	r, err := New(own)
	if err != nil {
		t.Fatal(err)
	}
	ids := func(name string) string {
		var out []string
		for _, item := range r.Named(name) {
			out = append(out, item.ID)
		}
		return strings.Join(out, " ")
	}
	for name, want := range map[string]string{"ACME": "acme-0 acme-1 acme-2", "Gitea server": "gitea", "nothing of it": "", "repositories": ""} {
		if got := ids(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
