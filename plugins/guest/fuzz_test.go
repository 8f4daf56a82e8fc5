package guest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzParsePatch: a patch that an auth plugin answers sets headers that can be sent, each once
// and in one line, within the bounds; read and written again it is the same.
func FuzzParsePatch(f *testing.F) {
	for _, s := range []string{
		"", `{"headers":{"X-A":"b"},"query":[["a","b"]],"body":"AAAA","tokens":{"Authorization":{"handle":1,"prefix":"Bearer "}}}`,
		`{"headers":{"X-A":"b","x-a":"c"}}`, `{"headers":{"A\r\nB":"c"}}`, `{"headers":{"A":"b\nC: d"}}`, `{"headers":{"A":"b","A":"c"}}`, `{"query":[["a"]]}`,
		`{"headers":{"A":"b"},"tokens":{"a":{"handle":1,"prefix":"\u0000"}}}`, `{"header":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePatch(b)
		if (p == nil) == (err == nil) {
			t.Fatal(p, err)
		}
		if p == nil {
			return
		}
		names := map[string]bool{}
		one := func(name, value string) {
			lower := strings.ToLower(name)
			if name == "" || names[lower] || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, " :\t") || len(value) > maxPatchText {
				t.Fatalf("header %q: %q", name, value)
			}
			names[lower] = true
		}
		for name, value := range p.Headers {
			one(name, value)
		}
		for name, held := range p.Tokens {
			one(name, held.Prefix)
		}
		if len(names) > maxPatchHeaders || len(p.Query) > maxPatchQuery {
			t.Fatalf("%d headers, %d parameters", len(names), len(p.Query))
		}
		for _, q := range p.Query {
			if q.Name == "" {
				t.Fatal("a parameter without a name")
			}
		}
	})
}

// FuzzCalls: the lines of a workflow are calls of tools that its manifest names, with an object
// of arguments, and never more than are left.
func FuzzCalls(f *testing.F) {
	for _, s := range []string{
		`{"tool":"a","arguments":{"x":1}}` + "\n" + `{"tool":"b"}` + "\n", `{"tool":"c"}`, `{"tool":"a","arguments":[]}`, `{"tool":"a","arguments":null}`,
		"\n\n", `{"tool":"a","tool":"b"}`, `{"tool":"a"}{"tool":"b"}`, strings.Repeat(`{"tool":"a"}`+"\n", 4),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const left = 3
		c := &Calls{names: []string{"a", "b"}, left: left}
		calls, refusal := c.read(b)
		if refusal != "" {
			if calls != nil || c.left != left {
				t.Fatalf("refused, and %d calls, %d left", len(calls), c.left)
			}
			return
		}
		if len(calls) > left || c.left != left-len(calls) || len(calls) != bytes.Count(bytes.TrimRight(b, "\n"), []byte("\n"))+1 {
			t.Fatalf("%d calls of %q, %d left", len(calls), b, c.left)
		}
		for _, call := range calls {
			var arguments map[string]any
			if call.Tool != "a" && call.Tool != "b" || json.Unmarshal(call.Arguments, &arguments) != nil || arguments == nil {
				t.Fatalf("%q with %q", call.Tool, call.Arguments)
			}
		}
	})
}
