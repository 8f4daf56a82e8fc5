package operation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// members tells which arguments the body that is sent lacks, and which belong to
// another form of it.
func (k *checker) members(cb *compiledBody, seen []bool, args jsonscan.Value) {
	c := k.c
	if cb.arg >= 0 && cb.body.Required && !seen[cb.arg] && len(cb.body.Fixed) == 0 {
		k.missing(c.args[cb.arg].name, c.args[cb.arg].schema)
	}
	if cb.body.Required || k.extras || c.gives(cb, seen) {
		for i, slot := range cb.fieldArg {
			if slot >= 0 && !seen[slot] && cb.body.Fields[i].Required && cb.fieldElse[i] < 0 && !c.args[slot].required {
				k.missing(c.args[slot].name, c.args[slot].schema)
			}
		}
		for _, group := range cb.body.Needs {
			k.needs(cb, group, seen)
		}
		if len(cb.body.Rules) > 0 {
			k.rules(cb.body.Rules, &argsOfBody{c, cb, slices.Clone(seen), args}) // a clone: seen stays on the stack
		}
		if given := cb.given(seen); given < cb.body.Least && !k.extras {
			k.fault("at least %d of the body's members must be given, %d are: %s", cb.body.Least, given, cb.names())
		}
	}
	if len(c.bodies) == 1 {
		return
	}
	for i := range c.args {
		if slot := int16(i); seen[i] && !cb.has(slot) && !slices.Contains(c.paramArg, slot) {
			n := len(k.path)
			k.path = append(append(k.path, '/'), pointerEscape(c.args[i].name)...)
			k.fault("not part of a body of type %s, which is sent because of the other arguments; leave it out, or them", cb.mediaType)
			k.path = k.path[:n]
		}
	}
}

// gives reports whether a member of the body is given. What the path has as well
// does not count.
func (c *Compiled) gives(cb *compiledBody, seen []bool) bool {
	for _, slot := range cb.fieldArg {
		if slot >= 0 && seen[slot] && !c.inPath(slot) {
			return true
		}
	}
	return false
}

// given counts the members of a body that are sent.
func (cb *compiledBody) given(seen []bool) int {
	n := 0
	for i, slot := range cb.fieldArg {
		if cb.body.Fields[i].Const != "" || cb.fieldElse[i] >= 0 || slot >= 0 && seen[slot] {
			n++
		}
	}
	return n
}

// names lists some of the arguments that are members of a body.
func (cb *compiledBody) names() string {
	const most = 12 // enough to see which are meant
	var out []string
	for i := range cb.body.Fields {
		if f := &cb.body.Fields[i]; f.Arg != "" && len(out) < most {
			out = append(out, f.Arg)
		}
	}
	return strings.Join(out, ", ")
}

// needs wants one of the lists of members to be given whole.
func (k *checker) needs(cb *compiledBody, group [][]string, seen []bool) {
	var texts []string
	for _, names := range group {
		all := true
		for _, name := range names {
			given := false
			for i := range cb.body.Fields {
				f := &cb.body.Fields[i]
				if f.Name == name {
					given = f.Const != "" || seen[cb.fieldArg[i]] || cb.fieldElse[i] >= 0
				}
			}
			all = all && given
		}
		if all {
			return
		}
	}
	for _, names := range group {
		args := make([]string, 0, len(names))
		for _, name := range names {
			for i := range cb.body.Fields {
				if f := &cb.body.Fields[i]; f.Name == name && f.Arg != "" {
					args = append(args, f.Arg)
				}
			}
		}
		texts = append(texts, strings.Join(args, " and "))
	}
	n := len(k.path)
	k.path = append(append(k.path, '/'), pointerEscape(group[0][0])...)
	k.fault("one of these must be given: %s", strings.Join(texts, ", or "))
	k.path = k.path[:n]
}

// anyOf wants one branch that fits. Otherwise the faults of the branch that is
// nearest are told: the one with the fewest.
func (k *checker) anyOf(s *Schema, v jsonscan.Value) {
	if s.Disc != "" && v.Kind() == jsonscan.Object {
		k.discriminated(s, v)
		return
	}
	best, least := -1, 0
	for i, branch := range s.AnyOf {
		before := k.count
		k.quiet++
		ok := k.value(branch, v)
		k.quiet--
		n := k.count - before
		k.count = before
		if ok {
			return
		}
		// A branch of another type is further away than any with the right one.
		if t := typesOf(branch); !fits(t, v) {
			n += 1 << 16
		}
		if best < 0 || n < least {
			best, least = i, n
		}
	}
	if least >= 1<<16 {
		k.fault("expected %s, got %s", describe(s), got(v))
		return
	}
	if k.quiet > 0 {
		k.count += least
		return
	}
	if lists := requiredLists(s); lists != "" && v.Kind() == jsonscan.Object {
		k.fault("one of these must be given: %s", lists)
		return
	}
	k.about(func() { k.value(s.AnyOf[best], v) }, func() string {
		if len(s.AnyOf) == 1 || typesOf(s.AnyOf[best])&(TypeObject|TypeArray) == 0 {
			return ""
		}
		return fmt.Sprintf("%s is the nearest of the %d forms that are possible", form(s.AnyOf[best], best), len(s.AnyOf))
	})
}

// about runs check and appends to each fault that it finds why it is one.
func (k *checker) about(check func(), why func() string) {
	from := len(k.faults)
	check()
	if from == len(k.faults) {
		return
	}
	if text := why(); text != "" {
		for _, f := range k.faults[from:] {
			f.Detail += " (" + text + ")"
		}
	}
}

// form names a branch for messages.
func form(s *Schema, i int) string {
	if len(s.Required) > 0 {
		return "that with " + strings.Join(s.Required[:min(len(s.Required), 4)], ", ")
	}
	return "number " + strconv.Itoa(i+1)
}

// requiredLists says which members the branches want when they want nothing else.
func requiredLists(s *Schema) string {
	const most = 8
	if len(s.AnyOf) > most {
		return ""
	}
	texts := make([]string, 0, len(s.AnyOf))
	for _, b := range s.AnyOf {
		if len(b.Required) == 0 || len(b.Properties) > 0 || b.Additional != nil || len(b.AnyOf) > 0 || len(b.Enum) > 0 || len(b.All) > 0 {
			return ""
		}
		texts = append(texts, strings.Join(b.Required, " and "))
	}
	return strings.Join(texts, ", or ")
}

// discriminated checks v as the branch that its discriminating member names.
func (k *checker) discriminated(s *Schema, v jsonscan.Value) {
	value := v.Get(s.Disc)
	branch := s.branch(v)
	if branch != nil {
		k.about(func() { k.value(branch, v) }, func() string { return s.Disc + " is " + strings.TrimPrefix(got(value), "string ") })
		return
	}
	if k.quiet > 0 {
		k.count++
		return
	}
	all := &Schema{Type: TypeString, Enum: s.discValues()}
	if !value.Exists() {
		k.missing(s.Disc, all)
		return
	}
	n := len(k.path)
	k.path = append(append(k.path, '/'), pointerEscape(s.Disc)...)
	if value.Kind() == jsonscan.String {
		k.enum(all, value)
	} else {
		k.fault("expected %s, got %s", describe(all), got(value))
	}
	k.path = k.path[:n]
}

// branch is the one of AnyOf that an object is, by its discriminating member; nil
// when it is none. A branch without values of its own is what is left.
func (s *Schema) branch(v jsonscan.Value) *Schema {
	value := v.Get(s.Disc)
	var rest *Schema
	for _, b := range s.AnyOf {
		own, known := (*Schema)(nil), false
		for i := range b.Properties {
			if b.Properties[i].Name == s.Disc {
				own, known = b.Properties[i].Schema, true
			}
		}
		switch {
		case !known || own == nil || len(own.Enum) == 0:
			if rest == nil && b.Type&TypeObject != 0 {
				rest = b
			}
		case value.Exists() && inEnum(own.Enum, value):
			return b
		}
	}
	return rest
}

// discValues are all values that the discriminating member may have.
func (s *Schema) discValues() []string {
	var out []string
	for _, b := range s.AnyOf {
		for i := range b.Properties {
			if p := b.Properties[i]; p.Name == s.Disc && p.Schema != nil {
				for _, e := range p.Schema.Enum {
					if !slices.Contains(out, e) {
						out = append(out, e)
					}
				}
			}
		}
	}
	return out
}

// branch is the alternative that v is: by its discriminator, else the first that
// accepts it as it is, else the first that heals it; nil when there is none.
func (c *Compiled) branch(s *Schema, v jsonscan.Value) *Schema {
	switch {
	case len(s.AnyOf) == 0:
		return nil
	case s.Disc != "" && v.Kind() == jsonscan.Object:
		return s.branch(v)
	}
	k := checkers.Get().(*checker)
	defer k.release()
	k.c, k.quiet = c, 1
	for _, k.exact = range [...]bool{true, false} {
		for _, b := range s.AnyOf {
			if k.value(b, v) {
				return b
			}
		}
	}
	return nil
}
