package operation

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestReadXML: text of a document becomes the value that is written as it.
func TestReadXML(t *testing.T) {
	str, integer := &Schema{Type: TypeString}, &Schema{Type: TypeInteger}
	line := &Schema{Type: TypeObject, XML: &XML{Name: "line"}, Properties: []Property{{"sku", str}, {"n", integer}}}
	pet := &Schema{Type: TypeObject, XML: &XML{Name: "pet", Namespace: "urn:p", Prefix: "p"}, Properties: []Property{
		{"id", &Schema{Type: TypeInteger, XML: &XML{Attribute: true}}},
		{"tags", &Schema{Type: TypeArray, XML: &XML{Wrapped: true}, Items: &Schema{Type: TypeString, XML: &XML{Name: "tag"}}}},
		{"alias", &Schema{Type: TypeArray, Items: str}},
		{"lines", &Schema{Type: TypeArray, Items: line}},
		{"name", &Schema{Type: TypeString, XML: &XML{Name: "Name"}}},
		{"any", nil},
	}}
	whole := &Body{MediaType: "application/xml", Arg: "body", Schema: pet}
	for _, tt := range []struct {
		name string
		body *Body
		text string
		want string
	}{
		{
			"names, attributes and lists", whole,
			`<?xml version="1.0"?><!-- a --><p:pet xmlns:p="urn:p" id="7"> <Name>a&lt;&#38;b</Name><tags><tag>x</tag><tag>y</tag></tags><alias>p</alias><line><sku>s</sku><n>2</n></line></p:pet>`,
			`{"alias":["p"],"id":"7","lines":[{"n":"2","sku":"s"}],"name":"a\u003c\u0026b","tags":["x","y"]}`,
		},
		{"what the schema does not name", whole, `<pet><x>1</x><x><y>2</y></x><z/><any><q>1</q></any></pet>`, `{"any":{"q":"1"},"x":["1",{"y":"2"}],"z":""}`},
		{"an empty list", whole, `<pet><tags/></pet>`, `{"tags":[]}`},
		{"members that are arguments", &Body{MediaType: "application/xml", Fields: []Field{{Arg: "a", Name: "id", Schema: integer}}}, `<x><id>3</id></x>`, `{"id":"3"}`},
		{"a list at the root", &Body{MediaType: "text/xml", Arg: "body", Schema: &Schema{Type: TypeArray, Items: line}}, `<l><line><n>1</n></line></l>`, `[{"n":"1"}]`},
		{"alternatives", &Body{MediaType: "text/xml", Arg: "body", Schema: &Schema{AnyOf: []*Schema{{Type: TypeObject, Properties: []Property{{"a", integer}}}, line}}}, `<l><n>1</n></l>`, `{"n":"1"}`},
		{"text", &Body{MediaType: "application/xml", Arg: "body", Schema: str}, `<a/>`, `"\u003ca/\u003e"`},
		{"no schema", &Body{MediaType: "application/xml", Arg: "body"}, `<a/>`, `"\u003ca/\u003e"`},
		{"JSON", &Body{MediaType: "application/json", Arg: "body", Schema: pet}, `<a/>`, `"\u003ca/\u003e"`},
		{"no text", whole, "", ``},
		{"not closed", whole, `<pet><a></pet>`, ``},
		{"two roots", whole, `<a/><b/>`, ``},
		{"an entity of its own", whole, `<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>`, ``},
		{"as deep as it may be", &Body{MediaType: "application/xml", Arg: "body", Schema: &Schema{Type: TypeObject}}, strings.Repeat("<a>", maxXMLDepth) + strings.Repeat("</a>", maxXMLDepth), "deep"},
		{"too deep", whole, strings.Repeat("<a>", maxXMLDepth+1) + strings.Repeat("</a>", maxXMLDepth+1), ``},
		{"as many as there may be", whole, "<a>" + strings.Repeat("<b/>", maxXMLNodes-1) + "</a>", "many"},
		{"too many", whole, "<a>" + strings.Repeat("<b/>", maxXMLNodes) + "</a>", ``},
	} {
		v, err := tt.body.ReadXML(tt.text)
		got, _ := json.Marshal(v)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s: got %.200s", tt.name, got)
			}
			continue
		}
		if err != nil || string(got) != tt.want && tt.want != "deep" && tt.want != "many" {
			t.Errorf("%s: got %s, %v\nwant %s", tt.name, got, err, tt.want)
		}
	}
	given := map[string]any{"id": 1}
	if v, err := whole.ReadXML(given); err != nil || v.(map[string]any)["id"] != 1 {
		t.Errorf("a value became %v, %v", v, err)
	}
}
