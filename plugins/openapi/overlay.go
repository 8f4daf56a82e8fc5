package openapi

import (
	"regexp"
	"strings"

	"github.com/pb33f/jsonpath/pkg/jsonpath"
	"github.com/pb33f/jsonpath/pkg/jsonpath/config"
	"go.yaml.in/yaml/v4"
)

// Bounds of overlays (Overlay Specification 1.0.0, 1.1.0).
const (
	// MaxOverlays bounds the overlays of a specification; people use one or two.
	MaxOverlays = 16
	// maxActions bounds the actions of all overlays; each may look at every value.
	maxActions = 1000
	// maxTarget bounds a JSONPath expression in bytes.
	maxTarget = 2000
	// maxDescendants bounds the descendant segments (..) of an expression: each one
	// multiplies the work by the depth of the document.
	maxDescendants = 2
	// MaxOverlayBytes bounds one overlay document.
	MaxOverlayBytes = 4 << 20
)

// overlaid applies the overlays of the source to a document, in order, and
// returns the changed document. Places stay those of the original text; what an
// overlay added has none.
func (c *compiler) overlaid(d *document) (*document, error) {
	if len(c.src.Overlays) > MaxOverlays {
		return nil, c.overlayFault(Overlay{Name: c.src.Overlays[MaxOverlays].Name}, value{}, "merge them into fewer documents", "more than %d overlays", MaxOverlays)
	}
	budget := c.limits.MaxNodes
	top, ok := d.root().yamlNode(&budget)
	if !ok {
		return nil, fatal(c.file, codeTooManyNodes, d.root(), "split the specification, or write its aliases out", "more than %d values", c.limits.MaxNodes)
	}
	o := overlayer{c: c, top: top, budget: &budget}
	for _, overlay := range c.src.Overlays {
		if err := o.apply(overlay); err != nil {
			return nil, err
		}
	}
	conv := &yamlConverter{ctx: c.ctx, d: &document{yaml: true, base: d.base, path: d.path, name: d.name}, limit: c.limits, anchors: map[*yaml.Node]uint32{}, steps: stepsPerCheck}
	if err := conv.convert(o.top, 0, false); err != nil {
		return nil, readFatal(c.file, err)
	}
	return conv.d, nil
}

// overlayer applies overlays to one tree.
type overlayer struct {
	c       *compiler
	top     *yaml.Node
	budget  *int
	actions int
}

func (c *compiler) overlayFault(o Overlay, at value, remedy, format string, args ...any) error {
	return fatal(o.Name, codeOverlay, at, remedy, "overlay: "+format, args...)
}

func (o *overlayer) apply(overlay Overlay) error {
	c := o.c
	lim := c.limits
	lim.MaxBytes = min(lim.MaxBytes, MaxOverlayBytes)
	d, _, err := read(c.ctx, overlay.Data, lim)
	if err != nil {
		return readFatal(overlay.Name, err)
	}
	d.name = overlay.Name
	root := d.root()
	version := root.get("overlay").str()
	if !strings.HasPrefix(version, "1.0") && !strings.HasPrefix(version, "1.1") {
		return c.overlayFault(overlay, root, "write `overlay: 1.1.0` at the top", "version %s is not supported", quoteShort(version))
	}
	actions := root.get("actions")
	if !actions.isArray() || actions.size() == 0 {
		return c.overlayFault(overlay, root, "list at least one action", "there are no actions")
	}
	for _, a := range actions.elements() {
		if o.actions++; o.actions > maxActions {
			return c.overlayFault(overlay, a, "split the overlay", "more than %d actions", maxActions)
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := o.action(overlay, a, strings.HasPrefix(version, "1.1")); err != nil {
			return err
		}
	}
	return nil
}

// action applies one action: remove, else update, else copy (1.1).
func (o *overlayer) action(overlay Overlay, a value, canCopy bool) error {
	c := o.c
	target := a.get("target")
	if target.str() == "" {
		return c.overlayFault(overlay, a, "give the JSONPath of what is changed", "an action has no target")
	}
	found, err := o.query(overlay, target)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		c.warn(codeOverlayNoMatch, target, "correct the target, or drop the action", "the overlay's target %s is not in the document", quoteShort(target.text()))
		return nil
	}
	update, copied := a.get("update"), a.get("copy")
	switch {
	case a.get("remove").truth():
		o.remove(found)
		return nil
	case update.exists():
		for _, n := range found {
			src, ok := update.yamlNode(o.budget)
			if !ok {
				return o.tooLarge(overlay, a)
			}
			o.merge(n, unplaced(src), target)
		}
		return nil
	case copied.exists() && canCopy:
		from, err := o.query(overlay, copied)
		if err != nil {
			return err
		}
		if len(from) != 1 {
			c.warn(codeOverlayNoMatch, copied, "select exactly one value to copy", "the overlay copies %s, which selects %d values", quoteShort(copied.text()), len(from))
			return nil
		}
		for _, n := range found {
			src, ok := cloneNode(from[0], o.budget)
			if !ok {
				return o.tooLarge(overlay, a)
			}
			o.merge(n, src, target)
		}
		return nil
	}
	c.warn(codeOverlayNoMatch, a, "give update, remove or (since 1.1) copy", "an action of the overlay does nothing")
	return nil
}

func (o *overlayer) tooLarge(overlay Overlay, at value) error {
	return o.c.overlayFault(overlay, at, "select fewer places", "the document would have more than %d values", o.c.limits.MaxNodes)
}

// descendantInFilter finds a filter that searches the whole document for every
// value it is asked about.
var descendantInFilter = regexp.MustCompile(`\[\s*\?.*\.\.`)

// query evaluates a JSONPath (RFC 9535).
func (o *overlayer) query(overlay Overlay, at value) (found []*yaml.Node, err error) {
	expr := at.str()
	if len(expr) > maxTarget || strings.Count(expr, "..") > maxDescendants || descendantInFilter.MatchString(expr) {
		return nil, o.c.overlayFault(overlay, at, "select with fewer descendant segments (..), none of them inside a filter",
			"the path %s costs too much", quoteShort(expr))
	}
	defer func() {
		// A library that reads untrusted text ends here.
		if v := recover(); v != nil {
			err = o.c.overlayFault(overlay, at, "write it as RFC 9535 says", "the path %s cannot be evaluated", quoteShort(expr))
		}
	}()
	p, err := jsonpath.NewPath(expr, config.WithPropertyNameExtension())
	if err != nil {
		return nil, o.c.overlayFault(overlay, at, "write it as RFC 9535 says", "%s is not a JSONPath", quoteShort(expr))
	}
	return p.Query(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{o.top}}), nil
}

// remove takes nodes out of their parents.
func (o *overlayer) remove(nodes []*yaml.Node) {
	gone := make(map[*yaml.Node]bool, len(nodes))
	for _, n := range nodes {
		gone[n] = true
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		step := 1
		if n.Kind == yaml.MappingNode {
			step = 2
		}
		kept := n.Content[:0]
		for i := 0; i+step <= len(n.Content); i += step {
			if gone[n.Content[i+step-1]] || gone[n.Content[i]] {
				continue
			}
			kept = append(kept, n.Content[i:i+step]...)
		}
		n.Content = kept
		for _, child := range n.Content {
			if len(child.Content) > 0 {
				walk(child)
			}
		}
	}
	walk(o.top)
}

// merge puts src into the node dst: members into an object, recursively; an
// element, or the elements of an array, behind those of an array; in the place of
// a scalar.
func (o *overlayer) merge(dst, src *yaml.Node, target value) {
	switch {
	case dst.Kind == yaml.SequenceNode && src.Kind == yaml.SequenceNode:
		dst.Content = append(dst.Content, src.Content...)
	case dst.Kind == yaml.SequenceNode:
		dst.Content = append(dst.Content, src)
	case dst.Kind == yaml.MappingNode && src.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(src.Content); i += 2 {
			o.member(dst, src.Content[i], src.Content[i+1], target)
		}
	case dst.Kind == yaml.ScalarNode && src.Kind == yaml.ScalarNode:
		line, column := dst.Line, dst.Column
		*dst = *src
		dst.Line, dst.Column = line, column
	default:
		o.c.warn(codeOverlayConflict, target, "select values of the same kind as the update",
			"the overlay's target %s selects something of another kind than what it is updated with", quoteShort(target.text()))
	}
}

// member puts one member into an object.
func (o *overlayer) member(dst, key, v *yaml.Node, target value) {
	for i := 0; i+1 < len(dst.Content); i += 2 {
		if dst.Content[i].Value != key.Value {
			continue
		}
		old := dst.Content[i+1]
		if old.Kind == v.Kind && old.Kind != yaml.ScalarNode {
			o.merge(old, v, target)
			return
		}
		v.Line, v.Column = old.Line, old.Column
		dst.Content[i+1] = v
		return
	}
	dst.Content = append(dst.Content, key, v)
}

// cloneNode copies a tree; ok is false when the budget of values is used up.
func cloneNode(n *yaml.Node, budget *int) (*yaml.Node, bool) {
	if *budget--; *budget < 0 {
		return nil, false
	}
	c := *n
	c.Content = make([]*yaml.Node, 0, len(n.Content))
	for _, child := range n.Content {
		cc, ok := cloneNode(child, budget)
		if !ok {
			return nil, false
		}
		c.Content = append(c.Content, cc)
	}
	return &c, true
}

// unplaced takes the places off a tree that comes from another document.
func unplaced(n *yaml.Node) *yaml.Node {
	n.Line, n.Column = 0, 0
	for _, child := range n.Content {
		unplaced(child)
	}
	return n
}

// yamlNode is v as a tree of YAML nodes with its places; ok is false when the
// budget of values is used up (aliases are written out here).
func (v value) yamlNode(budget *int) (*yaml.Node, bool) {
	if *budget--; *budget < 0 {
		return nil, false
	}
	n := &yaml.Node{}
	n.Line, n.Column = v.place()
	scalar := func(tag string) (*yaml.Node, bool) {
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, tag, v.text()
		return n, true
	}
	switch v.kind() {
	case kindObject:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for k, member := range v.members() {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: k.text()}
			key.Line, key.Column = k.place()
			child, ok := member.yamlNode(budget)
			if !ok {
				return nil, false
			}
			n.Content = append(n.Content, key, child)
		}
		return n, true
	case kindArray:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for _, member := range v.elements() {
			child, ok := member.yamlNode(budget)
			if !ok {
				return nil, false
			}
			n.Content = append(n.Content, child)
		}
		return n, true
	case kindNumber:
		if strings.ContainsAny(v.text(), ".eE") {
			return scalar("!!float")
		}
		return scalar("!!int")
	case kindBool:
		return scalar("!!bool")
	case kindNull, kindMissing, kindAlias:
		return scalar("!!null")
	default:
		return scalar("!!str")
	}
}
