package projection

import (
	"fmt"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/operation"
)

func str(format string) *operation.Schema {
	return &operation.Schema{Type: operation.TypeString, Format: format}
}

func obj(props ...operation.Property) *operation.Schema {
	return &operation.Schema{Type: operation.TypeObject, Properties: props}
}

func arr(items *operation.Schema) *operation.Schema {
	return &operation.Schema{Type: operation.TypeArray, Items: items}
}

func prop(name string, s *operation.Schema) operation.Property {
	return operation.Property{Name: name, Schema: s}
}

func TestDefault(t *testing.T) {
	var index Index
	index.Add(&operation.Operation{Plan: &operation.Plan{Params: []operation.Param{{Arg: "page_ref", Name: "pageRef", In: operation.InQuery}}}})
	f := func(response *operation.Schema, in, want string) {
		t.Helper()
		p := Default(&operation.Operation{Response: response}, index)
		table, err := engine.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := engine.Reference(nil, table, []byte(in), engine.Limits{})
		if err != nil || string(got) != want {
			t.Fatalf("got  %s, %v\nwant %s", got, err, want)
		}
	}
	user := obj(prop("id", nil), prop("site", str("uri")), prop("avatar_url", str("")), prop("name", str("")))
	issue := obj(prop("id", nil), prop("title", str("")), prop("url", str("uri")), prop("user", user), prop("pageRef", str("uri")))

	// Addresses go at every level, null goes, undeclared members stay.
	f(arr(issue),
		`[{"id":1,"title":"a","url":"https://x/1","html_url":"https://x","extra":{"k":null,"a_url":"u","v":1},"user":{"id":2,"site":"s","avatar_url":"v","name":null},"_links":{"self":1},"pageRef":"https://x/?p=2"}]`,
		`[{"id":1,"title":"a","extra":{"v":1},"user":{"id":2},"pageRef":"https://x/?p=2"}]`)
	// An address that is all there is stays.
	f(obj(prop("upload_url", str("uri"))), `{"upload_url":"https://x","expires_url":"https://y"}`, `{"upload_url":"https://x","expires_url":"https://y"}`)
	// Without a schema only null and _links go.
	f(nil, `{"a_url":"https://x","b":null,"_links":{}}`, `{"a_url":"https://x"}`)
	// A number named like an address is none.
	f(obj(prop("count_url", &operation.Schema{Type: operation.TypeInteger}), prop("a", str(""))), `{"a":"b","count_url":7}`, `{"a":"b","count_url":7}`)
	// Maps and alternatives.
	f(&operation.Schema{Type: operation.TypeObject, Additional: user}, `{"k":{"id":1,"site":"s"}}`, `{"k":{"id":1}}`)
	f(&operation.Schema{AnyOf: []*operation.Schema{user, issue}}, `{"id":1,"url":"u","site":"s"}`, `{"id":1}`)
}

// TestBounds: cycles and wide graphs end, with a program that compiles.
func TestBounds(t *testing.T) {
	node := obj(prop("link", str("uri")), prop("name", str("")))
	node.Properties = append(node.Properties, prop("children", arr(node)), prop("parent", node))
	loop := arr(nil)
	loop.Items = loop
	wide := obj()
	for i := range 3 * maxNodes {
		wide.Properties = append(wide.Properties, prop(fmt.Sprint("p", i), obj(prop("a", str("")), prop(fmt.Sprint("u", i), str("uri")))))
	}
	for name, s := range map[string]*operation.Schema{"cycle": node, "array of itself": loop, "wide": wide} {
		p := Default(&operation.Operation{Response: s}, Index{})
		table, err := engine.Compile(p)
		if err != nil || len(table) > 64<<10 {
			t.Errorf("%s: %d bytes, %v", name, len(table), err)
		}
	}
}

// TestRulesHaveReasons: a rule without a reason is not readable data.
func TestRulesHaveReasons(t *testing.T) {
	var whys []string
	for _, r := range rules.values {
		whys = append(whys, r.why)
	}
	for _, r := range rules.names {
		whys = append(whys, r.why)
	}
	for _, r := range rules.formats {
		whys = append(whys, r.why)
	}
	for _, r := range rules.keep {
		whys = append(whys, r.why)
	}
	for _, w := range whys {
		if len(w) < 10 {
			t.Errorf("reason %q", w)
		}
	}
}
