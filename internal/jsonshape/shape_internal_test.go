package jsonshape

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct{ value, want string }{
		{`1`, `{"type":"number"}`},
		{`null`, `{"type":"null"}`},
		{`[]`, `{"items":{},"type":"array"}`},
		{`[{"a":1,"b":"x"},{"a":null}]`, `{"items":{"properties":{"a":{"type":["number","null"]},"b":{"type":"string"}},"type":"object"},"type":"array"}`},
		{`{"ok":true}`, `{"properties":{"ok":{"type":"boolean"}},"type":"object"}`},
		{`nope`, ``},
	} {
		if got := string(Of([]byte(tt.value))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.value, got, tt.want)
		}
	}
}

// TestBounds tries each bound at the limit and one past it.
func TestBounds(t *testing.T) {
	object := func(n, name int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d":1`, strings.Repeat("m", name), i)
		}
		return "{" + strings.TrimPrefix(b.String(), ",") + "}"
	}
	has := func(value, part string) bool { return strings.Contains(string(Of([]byte(value))), part) }
	if !has(object(maxMembers, 1), `"m63"`) || has(object(maxMembers+1, 1), "properties") {
		t.Error("an object of many members is a map")
	}
	items := func(n int) string { return "[" + strings.Repeat("1,", n-1) + `"x"]` }
	if !has(items(maxItems), "string") || has(items(maxItems+1), "string") {
		t.Error("of an array too much or too little is looked at")
	}
	deep := func(n int) string { return strings.Repeat("[", n) + `"x"` + strings.Repeat("]", n) }
	if !has(deep(maxDepth), "string") || has(deep(maxDepth+1), "string") {
		t.Error("too deep, or not deep enough")
	}
	last := 0
	for name := 1; ; name++ {
		s := Of([]byte(object(maxMembers, name)))
		if s == nil {
			if last > maxSchema || last < maxSchema-2*maxMembers {
				t.Errorf("the largest schema has %d bytes", last)
			}
			break
		}
		if last = len(s); !json.Valid(s) {
			t.Fatal("not valid")
		}
	}
}
