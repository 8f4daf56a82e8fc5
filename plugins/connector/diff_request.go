package connector

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// limits compares what a gateway checks and sends beyond what is published: limits
// that a published schema has no words for, and members that an optional body needs.
// It tells nothing at a place of which as grave a difference is told already.
func (d *differ) limits(o, n json.RawMessage) {
	was, is := new(operation.Plan), new(operation.Plan)
	if json.Unmarshal(o, was) != nil || json.Unmarshal(n, is) != nil {
		return // of an MCP server's tool there is none
	}
	told := make(map[string]int, len(d.details))
	for _, t := range d.details {
		if r, there := told[t.Where]; t.Impact != ImpactWording && (!there || rank(t.Impact) < r) {
			told[t.Where] = rank(t.Impact)
		}
	}
	private := differ{}
	for i := range is.Params {
		p := &is.Params[i]
		j := slices.IndexFunc(was.Params, func(q operation.Param) bool { return q.Arg == p.Arg && q.Arg != "" })
		if j >= 0 {
			private.narrower(pointerTo("input", p.Arg), was.Params[j].Schema, p.Schema, 0)
		}
	}
	for i := range was.Params {
		if p := &was.Params[i]; p.Unlisted && !takes(is, p.Arg) {
			private.add(ImpactBreaking, pointerTo("input", p.Arg), "it is no longer accepted, which it was unlisted")
		}
	}
	private.body(was.Body, is.Body)
	for _, t := range private.details {
		if r, there := told[t.Where]; !there || rank(t.Impact) < r {
			d.add(t.Impact, t.Where, "%s", t.What)
		}
	}
}

// takes tells that a plan has an argument, listed or not.
func takes(p *operation.Plan, arg string) bool {
	if arg == "" || slices.ContainsFunc(p.Params, func(q operation.Param) bool { return q.Arg == arg }) {
		return true
	}
	return p.Body != nil && (p.Body.Arg == arg || slices.ContainsFunc(p.Body.Fields, func(f operation.Field) bool { return f.Arg == arg }))
}

// delisted tells of arguments that are still accepted and no longer shown, such as
// deprecated ones, and takes them off the schema of before.
func (d *differ) delisted(was, is map[string]any, plan json.RawMessage) {
	p, err := operation.DecodePlan(plan)
	if err != nil {
		return // an MCP server's tool has none
	}
	before, now := object(was["properties"]), object(is["properties"])
	for name := range before {
		if _, shown := now[name]; !shown && takes(p, name) {
			d.add(ImpactSafe, pointerTo("input", name), "it is accepted, and no longer listed")
			delete(before, name)
		}
	}
}

func (d *differ) body(o, n *operation.Body) {
	switch {
	case n == nil:
		return
	case o == nil:
		o = new(operation.Body)
	case o.Arg != "" && o.Arg == n.Arg:
		d.narrower(pointerTo("input", n.Arg), o.Schema, n.Schema, 0)
	}
	lifted := o.Arg == "" && n.Arg == "" && o.MediaType != ""
	if lifted && n.Required && !o.Required {
		d.add(ImpactBreaking, "input", "a body is needed now")
	}
	if lifted && o.Schema != nil && n.Schema != nil && o.Schema.Closed != n.Schema.Closed { // nil: not known
		d.differs("input", "whether other members of the body are accepted", "", "-", o.Schema.Closed)
	}
	for i := range o.Fields {
		if f := &o.Fields[i]; f.Unlisted && !slices.ContainsFunc(n.Fields, func(q operation.Field) bool { return q.Name == f.Name }) {
			d.add(ImpactBreaking, pointerTo("input", f.Arg), "it is no longer accepted, which it was unlisted")
		}
	}
	switch {
	case n.Least > o.Least && o.MediaType != "": // without a body before, none was sent
		d.add(ImpactBreaking, "input", "at least %d members of the body are needed now", n.Least)
	case n.Least < o.Least:
		d.add(ImpactSafe, "input", "fewer members of the body are needed")
	}
	if o.MediaType != "" {
		d.rules("input", o.Rules, n.Rules)
	}
	for i := range n.Fields {
		f := &n.Fields[i]
		if f.Arg == "" {
			continue
		}
		where := pointerTo("input", f.Arg)
		j := slices.IndexFunc(o.Fields, func(q operation.Field) bool { return q.Name == f.Name })
		switch {
		case j < 0 && f.Required:
			d.add(ImpactBreaking, where, "it is new, and required with a body")
		case j < 0:
		case f.Required && !o.Fields[j].Required:
			d.add(ImpactBreaking, where, "it is required with a body now")
		case !f.Required && o.Fields[j].Required:
			d.add(ImpactSafe, where, "it is optional with a body now")
		}
		if j >= 0 {
			d.narrower(where, o.Fields[j].Schema, f.Schema, 0)
		}
	}
}

// narrower compares what two schemas of a value that is sent accept: what the newer
// does not accept breaks, what it accepts beyond is safe.
func (d *differ) narrower(at string, o, n *operation.Schema, depth int) {
	if depth > maxDiffDepth {
		return
	}
	if o == nil {
		o = new(operation.Schema)
	}
	if n == nil {
		n = new(operation.Schema)
	}
	d.types(at, o.Type, n.Type)
	d.values(at, o.Enum, n.Enum)
	d.limit(at, "minimum", o.Min, o.XMin, n.Min, n.XMin, 1)
	d.limit(at, "maximum", o.Max, o.XMax, n.Max, n.XMax, -1)
	d.length(at, o, n)
	d.format(at, o.Format, n.Format)
	d.differs(at, "the pattern", o.Pattern, n.Pattern, n.Pattern == "")
	d.differs(at, "the step between values (multipleOf)", o.Multiple, n.Multiple, n.Multiple == "" || multipleOf(o.Multiple, n.Multiple))
	if o.Unique != n.Unique {
		d.differs(at, "whether items may repeat", fmt.Sprint(o.Unique), fmt.Sprint(n.Unique), o.Unique)
	}
	d.rare(at, o.Rare, n.Rare, depth)
	if o.Closed != n.Closed {
		d.differs(at, "whether other members are accepted", fmt.Sprint(o.Closed), fmt.Sprint(n.Closed), o.Closed)
	}
	for _, r := range n.Required {
		if !slices.Contains(o.Required, r) {
			d.add(ImpactBreaking, pointerTo(at, r), "it is required now")
		}
	}
	for _, r := range o.Required {
		if !slices.Contains(n.Required, r) && slices.ContainsFunc(n.Properties, func(p operation.Property) bool { return p.Name == r }) {
			d.add(ImpactSafe, pointerTo(at, r), "it is optional now")
		}
	}
	for i := range n.Properties {
		p := &n.Properties[i]
		if j := slices.IndexFunc(o.Properties, func(q operation.Property) bool { return q.Name == p.Name }); j >= 0 {
			d.narrower(pointerTo(at, p.Name), o.Properties[j].Schema, p.Schema, depth+1)
		}
	}
	for i := range o.Properties {
		name := o.Properties[i].Name
		if n.Closed && !slices.ContainsFunc(n.Properties, func(p operation.Property) bool { return p.Name == name }) {
			d.add(ImpactBreaking, pointerTo(at, name), "it is no longer accepted")
		}
	}
	if o.Items != nil || n.Items != nil {
		d.narrower(at+"/items", o.Items, n.Items, depth+1)
	}
	for i := range max(len(o.Prefix), len(n.Prefix)) {
		if o.MaxLen != nil && i >= *o.MaxLen {
			break // there was no such item
		}
		d.narrower(pointerTo(at, strconv.Itoa(i)), placeOf(o, i), placeOf(n, i), depth+1)
	}
	if o.Additional != nil || n.Additional != nil {
		d.narrower(at+"/additionalProperties", o.Additional, n.Additional, depth+1)
	}
	d.branches(at, o, n, depth)
}

// placeOf is the schema of one item of a list by its place.
func placeOf(s *operation.Schema, i int) *operation.Schema {
	if i < len(s.Prefix) {
		return s.Prefix[i]
	}
	return s.Items
}

// rare compares what few schemas say.
func (d *differ) rare(at string, o, n *operation.Rare, depth int) {
	if o == nil {
		o = new(operation.Rare)
	}
	if n == nil {
		n = new(operation.Rare)
	}
	d.rules(at, o.Rules, n.Rules)
	for _, v := range n.Except {
		if !slices.Contains(o.Except, v) {
			d.add(ImpactBreaking, at, "%s is not allowed now", v)
		}
	}
	for _, v := range o.Except {
		if !slices.Contains(n.Except, v) {
			d.add(ImpactSafe, at, "%s is allowed now", v)
		}
	}
	if o.Names != nil || n.Names != nil {
		d.narrower(at, o.Names, n.Names, depth+1)
	}
}

// rules compares what members of an object ask of each other.
func (d *differ) rules(at string, o, n []operation.Rule) {
	named := func(name string) string { return name }
	in := func(list []operation.Rule, r operation.Rule) bool {
		return slices.ContainsFunc(list, func(x operation.Rule) bool { return reflect.DeepEqual(x, r) })
	}
	for i := range n {
		if !in(o, n[i]) {
			d.add(ImpactBreaking, at, "it is asked now: %s", n[i].Text(named))
		}
	}
	for i := range o {
		if !in(n, o[i]) {
			d.add(ImpactSafe, at, "it is not asked any more: %s", o[i].Text(named))
		}
	}
}

// branches: each alternative that was accepted must be accepted by one that is.
func (d *differ) branches(at string, o, n *operation.Schema, depth int) {
	if len(n.AnyOf) == 0 {
		return
	}
	list := o.AnyOf
	if len(list) == 0 {
		list = []*operation.Schema{o}
	}
	for _, was := range list {
		if !slices.ContainsFunc(n.AnyOf, func(is *operation.Schema) bool {
			one := differ{}
			one.narrower(at, was, is, depth+1)
			return len(one.details) == 0 || one.worst() != ImpactBreaking
		}) {
			d.add(ImpactBreaking, at, "an alternative is no longer accepted")
			return
		}
	}
}

func (d *differ) types(at string, o, n operation.Type) {
	widen := func(t operation.Type) operation.Type {
		if t == 0 {
			return ^operation.Type(0)
		}
		if t&operation.TypeNumber != 0 {
			t |= operation.TypeInteger
		}
		return t
	}
	lost := widen(o) &^ widen(n)
	switch {
	case lost == operation.TypeNull:
		d.add(ImpactBreaking, at, "null is no longer accepted")
	case lost != 0:
		d.add(ImpactBreaking, at, "fewer types are accepted")
	case widen(n)&^widen(o) == operation.TypeNull:
		d.add(ImpactSafe, at, "null is accepted too")
	case widen(n) != widen(o):
		d.add(ImpactSafe, at, "more types are accepted")
	}
}

func (d *differ) values(at string, o, n []string) {
	lost := slices.ContainsFunc(o, func(v string) bool { return !slices.Contains(n, v) })
	switch {
	case len(o) == 0 && len(n) > 0:
		d.add(ImpactBreaking, at, "only some values are accepted now")
	case len(n) > 0 && lost:
		d.add(ImpactBreaking, at, "values are no longer accepted")
	case len(o) != len(n):
		d.add(ImpactSafe, at, "more values are accepted")
	}
}

// limit compares bounds, of which the exclusive one is narrower where they are equal.
// narrow is 1 where a larger value is narrower.
func (d *differ) limit(at, name, o, xo, n, xn string, narrow int) {
	a, exclusiveA := narrowest(o, xo, narrow)
	b, exclusiveB := narrowest(n, xn, narrow)
	switch {
	case a == nil && b == nil:
	case a == nil:
		d.add(ImpactBreaking, at, "%s is limited now to %s", name, b.Text('g', -1))
	case b == nil:
		d.add(ImpactSafe, at, "%s is no longer limited", name)
	case b.Cmp(a)*narrow > 0, b.Cmp(a) == 0 && exclusiveB && !exclusiveA:
		d.add(ImpactBreaking, at, "%s was %s, is %s%s", name, a.Text('g', -1), b.Text('g', -1), map[bool]string{true: " and excluded"}[exclusiveB])
	case b.Cmp(a) != 0 || exclusiveA != exclusiveB:
		d.add(ImpactSafe, at, "%s was %s, is %s", name, a.Text('g', -1), b.Text('g', -1))
	}
}

func narrowest(inclusive, exclusive string, narrow int) (limit *big.Float, isExclusive bool) {
	in, okIn := number(inclusive)
	ex, okEx := number(exclusive)
	switch {
	case okIn && (!okEx || in.Cmp(ex)*narrow > 0):
		return in, false
	case okEx:
		return ex, true
	}
	return nil, false
}

// number reads a literal; digits beyond 64 bits of precision do not matter here.
func number(s string) (*big.Float, bool) {
	const longest = 400 // bytes; numbers of 64 bits are shorter
	if s == "" || len(s) > longest || strings.ContainsAny(s, "pPxX_") {
		return nil, false
	}
	f, _, err := big.ParseFloat(s, 10, 64, big.ToNearestEven)
	return f, err == nil
}

// multipleOf reports that each multiple of a is one of b.
func multipleOf(a, b string) bool {
	x, okX := number(a)
	y, okY := number(b)
	if !okX || !okY || y.Sign() == 0 {
		return false
	}
	return new(big.Float).Quo(x, y).IsInt()
}

// format compares formats that both name: a wider one is safe. What one of them names
// alone is told with the texts, for few APIs check it.
func (d *differ) format(at, o, n string) {
	wider := map[string]string{"int32": "int64", "float": "double", "idn-email": "email", "uuid": "string", "iri": "uri"}
	if o == "" || n == "" || o == n {
		return
	}
	d.differs(at, "the format, "+o+" before and "+n+" now,", o, n, wider[o] == n)
}

func (d *differ) length(at string, o, n *operation.Schema) {
	switch {
	case n.MinLen > o.MinLen:
		d.add(ImpactBreaking, at, "the shortest length was %d, is %d", o.MinLen, n.MinLen)
	case n.MinLen < o.MinLen:
		d.add(ImpactSafe, at, "the shortest length was %d, is %d", o.MinLen, n.MinLen)
	}
	switch {
	case o.MaxLen == nil && n.MaxLen == nil:
	case n.MaxLen == nil:
		d.add(ImpactSafe, at, "the length is no longer limited")
	case o.MaxLen == nil:
		d.add(ImpactBreaking, at, "the length is limited now to %d", *n.MaxLen)
	case *n.MaxLen < *o.MaxLen:
		d.add(ImpactBreaking, at, "the longest length was %d, is %d", *o.MaxLen, *n.MaxLen)
	case *n.MaxLen > *o.MaxLen:
		d.add(ImpactSafe, at, "the longest length was %d, is %d", *o.MaxLen, *n.MaxLen)
	}
}

func (d *differ) differs(at, what, o, n string, safe bool) {
	if o == n {
		return
	}
	impact := ImpactBreaking
	if safe {
		impact = ImpactSafe
	}
	d.add(impact, at, "%s changed", what)
}
