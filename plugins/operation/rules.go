package operation

import (
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// An object's members beside each other: what one of them needs, and which exclude
// each other (dependentRequired, not, if).

// givenMembers are the members of an object as rules see them.
type givenMembers interface {
	// given is the value of a member, and whether there is one: null is none where it
	// says "not given".
	given(name string) (jsonscan.Value, bool)
	// schema is what is said of a member; nil: nothing.
	schema(name string) *Schema
	// called is what the caller calls a member; "": it is none of the caller's.
	called(name string) string
}

// membersOf are those of an object inside of a value.
type membersOf struct {
	s *Schema
	v jsonscan.Value
}

func (m *membersOf) given(name string) (jsonscan.Value, bool) {
	v := m.v.Get(name)
	return v, v.Exists() && (v.Kind() != jsonscan.Null || fits(typesOf(m.schema(name)), v))
}

func (m *membersOf) schema(name string) *Schema {
	for i := range m.s.Properties {
		if m.s.Properties[i].Name == name {
			return m.s.Properties[i].Schema
		}
	}
	return nil
}

func (m *membersOf) called(name string) string { return name }

// argsOfBody are those of a lifted body.
type argsOfBody struct {
	c    *Compiled
	cb   *compiledBody
	seen []bool
	args jsonscan.Value
}

func (m *argsOfBody) field(name string) int {
	for i := range m.cb.body.Fields {
		if m.cb.body.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

func (m *argsOfBody) given(name string) (jsonscan.Value, bool) {
	i := m.field(name)
	if i < 0 {
		return jsonscan.Value{}, false
	}
	if text := m.cb.body.Fields[i].Const; text != "" {
		return jsonscan.Trusted([]byte(text)), true
	}
	slot := m.cb.fieldArg[i]
	if slot < 0 || !m.seen[slot] {
		slot = m.cb.fieldElse[i]
	}
	if slot < 0 || !m.seen[slot] {
		return jsonscan.Value{}, false
	}
	return m.args.Get(m.c.args[slot].name), true
}

func (m *argsOfBody) schema(name string) *Schema {
	if i := m.field(name); i >= 0 {
		return m.cb.body.Fields[i].Schema
	}
	return nil
}

func (m *argsOfBody) called(name string) string {
	if i := m.field(name); i >= 0 {
		return m.cb.body.Fields[i].Arg
	}
	return name
}

// rules tells which rules the members of an object break.
func (k *checker) rules(rules []Rule, m givenMembers) {
	for i := range rules {
		r := &rules[i]
		if !k.concerns(r, m) {
			continue
		}
		for _, need := range r.Needs {
			if _, ok := m.given(need); !ok {
				k.about(func() { k.missing(m.called(need), m.schema(need)) }, func() string { return r.when(m.called) })
			}
		}
		k.never(r, m)
	}
}

// never tells that members are given that exclude each other.
func (k *checker) never(r *Rule, m givenMembers) {
	if len(r.Never) == 0 {
		return
	}
	for _, n := range r.Never {
		if _, ok := m.given(n); !ok {
			return
		}
	}
	k.about(func() {
		n := len(k.path)
		k.path = append(append(k.path, '/'), pointerEscape(m.called(r.Never[0]))...)
		if others := calledAll(r.Never[1:], m.called, ", "); others != "" {
			k.fault("not together with %s, leave one out", others)
		} else {
			k.fault("not allowed here, leave it out")
		}
		k.path = k.path[:n]
	}, func() string { return r.when(m.called) })
}

// concerns reports whether a rule is for the object.
func (k *checker) concerns(r *Rule, m givenMembers) bool {
	if r.If == "" {
		return true
	}
	v, ok := m.given(r.If)
	if len(r.Is) == 0 {
		return ok != r.Else
	}
	if !ok {
		return r.None
	}
	v, _, k.arena = healed(m.schema(r.If), v, k.arena)
	return inEnum(r.Is, v) != r.Else
}

// when says for which objects a rule is: "because type is "a""; "" for all.
func (r *Rule) when(called func(string) string) string {
	switch {
	case r.If == "":
		return ""
	case len(r.Is) > 0 && r.Else:
		return called(r.If) + " is not " + strings.Join(r.Is, " or ")
	case len(r.Is) > 0:
		return called(r.If) + " is " + strings.Join(r.Is, " or ")
	case r.Else:
		return called(r.If) + " is not given"
	}
	return called(r.If) + " is given"
}

// calledAll lists members as the caller calls them.
func calledAll(list []string, called func(string) string, between string) string {
	out := make([]string, 0, len(list))
	for _, n := range list {
		if c := called(n); c != "" {
			out = append(out, c)
		}
	}
	return strings.Join(out, between)
}

// Text says what the rule asks, for a description: "with a: b and c"; "not both a and
// b". called gives the name that the reader knows a member by, "" where it knows none;
// the text is empty when nothing is left to say.
func (r *Rule) Text(called func(string) string) string {
	when := ""
	if r.If != "" {
		if called(r.If) == "" {
			return ""
		}
		switch {
		case len(r.Is) > 0:
			when = "where " + strings.ReplaceAll(r.when(called), `"`, "") + ": "
		case r.Else:
			when = "without " + called(r.If) + ": "
		default:
			when = "with " + called(r.If) + ": "
		}
	}
	var parts []string
	if needs := calledAll(r.Needs, called, " and "); needs != "" {
		parts = append(parts, when+needs)
	}
	never := calledAll(r.Never, called, " and ")
	switch {
	case never == "":
	case len(r.Never) == 2 && strings.Contains(never, " and "):
		parts = append(parts, when+"not both "+never)
	case strings.Contains(never, " and "):
		parts = append(parts, when+"not all of "+never)
	case len(r.Never) == 1 && r.Never[0] == r.If: // a value that is not allowed
		parts = append(parts, "not "+strings.ReplaceAll(strings.Join(r.Is, " or "), `"`, "")+" as "+called(r.If))
	default:
		parts = append(parts, when+"no "+never)
	}
	return strings.Join(parts, "; ")
}

// names checks the names of an object's members.
func (k *checker) names(s *Schema, v jsonscan.Value) {
	if s == nil {
		return
	}
	for it := v.Members(); it.Next(); {
		n := k.enter(&it)
		from := k.count
		k.about(func() { k.value(s, jsonscan.Trusted(jsonscan.AppendStringOf(nil, string(it.KeyText(nil))))) }, func() string { return "of the member's name" })
		k.path = k.path[:n]
		if k.count > from {
			return // one name shows what is wrong with all
		}
	}
}
