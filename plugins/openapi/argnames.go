package openapi

import (
	"strconv"
	"strings"
)

// maxArgName is the length in bytes that every model API takes.
const maxArgName = 64

// argNames gives argument names that are unique and that model APIs accept
// (rule 5).
type argNames struct {
	taken map[string]bool
	kept  map[string]bool // good names as they are on the wire, which others do not get
}

func (a *argNames) has(name string) bool { return a.taken[strings.ToLower(name)] }

// keep says that a name is one on the wire, before names are given: ids[] in front
// of ids does not become ids.
func (a *argNames) keep(wire string) {
	if goodName(wire) && len(wire) <= maxArgName && (isLetter(wire[0]) || wire[0] == '_') {
		if a.kept == nil {
			a.kept = make(map[string]bool)
		}
		a.kept[strings.ToLower(wire)] = true
	}
}

// free reports that a name can be given to what is called wire.
func (a *argNames) free(name, wire string) bool {
	return !a.has(name) && (name == wire || !a.kept[strings.ToLower(name)])
}

// name makes an argument name of a wire name. numeric says that the value is a
// number: what "<" means is called otherwise there than of dates and texts. note
// is what must be said of a name that alone does not tell it from another.
func (a *argNames) name(wire string, numeric bool) (name, note string) {
	s := wire
	if !goodName(s) || !isLetter(s[0]) && s[0] != '_' {
		s = argName(operators(wire, numeric))
	}
	if !a.free(short(s, wire), wire) {
		if t := argName(spelled(wire)); a.free(short(t, wire), wire) {
			s = t
		}
	}
	s = short(s, wire)
	if a.taken == nil {
		a.taken = make(map[string]bool)
	}
	base := s
	for n := 2; !a.free(s, wire); n++ {
		s = cutPlain(base, maxArgName-4) + "_" + strconv.Itoa(n)
		note = "Sent as " + cutText(wire, maxArgName) + "."
	}
	a.taken[strings.ToLower(s)] = true
	return s, note
}

// short keeps a name within what model APIs accept.
func short(s, wire string) string {
	if len(s) <= maxArgName {
		return s
	}
	return cutName(s, maxArgName-6) + "_" + nameHash("", wire)
}

// comparisons are the operators that APIs write into the names of parameters:
// DateCreated<, price[>=], status!. Longer ones come first.
var comparisons = [...]struct{ op, text, number string }{
	{"<=", "on_or_before", "at_most"},
	{">=", "on_or_after", "at_least"},
	{"!=", "not", "not"},
	{"!~", "not_like", "not_like"},
	{"=~", "like", "like"},
	{"<", "before", "below"},
	{">", "after", "above"},
	{"!", "not", "not"},
	{"~", "like", "like"},
}

// operators puts words in the place of comparison operators, which would be lost
// with the other characters that a name cannot have.
func operators(wire string, numeric bool) string {
	if !strings.ContainsAny(wire, "<>!~") {
		return wire
	}
	var b strings.Builder
next:
	for i := 0; i < len(wire); {
		for _, o := range comparisons {
			if strings.HasPrefix(wire[i:], o.op) {
				word := o.text
				if numeric {
					word = o.number
				}
				b.WriteString("." + word + ".")
				i += len(o.op)
				continue next
			}
		}
		b.WriteByte(wire[i])
		i++
	}
	return b.String()
}

// spellings are the words for characters that tell two names apart.
var spellings = strings.NewReplacer(
	"[]", ".list.", "$", ".dollar.", "@", ".at.", "#", ".hash.", "*", ".star.", "+", ".plus.", ":", ".colon.", "%", ".percent.", "&", ".and.",
	"/", ".slash.", "?", ".question.", "=", ".equals.", "|", ".or.", "^", ".caret.", "<", ".before.", ">", ".after.", "!", ".not.", "~", ".like.",
	".", ".dot.", " ", ".space.",
)

// spelled is a wire name whose characters are written as words: filter and $filter
// are filter and dollar_filter, ids and ids[] are ids and ids_list.
func spelled(wire string) string {
	if strings.HasPrefix(wire, "-") {
		wire = "minus." + wire[1:]
	}
	return spellings.Replace(wire)
}

// argName replaces what is not allowed in an argument name.
func argName(wire string) string {
	var b []byte
	for i := range len(wire) {
		if len(b) > 200 {
			break
		}
		c := wire[i]
		if isLetter(c) || isDigit(c) || c == '_' || c == '-' {
			b = append(b, c)
		} else if len(b) > 0 && b[len(b)-1] != '_' {
			b = append(b, '_')
		}
	}
	s := strings.TrimRight(string(b), "_")
	s = strings.TrimLeft(s, "-")
	switch {
	case s == "":
		s = "p_" + nameHash("", wire)
	case isDigit(s[0]):
		s = "p_" + s
	}
	return s
}
