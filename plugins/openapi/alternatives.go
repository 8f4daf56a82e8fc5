package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// alternatives writes a schema that has oneOf or anyOf (rules 9 to 11). It
// reports false when the alternatives add nothing that is published, and s is to
// be written as if it had none.
func (p *publisher) alternatives(s *schema, depth int, text string) bool {
	if !p.says(s) {
		return false
	}
	if len(s.alts) == 1 && !s.hasEnum && (len(s.props) == 0 || p.repeated(s)) {
		branches := p.flatten(s.alts[0].branches)
		if p.scalars(s, branches, text) {
			return true
		}
		if len(branches) == 1 {
			if text == "" {
				text = plain(s.desc.str())
			}
			p.schemaWith(branches[0], depth, text, nil)
			return true
		}
		keys := p.c.discriminatorKeys(s.alts[0])
		if len(branches) <= maxBranches {
			if _, told := keys[branches[0]]; told {
				p.shorter(s, branches, keys, depth, text)
				return true
			}
			if p.anyOf(s, branches, keys, depth, text) {
				return true
			}
		}
		p.merged(s, keys, depth, text)
		return true
	}
	p.merged(s, nil, depth, text)
	return true
}

// shorter writes alternatives that a member tells apart one by one, or as one
// object that says which members belong to which, whichever has fewer bytes. What
// was decided for a schema holds for the attempt: to try both wherever one is
// inside of another would double the work with each level.
func (p *publisher) shorter(s *schema, branches []*schema, keys map[*schema]discriminated, depth int, text string) {
	one, decided := p.asOne[s]
	if !decided {
		if p.asOne == nil {
			p.asOne = map[*schema]bool{}
		}
		start, wasCut, wasOver := len(p.b), p.cut, p.over
		told := p.merged(s, keys, depth, text)
		whole := len(p.b) - start
		fits := !p.over
		p.b, p.cut, p.over = p.b[:start], wasCut, wasOver
		if !p.anyOf(s, branches, keys, depth, text) {
			one = true
		} else {
			one = fits && told && whole < len(p.b)-start
			p.b, p.cut = p.b[:start], wasCut
		}
		p.asOne[s] = one
	}
	if one || !p.anyOf(s, branches, keys, depth, text) {
		p.merged(s, keys, depth, text)
	}
}

// repeated reports that each alternative itself says what s says beside them.
func (p *publisher) repeated(s *schema) bool {
	for i := range s.alts[0].branches {
		b := p.c.normal(&s.alts[0].branches[i])
		if b.types != operation.TypeObject || len(b.alts) > 0 {
			return false
		}
		for j := range s.props {
			if !slices.ContainsFunc(b.props, func(q prop) bool { return q.name == s.props[j].name }) {
				return false
			}
		}
		if slices.ContainsFunc(s.required, func(r string) bool { return !slices.Contains(b.required, r) }) {
			return false
		}
	}
	return true
}

// says reports whether any branch has something to publish. Branches that only
// list required names are common: "one of these must be given".
func (p *publisher) says(s *schema) bool {
	for i := range s.alts {
		for j := range s.alts[i].branches {
			b := p.c.normal(&s.alts[i].branches[j])
			if b.types&^operation.TypeObject != 0 || len(b.props) > 0 || len(b.alts) > 0 || b.hasEnum || b.hasAddl || b.items.exists() {
				return true
			}
		}
	}
	return s.types == 0 && len(s.props) == 0
}

// flatten opens alternatives inside alternatives and drops impossible branches.
func (p *publisher) flatten(list []child) []*schema {
	var out []*schema
	seen := map[*schema]bool{}
	var walk func(list []child, depth int)
	walk = func(list []child, depth int) {
		for i := range list {
			b := p.c.normal(&list[i])
			if b.never || seen[b] || len(out) > maxListedEnum*maxBranches {
				continue
			}
			seen[b] = true
			if len(b.alts) == 1 && len(b.props) == 0 && b.types == 0 && !b.hasEnum && depth < maxBranches {
				walk(b.alts[0].branches, depth+1)
				continue
			}
			out = append(out, b)
		}
	}
	walk(list, 0)
	// A branch that could not be read allows anything; the plan lets it through.
	if known := slices.DeleteFunc(slices.Clone(out), func(b *schema) bool { return b.open }); len(known) > 0 {
		return known
	}
	return out
}

// scalars writes a choice of strings, numbers and booleans: one enum when all
// are string enums, else the plain types.
func (p *publisher) scalars(s *schema, branches []*schema, text string) bool {
	var types operation.Type
	allEnums, clears := true, false
	for _, b := range branches {
		if len(b.alts) > 0 || b.types == 0 || b.types&(operation.TypeArray|operation.TypeObject) != 0 || p.files != noFiles && isFile(b) && b.types != 0 {
			return false
		}
		if b.hasEnum && len(b.enum) == 1 && b.enum[0].is("") && len(branches) > 1 {
			clears = true // Stripe: anyOf [T, ""] (rule 11)
			continue
		}
		types |= b.types
		allEnums = allEnums && b.hasEnum && b.types&operation.TypeBoolean == 0
	}
	if len(branches) == 0 {
		return false
	}
	if types&operation.TypeNumber != 0 {
		types &^= operation.TypeInteger
	}
	one := &schema{at: s.at, name: s.name, desc: s.desc, title: s.title, def: s.def, example: s.example, null: s.null, types: types}
	var only *schema
	for _, b := range branches {
		if clears && b.hasEnum && len(b.enum) == 1 && b.enum[0].is("") {
			continue
		}
		if allEnums {
			one.hasEnum = true
			for _, e := range b.enum {
				if len(one.enum) <= maxEnumValues && !slices.ContainsFunc(one.enum, func(v value) bool { return v.kind() == e.kind() && v.text() == e.text() }) {
					one.enum = append(one.enum, e)
					one.titles = append(one.titles, branchTitle(b))
				}
			}
		}
		if only == nil {
			only = b
		} else {
			only = &schema{}
		}
	}
	if only != nil && only.types != 0 { // one branch and its clearing value
		merged := *only
		keepFirst(&merged.desc, s.desc, only.desc)
		keepFirst(&merged.def, s.def, only.def)
		one = &merged
	}
	if clears {
		if text == "" {
			text = firstSentences(plain(one.desc.str()), maxPropertyText-24)
		}
		text = strings.TrimSpace(text + " Empty string clears it.")
	}
	one.alts = nil
	p.schemaWith(one, 0, text, nil)
	return true
}

// branchTitle is what a branch of one value is called: oneOf: [{const: 1, title:
// low}].
func branchTitle(b *schema) string {
	if len(b.enum) != 1 {
		return ""
	}
	text := plain(b.title.str())
	if text == "" {
		text = plain(b.desc.str())
	}
	return cutWords(firstSentences(text, maxLabel), maxLabel)
}

// anyOf writes the branches one by one; false when they do not fit, with nothing
// written.
func (p *publisher) anyOf(s *schema, branches []*schema, keys map[*schema]discriminated, depth int, text string) bool {
	start, wasCut := len(p.b), p.cut
	p.b = append(p.b, `{"anyOf":[`...)
	var parts [][2]int
	for _, b := range branches {
		from := len(p.b)
		var disc *discriminated
		if d, ok := keys[b]; ok && b.types == operation.TypeObject && goodName(d.name) {
			disc = &d
		}
		p.schemaWith(b, depth, "", disc)
		if p.over {
			// Too large written out: try it merged.
			p.b, p.over, p.cut = p.b[:start], false, wasCut
			return false
		}
		if sameBytes(parts, p.b, from) {
			p.b = p.b[:from]
			continue
		}
		parts = append(parts, [2]int{from, len(p.b)})
		p.b = append(p.b, ',')
	}
	if len(parts) == 1 {
		copy(p.b[start:], p.b[parts[0][0]:parts[0][1]])
		p.b = p.b[:start+parts[0][1]-parts[0][0]]
		return true
	}
	p.b[len(p.b)-1] = ']'
	p.b = append(p.b, ',')
	p.describe(s, text, nil)
	p.close()
	return true
}

// discriminatorKeys gives the value of the discriminating property by branch
// (rule 10): the mapping's keys, else the component names.
func (c *compiler) discriminatorKeys(a alternatives) map[*schema]discriminated {
	return c.keysWithin(a, 0)
}

func (c *compiler) keysWithin(a alternatives, depth int) map[*schema]discriminated {
	name := discriminatorName(a.disc)
	if name == "" {
		return nil
	}
	keys := map[*schema]discriminated{}
	if a.values != nil {
		for i := range a.branches {
			keys[c.normal(&a.branches[i])] = discriminated{name, a.values[i]}
		}
		return keys
	}
	byName := map[string][]string{}
	for k, m := range a.disc.get("mapping").members() {
		target := refName(m.str())
		if len(byName[target]) < maxEnumValues {
			byName[target] = append(byName[target], cutText(k.text(), 200))
		}
	}
	fallback := refName(a.disc.get("defaultMapping").str())
	for i := range a.branches {
		b := c.normal(&a.branches[i])
		if b.name == "" || b.name == fallback && fallback != "" {
			continue
		}
		own := byName[b.name]
		if own == nil {
			own = []string{cutText(b.name, 200)}
		}
		// What is itself several, told apart by the same member, is any of these.
		if len(b.alts) == 1 && depth < maxBranches && discriminatorName(b.alts[0].disc) == name {
			own = nil
			for inner, d := range c.keysWithin(b.alts[0], depth+1) {
				keys[inner] = d
				own = append(own, d.keys...)
			}
			slices.Sort(own) // a map has no order
			keys[b] = discriminated{name, slices.Compact(own)}
			continue
		}
		// A branch that fixes the property itself knows better.
		for j := range b.props {
			if b.props[j].name == name {
				if fixed := c.normal(&b.props[j].child); fixed.hasEnum && len(fixed.enum) == 1 {
					own = []string{cutText(fixed.enum[0].text(), 200)}
				}
			}
		}
		keys[b] = discriminated{name, own}
	}
	return keys
}

// merged writes alternatives as one object: all properties, and as required only
// what every branch requires (rule 9).
//
// told is false when it could not be said which members belong to which.
func (p *publisher) merged(s *schema, keys map[*schema]discriminated, depth int, text string) (told bool) {
	u := union{p: p}
	u.add(s, 0)
	if !u.object {
		p.b = append(p.b, '{')
		p.describe(s, text, nil)
		p.close()
		return false
	}
	p.b = append(p.b, `{"type":"object",`...)
	var disc *discriminated
	var belongs string
	if len(keys) > 0 {
		disc, belongs, told = p.belongs(s, keys)
		if !slices.Contains(u.required, disc.name) && slices.ContainsFunc(u.props, func(q prop) bool { return q.name == disc.name }) {
			u.required = append(u.required, disc.name)
		}
		if !goodName(disc.name) || len(disc.keys) > maxEnumValues {
			disc = nil
		}
	}
	var notes []string
	if len(u.props) > 0 {
		notes = p.properties(u.props, u.required, depth, disc)
	}
	switch {
	case belongs != "":
		notes = append(notes, belongs)
	case len(u.variants) > 1 && len(keys) == 0:
		notes = append(notes, "Variants: "+cutText(strings.Join(u.variants, ", "), 160)+".")
	}
	notes = append(notes, p.rareNotes(&schema{props: u.props, rare: s.rare, alts: s.alts})...)
	p.describe(s, text, notes)
	p.close()
	return told
}

// maxBelongs bounds the sentence that says which members belong to which value: a
// description has at most 1,024 bytes.
const maxBelongs = 700

// belongs says which members belong to which value of the discriminating member,
// and which of them are required: "By petType: cat: hunts (required), lives; dog:
// size.". What all have is left out. told is false when there was no room.
func (p *publisher) belongs(s *schema, keys map[*schema]discriminated) (all *discriminated, text string, told bool) {
	all = &discriminated{}
	var parts []string
	var list []*schema
	told = true
	for i := range s.alts[0].branches {
		b := p.c.normal(&s.alts[0].branches[i])
		if _, ok := keys[b]; !ok {
			told = told && b.never
			continue
		}
		if !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	shared := func(name string) bool {
		for _, b := range list {
			if !slices.ContainsFunc(b.props, func(q prop) bool { return q.name == name }) {
				return false
			}
		}
		return true
	}
	size := 0
	for _, b := range list {
		d := keys[b]
		all.name = d.name
		for _, k := range d.keys {
			if !slices.Contains(all.keys, k) {
				all.keys = append(all.keys, k)
			}
		}
		var own []string
		for i := range b.props {
			q := &b.props[i]
			ps := p.c.normal(&q.child)
			need := slices.Contains(b.required, q.name)
			if q.name == d.name || ps.never || ps.readOnly || ps.deprecated && !need || shared(q.name) && !(need && !slices.Contains(s.required, q.name)) {
				continue
			}
			name := q.name
			if need {
				name += " (required)"
			}
			own = append(own, name)
		}
		if len(b.alts) > 0 {
			told = false
		}
		if len(own) == 0 {
			continue
		}
		part := strings.Join(d.keys[:min(len(d.keys), 4)], ", ") + ": " + strings.Join(own, ", ")
		if size += len(part) + 2; size > maxBelongs {
			return all, "By " + cutText(all.name, 60) + ": " + strings.Join(append(parts, "…"), "; "), false
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return all, "", told
	}
	return all, "By " + cutText(all.name, 60) + ": " + strings.Join(parts, "; ") + ".", told
}

// union collects the properties of alternatives.
type union struct {
	p        *publisher
	props    []prop
	required []string
	variants []string
	object   bool
	seen     []*schema
	visits   *int // made in all, with the unions inside
}

// Bounds of a merged object: its properties, and the alternatives inside of
// alternatives that are looked at.
const (
	maxUnion       = 500
	maxUnionVisits = 2000
)

func (u *union) add(s *schema, depth int) {
	if u.visits == nil {
		u.visits = new(int)
	}
	if *u.visits++; depth > maxBranches || *u.visits > maxUnionVisits || slices.Contains(u.seen, s) {
		return
	}
	u.p.c.tick()
	u.seen = append(u.seen, s)
	if s.types&operation.TypeObject != 0 || len(s.props) > 0 {
		u.object = true
	}
	for i := range s.props {
		q := s.props[i]
		at := slices.IndexFunc(u.props, func(o prop) bool { return o.name == q.name })
		if at >= 0 {
			// Different branches may mean different things: what one of them
			// allows must stay allowed.
			if o := u.p.c.normal(&u.props[at].child); o != u.p.c.normal(&q.child) && !sameShape(o, q.s) {
				u.props[at].child = child{s: u.p.c.either(o, u.p.c.normal(&q.child))}
			}
			continue
		}
		if len(u.props) < maxUnion {
			u.p.c.normal(&q.child)
			u.props = append(u.props, q)
		}
	}
	for _, r := range s.required {
		if !slices.Contains(u.required, r) {
			u.required = append(u.required, r)
		}
	}
	for i := range s.alts {
		var common []string
		for j := range s.alts[i].branches {
			b := u.p.c.normal(&s.alts[i].branches[j])
			if b.name != "" && len(u.variants) < maxListedEnum {
				u.variants = append(u.variants, b.name)
			}
			sub := union{p: u.p, visits: u.visits, props: u.props, seen: u.seen, variants: u.variants}
			sub.add(b, depth+1)
			u.props, u.object, u.variants = sub.props, u.object || sub.object, sub.variants
			if j == 0 {
				common = sub.required
			} else {
				common = slices.DeleteFunc(common, func(r string) bool { return !slices.Contains(sub.required, r) })
			}
		}
		for _, r := range common {
			if !slices.Contains(u.required, r) {
				u.required = append(u.required, r)
			}
		}
		// What tells the alternatives apart is always needed, whoever declares it.
		if d := s.alts[i].disc; !d.get("defaultMapping").exists() {
			name := discriminatorName(d)
			if name != "" && slices.ContainsFunc(u.props, func(q prop) bool { return q.name == name }) && !slices.Contains(u.required, name) {
				u.required = append(u.required, name)
			}
		}
	}
}

func sameShape(a, b *schema) bool {
	return a.types == b.types && a.hasEnum == b.hasEnum && len(a.enum) == len(b.enum) && len(a.props) == 0 && len(b.props) == 0 &&
		len(a.alts) == 0 && len(b.alts) == 0 && !a.items.exists() && !b.items.exists() && a.format == b.format && !a.hasEnum
}

// either is the schema that allows what a or b allows.
func (c *compiler) either(a, b *schema) *schema {
	c.created++
	s := &schema{at: a.at, desc: a.desc, types: 0}
	if a.hasEnum && b.hasEnum && a.types == b.types {
		s.types, s.hasEnum = a.types, true
		s.enum = slices.Clone(a.enum)
		for _, e := range b.enum {
			if len(s.enum) < maxListedEnum*maxEnumValues && !slices.ContainsFunc(s.enum, func(v value) bool { return v.is(e.text()) }) {
				s.enum = append(s.enum, e)
			}
		}
		return s
	}
	s.alts = []alternatives{{branches: []child{{s: a}, {s: b}}}}
	if len(a.alts) == 1 && a.types == 0 && !a.at.exists() && len(a.alts[0].branches) < maxBranches {
		s.alts[0].branches = append(slices.Clone(a.alts[0].branches), child{s: b})
	}
	return s
}
