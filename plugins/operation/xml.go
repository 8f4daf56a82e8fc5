package operation

import (
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// xml writes an XML body by OpenAPI's XML Object. A string is the document itself.
func (b *builder) xml(body *Body, whole jsonscan.Value) {
	if whole.Kind() == jsonscan.String && typesOf(body.Schema)&TypeString != 0 || whole.Kind() == jsonscan.String && body.Schema == nil {
		b.r.Body = whole.AppendText(b.r.Body)
		return
	}
	if whole.Exists() {
		whole = b.heal(body.Schema, whole)
		if whole.Kind() == jsonscan.String {
			b.r.Body = whole.AppendText(b.r.Body)
			return
		}
		x := xmlWriter{b: b, arg: body.Arg}
		x.element(xmlName(body.Schema, "root"), body.Schema, whole)
		return
	}
	// Lifted members: the root element has the body schema's name.
	x := xmlWriter{b: b, arg: "body"}
	x.open(xmlName(body.Schema, "root"), body.Schema)
	for pass := range 2 {
		for i := range body.Fields {
			f := &body.Fields[i]
			v := b.member(i)
			x.arg = f.Arg
			x.member(f.Name, f.Schema, v, pass == 0)
		}
		if pass == 0 {
			b.r.Body = append(b.r.Body, '>')
		}
	}
	x.end(xmlName(body.Schema, "root"), body.Schema)
}

// xmlWriter writes elements; attributes first, then children.
type xmlWriter struct {
	b   *builder
	arg string
}

func xmlName(s *Schema, fallback string) string {
	switch {
	case s != nil && s.XML != nil && s.XML.Name != "":
		return s.XML.Name
	case s != nil && s.Name != "" && fallback == "root":
		return s.Name
	}
	return fallback
}

// qualified appends a name with its prefix.
func (x *xmlWriter) qualified(name string, s *Schema) {
	if s != nil && s.XML != nil && s.XML.Prefix != "" {
		name = s.XML.Prefix + ":" + name
	}
	if !isXMLName(name) {
		x.b.fail(x.arg, "%q cannot be the name of an XML element", name)
		return
	}
	x.b.r.Body = append(x.b.r.Body, name...)
}

// open writes a start tag without its ">".
func (x *xmlWriter) open(name string, s *Schema) {
	x.b.r.Body = append(x.b.r.Body, '<')
	x.qualified(name, s)
	if s != nil && s.XML != nil && s.XML.Namespace != "" {
		x.b.r.Body = append(x.b.r.Body, " xmlns"...)
		if s.XML.Prefix != "" {
			x.b.r.Body = append(append(x.b.r.Body, ':'), s.XML.Prefix...)
		}
		x.b.r.Body = append(x.b.r.Body, `="`...)
		x.escape([]byte(s.XML.Namespace))
		x.b.r.Body = append(x.b.r.Body, '"')
	}
}

func (x *xmlWriter) end(name string, s *Schema) {
	x.b.r.Body = append(x.b.r.Body, "</"...)
	x.qualified(name, s)
	x.b.r.Body = append(x.b.r.Body, '>')
}

// element writes a value as one element.
func (x *xmlWriter) element(name string, s *Schema, v jsonscan.Value) {
	v = x.b.heal(s, v)
	x.open(name, s)
	switch v.Kind() {
	case jsonscan.Object:
		for it := v.Members(); it.Next(); {
			x.member(string(it.KeyText(nil)), property(s, &it), it.Value(), true)
		}
		x.b.r.Body = append(x.b.r.Body, '>')
		for it := v.Members(); it.Next(); {
			x.member(string(it.KeyText(nil)), property(s, &it), it.Value(), false)
		}
	case jsonscan.Array: // an array at the root: its items are children
		x.b.r.Body = append(x.b.r.Body, '>')
		x.items(xmlName(element(s, 0), "item"), s, v)
	default:
		x.b.r.Body = append(x.b.r.Body, '>')
		x.text(s, v)
	}
	x.end(name, s)
}

// member writes a member as attribute (attributes true) or as element.
func (x *xmlWriter) member(key string, s *Schema, v jsonscan.Value, attributes bool) {
	name := xmlName(s, key)
	isAttribute := s != nil && s.XML != nil && s.XML.Attribute
	if isAttribute != attributes || v.Kind() == jsonscan.Missing || v.Kind() == jsonscan.Null {
		return
	}
	v = x.b.heal(s, v)
	switch {
	case isAttribute:
		x.b.r.Body = append(x.b.r.Body, ' ')
		x.qualified(name, s)
		x.b.r.Body = append(x.b.r.Body, `="`...)
		x.text(s, v)
		x.b.r.Body = append(x.b.r.Body, '"')
	case v.Kind() == jsonscan.Array && s != nil && s.XML != nil && s.XML.Wrapped:
		x.open(name, s)
		x.b.r.Body = append(x.b.r.Body, '>')
		x.items(xmlName(element(s, 0), key), s, v)
		x.end(name, s)
	case v.Kind() == jsonscan.Array:
		x.items(xmlName(element(s, 0), key), s, v)
	default:
		x.element(name, s, v)
	}
}

func (x *xmlWriter) items(name string, s *Schema, v jsonscan.Value) {
	i := 0
	for it := v.Elements(); it.Next(); i++ {
		if it.Value().Kind() != jsonscan.Null {
			x.element(name, element(s, i), it.Value())
		}
	}
}

func (x *xmlWriter) text(s *Schema, v jsonscan.Value) {
	x.b.r.prefix = x.b.appendScalar(x.b.r.prefix[:0], s, v, escNone)
	x.escape(x.b.r.prefix)
}

// escape writes character data that is also valid in an attribute (XML 1.0 §2.4).
func (x *xmlWriter) escape(text []byte) {
	dst := x.b.r.Body
	for i := 0; i < len(text); {
		c, n := utf8.DecodeRune(text[i:])
		switch {
		case c == '&':
			dst = append(dst, "&amp;"...)
		case c == '<':
			dst = append(dst, "&lt;"...)
		case c == '>':
			dst = append(dst, "&gt;"...)
		case c == '"':
			dst = append(dst, "&quot;"...)
		case c == '\r':
			dst = append(dst, "&#13;"...)
		case c == '\n' || c == '\t':
			dst = append(dst, byte(c))
		case c < ' ' || c == 0xFFFE || c == 0xFFFF:
			x.b.fail(x.arg, "XML cannot hold the character U+%04X", c)
		default:
			dst = append(dst, text[i:i+n]...)
		}
		i += n
	}
	x.b.r.Body = dst
}

// isXMLName accepts names of ASCII letters, digits, -, _, . and :, and any other
// character beyond ASCII (XML 1.0 §2.3, a little wider).
func isXMLName(s string) bool {
	for i, c := range s {
		switch {
		case c >= 0x80 || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '.' || c == ':'):
		default:
			return false
		}
	}
	return s != ""
}
