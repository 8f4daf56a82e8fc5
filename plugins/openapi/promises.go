package openapi

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of what is kept of the promises of one answer, for the comparison of versions.
const (
	// maxPromises: bytes of names and values of one operation, about what the published
	// schema of its answer has.
	maxPromises = 1500
	// maxPromised: values of one member; a list of countries or currencies is longer,
	// and changes without a consequence.
	maxPromised = 32
	// maxPromisedLimits: bytes of the limits of answered values of one operation, beside
	// maxPromises: what they say matters less than which members there are.
	maxPromisedLimits = 500
)

// timeFormats are formats of answered texts that who reads them relies on: a date is read
// otherwise than a time.
var timeFormats = []string{"date-time", "date", "time", "duration", "byte"}

// promises are what is promised of the first levels of an answer: which members are
// always there, which may be null, and which values they have.
func (c *compiler) promises(s *schema) []operation.Promise {
	id := c.outputKey(s)
	if p, ok := c.promised[id]; ok {
		return p
	}
	w := promiser{c: c}
	at := ""
	if !w.isObject(s) {
		at = "/result" // as the output schema has it
	}
	w.value(s, at, 0, toldType)
	if id.s.name != "" {
		c.promised[id] = w.out
	}
	return w.out
}

type promiser struct {
	c     *compiler
	out   []operation.Promise
	size  int
	limit int // bytes of limits
	stack []*schema
}

// isObject tells an object from anything else: also one of several, which have the
// members of all together.
func (w *promiser) isObject(s *schema) bool {
	return s.types == operation.TypeObject || s.types == 0 && len(s.alts) > 0 && (&outputWriter{c: w.c}).allObjects(s, 0)
}

// told is what is said elsewhere of what a value may be itself.
type told int

const (
	toldMember told = iota // its values with the object that it is a member of
	toldType               // its type
	toldNot                // nothing
)

// value notes the promises of a value and of what is in it.
func (w *promiser) value(s *schema, at string, depth int, is told) {
	around := len(w.stack)
	defer func() { w.stack = w.stack[:around] }()
	for s.types == operation.TypeArray && len(w.stack) < maxFold && !slices.Contains(w.stack, s) {
		w.stack = append(w.stack, s)
		for i := range s.prefix {
			w.value(w.c.normal(&s.prefix[i]), at+"/"+strconv.Itoa(i), depth+1, toldNot)
		}
		if !s.items.exists() || len(s.items.more) > 0 {
			return
		}
		s, at, is = w.c.normal(&s.items), at+"/items", toldType
	}
	switch {
	case depth > outputDepth || slices.Contains(w.stack, s):
	case w.isObject(s):
		w.object(s, at, depth)
	default:
		w.itself(s, at, is)
	}
}

// itself notes which values there are of a value that is no object, and of which types
// they are where the output schema cannot say it.
func (w *promiser) itself(s *schema, at string, is told) {
	p := operation.Promise{At: at}
	size := len(at)
	if texts, only := w.values(s, 0); is != toldMember && only {
		p.Values = append(p.Values, operation.Values{Name: operation.Itself, Texts: texts})
		for _, t := range texts {
			size += len(t)
		}
	}
	if kinds := kindsOf(w.types(s, 0)); len(kinds) > 0 && (len(s.alts) > 0 || is == toldNot) {
		p.Values = append(p.Values, operation.Values{Name: operation.ItsTypes, Texts: kinds})
		size += len(kinds) * len(`"integer"`)
	}
	if len(p.Values) > 0 && w.size+size <= maxPromises {
		w.size += size
		w.out = append(w.out, p)
	}
}

func (w *promiser) object(s *schema, at string, depth int) {
	w.stack = append(w.stack, s)
	w.c.tick()
	u := union{p: &publisher{c: w.c}}
	u.add(s, 0)
	p := operation.Promise{At: at}
	size, cut := len(at), false
	for i := range u.props {
		name := u.props[i].name
		q := w.c.normal(&u.props[i].child)
		if q.writeOnly || q.never || len(name) > maxPointerToken {
			continue
		}
		if slices.Contains(u.required, name) {
			p.Required = append(p.Required, name)
			size += len(name)
		}
		if q.null {
			p.Null = append(p.Null, name)
			size += len(name)
		}
		told := name
		texts, only := w.values(q, 0)
		if !only && q.types == operation.TypeString && slices.Contains(timeFormats, q.format) {
			p.Values = append(p.Values, operation.Values{Name: operation.Formats + name, Texts: []string{strconv.Quote(q.format)}})
			size += len(name) + len(q.format)
		}
		if !only && q.types == operation.TypeString {
			texts, told = w.kindsBy(s, name), operation.Kinds+name
		}
		if len(texts) > 0 {
			p.Values = append(p.Values, operation.Values{Name: told, Texts: texts})
			size += len(told)
			for _, t := range texts {
				size += len(t)
			}
		}
		if text := limitsOf(q); text != "" && !only {
			if room := maxPromisedLimits - w.limit - len(name) - len(text); room < 0 {
				cut = true
			} else {
				w.limit = maxPromisedLimits - room
				p.Values = append(p.Values, operation.Values{Name: operation.Limits + name, Texts: []string{text}})
			}
		}
	}
	if cut {
		p.Values = append(p.Values, operation.Values{Name: operation.Limits})
	}
	if s.hasAddl {
		if kinds := kindsOf(w.types(w.c.normal(&s.addl), 0)); len(kinds) > 0 {
			p.Values = append(p.Values, operation.Values{Name: operation.FreeMembers, Texts: kinds})
			size += len(kinds) * len(`"integer"`)
		}
	}
	if w.size += size; w.size > maxPromises {
		return
	}
	if len(u.props) > 0 || len(p.Values) > 0 {
		w.out = append(w.out, p)
	}
	for i := range u.props {
		if q := w.c.normal(&u.props[i].child); !q.writeOnly && !q.never && len(u.props[i].name) <= maxPointerToken {
			w.value(q, string(appendPointerToken([]byte(at+"/"), u.props[i].name)), depth+1, toldMember)
		}
	}
	for i := range s.pattern {
		w.value(w.c.normal(&s.pattern[i].child), string(appendPointerToken([]byte(at+"/"), s.pattern[i].name)), depth+1, toldNot)
	}
	if s.hasAddl {
		w.value(w.c.normal(&s.addl), at+"/"+operation.FreeMembers, depth+1, toldType)
	}
}

// limitsOf are the limits of a number, of the length of a text or of a list, as JSON; "" without any.
func limitsOf(s *schema) string {
	if s.min == "" && s.max == "" && s.xmin == "" && s.xmax == "" && s.regexp == "" && !s.minLen.set && !s.maxLen.set && !s.minItems.set && !s.maxItems.set {
		return "" // most have none
	}
	l := operation.Schema{Min: s.min, Max: s.max, XMin: s.xmin, XMax: s.xmax, Pattern: s.regexp}
	least, most := s.minLen, s.maxLen
	if s.types == operation.TypeArray {
		least, most = s.minItems, s.maxItems
	}
	l.MinLen = least.n
	if most.set {
		l.MaxLen = &most.n
	}
	b, err := json.Marshal(&l)
	if err != nil || len(b) <= len(`{}`) {
		return ""
	}
	return string(b)
}

// values are the values of a scalar, as JSON, where there are only some.
func (w *promiser) values(s *schema, depth int) (texts []string, only bool) {
	switch {
	case s.hasEnum && len(s.enum) <= maxPromised:
		for _, e := range s.enum {
			if !e.isObject() && !e.isArray() && e.kind() != kindNull {
				texts = append(texts, string(appendLiteral(nil, e, s.types)))
			}
		}
	case len(s.alts) == 1 && depth <= maxBranches:
		for i := range s.alts[0].branches {
			some, only := w.values(w.c.normal(&s.alts[0].branches[i]), depth+1)
			if !only {
				return nil, false
			}
			for _, t := range some {
				if !slices.Contains(texts, t) {
					texts = append(texts, t)
				}
			}
		}
	}
	return texts, len(texts) > 0 && len(texts) <= maxPromised
}

// kindsBy are the values of the member that tells the alternatives of s apart, as JSON,
// by its discriminator.
func (w *promiser) kindsBy(s *schema, name string) []string {
	var out []string
	for i := range s.alts {
		if discriminatorName(s.alts[i].disc) != name {
			continue
		}
		for _, d := range w.c.discriminatorKeys(s.alts[i]) {
			for _, k := range d.keys {
				out = append(out, strconv.Quote(k))
			}
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxPromised {
		return nil
	}
	return out
}

// types are the types of a value and of its alternatives; none where it may be anything.
func (w *promiser) types(s *schema, depth int) operation.Type {
	if s.types != 0 || len(s.alts) != 1 || depth > maxBranches {
		return s.types
	}
	var all operation.Type
	for i := range s.alts[0].branches {
		t := w.types(w.c.normal(&s.alts[0].branches[i]), depth+1)
		if t == 0 {
			return 0
		}
		all |= t
	}
	return all
}

// kindsOf are the names of types, as JSON.
func kindsOf(types operation.Type) []string {
	var out []string
	for _, k := range [...]struct {
		t    operation.Type
		text string
	}{{operation.TypeBoolean, `"boolean"`}, {operation.TypeInteger, `"integer"`}, {operation.TypeNumber, `"number"`}, {operation.TypeString, `"string"`}, {operation.TypeArray, `"array"`}, {operation.TypeObject, `"object"`}} {
		if types&k.t != 0 && !(k.t == operation.TypeInteger && types&operation.TypeNumber != 0) { // a number may be an integer
			out = append(out, k.text)
		}
	}
	return out
}
