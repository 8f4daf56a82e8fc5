package transfer

import (
	"testing"

	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Which connector of a toolset is the one of a document decides whose credential stays.
func TestPartOf(t *testing.T) {
	one := &draft.Part{Row: store.ToolsetConnector{Name: "one"}}
	two := &draft.Part{Row: store.ToolsetConnector{Name: "two"}}
	have := []declare.DeclaredSource{{Kind: "openapi", URL: "https://a.example"}, {Kind: "openapi", URL: "https://b.example"}}
	connector := func(name, url string) declare.DeclaredConnector {
		return declare.DeclaredConnector{Name: name, Source: declare.DeclaredSource{Kind: "openapi", URL: url}}
	}
	for name, c := range map[string]struct {
		parts    []*draft.Part
		declared []declare.DeclaredConnector
		want     *draft.Part
	}{
		"the same name":                    {[]*draft.Part{one, two}, []declare.DeclaredConnector{connector("two", "https://a.example")}, two},
		"a single one by its source":       {[]*draft.Part{one, two}, []declare.DeclaredConnector{connector("other", "https://b.example")}, two},
		"a single one of another source":   {[]*draft.Part{one, two}, []declare.DeclaredConnector{connector("other", "https://c.example")}, one},
		"one of several with another name": {[]*draft.Part{one, two}, []declare.DeclaredConnector{connector("other", "https://b.example"), connector("two", "")}, nil},
		"a single one of an empty toolset": {nil, []declare.DeclaredConnector{connector("other", "https://b.example")}, nil},
	} {
		d := &draft.Draft{Parts: c.parts}
		if got := partOf(d, &declare.DeclaredToolset{Connectors: c.declared}, 0, have); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A document that cannot be understood is refused before the workspace is looked at.
func TestImportRefuses(t *testing.T) {
	_, _, err := new(Room).Import(t.Context(), nil, &Import{Document: &declare.Declaration{FormatVersion: declare.DeclarationFormat + 1}})
	if p := problem.As(err); p == nil || p.Place.Pointer != "/formatVersion" {
		t.Errorf("a format that is not known: %v", err)
	}
}
