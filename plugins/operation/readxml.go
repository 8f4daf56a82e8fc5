package operation

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// maxXMLDepth and maxXMLNodes bound a document that is read as the value of a body: far
	// above what request bodies have, and a value of so many members is small.
	maxXMLDepth = 64
	maxXMLNodes = 100_000
)

// ReadXML reads a whole XML body that is given as text into the value that is written so,
// for a body whose schema has no text: by the names, attributes and wrapped lists of its XML
// Objects. Another value, and the text of a body that is not XML, stay as they are.
func (body *Body) ReadXML(v any) (any, error) {
	text, ok := v.(string)
	s := body.Schema
	if body.Arg == "" { // its members are arguments
		s = &Schema{Type: TypeObject}
		for i := range body.Fields {
			s.Properties = append(s.Properties, Property{body.Fields[i].Name, body.Fields[i].Schema})
		}
	}
	if types := typesOf(s); !ok || kindOf(body.MediaType) != bodyXML || types == 0 || types&TypeString != 0 {
		return v, nil
	}
	root, err := parseXML(text)
	if err != nil {
		return nil, fmt.Errorf("the XML of the body cannot be read: %w", err)
	}
	return root.value(s), nil
}

// xmlNode is an element, or an attribute with its text.
type xmlNode struct {
	name     string
	text     strings.Builder
	children []*xmlNode // attributes first
}

func parseXML(text string) (*xmlNode, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	open := []*xmlNode{{}}
	for nodes := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // it is one of the text, with its line
		}
		at := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			n := &xmlNode{name: t.Name.Local}
			for _, a := range t.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
					attribute := &xmlNode{name: a.Name.Local}
					attribute.text.WriteString(a.Value)
					n.children = append(n.children, attribute)
				}
			}
			if nodes += 1 + len(n.children); nodes > maxXMLNodes || len(open) > maxXMLDepth {
				return nil, fmt.Errorf("it has more than %d elements, or %d in each other", maxXMLNodes, maxXMLDepth)
			}
			at.children = append(at.children, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			at.text.Write(t)
		}
	}
	if len(open[0].children) != 1 {
		return nil, errors.New("it has no element that holds all others")
	}
	return open[0].children[0], nil
}

// value is what an element stands for.
func (n *xmlNode) value(s *Schema) any {
	switch types := typesOf(s); {
	case types&TypeArray != 0 && types&TypeObject == 0:
		return n.items(element(s, 0), "")
	case types&TypeObject == 0 && (types != 0 || len(n.children) == 0):
		return n.text.String()
	}
	out := map[string]any{}
	var known []string
	for _, p := range s.properties() {
		name := xmlName(p.Schema, p.Name)
		list := typesOf(p.Schema)&TypeArray != 0
		if wrapped := p.Schema != nil && p.Schema.XML != nil && p.Schema.XML.Wrapped; list && !wrapped {
			name = xmlName(element(p.Schema, 0), p.Name)
		}
		known = append(known, name)
		child := n.child(name)
		switch {
		case child == nil:
		case list && (p.Schema.XML == nil || !p.Schema.XML.Wrapped):
			out[p.Name] = n.items(element(p.Schema, 0), name)
		default:
			out[p.Name] = child.value(p.Schema)
		}
	}
	for _, c := range n.children { // what the schema does not name is judged as any member
		if !slices.Contains(known, c.name) {
			known = append(known, c.name)
			if all := n.items(nil, c.name); len(all) > 1 {
				out[c.name] = all
			} else {
				out[c.name] = all[0]
			}
		}
	}
	return out
}

// items are the values of the children of a name, of all where it is empty.
func (n *xmlNode) items(s *Schema, name string) []any {
	out := []any{}
	for _, c := range n.children {
		if name == "" || c.name == name {
			out = append(out, c.value(s))
		}
	}
	return out
}

func (n *xmlNode) child(name string) *xmlNode {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// properties are those of a schema and of its alternatives.
func (s *Schema) properties() []Property {
	if s == nil {
		return nil
	}
	out := slices.Clip(s.Properties)
	for _, list := range [...][]*Schema{s.AnyOf, s.All} {
		for _, branch := range list {
			out = append(out, branch.properties()...)
		}
	}
	return out
}
