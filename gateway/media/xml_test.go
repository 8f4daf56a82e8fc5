package media

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestXMLAsJSON: an XML document says as JSON what it says, in its order where that counts.
func TestXMLAsJSON(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"attributes and text", `<a x="1">t</a>`, `{"a":{"@x":"1","#text":"t"}}`},
		{"namespaces", `<n:a xmlns:n="urn:n" xmlns="urn:d"><n:b>1</n:b></n:a>`, `{"a":{"b":"1"}}`},
		{"a list", `<a><b>1</b><b>2</b></a>`, `{"a":{"b":["1","2"]}}`},
		{"CDATA and entities", `<a><b><![CDATA[<i>x</i> & y]]></b><c>&lt;&#233;&gt;</c></a>`, `{"a":{"b":"<i>x</i> & y","c":"<é>"}}`},
		{"text with elements in it", `<t>Effect of <i>BRCA1</i> on H<sub>2</sub>O.</t>`, `{"t":"Effect of <i>BRCA1</i> on H<sub>2</sub>O."}`},
		{"the same with attributes", `<t l="en">See <a href="x?a=1&amp;b">here</a><br/> now</t>`, `{"t":{"@l":"en","#text":"See <a href=\"x?a=1&b\">here</a><br/> now"}}`},
		{"elements and white space", "<a>\n <b>1</b>\n <c/>\n</a>", `{"a":{"b":"1","c":""}}`},
		{"a text that is null", `<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><b xsi:nil="true"/><c xsi:nil="false">1</c><d xsi:type="T">2</d></a>`, `{"a":{"b":null,"c":"1","d":{"@type":"T","#text":"2"}}}`},
		{"where its schema is", `<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:x x.xsd">1</a>`, `{"a":"1"}`},
	} {
		got, err := AppendXML([]byte("> "), []byte(c.in))
		if err != nil || string(got) != "> "+c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	for name, in := range map[string]string{
		"an entity of its own":      `<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>`,
		"a file":                    `<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>`,
		"two roots":                 `<a/><b/>`,
		"no end":                    `<a><b>`,
		"another charset than UTF8": "<?xml version='1.0' encoding='koi8-r'?><a>\xc1</a>",
	} {
		if got, err := AppendXML(nil, []byte(in)); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestMixedXMLIsBounded: a text with elements in it that is too long is not written as one.
func TestMixedXMLIsBounded(t *testing.T) {
	for over := range 2 {
		in := "<a>" + strings.Repeat("x", maxXMLMixed-len("<b>y</b>")+over) + "<b>y</b></a>"
		got, err := AppendXML(nil, []byte(in))
		if err != nil || strings.Contains(string(got), `"#text"`) != (over == 1) {
			t.Errorf("%d bytes too many: %v, %.40s", over, err, got)
		}
	}
}

// FuzzXML: whatever the document, what is written is one JSON document that has each of its texts.
func FuzzXML(f *testing.F) {
	for _, s := range []string{"<a>x<b c='d'>y</b>z</a>", "<a><b/><b>1</b></a>", "<a>&#0;</a>", "<!DOCTYPE a><a/>", "<a><![CDATA[]]>]]></a>", "\xef\xbb\xbf<a/>"} {
		f.Add([]byte(s), "text")
	}
	f.Fuzz(func(t *testing.T, doc []byte, text string) {
		out, err := AppendXML(nil, doc)
		if err == nil && !json.Valid(out) {
			t.Fatalf("%q is %q", doc, out)
		}
		if strings.ContainsAny(text, "<>&'\"\\\r") || strings.TrimSpace(text) == "" {
			return
		}
		for _, in := range []string{"<a>" + text + "</a>", "<a>" + text + "<b/></a>", "<a b='" + text + "'/>", "<a><b>" + text + "</b><b/></a>", "<a>x<b>" + text + "</b></a>"} {
			if out, err = AppendXML(nil, []byte(in)); err != nil {
				continue // characters that XML does not have
			}
			var said any
			if want := strings.TrimSpace(text); json.Unmarshal(out, &said) != nil || !strings.Contains(texts(said), want) {
				t.Fatalf("%q is %q", in, out)
			}
		}
	})
}

// texts are all texts of a document.
func texts(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		all := ""
		for _, e := range v {
			all += texts(e)
		}
		return all
	case map[string]any:
		all := ""
		for _, e := range v {
			all += texts(e)
		}
		return all
	}
	return ""
}
