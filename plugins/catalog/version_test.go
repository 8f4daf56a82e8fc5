package catalog

import (
	"maps"
	"testing"
)

// TestVersion: what a toolset takes over of an entry changes its version, and nothing else
// does.
func TestVersion(t *testing.T) {
	was := parse(t).Version()
	if again := parse(t).Version(); len(was) != versionDigits || again != was {
		t.Fatalf("version %q, then %q", was, again)
	}
	for name, c := range map[string]struct {
		change func(*Entry)
		same   bool
	}{
		"description": {func(e *Entry) { e.Tools[0].Description += "." }, false},
		"operation":   {func(e *Entry) { e.Tools[0].Operation = "GET /volumes" }, false},
		"mask":        {func(e *Entry) { e.Tools[0].Answers.Fields = "items(id)" }, false},
		"header":      {func(e *Entry) { e.Authentication[0].Settings.HeaderName = "X-Key" }, false},
		"use case":    {func(e *Entry) { e.UseCases[0].Tools = e.UseCases[0].Tools[:1] }, false},
		"address":     {func(e *Entry) { e.Source.OpenAPI.URL += "?v=2" }, false},
		"summary":     {func(e *Entry) { e.Summary += "." }, true},
		"workflow":    {func(e *Entry) { e.Workflows.Document += " " }, false},
		"no workflow": {func(e *Entry) { e.Workflows = nil }, false},
		"its cases":   {func(e *Entry) { e.Workflows.Cases = nil }, true},
		"measured":    {func(e *Entry) { e.Verified.Tokens++ }, true},
	} {
		e := parse(t)
		if c.change(e); (e.Version() == was) != c.same {
			t.Errorf("%s: version %s, was %s", name, e.Version(), was)
		}
	}
}

// TestTextsOfATool: its own are over those of the entry, of which it has those that it lists.
func TestTextsOfATool(t *testing.T) {
	e := Entry{Texts: map[string]string{"a": "of all", "b": "of all", "c": "of all"}}
	got := e.TextsOf(&EntryTool{Texts: map[string]string{"b": "own", "d": "own"}}, func(name string) bool { return name != "c" })
	if want := map[string]string{"a": "of all", "b": "own", "d": "own"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
