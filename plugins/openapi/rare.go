package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// rare is what few schemas say of a value: which members need or exclude each other
// (dependentRequired, not, if), values that are not allowed, and names of members.
// What it cannot hold is left to the upstream, with a warning.
type rare struct {
	except []value
	names  child
	rules  []rule
	full   bool // a rule or name was left out
}

// rule is [operation.Rule] before its values are written.
type rule struct {
	member       string
	is           []value
	other, none  bool
	needs, never []string
}

// Bounds of one schema's rules; real ones have a handful.
const (
	maxRules      = 16
	maxRuleNames  = 16 // members of one rule
	maxRuleValues = 40 // values of a condition, and values that are not allowed
	maxRuleText   = 240
)

// foldRare merges one of the rare keywords.
func (c *compiler) foldRare(s *schema, v value, keyword string, m value) {
	if s.rare == nil {
		s.rare = &rare{}
	} else {
		own := *s.rare // wrapped schemas share it
		s.rare = &own
	}
	r, left := s.rare, false
	switch keyword {
	case "dependentRequired", "dependentSchemas", "dependencies":
		for k, d := range m.members() {
			on := rule{member: k.text()}
			if d.isArray() {
				on.needs = namesIn(d)
				r.add(on)
			} else {
				left = !r.consequence(on, d) || left
			}
		}
	case "if":
		left = !r.conditional(m, v.get("then"), v.get("else"))
	case "not":
		left = !r.excludes(s, m, 0)
	case "propertyNames":
		if m.isObject() && !r.names.exists() {
			r.names = child{at: m}
		}
	default:
		left = true
	}
	if left || r.full {
		r.full = false
		c.warn(codeSchemaKeyword, m, "say it in the description too", "%s says more here than is told and checked; the rest is left to the upstream", keyword)
	}
}

func (r *rare) add(x rule) {
	switch {
	case len(x.needs)+len(x.never) == 0:
	case len(r.rules) == maxRules:
		r.full = true
	default:
		r.full = r.full || len(x.needs) > maxRuleNames
		x.needs = x.needs[:min(len(x.needs), maxRuleNames)]
		r.rules = append(slices.Clip(r.rules), x)
	}
}

// namesIn are the texts of a list of members.
func namesIn(m value) []string {
	var out []string
	for _, e := range m.elements() {
		if name := e.str(); name != "" && len(out) <= maxRuleNames && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// conditional reads if, then and else. It reports false when they say more.
func (r *rare) conditional(cond, then, otherwise value) bool {
	var on rule
	required := namesIn(cond.get("required"))
	all := true
	for k, m := range cond.members() {
		switch {
		case k.is("required"):
		case k.is("properties") && m.size() == 1 && len(required) <= 1:
			for name, p := range m.members() {
				on.member = name.text()
				if on.is = fixedTo(p); on.is == nil && p.size() > 0 {
					return false
				}
			}
		case !passive(string(k.raw())):
			return false
		}
	}
	switch {
	case on.member == "" && len(required) == 1:
		on.member = required[0]
	case on.member == "" || len(required) == 1 && required[0] != on.member:
		return false
	case len(on.is) == 0 && len(required) == 0: // it holds for every object
		return false
	}
	if then.exists() {
		all = r.consequence(on, then) && all
	}
	if otherwise.exists() {
		on.other = true
		// Without "required" the condition holds for objects without the member, which most
		// authors do not mean: those are left alone.
		on.none = len(on.is) > 0 && len(required) > 0
		all = r.consequence(on, otherwise) && all
	}
	return all
}

// fixedTo are the values that const or enum allow; nil when a schema says something else.
func fixedTo(p value) []value {
	var out []value
	for k, m := range p.members() {
		switch {
		case k.is("const"):
			out = []value{m}
		case k.is("enum") && m.isArray() && m.size() <= maxRuleValues:
			for _, e := range m.elements() {
				out = append(out, e)
			}
		case k.is("type"), passive(string(k.raw())):
		default:
			return nil
		}
	}
	return out
}

// consequence reads what is asked where a condition holds: members that are needed and
// members that must not be there. It reports false when it says more.
func (r *rare) consequence(on rule, m value) bool {
	all := m.isObject()
	for k, p := range m.members() {
		switch {
		case k.is("required"):
			x := on
			x.needs = namesIn(p)
			r.add(x)
		case k.is("not"):
			all = r.excluded(on, p, 0) && all
		case k.is("properties"):
			for name, q := range p.members() {
				if q.isFalse() {
					x := on
					x.never = []string{name.text()}
					r.add(x)
				} else if q.size() > 0 || q.kind() == kindArray {
					all = false
				}
			}
		case !passive(string(k.raw())):
			all = false
		}
	}
	return all
}

// excludes reads what is not allowed: values, members, and members together.
func (r *rare) excludes(s *schema, m value, depth int) bool {
	switch {
	case m.kind() == kindBool:
		s.never = s.never || !m.isFalse()
		return true
	case m.isObject() && m.size() == 0:
		s.never = true
		return true
	case m.get("const").exists() && onlyOf(m, "const"):
		r.ban(m.get("const"))
		return true
	case m.get("enum").isArray() && onlyOf(m, "enum"):
		for _, e := range m.get("enum").elements() {
			r.ban(e)
		}
		return m.get("enum").size() <= maxRuleValues
	case m.get("anyOf").isArray() && onlyOf(m, "anyOf") && depth < maxBranches:
		all := true
		for _, b := range m.get("anyOf").elements() {
			all = r.excludes(s, b, depth+1) && all
		}
		return all
	}
	return r.excluded(rule{}, m, depth)
}

// excluded reads {required: […]} under a not: not all of them together. Members that it
// describes without asking anything of them change nothing.
func (r *rare) excluded(on rule, m value, depth int) bool {
	if list := m.get("anyOf"); list.isArray() && onlyOf(m, "anyOf") && depth < maxBranches {
		all := true
		for _, b := range list.elements() {
			all = r.excluded(on, b, depth+1) && all
		}
		return all
	}
	on.never = namesIn(m.get("required"))
	if len(on.never) == 0 || len(on.never) > maxRuleNames || len(on.never) != m.get("required").size() {
		return false
	}
	for k, p := range m.members() {
		switch {
		case k.is("required"):
		case k.is("properties"):
			for name, q := range p.members() {
				values := fixedTo(q)
				switch {
				case len(values) > 0 && on.member == "" && len(on.never) == 1 && on.never[0] == name.text():
					on.member, on.is = name.text(), values
				case len(values) > 0 || !open(q):
					return false
				}
			}
		case !passive(string(k.raw())):
			return false
		}
	}
	r.add(on)
	return true
}

func (r *rare) ban(v value) {
	if len(r.except) < maxRuleValues {
		r.except = append(slices.Clip(r.except), v)
	}
}

// open reports a schema that asks nothing but a type: a value of another type is refused
// where the member is declared.
func open(q value) bool {
	for k := range q.members() {
		if !k.is("type") && !passive(string(k.raw())) {
			return false
		}
	}
	return q.isObject()
}

// onlyOf reports that an object says nothing beside one keyword.
func onlyOf(m value, keyword string) bool {
	for k := range m.members() {
		if !k.is(keyword) && !k.is("type") && !passive(string(k.raw())) {
			return false
		}
	}
	return true
}

// passive are keywords that allow and refuse nothing.
func passive(keyword string) bool {
	switch keyword {
	case "description", "title", "$comment", "example", "examples", "deprecated":
		return true
	}
	return strings.HasPrefix(keyword, "x-")
}

// finishRare takes what is not allowed out of a list of values.
func (s *schema) finishRare() {
	if s.rare == nil || !s.hasEnum || len(s.rare.except) == 0 {
		return
	}
	kept := make([]value, 0, len(s.enum))
	for _, e := range s.enum {
		if !slices.ContainsFunc(s.rare.except, func(x value) bool { return x.kind() == e.kind() && x.text() == e.text() }) {
			kept = append(kept, e)
		}
	}
	if len(kept) > 0 {
		s.enum = kept
	}
}

// rulesOf are the rules of a schema's members, with those that its alternatives have in
// common: {a, not b} or {b, not a} is "not both". Members that are not asked for take
// no part.
func (c *compiler) rulesOf(s *schema) []operation.Rule {
	var list []rule
	if s.rare != nil {
		list = s.rare.rules
	}
	list = append(slices.Clip(list), c.exclusions(s)...)
	asked := func(name string) bool {
		i := slices.IndexFunc(s.props, func(q prop) bool { return q.name == name })
		if i < 0 {
			return len(s.props) == 0
		}
		q := c.normal(&s.props[i].child)
		return !q.readOnly && !q.never
	}
	var out []operation.Rule
	for _, r := range list {
		x := operation.Rule{If: r.member, Else: r.other, None: r.none, Needs: slices.Clone(r.needs), Never: r.never}
		x.Needs = slices.DeleteFunc(x.Needs, func(n string) bool { return !asked(n) || !r.other && r.member == "" && slices.Contains(s.required, n) })
		if slices.ContainsFunc(x.Never, func(n string) bool { return !asked(n) }) {
			x.Never = nil
		}
		for _, v := range r.is {
			if text, ok := appendJSON(nil, v, 0, maxEnumValueSize); ok {
				x.Is = append(x.Is, string(text))
			}
		}
		if len(x.Needs)+len(x.Never) == 0 || x.If != "" && !asked(x.If) || len(x.Is) != len(r.is) {
			continue
		}
		out = append(out, x)
	}
	return out
}

// rulesOfSent are the rules of members that are sent: no other can be asked for.
func rulesOfSent(rules []operation.Rule, fields []operation.Field) []operation.Rule {
	unsent := func(name string) bool {
		return !slices.ContainsFunc(fields, func(f operation.Field) bool { return f.Name == name })
	}
	for i := range rules {
		r := &rules[i]
		r.Needs = slices.DeleteFunc(r.Needs, unsent)
		if slices.ContainsFunc(r.Never, unsent) {
			r.Never = nil
		}
	}
	return slices.DeleteFunc(rules, func(r operation.Rule) bool { return r.If != "" && unsent(r.If) || len(r.Needs)+len(r.Never) == 0 })
}

// exclusions are the members that no alternative allows together.
func (c *compiler) exclusions(s *schema) []rule {
	var out []rule
	for i := range s.alts {
		branches := s.alts[i].branches
		never := func(b *schema) (sets [][]string) {
			if b.rare == nil {
				return nil
			}
			for _, r := range b.rare.rules {
				if r.member == "" && len(r.never) > 0 {
					sets = append(sets, r.never)
				}
			}
			return sets
		}
		for j := range branches {
			b := c.normal(&branches[j])
			for _, set := range never(b) {
				for _, own := range b.required {
					together := append(slices.Clone(set), own)
					slices.Sort(together)
					together = slices.Compact(together)
					refused := !slices.ContainsFunc(branches, func(other child) bool {
						return !slices.ContainsFunc(never(c.normal(&other)), func(n []string) bool {
							return !slices.ContainsFunc(n, func(name string) bool { return !slices.Contains(together, name) })
						})
					})
					known := slices.ContainsFunc(out, func(o rule) bool { return slices.Equal(o.never, together) })
					if refused && !known && len(out) < maxRules {
						out = append(out, rule{never: together})
					}
				}
			}
		}
	}
	return out
}

// tellRules says what the rules of an object ask.
func tellRules(rules []operation.Rule, called func(string) string) string {
	var parts []string
	for i := range rules {
		if text := rules[i].Text(called); text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return cutWords(strings.Join(parts, "; "), maxRuleText)
}

// rareNotes says what the rare keywords ask of a value.
func (p *publisher) rareNotes(s *schema) (notes []string) {
	if s.multiple != "" && s.multiple != "1" && finite(s.multiple) != "" && !p.grade.bare {
		notes = append(notes, "Multiple of "+cutText(s.multiple, 24)+".")
	}
	if s.rare == nil && len(s.alts) == 0 {
		return notes
	}
	if text := tellRules(p.c.rulesOf(s), func(name string) string { return name }); text != "" {
		notes = append(notes, "Needs: "+text+".")
	}
	if s.rare == nil {
		return notes
	}
	if len(s.rare.except) > 0 && !s.hasEnum {
		var texts []string
		for _, v := range s.rare.except {
			texts = append(texts, cutText(v.text(), 40))
		}
		notes = append(notes, "Anything but "+cutText(strings.Join(texts, ", "), maxPropertyText)+".")
	}
	if s.rare.names.exists() {
		n := p.c.normal(&s.rare.names)
		switch {
		case n.hasEnum:
			var texts []string
			for _, v := range n.enum[:min(len(n.enum), maxListedEnum)] {
				texts = append(texts, cutText(v.text(), 40))
			}
			notes = append(notes, "Names: "+cutText(strings.Join(texts, ", "), maxPropertyText)+".")
		case n.regexp != "" && len(n.regexp) <= maxPattern:
			notes = append(notes, "Names match "+n.regexp)
		}
	}
	return notes
}

// rare makes the checked form of the rare keywords; nil when there are none.
func (p *planner) rare(s *schema) *operation.Rare {
	if s.rare == nil {
		return nil
	}
	o := &operation.Rare{Rules: p.c.rulesOf(s)}
	for _, v := range s.rare.except {
		if text, ok := appendJSON(nil, v, 0, maxEnumValueSize); ok {
			o.Except = append(o.Except, string(text))
		}
	}
	if s.rare.names.exists() {
		if n := p.c.normal(&s.rare.names); n.types&^(operation.TypeString|operation.TypeNull) == 0 && !n.never {
			o.Names = p.schema(n, 0)
		}
	}
	if len(o.Rules)+len(o.Except) == 0 && o.Names == nil {
		return nil
	}
	return o
}
