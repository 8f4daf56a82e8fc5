package openapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/operation"
)

// assemble makes arguments, input schema and plan of parameters and body.
func (c *compiler) assemble(at value, op *operation.Operation, params []parameter, b *body) error {
	args := c.arguments(op.Plan, params, b)
	depth, ok := c.publish(at, op, args)
	if !ok {
		return notCallable(codeToolTooLarge, "its input schema is larger than %d bytes even without its optional parts", c.limits.MaxTool)
	}
	c.private(op.Plan, args, depth)
	return nil
}

// arguments names the arguments and fills in what the plan says of them, but for
// the private schemas.
func (c *compiler) arguments(plan *operation.Plan, params []parameter, b *body) []argument {
	var names argNames
	var args []argument
	plan.Params, plan.Body = nil, nil
	counts := map[string]int{}
	for i := range params {
		counts[strings.ToLower(params[i].name)]++
	}
	var unlisted []int // what is published is named first
	wished := make([]string, 0, len(params))
	for i := range params {
		p := &params[i]
		if p.schema.never {
			continue
		}
		wire := operation.Param{
			Name: p.name, In: p.in, Style: p.style, Explode: p.explode, AllowReserved: p.reserved,
			Content: p.content, Required: p.required, Nested: p.nested, Unlisted: !p.required && (p.deprecated || p.schema.deprecated), // rule 20
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
		if counts[strings.ToLower(name)] > 1 && p.in != operation.InPath && elsewhere(params, i) { // rule 3
			name = string(p.in) + "_" + name
		}
		order := 3
		if p.in == operation.InPath {
			order = 0
		} else if p.required {
			order = 1
		}
		a := argument{
			schema: withExample(p), text: plain(p.desc.str()), required: p.required, order: order,
			depth: 1, param: len(plan.Params), field: -1, files: noFiles, unlisted: wire.Unlisted,
		}
		plan.Params = append(plan.Params, wire)
		wished = append(wished, name)
		args = append(args, a)
		if wire.Unlisted {
			unlisted = append(unlisted, len(args)-1)
		}
	}
	name := func(i int) {
		args[i].call(&names, wished[i])
		plan.Params[args[i].param].Arg = args[i].name
	}
	for i := range args {
		if !args[i].unlisted {
			names.keep(wished[i])
		}
	}
	for i := range args {
		if !args[i].unlisted {
			name(i)
		}
	}
	n := len(args)
	if b != nil {
		args = c.bodyArguments(plan, b, args, &names)
	}
	for _, i := range unlisted {
		name(i)
	}
	for i := n; i < len(args); i++ {
		if a := &args[i]; a.unlisted && !a.shared {
			a.call(&names, plan.Body.Fields[a.field].Name)
			plan.Body.Fields[a.field].Arg = a.name
		}
	}
	return args
}

// elsewhere reports that a parameter of another location has the name of
// parameter i.
func elsewhere(params []parameter, i int) bool {
	return slices.ContainsFunc(params, func(p parameter) bool { return p.in != params[i].in && strings.EqualFold(p.name, params[i].name) })
}

// call names the argument; what the name alone does not tell is added to its text.
func (a *argument) call(names *argNames, wire string) {
	const number = operation.TypeInteger | operation.TypeNumber
	name, note := names.name(wire, a.schema.types != 0 && a.schema.types&^number == 0)
	a.name = name
	if note != "" {
		text := a.text
		if text == "" {
			text = plain(a.schema.desc.str())
		}
		if text = firstSentences(text, maxPropertyText-len(note)-2); text != "" && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") {
			text += "."
		}
		a.text = strings.TrimSpace(text + " " + note)
	}
}

// bodyArguments makes the arguments of the body and of its variant.
func (c *compiler) bodyArguments(plan *operation.Plan, b *body, args []argument, names *argNames) []argument {
	plan.Body = &operation.Body{MediaType: b.media, Sent: b.written, Required: b.required, Encoding: b.encoding}
	if c.liftable(plan, b, names) {
		args = c.lift(plan, b, args, names)
	} else {
		args = append(args, c.wholeBody(plan, b, names))
	}
	if b.variant != nil {
		args = c.variantArguments(plan, b, args, names)
	}
	return args
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
func (c *compiler) wholeBody(plan *operation.Plan, b *body, names *argNames) argument {
	name := "body"
	if names.has(name) {
		name = "request_body"
	}
	a := argument{
		schema: b.schema, required: b.required, order: 3, param: -1, field: -1,
		files: filesOf(b), clear: plan.Method == http.MethodPatch || plan.Method == http.MethodPut, xml: b.kind == bodyXML,
	}
	if b.required {
		a.order = 2
	}
	if b.desc.exists() {
		a.text = plain(b.desc.str())
	}
	a.call(names, name)
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
		if b.schema.types == operation.TypeString && len(b.schema.alts) == 0 { // all of them as one text
			a.schema = &schema{at: b.at, types: operation.TypeString, desc: b.schema.desc}
			a.text = strings.TrimSpace(firstSentences(a.text, maxPropertyText/2) + " One JSON document a line.")
		} else if b.schema.types != operation.TypeArray {
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
	if s.types != operation.TypeObject || s.hasAddl || len(s.pattern) > 0 || s.never || len(s.props) == 0 && !b.keyed || c.hasVariants(s) {
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
	return visible > 0 || b.keyed
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

// renames reports whether a member that repeats a path parameter may have another
// value: a name may, what a server gave as an identifier may not.
func (c *compiler) renames(q *prop) bool {
	s := c.normal(&q.child)
	if s.types != operation.TypeString || s.format == "uuid" || s.hasEnum {
		return false
	}
	ws := wording.Split(q.name)
	return len(ws) == 0 || !slices.Contains(identifiers, ws[len(ws)-1])
}

// identifiers end the names of what a server gives and nobody changes.
var identifiers = []string{"id", "ids", "uuid", "guid", "arn", "sid", "uid", "urn", "oid", "hash", "number", "no"}

// hasVariants reports alternatives that change more than what is required.
func (c *compiler) hasVariants(s *schema) bool {
	p := publisher{c: c}
	return len(s.alts) > 0 && p.says(s)
}

// lift makes the members of the body arguments.
func (c *compiler) lift(plan *operation.Plan, b *body, args []argument, names *argNames) []argument {
	s := b.schema
	clears := plan.Method == http.MethodPatch || plan.Method == http.MethodPut
	groups, always := c.requiredLists(s)
	var repeated []int // members that the path has as well and that may differ
	for i := range s.props {
		names.keep(s.props[i].name)
	}
	for i := range s.props {
		q := &s.props[i]
		p := c.normal(&q.child)
		must := (slices.Contains(s.required, q.name) || slices.Contains(always, q.name)) && !(p.null && p.def.exists()) // where there is a body
		need := b.required && must
		if p.never || p.readOnly {
			continue
		}
		f := operation.Field{Name: q.name, Required: must, Unlisted: p.deprecated && !need} // rule 20
		if arg := c.fromPath(plan, s, q); arg != "" {
			if !c.renames(q) {
				f.Arg = arg
				plan.Body.Fields = append(plan.Body.Fields, f)
				continue
			}
			f.Else = arg
			repeated = append(repeated, len(args))
			need = false
		}
		if need && p.hasEnum && len(p.enum) == 1 && !p.null {
			k := parameter{required: true, schema: p}
			f.Const = constant(&k)
		}
		if f.Const != "" {
			plan.Body.Fields = append(plan.Body.Fields, f)
			continue
		}
		order := 3
		if need {
			order = 2
		}
		a := argument{
			schema: p, required: need, order: order, depth: 1, param: -1, field: len(plan.Body.Fields),
			files: filesOf(b), clear: clears, parent: s, xml: b.kind == bodyXML, unlisted: f.Unlisted,
		}
		if !f.Unlisted && f.Else == "" {
			a.call(names, q.name)
			f.Arg = a.name
		}
		args = append(args, a)
		plan.Body.Fields = append(plan.Body.Fields, f)
	}
	for _, r := range undeclared(s) {
		if names.has(r) || !goodName(r) {
			continue
		}
		a := argument{
			schema: &schema{at: s.at, open: true}, text: "Required by the specification, which does not describe it.",
			order: 3, depth: 1, param: -1, field: len(plan.Body.Fields), files: filesOf(b), clear: clears, parent: s,
		}
		a.call(names, r)
		args = append(args, a)
		plan.Body.Fields = append(plan.Body.Fields, operation.Field{Name: r, Arg: a.name})
	}
	for _, i := range repeated {
		a := &args[i]
		f := &plan.Body.Fields[a.field]
		a.unlisted, f.Unlisted = false, false
		a.call(names, "new_"+f.Name)
		a.text, f.Arg = "Only to rename; otherwise "+f.Else+".", a.name
	}
	for _, group := range groups {
		// What is not sent cannot be asked for.
		sent := !slices.ContainsFunc(slices.Concat(group...), func(n string) bool {
			return !slices.ContainsFunc(plan.Body.Fields, func(f operation.Field) bool { return f.Name == n })
		})
		if sent {
			plan.Body.Needs = append(plan.Body.Needs, group)
		}
	}
	plan.Body.Rules = rulesOfSent(c.rulesOf(s), plan.Body.Fields)
	if plan.Body.Schema == nil && b.kind != bodyXML {
		plan.Body.Schema = &operation.Schema{Closed: s.closed}
		if s.extra && !s.closed && b.kind == bodyJSON {
			plan.Body.Schema.Additional = &operation.Schema{}
		}
	}
	if s.minProps.set && !s.hasAddl && s.minProps.n <= len(plan.Body.Fields) && s.minProps.n > certain(plan.Body) {
		plan.Body.Least = s.minProps.n
	}
	return args
}

// undeclared names what an object must have and declares nowhere: the rest of a member
// that has another name now, or one that was forgotten. Nobody can tell which, so it
// can be given and is not asked for.
func undeclared(s *schema) []string {
	const most = 4
	var names []string
	for _, r := range s.required {
		if len(names) < most && !s.closed && !slices.Contains(names, r) && !slices.ContainsFunc(s.props, func(q prop) bool { return q.name == r }) {
			names = append(names, r)
		}
	}
	return names
}

// certain counts the members of a body that are always sent with it.
func certain(b *operation.Body) int {
	n := 0
	for i := range b.Fields {
		if f := &b.Fields[i]; f.Required || f.Const != "" || f.Else != "" {
			n++
		}
	}
	return n
}

// requiredLists reads alternatives that only list required members (rule 9): what
// all of a group list is always required, and left out of the group. A group of
// which one list asks for nothing more is not a group.
func (c *compiler) requiredLists(s *schema) (groups [][][]string, always []string) {
	const most = 4 // groups of one body
	for i := range s.alts {
		branches := s.alts[i].branches
		if len(branches) > maxListedEnum || len(groups) >= most {
			continue
		}
		var common []string
		for j := range branches {
			names := c.normal(&branches[j]).required
			if j == 0 {
				common = slices.Clone(names)
			}
			common = slices.DeleteFunc(common, func(n string) bool { return !slices.Contains(names, n) })
		}
		always = append(always, common...)
		var group [][]string
		for j := range branches {
			rest := slices.DeleteFunc(slices.Clone(c.normal(&branches[j]).required), func(n string) bool { return slices.Contains(common, n) })
			if len(rest) == 0 {
				group = nil
				break
			}
			group = append(group, rest)
		}
		if len(group) > 1 {
			groups = append(groups, group)
		}
	}
	return groups, always
}

// private fills in the schemas of the plan.
func (c *compiler) private(plan *operation.Plan, args []argument, depth int) {
	p := planner{c: c, depth: depth}
	for i := range args {
		a := &args[i]
		p.files, p.xml, p.stack = a.files, a.xml, p.stack[:0]
		if a.parent != nil {
			p.stack = append(p.stack, a.parent)
		}
		s := p.schema(a.schema, a.depth)
		switch {
		case a.param >= 0:
			plan.Params[a.param].Schema = s
		case a.variant && a.field >= 0:
			plan.Body.Variants[0].Fields[a.field].Schema = s
		case a.variant:
			plan.Body.Variants[0].Schema = s
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
