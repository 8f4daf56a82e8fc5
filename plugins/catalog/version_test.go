package catalog

import (
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
		"measured":    {func(e *Entry) { e.Verified.Tokens++ }, true},
	} {
		e := parse(t)
		if c.change(e); (e.Version() == was) != c.same {
			t.Errorf("%s: version %s, was %s", name, e.Version(), was)
		}
	}
}
