package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// A tape decides what a whole call is made of: the fuzzer changes its bytes, and what lies
// beyond its end is zero.
type tape struct {
	b     []byte
	i     int
	blank bool // texts may be empty: not in a path
}

func (t *tape) n(most int) int {
	if t.i >= len(t.b) {
		return 0
	}
	t.i++
	return int(t.b[t.i-1]) % most
}

func pick[T any](t *tape, list ...T) T { return list[t.n(len(list))] }

// member is a member of an object, in the order it was written.
type member struct {
	name string
	text string // JSON
}

// A sent is a value that a call gives: its schema, what the agent writes, and what the
// specification says of it on the wire.
type sent struct {
	schema map[string]any
	text   string // JSON
	items  []string
	object []member
	scalar string
	kind   string
}

// words are texts that something may take for its own.
var words = []string{
	"a", "b c", "é", "100%", "%2F", "a/b", "x,y", "a&b", "k=v", "?", "#", "a+b", ";", "日本", "~-._", "'", `"`, "<b>", `\`, "|", "[x]", "a:b", "@", "!", "*", "(", "$1", "{id}", "null", "1", "true", "😀",
}

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be written
	return strings.TrimSuffix(b.String(), "\n")
}

// scalarOf makes a scalar; plain ones stand where the wire has no way to escape.
func scalarOf(t *tape, plain bool) (schema map[string]any, text, wire string) {
	switch t.n(4) {
	case 0:
		v := pick(t, "0", "1", "-7", "42", "9007199254740993")
		return map[string]any{"type": "integer"}, v, v
	case 1:
		v := pick(t, "1.5", "-0.25", "3", "1.50")
		return map[string]any{"type": "number"}, v, v
	case 2:
		v := pick(t, "true", "false")
		return map[string]any{"type": "boolean"}, v, v
	}
	v := pick(t, words...)
	if plain {
		v = pick(t, "a", "abc", "x-1", "Z9")
	}
	if t.n(8) == 7 && t.blank {
		v = ""
	}
	return map[string]any{"type": "string"}, quoted(v), v
}

func valueOf(t *tape, plain bool) *sent {
	v := &sent{kind: pick(t, "scalar", "scalar", "array", "object")}
	switch v.kind {
	case "array":
		schema, _, _ := map[string]any{"type": "string"}, "", ""
		v.schema = map[string]any{"type": "array", "items": schema}
		var texts []string
		for range 1 + t.n(3) {
			w := pick(t, words...)
			if plain {
				w = pick(t, "a", "abc", "x-1")
			}
			texts, v.items = append(texts, quoted(w)), append(v.items, w)
		}
		v.text = "[" + strings.Join(texts, ",") + "]"
	case "object":
		props := map[string]any{}
		var texts []string
		for i := range 1 + t.n(3) {
			name := string(rune('a' + i))
			schema, text, wire := scalarOf(t, plain)
			props[name] = schema
			texts = append(texts, quoted(name)+":"+text)
			v.object = append(v.object, member{name, wire})
		}
		v.schema = map[string]any{"type": "object", "properties": props}
		v.text = "{" + strings.Join(texts, ",") + "}"
	default:
		v.schema, v.text, v.scalar = scalarOf(t, plain)
	}
	return v
}

// parameter is one of the specification, with the value that the call gives it; nil: none.
type parameter struct {
	name, in, style string
	explode, json   bool
	value           *sent
	schema          map[string]any
}

// escape is percent-encoding of all but RFC 3986's unreserved characters.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func same(s string) string { return s }

// flat are the values of v in the order of the wire, members as names and values, or as
// name=value.
func (v *sent) flat(esc func(string) string, pairs string) []string {
	var out []string
	switch v.kind {
	case "array":
		for _, i := range v.items {
			out = append(out, esc(i))
		}
	case "object":
		for _, m := range v.object {
			if pairs != "" {
				out = append(out, esc(m.name)+pairs+esc(m.text))
			} else {
				out = append(out, esc(m.name), esc(m.text))
			}
		}
	default:
		out = append(out, esc(v.scalar))
	}
	return out
}

// wire is a parameter as the OpenAPI Specification 3.1 "Style Values" writes it: RFC 6570.
func (p *parameter) wire() string {
	v := p.value
	if p.json {
		return escape(p.name) + "=" + escape(v.text)
	}
	pairs := ""
	if p.explode {
		pairs = "="
	}
	switch p.style {
	case "simple":
		esc := escape
		if p.in == "header" {
			esc = same
		}
		return strings.Join(v.flat(esc, pairs), ",")
	case "label":
		if p.explode {
			return "." + strings.Join(v.flat(escape, pairs), ".")
		}
		return "." + strings.Join(v.flat(escape, pairs), ",")
	case "matrix":
		switch {
		case p.explode && v.kind == "array":
			return ";" + p.name + "=" + strings.Join(v.flat(escape, pairs), ";"+p.name+"=")
		case p.explode && v.kind == "object":
			return ";" + strings.Join(v.flat(escape, pairs), ";")
		}
		return ";" + p.name + "=" + strings.Join(v.flat(escape, pairs), ",")
	case "spaceDelimited":
		return escape(p.name) + "=" + strings.Join(v.flat(escape, pairs), "%20")
	case "pipeDelimited":
		return escape(p.name) + "=" + strings.Join(v.flat(escape, pairs), "%7C")
	case "deepObject":
		var out []string
		for _, m := range v.object {
			out = append(out, escape(p.name+"["+m.name+"]")+"="+escape(m.text))
		}
		return strings.Join(out, "&")
	}
	esc, sep := escape, "&"
	if p.in == "cookie" {
		esc, sep = same, "; "
	}
	switch {
	case p.explode && v.kind == "array":
		return esc(p.name) + "=" + strings.Join(v.flat(esc, pairs), sep+esc(p.name)+"=")
	case p.explode && v.kind == "object":
		return strings.Join(v.flat(esc, pairs), sep)
	}
	return esc(p.name) + "=" + strings.Join(v.flat(esc, pairs), ",")
}

// document makes an answer.
func document(t *tape, depth int) string {
	blank := pick(t, "", " ", "\n  ")
	switch k := t.n(7); {
	case k == 0 && depth > 0:
		var out []string
		for i := range t.n(4) {
			out = append(out, blank+quoted(pick(t, words...)+fmt.Sprint(i))+":"+blank+document(t, depth-1))
		}
		return "{" + strings.Join(out, ",") + blank + "}"
	case k == 1 && depth > 0:
		var out []string
		for range t.n(4) {
			out = append(out, blank+document(t, depth-1))
		}
		return "[" + strings.Join(out, ",") + blank + "]"
	case k == 2:
		return "null"
	}
	_, text, _ := scalarOf(t, false)
	return text
}

func object(members []member) string {
	var out []string
	for _, m := range members {
		out = append(out, quoted(m.name)+":"+m.text)
	}
	return "{" + strings.Join(out, ",") + "}"
}

// decoded reads JSON with the digits of its numbers.
func decoded(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q is not JSON: %v", text, err)
	}
	return v
}

func sameDocument(t *testing.T, what, got, want string) {
	t.Helper()
	g, err1 := json.Marshal(decoded(t, got))
	w, err2 := json.Marshal(decoded(t, want))
	if err1 != nil || err2 != nil || !bytes.Equal(g, w) {
		t.Errorf("%s is %s, want %s", what, g, w)
	}
}
