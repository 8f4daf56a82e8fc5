package answer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestNarrowsAndMayBeLong(t *testing.T) {
	texts := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"p%d":{"type":["string","null"]}`, i)
		}
		return `{"type":"object","properties":{` + b.String()[1:] + `}}`
	}
	for _, c := range []struct {
		what, schema             string
		narrows, narrowsReading  bool
		mayBeLong, longIfReading bool
	}{
		{"nothing is known", "", false, true, false, true},
		{"a text", `{"type":"object","properties":{"result":{"type":["string","null"]}}}`, false, false, false, true},
		{"a number", `{"type":"object","properties":{"result":{"type":["number","null"]}}}`, false, false, false, false},
		{"numbers and booleans", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["boolean","null"]}}}`, true, true, false, false},
		{"two texts", texts(2), true, true, false, true},
		{"as many as are few", texts(maxShort), true, true, false, true},
		{"one more", texts(maxShort + 1), true, true, true, true},
		{"a list of numbers", `{"type":"object","properties":{"heights":{"type":["array","null"],"items":{"type":["number","null"]}}}}`, false, false, true, true},
		{"a list of anything", `{"type":"object","properties":{"result":{"type":["array","null"],"items":{}}}}`, true, true, true, true},
		{"anything", `{"type":"object","properties":{"a":{}}}`, true, true, true, true},
		{"an object of any members", `{"type":"object","properties":{}}`, true, true, true, true},
		{"a map", `{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string"}}}}`, true, true, true, true},
		{"no map", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, false, false, false, true},
		{"one value inside", `{"type":"object","properties":{"a":{"type":["object","null"],"properties":{"b":{"type":"string"}}}}}`, false, false, true, true},
		{"two inside", `{"type":"object","properties":{"a":{"type":["object","null"],"properties":{"b":{"type":"string"},"c":{"type":"string"}}}}}`, true, true, true, true},
		{"one of two", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"object","properties":{"b":{"type":"number"}}}]}}}`, true, true, true, true},
		{"too deep to be seen", strings.Repeat(`{"items":`, maxNarrowDepth+1) + `{"type":"string"}` + strings.Repeat(`}`, maxNarrowDepth+1), true, true, true, true},
		{"as deep as is looked", strings.Repeat(`{"items":`, maxNarrowDepth) + `{"type":"string"}` + strings.Repeat(`}`, maxNarrowDepth), false, false, true, true},
		{"no type in a list", `{"type":"object","properties":{"a":{"type":[]}}}`, true, true, true, true},
	} {
		if c.schema != "" && !json.Valid([]byte(c.schema)) {
			t.Fatal(c.what, c.schema)
		}
		raw := json.RawMessage(c.schema)
		got := [...]bool{Narrows(raw, false), Narrows(raw, true), MayBeLong(raw, false), MayBeLong(raw, true)}
		if want := [...]bool{c.narrows, c.narrowsReading, c.mayBeLong, c.longIfReading}; got != want {
			t.Errorf("%s: %v, want %v", c.what, got, want)
		}
	}
}
