package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// grade is how much of a tool's input is written (rule 7). Each attempt writes
// less than the one before: deep levels go first, then words, then keywords, then
// optional members. Parameters, required members and the types of the members of
// the first level go last.
type grade struct {
	depth   int // how deep objects are written out
	text    int // bytes of a description; -1: as many as rule 21 allows
	members int // optional members of one object, and optional arguments; -1: all
	bare    bool
}

// grades, the fullest first. Those of more than depth 1 are for what fits into the
// target; the rest is for what does not fit into the limit.
var grades = [...]grade{
	{maxPublishedDepth, -1, -1, false},
	{4, -1, -1, false},
	{3, -1, -1, false},
	{2, -1, -1, false},
	{1, -1, -1, false},
	{1, 80, -1, false},
	{1, 0, -1, false},
	{1, 0, -1, true},
	{1, 0, 256, true},
	{1, 0, 64, true},
	{1, 0, 16, true},
	{1, 0, 0, true},
}

// requiredText is what is kept of the description of what must be given when
// others lose theirs.
const requiredText = 80

// words is how many bytes a description may have here; -1: as rule 21 says.
func (p *publisher) words() int {
	if p.grade.text >= 0 && p.must && !p.grade.bare {
		return max(p.grade.text, requiredText)
	}
	return p.grade.text
}

// bareEnum is how many values of an enum are kept when keywords are left out.
const bareEnum = 8

// publish writes the input schema: as deep as fits into the target, then as
// much as the limit allows (rule 7). It gives the depth that was reached.
func (c *compiler) publish(at value, op *operation.Operation, args []argument) (depth int, ok bool) {
	ordered := slices.DeleteFunc(slices.Clone(args), func(a argument) bool { return a.unlisted })
	slices.SortStableFunc(ordered, func(a, b argument) int { return a.order - b.order })
	target := min(targetTool, c.limits.MaxTool)
	for i, g := range grades {
		limit := target
		if g.depth == 1 {
			limit = c.limits.MaxTool
		}
		left, ok := c.attempt(ordered, g, g.depth, limit)
		if !ok {
			continue
		}
		op.InputSchema = slices.Clone(c.input)
		switch {
		case i > 0 && grades[i-1].depth == 1:
			c.warn(codeToolCut, at, "disable what agents do not need, or split the operation",
				"%s %s: the input schema is larger than %d bytes; descriptions%s are cut", op.Method, quoteShort(op.Path), c.limits.MaxTool, alsoCut(g))
		case len(c.input) > targetTool:
			c.warn(codeToolLarge, at, "disable the operation, or hide what agents do not need",
				"%s %s: the input schema has %d bytes, more than the %d aimed at", op.Method, quoteShort(op.Path), len(c.input), targetTool)
		case g.depth == 1:
			// Room is left: what must be given is written deeper.
			for deep := 2; deep <= maxPublishedDepth; deep++ {
				if _, ok := c.attempt(ordered, g, deep, target); !ok || len(c.input) == len(op.InputSchema) {
					break
				}
				op.InputSchema, depth = slices.Clone(c.input), deep
			}
		}
		unlist(op.Plan, left)
		return max(depth, g.depth), true
	}
	return 0, false
}

func alsoCut(g grade) string {
	switch {
	case g.members >= 0:
		return ", bounds and optional members"
	case g.bare:
		return " and bounds"
	}
	return ""
}

// attempt writes the input schema into c.input at one grade; what must be given is
// written need levels deep. left are the arguments that had no room.
func (c *compiler) attempt(args []argument, g grade, need, limit int) (left []argument, ok bool) {
	p := publisher{c: c, b: c.input[:0], grade: g, need: need, limit: limit}
	left = p.root(args)
	c.input = p.b
	return left, !p.over && len(p.b) <= limit
}

// unlist marks arguments that are accepted but not in the input schema.
func unlist(plan *operation.Plan, args []argument) {
	for i := range args {
		switch a := &args[i]; {
		case a.param >= 0:
			plan.Params[a.param].Unlisted = true
		case a.variant && a.field >= 0:
			plan.Body.Variants[0].Fields[a.field].Unlisted = true
		case a.field >= 0:
			plan.Body.Fields[a.field].Unlisted = true
		}
	}
}

// root writes the root object (rule 1). left are the arguments that had no room.
func (p *publisher) root(args []argument) (left []argument) {
	p.b = append(p.b, `{"type":"object","properties":{`...)
	var required []string
	some, optional := false, 0
	for i := range args {
		a := &args[i]
		if !a.required && (a.field >= 0 || a.param >= 0 && p.grade.members == 0) {
			if optional++; p.grade.members >= 0 && optional > p.grade.members {
				left = append(left, *a)
				continue
			}
		}
		if some {
			p.b = append(p.b, ',')
		}
		some = true
		p.name(a.name)
		p.files, p.clear, p.stack = a.files, a.clear, p.stack[:0]
		p.must, p.body = a.required, a.param < 0
		if a.parent != nil {
			p.stack = append(p.stack, a.parent)
		}
		text := a.text
		if sameWords(strings.TrimSuffix(text, "."), a.name) {
			text = ""
		}
		p.schemaWith(untold(a.schema, a.name), a.depth, text, nil)
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
	return left
}
