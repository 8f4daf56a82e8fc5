package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// fileVariant is the form of a body that holds files, where the one that was
// chosen holds none: multipart with files or a raw file beside JSON.
func (c *compiler) fileVariant(best *body, offered []body) *body {
	if best.kind == bodyMultipart || best.kind == bodyBinary || best.kind == bodyXML || best.kind == bodyForm && c.hasFiles(best.schema) {
		return nil
	}
	var variant *body
	for i := range offered {
		o := &offered[i]
		if o.media == best.media || strings.Contains(o.media, "*") {
			continue
		}
		s := c.schemaAt(o.at.get("schema"))
		switch {
		case o.kind == bodyMultipart && s.types == operation.TypeObject && c.hasFiles(s):
		case o.kind == bodyBinary && (isFile(s) || o.media == "application/octet-stream" || strings.HasPrefix(o.media, "image/")):
			if variant != nil {
				continue // multipart names what it holds
			}
		default:
			continue
		}
		if variant == nil || variant.kind == bodyBinary {
			o.schema, o.required = s, best.required
			o.encoding = c.transferred(c.encodings(o.at.get("encoding"), o.kind), s, o.kind)
			variant = o
		}
	}
	return variant
}

// searches reports an optional body of a GET that says something the query does
// not.
func (c *compiler) searches(b *body, params []parameter) bool {
	s := b.schema
	if s.never || len(s.props) == 0 && len(s.alts) == 0 && !s.hasAddl && s.types&operation.TypeArray == 0 {
		return false
	}
	if len(s.props) == 0 {
		return true
	}
	return slices.ContainsFunc(s.props, func(q prop) bool {
		return !slices.ContainsFunc(params, func(p parameter) bool { return p.in == operation.InQuery && p.name == q.name })
	})
}

// variantArguments adds the arguments of the variant of the body. It shares what
// is not a file with the body where that is lifted; the rest is its own.
func (c *compiler) variantArguments(plan *operation.Plan, b *body, args []argument, names *argNames) []argument {
	v := b.variant
	plan.Body.Variants = []operation.Body{{MediaType: v.media, Sent: v.written, Required: b.required, Encoding: v.encoding}}
	into := &plan.Body.Variants[0]
	instead := "Sent as " + v.media + " instead of " + b.media + "."
	if v.kind == bodyBinary {
		a := argument{
			schema: &schema{at: v.at, types: operation.TypeString, format: "binary"}, text: instead, order: 3, param: -1, field: -1, files: 0, variant: true,
		}
		a.call(names, "file")
		into.Arg = a.name
		return c.optional(plan, append(args, a))
	}
	if plan.Body.Arg != "" || len(v.schema.props) > maxLifted || v.schema.hasAddl || c.hasVariants(v.schema) {
		a := argument{schema: v.schema, text: instead, order: 3, param: -1, field: -1, files: filesOf(v), variant: true}
		a.call(names, "upload")
		into.Arg = a.name
		return c.optional(plan, append(args, a))
	}
	for i := range v.schema.props {
		q := &v.schema.props[i]
		p := c.normal(&q.child)
		if p.never || p.readOnly {
			continue
		}
		f := operation.Field{Name: q.name, Required: slices.Contains(v.schema.required, q.name)}
		file := isFile(p) || p.types == operation.TypeArray && p.items.exists() && isFile(c.normal(&p.items))
		at := slices.IndexFunc(plan.Body.Fields, func(o operation.Field) bool { return o.Name == q.name })
		if at >= 0 && !file {
			o := &plan.Body.Fields[at]
			f.Arg, f.Else, f.Const, f.Unlisted = o.Arg, o.Else, o.Const, o.Unlisted
			if f.Arg != "" || f.Const != "" {
				if own := slices.IndexFunc(args, func(a argument) bool { return a.param < 0 && !a.variant && a.field == at }); own >= 0 {
					into.Fields = append(into.Fields, f)
					args = append(args, argument{
						name: f.Arg, schema: p, order: 3, depth: 1, param: -1, field: len(into.Fields) - 1, files: filesOf(v), variant: true, parent: v.schema, unlisted: true,
						shared: true,
					})
				} else {
					into.Fields = append(into.Fields, f)
				}
				continue
			}
		}
		a := argument{
			schema: p, order: 3, depth: 1, param: -1, field: len(into.Fields), files: filesOf(v), variant: true, parent: v.schema,
			text: firstSentences(plain(p.desc.str()), maxPropertyText/2),
		}
		if file {
			a.text = strings.TrimSpace(a.text + " " + instead)
		}
		wire := q.name
		if names.has(wire) {
			wire += "_file"
		}
		a.call(names, wire)
		f.Arg = a.name
		into.Fields = append(into.Fields, f)
		args = append(args, a)
	}
	return c.optional(plan, args)
}

// optional takes back what the body alone requires: with the variant it is not
// needed. The check asks for what the form that is sent requires.
func (c *compiler) optional(plan *operation.Plan, args []argument) []argument {
	for i := range args {
		a := &args[i]
		if a.param >= 0 || a.variant {
			continue
		}
		if a.field >= 0 && slices.ContainsFunc(plan.Body.Variants[0].Fields, func(f operation.Field) bool {
			return f.Name == plan.Body.Fields[a.field].Name && f.Required && f.Arg == plan.Body.Fields[a.field].Arg
		}) {
			continue
		}
		if a.required {
			a.required, a.order = false, 3
		}
	}
	return args
}
