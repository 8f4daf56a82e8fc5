package openapi

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// maxSampleItems are the items that are shown of an example that is a list.
const maxSampleItems = 3

// givesExample begins the examples that authors write into their descriptions.
var givesExample = regexp.MustCompile(`(?i)\be\.g\b|\bfor example\b|\bfor instance\b|\bexamples?:|\bex:`)

// withExampleOf adds the declared example of a value to its description, unless the
// description, the values of an enum or the default show one.
func withExampleOf(s *schema, text string) string {
	if s.hasEnum || s.types == operation.TypeBoolean {
		return text
	}
	sample := sampleOf(s.example)
	if sample == "" || strings.Contains(text, sample) || givesExample.MatchString(text) || s.def.exists() && sampleOf(s.def) == sample {
		return text
	}
	if text != "" && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") {
		text += ","
	}
	return strings.TrimSpace(text + " e.g. " + sample)
}

// sampleOf is an example in a few words: a scalar, or the first ones of a list; ""
// where it is none that fits.
func sampleOf(v value) string {
	if !v.exists() {
		return ""
	}
	switch v.kind() {
	case kindNull, kindObject:
		return ""
	case kindArray:
		var items []string
		for _, e := range v.elements() {
			if k := e.kind(); k == kindNull || k == kindObject || k == kindArray || len(items) == maxSampleItems {
				break
			}
			items = append(items, e.text())
		}
		if joined := collapse(strings.Join(slices.Compact(items), ", ")); len(joined) <= maxExample {
			return joined
		}
		return ""
	}
	if t := v.text(); len(t) <= maxExample {
		return collapse(t)
	}
	return ""
}
