package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func ids(list []*Entry) string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return strings.Join(out, " ")
}

func small() *Catalog {
	tool := []EntryTool{{Operation: "GET /a", Name: "list_invoices", Examples: []string{"what do I owe"}, Asks: []string{"Open bills, overdue ones"}}}
	return (&Catalog{}).With([]*Entry{
		{ID: "stripe", Name: "Stripe", Category: "finance", Summary: "Payments and subscriptions.", Tools: tool},
		{ID: "jira", Name: "Jira", Category: "productivity", Summary: "Issues of teams."},
		{ID: "github", Name: "GitHub", Category: "development", Summary: "Issues and pull requests.", UseCases: []EntryUseCase{{ID: "triage", Summary: "Answer bugs."}}},
	})
}

func TestSearch(t *testing.T) {
	c := small()
	for query, want := range map[string]string{
		"":                      "github jira stripe",
		"GITHUB":                "github",
		"issues":                "github jira",
		"issues teams":          "jira github",
		"invoice":               "stripe",
		"triage":                "github",
		"fin":                   "stripe",
		"in":                    "",
		"nothing":               "",
		"!!!":                   "github jira stripe",
		"pull requests, issues": "github jira",
		"invoices":              "stripe", // one of the words is another number
		"read my invoices":      "stripe", // "my" tells nothing
		"what do I owe":         "stripe", // in what people ask of a tool
		"bills":                 "stripe",
		"bill":                  "", // of that only whole words
		"overdue issues":        "github jira stripe",
		"gihtub":                "github", // none has the word
	} {
		if got := ids(c.Search(query)); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	// What is beyond the bounds is not looked at.
	if got := ids(c.Search(strings.Repeat("x", maxQuery-5) + " jira")); got != "jira" {
		t.Errorf("a query of %d bytes: %q", maxQuery, got)
	}
	if got := ids(c.Search(strings.Repeat("x", maxQuery-2) + " fin")); got != "" {
		t.Errorf("a query of %d bytes: %q", maxQuery+1, got)
	}
	if got := ids(c.Search(strings.Repeat("x ", maxTerms-1) + "jira")); got != "jira" {
		t.Errorf("%d words: %q", maxTerms, got)
	}
	if got := ids(c.Search(strings.Repeat("x ", maxTerms) + "jira")); got != "" {
		t.Errorf("%d words: %q", maxTerms+1, got)
	}
}

// TestSearchBuiltIn: what strangers type finds the service that they mean first.
func TestSearchBuiltIn(t *testing.T) {
	c, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"email": "sendgrid", "send an e-mail": "sendgrid", "slak": "slack", "refund": "stripe", "vector database": "qdrant", "who is on call": "pagerduty", "crm": "hubspot", "kubernets": "kubernetes",
	} {
		if got := c.Search(query); len(got) == 0 || got[0].ID != want {
			t.Errorf("%q: %s, want %s first", query, ids(got), want)
		}
	}
}

func TestEntry(t *testing.T) {
	c := small()
	if e, err := c.Entry("jira"); err != nil || e.Name != "Jira" {
		t.Errorf("%v, %v", e, err)
	}
	if _, err := c.Entry("githb"); !problem.Is(err, problem.NotFound) || !strings.Contains(err.Error(), "did you mean github") {
		t.Error(err)
	}
	own := c.With([]*Entry{{ID: "jira", Name: "Our Jira"}, {ID: "zoo", Name: "Zoo"}})
	if e, err := own.Entry("jira"); err != nil || e.Name != "Our Jira" || ids(own.All()) != "github jira stripe zoo" {
		t.Errorf("%v, %v, %s", e, err, ids(own.All()))
	}
	if e, err := c.Entry("jira"); err != nil || e.Name != "Jira" {
		t.Errorf("the first catalog has changed: %v, %v", e, err)
	}
}

func names(tools []*EntryTool) string {
	out := make([]string, len(tools))
	for i := range tools {
		out[i] = tools[i].Name
	}
	return strings.Join(out, " ")
}

func TestChoose(t *testing.T) {
	e := parse(t)
	for _, c := range []struct {
		choice Choice
		want   string
	}{
		{Choice{}, "list_books get_book search_books lend_book"},
		{Choice{UseCase: "reading"}, "list_books get_book search_books"},
		{Choice{ReadOnly: true}, "list_books get_book search_books"},
		{Choice{Wanted: func(n string) bool { return n != "get_book" }}, "list_books search_books lend_book"},
		{Choice{UseCase: "reading", Wanted: func(n string) bool { return strings.HasPrefix(n, "get") }}, "get_book"},
	} {
		got, err := e.Choose(c.choice)
		if err != nil || names(got) != c.want {
			t.Errorf("%+v: %s, %v, want %s", c.choice, names(got), err, c.want)
		}
	}
	if _, err := e.Choose(Choice{UseCase: "burning"}); err == nil || !strings.Contains(err.Error(), "choose one of reading") {
		t.Error(err)
	}
	if _, err := e.Choose(Choice{Wanted: func(string) bool { return false }}); err == nil || !strings.Contains(err.Error(), "leaves none of the 4 tools") {
		t.Error(err)
	}
}

// TestFit: an entry that no longer fits says what is gone and what is there instead.
func TestFit(t *testing.T) {
	e := parse(t)
	tools, err := e.Choose(Choice{})
	if err != nil {
		t.Fatal(err)
	}
	all := []Operation{{"GET", "/books"}, {"GET", "/books/{id}"}, {"POST", "/books/search"}, {"POST", "/loans"}, {"GET", "/other"}}
	if err := e.Fit(tools, all, ""); err != nil {
		t.Error(err)
	}
	err = e.Fit(tools, []Operation{{"PUT", "/books"}, {"DELETE", "/v2/books/{bookId}"}, {"GET", "/v2/books/{bookId}"}, {"GET", "/books/search"}}, "https://mirror.example/openapi.json")
	p := problem.As(err)
	if p == nil || p.Kind != problem.Conflict || p.Detail != "the entry library no longer fits: 4 of its 4 tools not found in https://mirror.example/openapi.json" {
		t.Fatal(err)
	}
	got := make([]string, len(p.Parts))
	for i := range p.Parts {
		got[i] = p.Parts[i].Detail
	}
	want := []string{
		"list_books: GET /books is gone; there is PUT /books",
		"get_book: GET /books/{id} is gone; there is GET /v2/books/{bookId}",
		"search_books: POST /books/search is gone; there is GET /books/search",
		"lend_book: POST /loans is gone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
