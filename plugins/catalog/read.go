package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/limit"

	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
)

// Bounds of an entry.
const (
	// MaxEntryBytes of a file: the largest entry of the built-in catalog has a tenth.
	MaxEntryBytes = 256 << 10
	// maxDepth of nesting; an entry needs six levels.
	maxDepth = 12
)

// Parse reads an entry and checks it. name is that of the file, for messages; its last
// part without .yaml must be the id of the entry. The fault is a *[problem.Error] whose
// parts name line and member.
func Parse(name string, data []byte) (*Entry, error) {
	if len(data) > MaxEntryBytes {
		return nil, problem.New(problem.TooLarge, "the entry has more than %d bytes", MaxEntryBytes).At(name, 0, 0, "")
	}
	c := converter{file: name, lines: map[string]int{}, places: map[int64]string{}}
	text, err := c.json(data)
	if err != nil {
		return nil, err
	}
	e := new(Entry)
	if fault := strictjson.Decode(text, e, 4*MaxEntryBytes, 2*maxDepth); fault != nil {
		return nil, c.unreadable(fault)
	}
	f := faults{file: name, line: c.line}
	e.check(&f)
	if stem := stem(name); e.ID != stem && stem != "" {
		f.fix(fmt.Sprintf("rename the file to %.80s%s, or write id: %.80s", e.ID, extension, stem), "/id", "the id %.80q is not the name of the file, %.80q", e.ID, stem)
	}
	if len(f.parts) > 0 {
		p := problem.New(problem.InvalidArgument, "the entry is not valid").At(name, 0, 0, "")
		p.Parts = f.parts
		return nil, p
	}
	return e, nil
}

// unreadable says which value of an entry is none that it can have there.
func (c *converter) unreadable(fault *strictjson.Error) error {
	at, text, remedy := fault.Pointer, "the entry "+fault.Text, "see docs/catalog.md for the members of an entry"
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](fault.Cause); ok {
		name := kindOf(kind.Type)
		at, text, remedy = c.places[kind.Offset], "the value is of another kind: this is a "+name, howToWrite[name]
	}
	if fault.Member != "" {
		at += "/" + strictjson.EscapeToken(fault.Member)
		text, remedy = fmt.Sprintf("an entry has no member %.80q there", fault.Member), "there may be "+strings.Join(fault.Known, ", ")
		if near := nearest.Name(fault.Member, slices.Values(fault.Known)); near != "" {
			remedy = "did you mean " + near + "?"
		} else if fault.Member == "apiKey" {
			remedy = "leave it out: a key is given by who adds the entry"
		}
	}
	return problem.New(problem.InvalidArgument, "%s", text).At(c.file, c.line(at), 0, at).Fix("%s", remedy)
}

// howToWrite says how YAML has the kinds of [kindOf].
var howToWrite = map[string]string{
	"mapping": "write its members below it and indented, or in braces: {name: value}",
	"list":    "write each item on a line of its own behind a hyphen, or all in brackets: [one, two]",
	"number":  "write it without quotes",
	"bool":    "write true or false, without quotes",
	"string":  "write it in quotes",
}

// kindOf names a type as people who write YAML do.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "mapping"
	case reflect.Slice:
		return "list"
	case reflect.Int:
		return "number"
	}
	return t.Kind().String()
}

// stem is the name of a file without folder and extension.
func stem(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimSuffix(name, extension)
}

// converter turns the YAML of an entry into JSON and remembers the lines. YAML has much
// that an entry does not need and that readers disagree on or that costs more than its
// text: anchors, aliases, merge keys, tags, several documents. All of that is refused.
type converter struct {
	file  string
	out   bytes.Buffer
	lines map[string]int // by JSON pointer

	places map[int64]string // pointers, by where encoding/json says that a value is of another kind
}

// line of the value at a pointer, or of the nearest value around it.
func (c *converter) line(pointer string) int {
	for {
		if n, ok := c.lines[pointer]; ok || pointer == "" {
			return n
		}
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
	}
}

func (c *converter) fault(line int, pointer, format string, args ...any) *problem.Error {
	return problem.New(problem.InvalidArgument, format, args...).At(c.file, line, 0, pointer)
}

func (c *converter) json(data []byte) ([]byte, error) {
	l, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(limit.New(limit.DepthValue(2*maxDepth))))
	if err != nil {
		return nil, fmt.Errorf("starting the YAML reader: %w", err)
	}
	var top, second yaml.Node
	if err := l.Load(&top); errors.Is(err, io.EOF) {
		return nil, c.fault(0, "", "the file is empty")
	} else if err != nil {
		return nil, c.syntax(err)
	}
	if err := l.Load(&second); !errors.Is(err, io.EOF) {
		return nil, c.fault(second.Line, "", "a file holds one entry, and no second document").Fix("write each entry into a file of its own")
	}
	root := &top
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return nil, c.fault(root.Line, "", "an entry is a mapping of members")
	}
	err = c.convert(root, "", 0)
	return c.out.Bytes(), err
}

// syntax says where the YAML cannot be read, and what probably made it so.
func (c *converter) syntax(err error) error {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if at, ok := errors.AsType[*yaml.LoadError](err); ok {
		text, line = strings.TrimPrefix(at.ContextMsg+": "+at.Message, ": "), at.Mark.Line
	}
	remedy := "correct the YAML at this place"
	switch {
	case strings.Contains(text, "UTF-8"):
		remedy = "save the file as UTF-8"
	case strings.Contains(text, "mapping values are not allowed"):
		remedy = "write a text with a colon and a space in quotes, and indent members of one mapping alike"
	case strings.Contains(text, "cannot start any token"):
		remedy = "indent with spaces, not tabs, and write a text that begins with @, % or ` in quotes"
	}
	return c.fault(line, "", "the entry is not YAML: %.200s", text).Fix("%s", remedy)
}

func (c *converter) convert(n *yaml.Node, at string, depth int) error {
	c.lines[at] = n.Line
	switch {
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return c.fault(n.Line, at, "anchors and aliases are refused in entries")
	case depth > maxDepth:
		return c.fault(n.Line, at, "the entry is nested more than %d levels deep", maxDepth)
	case n.Style&yaml.TaggedStyle != 0:
		return c.fault(n.Line, at, "tags are refused in entries")
	}
	switch n.Kind {
	case yaml.MappingNode:
		c.places[int64(c.out.Len()+1)] = at
		return c.mapping(n, at, depth)
	case yaml.SequenceNode:
		c.places[int64(c.out.Len()+1)] = at
		c.out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				c.out.WriteByte(',')
			}
			if err := c.convert(item, at+"/"+strconv.Itoa(i), depth+1); err != nil {
				return err
			}
		}
		c.out.WriteByte(']')
		return nil
	}
	err := c.scalar(n, at)
	c.places[int64(c.out.Len())] = at
	return err
}

func (c *converter) mapping(n *yaml.Node, at string, depth int) error {
	c.out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "" {
			return c.fault(key.Line, at, "the names of members are plain strings")
		}
		inner := at + "/" + strictjson.EscapeToken(key.Value)
		if _, before := c.lines[inner]; before {
			return c.fault(key.Line, inner, "the member %.80q is there twice", key.Value).Fix("remove one of them")
		}
		if i > 0 {
			c.out.WriteByte(',')
		}
		c.text(key.Value)
		c.out.WriteByte(':')
		if err := c.convert(value, inner, depth+1); err != nil {
			return err
		}
	}
	c.out.WriteByte('}')
	return nil
}

func (c *converter) scalar(n *yaml.Node, at string) error {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		c.text(n.Value)
		return nil
	case "!!bool", "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			c.out.WriteString(n.Value)
			return nil
		}
		return c.fault(n.Line, at, "write %.40q in quotes, or as JSON has it", n.Value)
	}
	return c.fault(n.Line, at, "the member is empty").Fix("write a value, or leave the member out")
}

// text writes a JSON string.
func (c *converter) text(s string) {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: a string has no JSON: " + err.Error())
	}
	c.out.Write(b)
}
