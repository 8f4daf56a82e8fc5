package openapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// assemble makes arguments, input schema and plan of parameters and body.
func (c *compiler) assemble(at value, op *operation.Operation, params []parameter, b *body) error {
	for _, simple := range [...]bool{false, true} {
		args := c.arguments(op.Plan, params, b, simple)
		depth, ok := c.publish(at, op, args, simple)
		if !ok {
			continue
		}
		if simple {
			c.warn(codeToolCut, at, "disable what agents do not need, or split the operation",
				"%s %s: the input schema is larger than %d bytes; only required parameters and an open body are published", op.Method, quoteShort(op.Path), c.limits.MaxTool)
		}
		c.private(op.Plan, args, depth)
		return nil
	}
	return notCallable(codeToolTooLarge, "its input schema is larger than %d bytes even without its optional parts", c.limits.MaxTool)
}

// arguments names the arguments and fills in what the plan says of them, but for
// the private schemas. simple leaves out what is optional and opens the body.
func (c *compiler) arguments(plan *operation.Plan, params []parameter, b *body, simple bool) []argument {
	var names argNames
	var args []argument
	plan.Params, plan.Body = nil, nil
	counts := map[string]int{}
	for i := range params {
		counts[strings.ToLower(params[i].name)]++
	}
	for i := range params {
		p := &params[i]
		if !p.required && (p.deprecated || p.schema.deprecated || simple) || p.schema.never {
			continue // rule 20
		}
		wire := operation.Param{
			Name: p.name, In: p.in, Style: p.style, Explode: p.explode, AllowReserved: p.reserved,
			Content: p.content, Required: p.required, Nested: p.nested,
		}
		if wire.Style == defaultStyle(p.in) {
			wire.Style = ""
		}
		if wire.Content != "" {
			wire.Style, wire.Explode = "", false
		}
		if lit := constant(p); lit != "" {
			wire.Const = lit
			plan.Params = append(plan.Params, wire)
			continue
		}
		name := p.name
		if counts[strings.ToLower(name)] > 1 && p.in != operation.InPath { // rule 3
			name = string(p.in) + "_" + name
		}
		wire.Arg = names.name(name)
		order := 3
		if p.in == operation.InPath {
			order = 0
		} else if p.required {
			order = 1
		}
		args = append(args, argument{
			name: wire.Arg, schema: withExample(p), text: plain(p.desc.str()), required: p.required, order: order,
			depth: 1, param: len(plan.Params), field: -1, files: noFiles,
		})
		plan.Params = append(plan.Params, wire)
	}
	if b == nil {
		return args
	}
	plan.Body = &operation.Body{MediaType: b.media, Sent: b.written, Required: b.required, Encoding: b.encoding}
	if !simple && c.liftable(plan, b, &names) {
		return c.lift(plan, b, args, &names)
	}
	return append(args, c.wholeBody(plan, b, &names, simple))
}

// withExample gives the parameter's schema the parameter's example.
func withExample(p *parameter) *schema {
	if !p.example.exists() || p.schema.example.exists() {
		return p.schema
	}
	s := *p.schema
	s.example = p.example
	return &s
}

// wholeBody is the one argument that is the body.
func (c *compiler) wholeBody(plan *operation.Plan, b *body, names *argNames, simple bool) argument {
	name := "body"
	if names.has(name) {
		name = "request_body"
	}
	a := argument{
		name: names.name(name), schema: b.schema, required: b.required, order: 3, param: -1, field: -1,
		files: filesOf(b), clear: plan.Method == http.MethodPatch || plan.Method == http.MethodPut, free: simple && b.kind != bodyText, xml: b.kind == bodyXML,
	}
	if b.required {
		a.order = 2
	}
	if b.desc.exists() {
		a.text = plain(b.desc.str())
	}
	plan.Body.Arg = a.name
	switch b.kind {
	case bodyText:
		const scalar = operation.TypeInteger | operation.TypeNumber | operation.TypeBoolean
		if t := b.schema.types; t != 0 && t&^scalar == 0 && len(b.schema.alts) == 0 {
			break // one number or truth value as text
		}
		if b.schema.types != operation.TypeString || len(b.schema.alts) > 0 || isFile(b.schema) {
			a.schema = &schema{at: b.at, types: operation.TypeString, desc: b.schema.desc}
		}
		if strings.HasSuffix(b.media, "xml") {
			a.text = strings.TrimSpace(firstSentences(a.text, maxPropertyText/2) + " An XML document.")
		}
	case bodyBinary:
		a.schema = &schema{at: b.at, types: operation.TypeString, format: "binary", desc: b.schema.desc}
	case bodyLines:
		if b.schema.types != operation.TypeArray {
			a.schema = &schema{at: b.at, types: operation.TypeArray, items: child{s: b.schema}}
		}
	}
	return a
}

// filesOf says at which depth a body's binary values are files.
func filesOf(b *body) int {
	switch b.kind {
	case bodyMultipart:
		return 1
	case bodyBinary:
		return 0
	default:
		return noFiles
	}
}

// liftable reports whether the members of the body become arguments of their own
// (rule 4).
func (c *compiler) liftable(plan *operation.Plan, b *body, names *argNames) bool {
	s := b.schema
	if b.kind != bodyJSON && b.kind != bodyForm && b.kind != bodyMultipart {
		return false // XML needs the names of its root
	}
	if s.types != operation.TypeObject || s.hasAddl || len(s.pattern) > 0 || s.never || len(s.props) == 0 || c.hasVariants(s) {
		return false
	}
	visible := 0
	for i := range s.props {
		p := c.normal(&s.props[i].child)
		if p.never || p.readOnly {
			continue
		}
		if visible++; visible > maxLifted {
			return false
		}
		if c.fromPath(plan, s, &s.props[i]) != "" {
			continue
		}
		if names.has(s.props[i].name) || !goodName(s.props[i].name) && names.has(argName(s.props[i].name)) {
			return false
		}
	}
	return visible > 0
}

// fromPath is the argument of the path parameter that a member of a PUT or PATCH
// body repeats: it is asked for once and sent in both places (rule 16). An
// optional one is left alone: giving another value there renames the thing.
func (c *compiler) fromPath(plan *operation.Plan, s *schema, q *prop) string {
	if plan.Method != http.MethodPut && plan.Method != http.MethodPatch || !slices.Contains(s.required, q.name) {
		return ""
	}
	const scalar = operation.TypeString | operation.TypeInteger | operation.TypeNumber
	if t := c.normal(&q.child).types; t == 0 || t&^scalar != 0 {
		return ""
	}
	for i := range plan.Params {
		if p := &plan.Params[i]; p.In == operation.InPath && p.Name == q.name {
			return p.Arg
		}
	}
	return ""
}

// hasVariants reports alternatives that change more than what is required.
func (c *compiler) hasVariants(s *schema) bool {
	p := publisher{c: c}
	return len(s.alts) > 0 && p.says(s)
}

// lift makes the members of the body arguments.
func (c *compiler) lift(plan *operation.Plan, b *body, args []argument, names *argNames) []argument {
	s := b.schema
	clears := plan.Method == http.MethodPatch || plan.Method == http.MethodPut
	for i := range s.props {
		q := &s.props[i]
		p := c.normal(&q.child)
		must := slices.Contains(s.required, q.name) && !(p.null && p.def.exists()) // where there is a body
		need := b.required && must
		if p.never || p.readOnly || p.deprecated && !need {
			continue
		}
		f := operation.Field{Name: q.name, Required: must}
		if f.Arg = c.fromPath(plan, s, q); f.Arg != "" {
			plan.Body.Fields = append(plan.Body.Fields, f)
			continue
		}
		if need && p.hasEnum && len(p.enum) == 1 && !p.null {
			k := parameter{required: true, schema: p}
			f.Const = constant(&k)
		}
		if f.Const != "" {
			plan.Body.Fields = append(plan.Body.Fields, f)
			continue
		}
		f.Arg = names.name(q.name)
		order := 3
		if need {
			order = 2
		}
		args = append(args, argument{
			name: f.Arg, schema: p, required: need, order: order, depth: 1, param: -1, field: len(plan.Body.Fields),
			files: filesOf(b), clear: clears, parent: s, xml: b.kind == bodyXML,
		})
		plan.Body.Fields = append(plan.Body.Fields, f)
	}
	return args
}

// publish writes the input schema: as deep as fits into the target, then as
// large as the limit allows (rule 7). It gives the depth that was reached.
func (c *compiler) publish(at value, op *operation.Operation, args []argument, simple bool) (depth int, ok bool) {
	ordered := slices.Clone(args)
	slices.SortStableFunc(ordered, func(a, b argument) int { return a.order - b.order })
	for _, depth := range [...]int{maxPublishedDepth, 4, 3, 2, 1} {
		limit := min(targetTool, c.limits.MaxTool)
		if depth == 1 {
			limit = c.limits.MaxTool
		}
		p := publisher{c: c, b: c.input[:0], depth: depth, limit: limit, spare: simple}
		p.root(ordered)
		c.input = p.b[:0]
		if p.over || len(p.b) > limit {
			continue
		}
		if len(p.b) > targetTool {
			c.warn(codeToolLarge, at, "disable the operation, or hide what agents do not need",
				"%s %s: the input schema has %d bytes, more than the %d aimed at", op.Method, quoteShort(op.Path), len(p.b), targetTool)
		}
		op.InputSchema = slices.Clone(p.b)
		return depth, true
	}
	return 0, false
}

// root writes the root object (rule 1).
func (p *publisher) root(args []argument) {
	p.b = append(p.b, `{"type":"object","properties":{`...)
	var required []string
	for i := range args {
		a := &args[i]
		if i > 0 {
			p.b = append(p.b, ',')
		}
		p.name(a.name)
		p.files, p.clear, p.stack = a.files, a.clear, p.stack[:0]
		if a.parent != nil {
			p.stack = append(p.stack, a.parent)
		}
		if a.free {
			p.b = append(p.b, `{"type":"object",`...)
			p.describe(a.schema, a.text, []string{"Any object."})
			p.close()
		} else {
			p.schemaWith(a.schema, a.depth, a.text, nil)
		}
		if a.required {
			required = append(required, a.name)
		}
		if p.over {
			break
		}
	}
	p.b = append(p.b, `},`...)
	p.required(required)
	p.close()
}

// private fills in the schemas of the plan.
func (c *compiler) private(plan *operation.Plan, args []argument, depth int) {
	p := planner{c: c, depth: depth}
	for i := range args {
		a := &args[i]
		if a.free {
			continue
		}
		p.files, p.xml, p.stack = a.files, a.xml, p.stack[:0]
		if a.parent != nil {
			p.stack = append(p.stack, a.parent)
		}
		s := p.schema(a.schema, a.depth)
		switch {
		case a.param >= 0:
			plan.Params[a.param].Schema = s
		case a.field >= 0:
			plan.Body.Fields[a.field].Schema = s
		default:
			plan.Body.Schema = s
			if a.xml && s != nil {
				rootElement(s, a.schema.name)
			}
		}
	}
}

// rootElement names the root of an XML body: what the XML Object says, else the
// component, else "root".
func rootElement(s *operation.Schema, component string) {
	if s.XML == nil {
		s.XML = &operation.XML{}
	}
	if s.XML.Name == "" {
		s.XML.Name = cmp.Or(component, "root")
	}
}
