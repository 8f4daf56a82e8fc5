package typescript

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	const address = `{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"},"zip":{"type":["string","null"]}}}`
	for _, tt := range []struct {
		name      string
		functions []Function
		want      string
	}{
		{"no arguments and an unknown answer", []Function{{Path: "tools.a.ping", Input: []byte(`{"type":"object"}`)}}, "async tools.a.ping()\n"},
		{"arguments", []Function{{
			Path: "tools.a.list_items", Text: "List the items. [reads]", Skip: "fields",
			Input: []byte(`{"type":"object","properties":{"owner":{"type":"string"},"state":{"enum":["open","closed",null],"default":"open"},"per_page":{"type":"integer","maximum":100},` +
				`"ids":{"type":"array","items":{"type":["integer","string"]}},"x-y":{"type":"boolean"},"fields":{"type":"string"}},"required":["owner"]}`),
			Output: []byte(`{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}},"extra":{"type":"object"}}}}`),
		}}, "// List the items. [reads]\n" +
			`tools.a.list_items(args: {owner: string, state?: "open" | "closed" /* default "open" */, per_page?: number /* ≤ 100 */, ids?: (number | string)[], "x-y"?: boolean}): ` +
			"Promise<{id: number, tags: string[], extra: Record<string, unknown>}[]>\n"},
		{"only optional arguments", []Function{{Path: "tools.a.x", Input: []byte(`{"type":"object","properties":{"n":{"type":"number"}}}`)}}, "async tools.a.x(args?: {n?: number})\n"},
		{"choices", []Function{{
			Path: "tools.a.x", Input: []byte(`{}`),
			Output: []byte(`{"anyOf":[{"type":"string"},{"type":"null"},{"type":"string"},{"oneOf":[{"const":1},{"const":true}]},{"allOf":[{"type":"boolean"}]},true]}`),
		}}, "tools.a.x(): Promise<string | 1 | true | boolean | unknown>\n"},
		{"a map", []Function{{Path: "tools.a.x", Input: []byte(`{}`), Output: []byte(`{"type":"object","additionalProperties":{"type":"number"}}`)}}, "tools.a.x(): Promise<Record<string, number>>\n"},
		{"null", []Function{{Path: "tools.a.x", Input: []byte(`{}`), Output: []byte(`{"enum":[null]}`)}}, "tools.a.x(): Promise<null>\n"},
		{"shared types", []Function{
			{Path: "tools.a.get_home", Input: []byte(`{}`), Output: []byte(address)},
			{Path: "tools.a.list_homes", Input: []byte(`{}`), Output: []byte(`{"type":"object","properties":{"items":{"type":"array","items":` + address + `},"total":{"type":"integer"}}}`)},
		}, "type Home = {street: string, city: string, zip: string}\ntools.a.get_home(): Promise<Home>\ntools.a.list_homes(): Promise<{items: Home[], total: number}>\n"},
		{"two of one name", []Function{
			{Path: "tools.a.get_x", Input: []byte(`{}`), Output: []byte(`{"type":"object","properties":{"a":` + address + `,"b":` + address + `,"list":{"type":"object","properties":{"a":` +
				strings.ReplaceAll(address, "zip", "post") + `}},"other":` + strings.ReplaceAll(address, "zip", "post") + `}}`)},
		}, "type A = {street: string, city: string, zip: string}\ntype A2 = {street: string, city: string, post: string}\n" +
			"tools.a.get_x(): Promise<{a: A, b: A, list: {a: A2}, other: A2}>\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Append(nil, tt.functions)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestBounds: what is past a bound is left out or unknown.
func TestBounds(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`{"type":"array","items":`, n) + `{"type":"string"}` + strings.Repeat(`}`, n)
	}
	object := func(n int) string {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprintf("m%03d", i)] = map[string]string{"type": "string"}
		}
		b, _ := json.Marshal(map[string]any{"type": "object", "properties": m})
		return string(b)
	}
	choices := func(n int) string {
		var c []string
		for i := range n {
			c = append(c, fmt.Sprint(i))
		}
		return `{"enum":[` + strings.Join(c, ",") + `]}`
	}
	wide := func(n int) string {
		return `{"type":"object","properties":{"` + strings.Repeat("x", n-len(`{: string}`)) + `":{"type":"string"}}}`
	}
	for _, tt := range []struct {
		name, at, past string // schemas
		mark           string // of what was left out
	}{
		{"depth", deep(maxDepth), deep(maxDepth + 1), "unknown"},
		{"members", object(maxMembers), object(maxMembers + 1), "…"},
		{"choices", choices(maxChoices), choices(maxChoices + 1), "…"},
		{"length", wide(maxType), wide(maxType + 1), "unknown"},
	} {
		if got := string(Append(nil, []Function{{Path: "f", Input: []byte(`{}`), Output: []byte(tt.at)}})); strings.Contains(got, tt.mark) {
			t.Errorf("%s at its bound: %.200s", tt.name, got)
		}
		if got := string(Append(nil, []Function{{Path: "f", Input: []byte(`{}`), Output: []byte(tt.past)}})); !strings.Contains(got, tt.mark) {
			t.Errorf("%s past its bound: %.200s", tt.name, got)
		}
	}
	remark := func(n int) string {
		return string(Append(nil, []Function{{Path: "f", Input: []byte(`{"properties":{"a":{"type":"string","default":"` + strings.Repeat("x", n-2) + `"}}}`)}}))
	}
	if !strings.Contains(remark(maxDefault), "default") || strings.Contains(remark(maxDefault+1), "default") {
		t.Error("a default is written up to its bound")
	}
}

func FuzzAppend(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"anyOf":[{"type":"array","items":true},{"enum":[1,null]}]}},"required":["a"]}`)
	f.Add(`{"type":["object","null"],"properties":{"":{}},"additionalProperties":{"type":"string"}}`)
	f.Add(`[1]`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		out := Append(nil, []Function{{Path: "a.b", Input: []byte(schema), Output: []byte(schema)}, {Path: "a.c", Input: []byte(schema), Output: []byte(schema)}})
		if !strings.HasSuffix(string(out), ">\n") {
			t.Errorf("%q gives %q", schema, out)
		}
	})
}
