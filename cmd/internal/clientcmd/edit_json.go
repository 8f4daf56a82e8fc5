package clientcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/sluicegate/sluice/internal/clientconfig"
)

// jsonDocument is a JSON document that is changed at byte offsets, from its end to its
// start, so that the offsets of what comes before stay true.
type jsonDocument struct {
	text       []byte
	root       *hujson.Object
	start, end int // of root
}

func openJSON(doc []byte) (*jsonDocument, error) {
	if len(bytes.TrimSpace(withoutMark(doc))) == 0 {
		doc = []byte("{}\n")
	}
	v, err := hujson.Parse(withoutMark(doc))
	if err != nil {
		return nil, err
	}
	root, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("line 1: not an object")
	}
	return &jsonDocument{bytes.Clone(doc), root, v.StartOffset, v.EndOffset}, nil
}

// setJSON sets a member, and adds the input it refers to.
func setJSON(doc []byte, e clientconfig.Entry) ([]byte, error) {
	d, err := openJSON(doc)
	if err != nil {
		return nil, err
	}
	if err := d.set(e.Path, e.Value); err != nil {
		return nil, err
	}
	if e.Input == nil {
		return d.text, nil
	}
	if d, err = openJSON(d.text); err != nil {
		return nil, err
	}
	m := memberOf(d.root, clientconfig.Inputs)
	if m == nil {
		err = d.set([]string{clientconfig.Inputs}, []clientconfig.Object{e.Input})
		return d.text, err
	}
	list, ok := m.Value.Value.(*hujson.Array)
	if !ok {
		return nil, d.place(m.Name.StartOffset, clientconfig.Inputs+" is not a list")
	}
	if elementWithID(list, e.Input) < 0 {
		d.insert(composite{m.Value.StartOffset, m.Value.EndOffset, list.Elements}, "", e.Input)
	}
	return d.text, nil
}

// removeJSON removes a member, and the input it refers to.
func removeJSON(doc []byte, e clientconfig.Entry) ([]byte, error) {
	d, err := openJSON(doc)
	if err != nil {
		return nil, err
	}
	if m := memberOf(d.root, clientconfig.Inputs); m != nil && e.Input != nil {
		if list, ok := m.Value.Value.(*hujson.Array); ok {
			if i := elementWithID(list, e.Input); i >= 0 {
				d.cut(list.Elements, i, list.Elements[i].StartOffset)
				if d, err = openJSON(d.text); err != nil {
					return nil, err
				}
			}
		}
	}
	at := d.root
	for _, key := range e.Path[:len(e.Path)-1] {
		m := memberOf(at, key)
		if m == nil {
			return d.text, nil
		}
		next, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			return nil, d.place(m.Name.StartOffset, key+" is not an object")
		}
		at = next
	}
	for i, m := range at.Members {
		if nameOf(m) == e.Path[len(e.Path)-1] {
			d.cut(values(at), i, m.Name.StartOffset)
			break
		}
	}
	return d.text, nil
}

// set sets the member at a path; objects on the way are made.
func (d *jsonDocument) set(path []string, value any) error {
	at, start, end := d.root, d.start, d.end
	for i, key := range path {
		m := memberOf(at, key)
		switch {
		case m == nil:
			for j := len(path) - 1; j > i; j-- {
				value = clientconfig.Object{{Key: path[j], Value: value}}
			}
			d.insert(composite{start, end, values(at)}, string(clientconfig.Compact(key))+": ", value)
			return nil
		case i == len(path)-1:
			d.replace(m.Value.StartOffset, m.Value.EndOffset, d.indented(value, d.indentAt(m.Name.StartOffset)))
			return nil
		}
		next, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			return d.place(m.Name.StartOffset, key+" is not an object")
		}
		at, start, end = next, m.Value.StartOffset, m.Value.EndOffset
	}
	return nil
}

// composite is an object or a list: where it is in the text, and its values.
type composite struct {
	start, end int
	values     []hujson.Value
}

// insert adds a member, whose name is written as it is given, or an element behind the
// others, on a line of its own.
func (d *jsonDocument) insert(c composite, name string, value any) {
	base := d.indentAt(c.start)
	inner := base + string(indentOf(d.text))
	from, comma := c.start+1, false // where comments behind the last value begin
	if n := len(c.values); n > 0 {
		last := c.values[n-1]
		from = last.EndOffset
		comma = d.text[last.EndOffset+len(last.AfterExtra)] == ',' // behind the last value already
		if first := d.lineStart(c.values[0].StartOffset); first > c.start {
			inner = d.indentAt(c.values[0].StartOffset)
		}
	}
	gap := d.text[from : c.end-1]
	kept := len(bytes.TrimRight(gap, " \t\r\n"))
	rest := string(gap[kept:])
	if !strings.Contains(rest, "\n") {
		rest = "\n" + base
	}
	line := "\n" + inner + name + string(d.indented(value, inner))
	if comma {
		line += ","
	}
	d.replace(from+kept, c.end-1, []byte(line+rest))
	if len(c.values) > 0 && !comma {
		d.replace(from, from, []byte(","))
	}
}

// cut removes value i of a list of values, which begins at start with its name; comments
// before it stay.
func (d *jsonDocument) cut(list []hujson.Value, i, start int) {
	end := list[i].EndOffset
	after := end + len(list[i].AfterExtra)
	hasComma := after < len(d.text) && d.text[after] == ','
	if hasComma {
		end = after + 1
	}
	for start > 0 && strings.IndexByte(" \t", d.text[start-1]) >= 0 {
		start--
	}
	if start > 0 && d.text[start-1] == '\n' {
		start--
		if start > 0 && d.text[start-1] == '\r' {
			start--
		}
	}
	d.replace(start, end, nil)
	if i > 0 && !hasComma { // the one before becomes the last
		comma := list[i-1].EndOffset + len(list[i-1].AfterExtra)
		d.replace(comma, comma+1, nil)
	}
}

func (d *jsonDocument) replace(from, to int, with []byte) {
	d.text = bytes.Join([][]byte{d.text[:from], with, d.text[to:]}, nil)
}

// indented lays a value out, for a line that has an indentation already.
func (d *jsonDocument) indented(value any, prefix string) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, clientconfig.Compact(value), prefix, string(indentOf(d.text))); err != nil {
		panic("BUG: " + err.Error()) // it was encoded a moment ago
	}
	return out.Bytes()
}

func (d *jsonDocument) lineStart(at int) int { return bytes.LastIndexByte(d.text[:at], '\n') + 1 }

// indentAt is the indentation of the line at an offset.
func (d *jsonDocument) indentAt(at int) string {
	line := d.text[d.lineStart(at):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (d *jsonDocument) place(at int, text string) error {
	return fmt.Errorf("line %d: %s", bytes.Count(d.text[:at], []byte("\n"))+1, text)
}

// memberOf finds a member of an object, the last of that name; nil: none.
func memberOf(o *hujson.Object, name string) *hujson.ObjectMember {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if nameOf(o.Members[i]) == name {
			return &o.Members[i]
		}
	}
	return nil
}

func nameOf(m hujson.ObjectMember) string {
	l, _ := m.Name.Value.(hujson.Literal) // a name is a string
	return l.String()
}

// values are those of an object's members, each from its name on.
func values(o *hujson.Object) []hujson.Value {
	var out []hujson.Value
	for _, m := range o.Members {
		v := m.Value
		v.StartOffset = m.Name.StartOffset
		out = append(out, v)
	}
	return out
}

func elementWithID(list *hujson.Array, input clientconfig.Object) int {
	for i, v := range list.Elements {
		if o, ok := v.Value.(*hujson.Object); ok {
			if m := memberOf(o, "id"); m != nil && m.Value.Value.Kind() == '"' && m.Value.Value.(hujson.Literal).String() == input[0].Value {
				return i
			}
		}
	}
	return -1
}

// indentOf is the indentation a document uses: that of its first indented line.
func indentOf(doc []byte) []byte {
	for line := range bytes.Lines(doc) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && len(bytes.TrimSpace(rest)) > 0 {
			return line[:len(line)-len(rest)]
		}
	}
	return []byte("  ")
}
