package operation

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxFaults is how many faults of one call are told: an agent corrects these and
// calls again.
const maxFaults = 8

// Check tells whether args are what the tool takes: known names, required ones
// present, and for each its type, enum, bounds (exact, never rounded), length in
// code points, pattern, items and members. Values that [Compiled.Build] heals are
// accepted. null for an optional argument means that it is not given.
//
// It fails with [problem.InvalidArguments]: Detail names every fault in one line
// and Parts has each (at most maxFaults) with its JSON pointer, what was expected
// and what was got. When it accepts it allocates nothing, healing and uniqueItems
// apart. args are not kept.
func (c *Compiled) Check(args jsonscan.Value) error {
	k := checkers.Get().(*checker)
	defer k.release()
	k.c = c
	if args.Kind() != jsonscan.Object {
		k.fault("expected an object with the tool's arguments, got %s", args.Kind())
		return k.error()
	}
	var seenBuf [32]bool
	seen := seenBuf[:]
	if len(c.args) > len(seen) {
		seen = make([]bool, len(c.args))
	}
	// Which form of the body it is says how null is read.
	k.body = c.chosen(func(slot int16) bool {
		v := args.Get(c.args[slot].name)
		return v.Exists() && v.Kind() != jsonscan.Null
	})
	for it := args.Members(); it.Next(); {
		i := c.find(&it)
		if i < 0 {
			if !k.constant(&it) && !k.extra(&it) {
				k.unknown(&it, "argument", c.listed)
			}
			continue
		}
		a, v := &c.args[i], it.Value()
		if v.Kind() == jsonscan.Null && a.nullAbsent {
			seen[i] = false // the last of several members counts
			continue
		}
		seen[i] = true
		if v.Kind() == jsonscan.Null && a.nullClears && k.nullClears() {
			continue
		}
		n := k.enter(&it)
		k.value(a.schema, v)
		k.path = k.path[:n]
	}
	for i := range c.args {
		if c.args[i].required && !seen[i] {
			k.missing(c.args[i].name, c.args[i].schema)
		}
	}
	if k.body != nil {
		k.members(k.body, seen, args)
	}
	return k.error()
}

type checker struct {
	c      *Compiled
	body   *compiledBody // the form that the arguments are of; nil: none
	path   []byte
	num    []byte // a bound
	text   []byte // an unescaped string
	arena  []byte // healed values
	faults []*problem.Error
	quiet  int  // > 0: faults are counted only
	extras bool // some arguments are members of the body that the plan does not name
	exact  bool // what would have to be healed does not fit
	count  int
}

var checkers = sync.Pool{New: func() any { return new(checker) }}

// release clears what belongs to the caller and puts k back.
func (k *checker) release() {
	*k = checker{path: small(k.path), num: small(k.num), text: small(k.text), arena: small(k.arena)}
	checkers.Put(k)
}

// small empties a buffer for the next use; large ones are dropped.
func small(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}

func (k *checker) error() error {
	switch len(k.faults) {
	case 0:
		return nil
	case 1:
		e := *k.faults[0]
		e.Parts = k.faults
		return e.Fix("correct the argument and call the tool again")
	}
	texts := make([]string, len(k.faults))
	for i, f := range k.faults {
		texts[i] = f.Error()
	}
	more := ""
	if k.count > len(k.faults) {
		more = ", the first of them"
	}
	e := problem.New(problem.InvalidArguments, "%d arguments or members are wrong%s: %s", k.count, more, strings.Join(texts, "; ")).
		Fix("correct them and call the tool again")
	e.Parts = k.faults
	return e
}

func (k *checker) fault(format string, args ...any) {
	k.count++
	if k.quiet == 0 && len(k.faults) < maxFaults {
		k.faults = append(k.faults, problem.New(problem.InvalidArguments, format, args...).At("", 0, 0, string(k.path)))
	}
}

func (k *checker) missing(name string, s *Schema) {
	k.count++
	if k.quiet == 0 && len(k.faults) < maxFaults {
		e := problem.New(problem.InvalidArguments, "required but missing, expected %s", describe(s)).
			At("", 0, 0, string(k.path)+"/"+pointerEscape(name))
		k.faults = append(k.faults, e)
	}
}

func (k *checker) unknown(it *jsonscan.MemberIter, what string, known func() []string) {
	if k.quiet > 0 {
		k.count++
		return
	}
	n := k.enter(it)
	defer func() { k.path = k.path[:n] }()
	names := known()
	name := string(it.KeyText(nil))
	switch near := nearest.Name(name, slices.Values(names)); {
	case near != "":
		k.fault("unknown %s, did you mean %q?", what, near)
	case len(names) == 0:
		k.fault("unknown %s, there are none", what)
	case len(names) <= 24:
		k.fault("unknown %s, known are %s", what, strings.Join(names, ", "))
	default:
		k.fault("unknown %s", what)
	}
}

// constant checks what is always sent with one value and is not an argument therefore: who
// knows the API gives it all the same, and says nothing wrong with that value.
func (k *checker) constant(it *jsonscan.MemberIter) bool {
	text := k.c.constant(it)
	if text == "" {
		return false
	}
	if v := it.Value(); v.Kind() != jsonscan.Null && !equalValues(jsonscan.Trusted([]byte(text)), v) {
		n := k.enter(it)
		k.fault("expected %s, which is sent unasked, got %s", text, got(v))
		k.path = k.path[:n]
	}
	return true
}

// constant is the one value of a parameter or member of the body that the
// specification decides; "": there is none of that name. What an operator fixed stays
// unknown.
func (c *Compiled) constant(it *jsonscan.MemberIter) string {
	for i := range c.plan.Params {
		if p := &c.plan.Params[i]; p.Arg == "" && !p.Fixed && it.KeyEqual(p.Name) {
			return p.Const
		}
	}
	for i := range c.bodies {
		for j := range c.bodies[i].body.Fields {
			if f := &c.bodies[i].body.Fields[j]; f.Arg == "" && !f.Fixed && it.KeyEqual(f.Name) {
				return f.Const
			}
		}
	}
	return ""
}

// enter appends a member's name to the pointer and returns the old length.
func (k *checker) enter(it *jsonscan.MemberIter) int {
	n := len(k.path)
	k.path = append(k.path, '/')
	from := len(k.path)
	k.path = it.KeyText(k.path)
	for _, c := range k.path[from:] {
		if c == '~' || c == '/' {
			k.path = append(k.path[:from], pointerEscape(string(k.path[from:]))...)
			break
		}
	}
	return n
}

func pointerEscape(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// value checks v and reports whether it is right.
func (k *checker) value(s *Schema, v jsonscan.Value) bool {
	if s == nil {
		return true
	}
	before := k.count
	if isFile(s) {
		k.file(v)
		return k.count == before
	}
	var changed bool
	if v, changed, k.arena = healed(s, v, k.arena); changed && k.exact {
		k.count++
		return false
	}
	if s.Type != 0 && !fits(s.Type, v) {
		k.fault("expected %s, got %s", describe(s), got(v))
		return false
	}
	if len(s.Enum) > 0 && !inEnum(s.Enum, v) {
		k.enum(s, v)
		return false
	}
	if s.Rare != nil && len(s.Rare.Except) > 0 && inEnum(s.Rare.Except, v) {
		k.fault("expected another value than %s", got(v))
		return false
	}
	switch v.Kind() {
	case jsonscan.Number:
		k.number(s, v)
	case jsonscan.String:
		k.string(s, v)
	case jsonscan.Array:
		k.array(s, v)
	case jsonscan.Object:
		k.object(s, v)
	}
	if len(s.AnyOf) > 0 && k.count == before {
		k.anyOf(s, v)
	}
	for _, also := range s.All {
		if k.count == before {
			k.value(also, v)
		}
	}
	return k.count == before
}

func (k *checker) number(s *Schema, v jsonscan.Value) {
	if s.Min == "" && s.Max == "" && s.XMin == "" && s.XMax == "" && s.Multiple == "" {
		return
	}
	n := parseDecimal(v.Raw())
	bound := func(text string) decimal {
		k.num = append(k.num[:0], text...)
		return parseDecimal(k.num)
	}
	switch {
	case s.Min != "" && compareDecimals(n, bound(s.Min)) < 0:
		k.fault("expected at least %s, got %s", s.Min, got(v))
	case s.XMin != "" && compareDecimals(n, bound(s.XMin)) <= 0:
		k.fault("expected more than %s, got %s", s.XMin, got(v))
	case s.Max != "" && compareDecimals(n, bound(s.Max)) > 0:
		k.fault("expected at most %s, got %s", s.Max, got(v))
	case s.XMax != "" && compareDecimals(n, bound(s.XMax)) >= 0:
		k.fault("expected less than %s, got %s", s.XMax, got(v))
	case s.Multiple != "" && !multipleOf(n, bound(s.Multiple)):
		k.fault("expected a multiple of %s, got %s", s.Multiple, got(v))
	}
}

func (k *checker) string(s *Schema, v jsonscan.Value) {
	if s.MinLen == 0 && s.MaxLen == nil && s.Pattern == "" {
		return
	}
	text, ok := v.Plain()
	if !ok {
		k.text = v.AppendText(k.text[:0])
		text = k.text
	}
	switch n := utf8.RuneCount(text); {
	case n < s.MinLen:
		k.fault("expected at least %d characters, got %d: %s", s.MinLen, n, got(v))
	case s.MaxLen != nil && n > *s.MaxLen:
		k.fault("expected at most %d characters, got %d: %s", *s.MaxLen, n, got(v))
	case s.Pattern != "":
		if p := k.c.patterns[s.Pattern]; p != nil && !p.match(text) {
			k.fault("expected text that matches %s, got %s", s.Pattern, got(v))
		}
	}
}

func (k *checker) array(s *Schema, v jsonscan.Value) {
	i := 0
	for it := v.Elements(); it.Next(); i++ {
		if e := ownElement(s, i); e != nil {
			n := len(k.path)
			k.path = strconv.AppendInt(append(k.path, '/'), int64(i), 10)
			k.value(e, it.Value())
			k.path = k.path[:n]
		}
	}
	switch {
	case i < s.MinLen:
		k.fault("expected at least %d items, got %d", s.MinLen, i)
	case s.MaxLen != nil && i > *s.MaxLen:
		k.fault("expected at most %d items, got %d", *s.MaxLen, i)
	case s.Unique && !unique(v):
		k.fault("expected items that all differ, some are equal")
	}
}

func (k *checker) object(s *Schema, v jsonscan.Value) {
	var seen uint64 // of the first 64 required names
	n := 0
	for it := v.Members(); it.Next(); n++ {
		for i, r := range s.Required {
			if i < 64 && it.KeyEqual(r) {
				seen |= 1 << i
			}
		}
		known, p := ownProperty(s, &it)
		switch {
		case known:
		case s.Closed:
			k.unknown(&it, "member", func() []string {
				names := make([]string, len(s.Properties))
				for i := range s.Properties {
					names[i] = s.Properties[i].Name
				}
				return names
			})
			continue
		default:
			p = s.Additional
		}
		if p == nil || it.Value().Kind() == jsonscan.Null && (k.nullClears() || !required(s, &it)) {
			if k.exact && p != nil && !k.nullClears() && !fits(typesOf(p), it.Value()) {
				k.count++ // it would be left out
			}
			continue // null of an optional member: not given, or cleared
		}
		at := k.enter(&it)
		k.value(p, it.Value())
		k.path = k.path[:at]
	}
	for i, r := range s.Required {
		if i < 64 && seen&(1<<i) == 0 || i >= 64 && !v.Get(r).Exists() {
			var p *Schema
			for j := range s.Properties {
				if s.Properties[j].Name == r {
					p = s.Properties[j].Schema
				}
			}
			k.missing(r, p)
		}
	}
	switch {
	case n < s.MinLen:
		k.fault("expected at least %d members, got %d", s.MinLen, n)
	case s.MaxLen != nil && n > *s.MaxLen:
		k.fault("expected at most %d members, got %d", *s.MaxLen, n)
	}
	if s.Rare != nil {
		k.names(s.Rare.Names, v)
		if len(s.Rare.Rules) > 0 {
			k.rules(s.Rare.Rules, &membersOf{s, v})
		}
	}
}

func (k *checker) nullClears() bool { return k.body != nil && k.body.nullClears }

// ownProperty finds a member among the properties of s itself.
func ownProperty(s *Schema, it *jsonscan.MemberIter) (bool, *Schema) {
	for i := range s.Properties {
		if it.KeyEqual(s.Properties[i].Name) {
			return true, s.Properties[i].Schema
		}
	}
	return false, nil
}

// ownElement is what s itself says of item i: what its alternatives say is asked of
// each of them.
func ownElement(s *Schema, i int) *Schema {
	if i < len(s.Prefix) {
		return s.Prefix[i]
	}
	return s.Items
}

// file checks the shape of a file; its content is decoded when the request is built.
func (k *checker) file(v jsonscan.Value) {
	switch v.Kind() {
	case jsonscan.String, jsonscan.Number, jsonscan.Bool:
	case jsonscan.Object:
		sources := 0
		for it := v.Members(); it.Next(); {
			source := it.KeyEqual("data") || it.KeyEqual("url") || it.KeyEqual("text")
			switch {
			case !source && !it.KeyEqual("filename") && !it.KeyEqual("mediaType"):
				k.unknown(&it, "member", func() []string { return []string{"data", "url", "text", "filename", "mediaType"} })
			case it.Value().Kind() == jsonscan.Null:
			case it.Value().Kind() != jsonscan.String:
				n := k.enter(&it)
				k.fault("expected string, got %s", got(it.Value()))
				k.path = k.path[:n]
			case source:
				sources++
			}
		}
		if sources != 1 {
			k.fault("expected a file with exactly one of \"data\" (base64), \"text\" and \"url\", got %d of them", sources)
		}
	default:
		k.fault("expected a file: {\"data\": base64} or {\"text\": …}, optionally with \"filename\" and \"mediaType\"; got %s", got(v))
	}
}

func (k *checker) enum(s *Schema, v jsonscan.Value) {
	if k.quiet > 0 {
		k.count++
		return
	}
	names := make([]string, 0, len(s.Enum))
	for _, e := range s.Enum {
		names = append(names, string(jsonscan.Trusted([]byte(e)).AppendText(nil)))
	}
	if near := nearest.Name(string(v.AppendText(nil)), slices.Values(names)); near != "" {
		k.fault("expected %s, got %s; did you mean %q?", describe(s), got(v), near)
		return
	}
	k.fault("expected %s, got %s", describe(s), got(v))
}
