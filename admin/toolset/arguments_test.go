package toolset

import "testing"

func TestExampleArguments(t *testing.T) {
	f := func(schema, want string) {
		t.Helper()
		got, ok := ExampleArguments([]byte(schema))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: %s, %v; want %s", schema, got, ok, want)
		}
	}
	f(`{"type":"object"}`, `{}`)
	f(`{"properties":{"a":{"type":"string"}}}`, `{}`)
	f(`{"properties":{"a":{"type":"string"}},"required":["a"]}`, ``)
	f(`{"properties":{"a":{"type":"integer","description":"e.g. 7"}},"required":["a"]}`, `{"a":7}`)
	f(`{"properties":{"a":{"type":"integer","description":"e.g. seven"}},"required":["a"]}`, ``)
	f(`{"properties":{"a":{"type":"string","description":"e.g. octo.cat. Max 10."}},"required":["a"]}`, `{"a":"octo.cat"}`)
	f(`{"properties":{"a":{"type":["string","null"],"description":"e.g. 7"}},"required":["a"]}`, `{"a":"7"}`)
	f(`{"properties":{"a":{"type":"string","description":"e.g. cut …"}},"required":["a"]}`, ``)
	f(`{"properties":{"a":{"const":1},"b":{"examples":[2]},"c":{"default":3},"d":{"enum":[4,5]},"e":{"example":6}},"required":["a","b","c","d","e"]}`,
		`{"a":1,"b":2,"c":3,"d":4,"e":6}`)
	f(`{"properties":{"a":{"default":null}},"required":["a"]}`, ``)
	f(`{"properties":{"o":{"properties":{"x":{"default":1},"y":{}},"required":["x"]}},"required":["o"]}`, `{"o":{"x":1}}`)
	f(`{"required":["gone"]}`, ``)
	f(`not json`, ``)
	deep, tail := `{"default":1}`, ``
	for range maxExampleDepth {
		deep = `{"properties":{"a":` + deep + `},"required":["a"]}`
	}
	if _, ok := ExampleArguments([]byte(deep)); !ok {
		t.Error("at the depth bound")
	}
	if _, ok := ExampleArguments([]byte(`{"properties":{"a":` + deep + `},"required":["a"]}` + tail)); ok {
		t.Error("one past the depth bound")
	}
}
