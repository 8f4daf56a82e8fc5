package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/limit"
)

// Bounds of YAML beyond those of [Limits].
const (
	// maxYAMLMarks bounds the places in a text that can start a node. A node of
	// the YAML library costs about 250 bytes, so that this keeps reading below
	// 400 MB; 16 MB of real YAML have 700,000 of them.
	maxYAMLMarks = 1_200_000
	// maxAnchors is far above what people write by hand (a few dozen).
	maxAnchors = 10_000
)

// readYAML parses YAML into the same form as JSON. Aliases are not expanded:
// they become links, so that alias bombs cost what their text costs.
func readYAML(ctx context.Context, data []byte, lim Limits) (*document, []duplicate, error) {
	n := yamlMarks(data)
	if n > maxYAMLMarks {
		return nil, nil, &syntaxError{
			code: codeTooManyNodes, line: 1, column: 1,
			detail: fmt.Sprintf("about %d values, more than %d", n, maxYAMLMarks),
			remedy: "split the specification or convert it to JSON",
		}
	}
	l, err := yaml.NewLoader(&deadlineReader{ctx: ctx, r: bytes.NewReader(data)},
		yaml.WithPlugin(limit.New(limit.DepthValue(lim.MaxDepth))))
	if err != nil {
		return nil, nil, fmt.Errorf("starting the YAML reader: %w", err)
	}
	var top yaml.Node
	if err := l.Load(&top); err != nil {
		return nil, nil, yamlError(ctx, data, err)
	}
	var second yaml.Node
	if err := l.Load(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, nil, yamlError(ctx, data, err)
		}
		return nil, nil, &syntaxError{
			code: codeMultiDocument, line: max(second.Line, 1), column: 1,
			detail: "several YAML documents in one file", remedy: "keep one document; remove the others and their --- lines",
		}
	}
	c := &yamlConverter{ctx: ctx, d: &document{yaml: true}, limit: lim, anchors: map[*yaml.Node]uint32{}, steps: stepsPerCheck}
	c.d.text = make([]byte, 0, len(data))
	c.d.nodes = make([]node, 0, n+n/8)
	c.d.at = make([]position, 0, n+n/8)
	root := &top
	if root.Kind == yaml.DocumentNode {
		if len(root.Content) == 0 {
			return nil, nil, emptyDocument()
		}
		root = root.Content[0]
	}
	if err := c.convert(root, 0, false); err != nil {
		return nil, nil, err
	}
	return c.d, c.dups, nil
}

func emptyDocument() error {
	return &syntaxError{code: codeEmpty, line: 1, column: 1, detail: "the document is empty", remedy: "give an OpenAPI or Swagger document"}
}

// yamlMarks counts the places that can start a node; an upper bound but for a
// constant.
func yamlMarks(b []byte) int {
	n := bytes.Count(b, []byte("\n")) + bytes.Count(b, []byte("- ")) + bytes.Count(b, []byte(": ")) +
		bytes.Count(b, []byte("[")) + bytes.Count(b, []byte("{"))
	// A comma of prose is followed by a space and has words around; a list of
	// short values has a comma every few bytes. Only dense commas can hurt.
	return n + bytes.Count(b, []byte(","))
}

// deadlineReader makes the YAML parser, which knows no context, stop.
type deadlineReader struct {
	ctx context.Context
	r   io.Reader
}

// readChunk is small so that the deadline is seen often.
const readChunk = 32 << 10

func (r *deadlineReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p[:min(len(p), readChunk)])
}

func yamlError(ctx context.Context, data []byte, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		return emptyDocument()
	}
	e := &syntaxError{code: codeYAMLSyntax, line: 1, column: 1, remedy: "correct the YAML syntax at this place"}
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		e.detail = cutText(err.Error(), 200)
		return e
	}
	e.line, e.column, e.detail = le.Mark.Line, le.Mark.Column, cutText(le.Message, 200)
	if le.ContextMsg != "" {
		e.detail = cutText(le.ContextMsg, 200) + ": " + e.detail
	}
	if lineStartsWithTab(data, e.line) {
		e.detail += " (the line is indented with a tab)"
	}
	if strings.Contains(e.detail, " tab") {
		e.remedy = "indent with spaces: YAML allows no tabs there"
	}
	if strings.Contains(e.detail, "max depth") {
		e.code, e.remedy = codeTooDeep, "flatten the specification"
	}
	e.line, e.column = max(e.line, 1), max(e.column, 1)
	return e
}

// lineStartsWithTab reports whether the indentation of a line has a tab.
func lineStartsWithTab(data []byte, line int) bool {
	for range line - 1 {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			return false
		}
		data = data[i+1:]
	}
	return bytes.HasPrefix(bytes.TrimLeft(data, " "), []byte("\t"))
}

// yamlConverter appends yaml nodes to a document.
type yamlConverter struct {
	ctx     context.Context
	d       *document
	limit   Limits
	anchors map[*yaml.Node]uint32 // index of an anchored node; 0 while it is open (0 is the root, never an alias target)
	steps   int
	dups    []duplicate
}

func (c *yamlConverter) fail(n *yaml.Node, code, remedy, format string, args ...any) error {
	return &syntaxError{code: code, line: max(n.Line, 1), column: max(n.Column, 1), detail: fmt.Sprintf(format, args...), remedy: remedy}
}

func (c *yamlConverter) add(y *yaml.Node, n node) (uint32, error) {
	if len(c.d.nodes) >= c.limit.MaxNodes {
		return 0, c.fail(y, codeTooManyNodes, "split the specification", "more than %d values", c.limit.MaxNodes)
	}
	if c.steps--; c.steps <= 0 {
		c.steps = stepsPerCheck
		if err := c.ctx.Err(); err != nil {
			return 0, err
		}
	}
	n.next = uint32(len(c.d.nodes)) + 1
	c.d.nodes = append(c.d.nodes, n)
	c.d.at = append(c.d.at, position{uint32(y.Line), uint32(y.Column)})
	return n.next - 1, nil
}

func (c *yamlConverter) scalar(y *yaml.Node, k kind, flags uint8) error {
	if len(y.Value) > c.limit.MaxString {
		return c.fail(y, codeStringTooLong, "shorten the text", "a string of more than %d bytes", c.limit.MaxString)
	}
	off := uint32(len(c.d.text))
	c.d.text = append(c.d.text, strings.ToValidUTF8(y.Value, "\uFFFD")...)
	_, err := c.add(y, node{kind: k, off: off, end: uint32(len(c.d.text)), flags: flags})
	return err
}

func (c *yamlConverter) convert(y *yaml.Node, depth int, key bool) error {
	if depth > c.limit.MaxDepth {
		return c.fail(y, codeTooDeep, "flatten the specification", "nesting deeper than %d levels", c.limit.MaxDepth)
	}
	if y.Anchor != "" && y.Kind != yaml.AliasNode {
		if len(c.anchors) >= maxAnchors {
			return c.fail(y, codeTooManyNodes, "use $ref instead of YAML anchors", "more than %d YAML anchors", maxAnchors)
		}
		c.anchors[y] = 0
		at := uint32(len(c.d.nodes))
		defer func() { c.anchors[y] = at }()
	}
	switch y.Kind {
	case yaml.ScalarNode:
		if key {
			return c.scalar(y, kindString, flagKey)
		}
		return c.scalar(y, scalarKind(y), 0)
	case yaml.SequenceNode:
		at, err := c.add(y, node{kind: kindArray})
		if err != nil {
			return err
		}
		for _, e := range y.Content {
			if err := c.convert(e, depth+1, false); err != nil {
				return err
			}
		}
		c.d.nodes[at].next = uint32(len(c.d.nodes))
		return nil
	case yaml.MappingNode:
		return c.mapping(y, depth)
	case yaml.AliasNode:
		at, ok := c.anchors[y.Alias]
		if !ok || at == 0 {
			return c.fail(y, codeRecursiveAlias, "use $ref for recursive schemas", "the alias *%s stands inside the value it refers to", cutText(y.Value, 60))
		}
		if key {
			return c.scalar(&yaml.Node{Value: y.Alias.Value, Line: y.Line, Column: y.Column}, kindString, flagKey)
		}
		c.d.nodes[at].flags |= flagShared
		_, err := c.add(y, node{kind: kindAlias, off: at})
		return err
	default:
		return c.fail(y, codeYAMLSyntax, "correct the YAML", "a node of unknown kind")
	}
}

// scalarKind follows the YAML 1.2 core schema; what only YAML 1.1 or a custom
// tag makes of a scalar (dates, binary, !include) stays a string.
func scalarKind(y *yaml.Node) kind {
	switch y.ShortTag() {
	case "!!null":
		return kindNull
	case "!!bool":
		return kindBool
	case "!!int", "!!float":
		return kindNumber
	default:
		return kindString
	}
}

func (c *yamlConverter) mapping(y *yaml.Node, depth int) error {
	at, err := c.add(y, node{kind: kindObject})
	if err != nil {
		return err
	}
	members := 0
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		name := k
		if k.Kind == yaml.AliasNode && k.Alias != nil {
			name = k.Alias
		}
		if name.Kind != yaml.ScalarNode {
			return c.fail(k, codeYAMLSyntax, "use a plain text as the key", "a mapping key that is not a scalar")
		}
		if err := c.convert(k, depth+1, true); err != nil {
			return err
		}
		if err := c.convert(v, depth+1, false); err != nil {
			return err
		}
		members++
	}
	c.d.nodes[at].next = uint32(len(c.d.nodes))
	for _, m := range merges {
		if err := c.merge(at, m); err != nil {
			return err
		}
	}
	c.dups = markDuplicates(c.d, at, members, c.dups)
	return nil
}

// merge adds the members of a YAML merge key that the mapping does not have.
// They are links to the members of the merged mapping.
func (c *yamlConverter) merge(at uint32, m *yaml.Node) error {
	if m.Kind == yaml.SequenceNode {
		for _, e := range m.Content {
			if err := c.merge(at, e); err != nil {
				return err
			}
		}
		return nil
	}
	if m.Kind == yaml.MappingNode {
		return c.mergeInline(at, m)
	}
	if m.Kind != yaml.AliasNode {
		return c.fail(m, codeYAMLSyntax, "merge an alias: `<<: *name`", "a merge key (<<) whose value is not a mapping")
	}
	src, ok := c.anchors[m.Alias]
	if !ok || src == 0 {
		return c.fail(m, codeRecursiveAlias, "merge another mapping", "a merge key (<<) that merges a mapping into itself")
	}
	from := value{c.d, src}
	if from.kind() != kindObject {
		return c.fail(m, codeYAMLSyntax, "merge a mapping", "a merge key (<<) of something that is not a mapping")
	}
	have := c.names(at)
	for k, v := range from.members() {
		if have[k.text()] {
			continue
		}
		n := *k.node()
		if _, err := c.add(m, n); err != nil {
			return err
		}
		v.node().flags |= flagShared
		if _, err := c.add(m, node{kind: kindAlias, off: v.i}); err != nil {
			return err
		}
	}
	c.d.nodes[at].next = uint32(len(c.d.nodes))
	return nil
}

// mergeInline adds the members of a mapping written in place after <<.
func (c *yamlConverter) mergeInline(at uint32, m *yaml.Node) error {
	have := c.names(at)
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		if k.Kind != yaml.ScalarNode || have[k.Value] {
			continue
		}
		if err := c.convert(k, 0, true); err != nil {
			return err
		}
		if err := c.convert(v, c.limit.MaxDepth/2, false); err != nil {
			return err
		}
	}
	c.d.nodes[at].next = uint32(len(c.d.nodes))
	return nil
}

func (c *yamlConverter) names(at uint32) map[string]bool {
	have := map[string]bool{}
	for k := range (value{c.d, at}).members() {
		have[k.text()] = true
	}
	return have
}
