package media

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Bounds of XML answers.
const (
	maxXMLDepth = 100      // elements inside each other
	maxXMLBytes = 16 << 20 // its tree takes some ten times as much
	maxXMLMixed = 8 << 10  // bytes of text with elements in it that are written as one text
)

// schemaInstance is the namespace of what XML Schema says in documents.
const schemaInstance = "http://www.w3.org/2001/XMLSchema-instance"

// ErrXML says that a document cannot be written as JSON: it is too large, nests too deep, or is
// not well-formed.
var ErrXML = errors.New("this XML cannot be written as JSON")

// element is an XML element while it is read.
type element struct {
	name     string
	attrs    []xml.Attr
	text     []byte
	children []*element
	before   []int // bytes of text in front of each child
	null     bool  // xsi:nil
}

// AppendXML appends an XML document as JSON: {"root":…}. An element with text only
// is a string; other elements are objects of their attributes ("@name"), their
// children in the order of their first appearance, and their text ("#text").
// Children of one name are an array, so that a program written for lists fits; one
// child alone is not. Names lose their namespace prefixes. No external entity is
// ever read.
func AppendXML(dst, doc []byte) ([]byte, error) {
	if len(doc) > maxXMLBytes {
		return dst, ErrXML
	}
	d := xml.NewDecoder(bytes.NewReader(doc))
	d.CharsetReader = func(charset string, r io.Reader) (io.Reader, error) {
		if utf8.Valid(doc) { // UTF8 made it so, or its Content-Type said so, which counts for more
			return r, nil
		}
		return nil, fmt.Errorf("%w: charset %.40s", ErrXML, charset)
	}
	var stack []*element
	var root *element
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return dst, fmt.Errorf("%w: %w", ErrXML, err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			e := &element{name: t.Name.Local}
			e.attributes(t.Attr)
			switch n := len(stack); {
			case n == maxXMLDepth:
				return dst, ErrXML
			case n > 0:
				in := stack[n-1]
				in.children, in.before = append(in.children, e), append(in.before, len(in.text))
			case root != nil:
				return dst, ErrXML
			default:
				root = e
			}
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if n := len(stack); n > 0 {
				stack[n-1].text = append(stack[n-1].text, t...)
			}
		}
	}
	if root == nil {
		return dst, ErrXML
	}
	dst = append(dst, '{')
	dst = jsonscan.AppendStringOf(dst, root.name)
	dst = append(dst, ':')
	return append(root.append(dst), '}'), nil
}

// attributes takes those that say something to whoever reads the answer.
func (e *element) attributes(all []xml.Attr) {
	for _, a := range all {
		switch {
		case a.Name.Space == "xmlns" || a.Name.Local == "xmlns":
		case a.Name.Space == schemaInstance && a.Name.Local == "nil":
			e.null = a.Value == "true" || a.Value == "1"
		case a.Name.Space == schemaInstance && a.Name.Local != "type":
		default:
			e.attrs = append(e.attrs, xml.Attr{Name: a.Name, Value: a.Value})
		}
	}
}

// mixed appends text with elements in it as it stands there; false where it is too long.
func (e *element) mixed(dst []byte, most int) ([]byte, bool) {
	from := 0
	for i, c := range e.children {
		dst = append(dst, e.text[from:e.before[i]]...)
		from = e.before[i]
		dst = append(append(dst, '<'), c.name...)
		for _, a := range c.attrs {
			dst = append(append(append(dst, ' '), a.Name.Local...), `="`...)
			dst = append(append(dst, a.Value...), '"')
		}
		if len(c.children)+len(c.text) == 0 {
			dst = append(dst, "/>"...)
			continue
		}
		var ok bool
		if dst, ok = c.mixed(append(dst, '>'), most); !ok {
			return dst, false
		}
		dst = append(append(append(dst, "</"...), c.name...), '>')
	}
	dst = append(dst, e.text[from:]...)
	return dst, len(dst) <= most
}

func (e *element) append(dst []byte) []byte {
	text, children := bytes.TrimSpace(e.text), e.children
	if len(text) > 0 && len(children) > 0 {
		if all, ok := e.mixed(nil, maxXMLMixed); ok {
			text, children = bytes.TrimSpace(all), nil
		}
	}
	if len(e.attrs) == 0 && len(children) == 0 {
		if e.null && len(text) == 0 {
			return append(dst, "null"...)
		}
		return jsonscan.AppendString(dst, text)
	}
	dst = append(dst, '{')
	first := true
	member := func(name string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(jsonscan.AppendStringOf(dst, name), ':')
	}
	for _, a := range e.attrs {
		member("@" + a.Name.Local)
		dst = jsonscan.AppendStringOf(dst, a.Value)
	}
	byName := map[string][]*element{}
	var order []string
	for _, c := range children {
		if byName[c.name] == nil {
			order = append(order, c.name)
		}
		byName[c.name] = append(byName[c.name], c)
	}
	for _, name := range order {
		member(name)
		list := byName[name]
		if len(list) == 1 {
			dst = list[0].append(dst)
			continue
		}
		dst = append(dst, '[')
		for i, c := range list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = c.append(dst)
		}
		dst = append(dst, ']')
	}
	if len(text) > 0 {
		member("#text")
		dst = jsonscan.AppendString(dst, text)
	}
	return append(dst, '}')
}
