package connector

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestDetailTexts: who reads a difference sees the text before and now, cut between
// characters at maxDetailText.
func TestDetailTexts(t *testing.T) {
	for _, c := range []struct{ is, want string }{
		{"new", "new"},
		{strings.Repeat("a", maxDetailText), strings.Repeat("a", maxDetailText)},
		{strings.Repeat("a", maxDetailText+1), strings.Repeat("a", maxDetailText-3) + "…"},
		{strings.Repeat("a", maxDetailText-4) + "ééé", strings.Repeat("a", maxDetailText-4) + "…"},
	} {
		var d differ
		d.texts(ImpactWording, "description", "the description changed", "old", c.is)
		if got := d.details[0]; got.Old != "old" || got.New != c.want || !utf8.ValidString(got.New) {
			t.Errorf("%d bytes: got %d bytes, %q", len(c.is), len(got.New), got.New[max(0, len(got.New)-8):])
		}
	}
	var d differ
	for range maxDetails {
		d.add(ImpactWording, "title", "x")
	}
	d.texts(ImpactSafe, "annotations", "its annotations changed", "a", "b")
	d.texts(ImpactWording, "description", "the description changed", "old", "new") // no place is left
	if last := d.details[maxDetails-1]; len(d.details) != maxDetails || last.Old != "a" || last.New != "b" || last.Where != "annotations" {
		t.Errorf("the last detail is %+v of %d", last, len(d.details))
	}
}

// TestBoundTexts: the texts of one comparison end at maxDiffTexts, the details do not.
func TestBoundTexts(t *testing.T) {
	half := strings.Repeat("x", maxDiffTexts/2)
	changes := []ToolChange{{Details: []Detail{{Old: half}, {New: half}}}, {Details: []Detail{{What: "w", Old: "y"}}}}
	boundTexts(changes)
	if d := changes[0].Details; d[0].Old != half || d[1].New != half {
		t.Error("texts within the bound are gone")
	}
	if d := changes[1].Details[0]; d.Old != "" || d.What != "w" {
		t.Errorf("beyond the bound: %+v", d)
	}
}
