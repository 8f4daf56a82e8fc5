package jscalls

import (
	"slices"
	"strings"
)

// MaxCalls that are found in a script; a script makes 256 at most.
const MaxCalls = 1024

// maxTemplates is how deep templates are looked into for others.
const maxTemplates = 16

// Call is a tool that a script names.
type Call struct {
	// Path is GROUP.NAME as the script has it, or only a name.
	Path         string
	Line, Column int // from 1; columns are bytes
	// Made says that it is called, not only named.
	Made bool
	// Known says that the names of its arguments are known: they are in Names. Open: there
	// may be others beside them.
	Known, Open bool
	Names       []string
}

// Script is what the text of a script says.
type Script struct {
	Calls []Call
	// Dynamic says that the script also names tools in ways that are not followed:
	// tools[name], or another name for tools or for a group.
	Dynamic bool
	// Own says that the script has something of its own that is called tools: nothing is
	// known of its calls then.
	Own bool
	// Arguments are those that it reads, in their order, each once. OpenArguments: it may
	// read others too, as it uses args as a whole.
	Arguments     []Argument
	OpenArguments bool

	own    string            // what a script that is one function calls its arguments
	locals map[string]string // what it calls one of them, and the name of that
}

// Find reads a script.
func Find(code string) *Script {
	out := &Script{}
	out.find(code, 0, len(code), 0)
	if out.Own {
		out.Calls = nil
	}
	return out
}

func (o *Script) find(code string, from, to, depth int) {
	s := scan(code, from, to)
	r := &reading{code: code, tokens: s.tokens, out: o}
	if depth == 0 {
		o.own, r.parameterAt = r.parameter()
	} else {
		r.parameterAt = -1
	}
	for i, t := range s.tokens {
		if t.kind != word || i > 0 && r.is(i-1, ".", "?.") || r.key(i) {
			continue
		}
		switch {
		case t.text == "tools":
			r.tools(i)
		case i == r.parameterAt:
		case t.text == "args" || t.text == o.own:
			r.use(i)
		case o.locals[t.text] != "" && r.asked(i, i+1):
			r.argument(o.locals[t.text], true)
		}
	}
	if depth >= maxTemplates {
		o.Dynamic = o.Dynamic || len(s.inner) > 0
		return
	}
	for _, in := range s.inner {
		o.find(code, in.from, in.to, depth+1)
	}
}

type reading struct {
	code   string
	tokens []token
	out    *Script

	parameterAt int // where the parameter of a script that is one function stands; or -1
}

// is reports whether a token is one of some punctuation.
func (r *reading) is(i int, texts ...string) bool {
	return i >= 0 && i < len(r.tokens) && r.tokens[i].kind == punctuation && slices.Contains(texts, r.tokens[i].text)
}

func (r *reading) word(i int) string {
	if i >= 0 && i < len(r.tokens) && r.tokens[i].kind == word {
		return r.tokens[i].text
	}
	return ""
}

// key reports whether a name is the key of a member: {tools: 1}.
func (r *reading) key(i int) bool {
	return r.is(i+1, ":") && r.is(i-1, "{", ",")
}

// member reads .NAME or ["NAME"] at i; what stands behind it is at next.
func (r *reading) member(i int) (name string, next int, ok bool) {
	switch {
	case r.is(i, ".") && r.word(i+1) != "":
		return r.word(i + 1), i + 2, true
	case r.is(i, "[") && i+2 < len(r.tokens) && r.tokens[i+1].kind == text && r.is(i+2, "]"):
		return r.tokens[i+1].text, i + 3, true
	}
	return "", i, false
}

// tools reads what stands behind the name tools.
func (r *reading) tools(i int) {
	first, next, ok := r.member(i + 1)
	if !ok {
		lists := r.is(i-1, "(") && slices.Contains([]string{"keys", "entries", "values"}, r.word(i-2)) && r.is(i+1, ")")
		aliased := r.is(i-1, "=") || r.word(i-1) == "of" || r.word(i-1) == "in"
		if r.out.Dynamic = true; !lists && !aliased && !r.is(i+1, "[", "?.") {
			r.out.Own = true
		}
		return
	}
	c := Call{Path: first}
	if second, behind, ok := r.member(next); ok {
		c.Path, next = first+"."+second, behind
	} else if !r.is(next, "(") {
		r.out.Dynamic = true // a group under another name
		return
	}
	c.Line, c.Column = position(r.code, r.tokens[i].offset)
	if c.Made = r.is(next, "("); c.Made {
		r.arguments(next+1, &c)
	}
	if len(r.out.Calls) < MaxCalls {
		r.out.Calls = append(r.out.Calls, c)
	} else {
		r.out.Dynamic = true
	}
}

// arguments reads what stands between the parentheses of a call: the names of an object
// that is written there.
func (r *reading) arguments(i int, c *Call) {
	if r.is(i, ")") {
		c.Known = true
		return
	}
	if !r.is(i, "{") {
		return
	}
	var names []string
	for i++; ; {
		switch {
		case i >= len(r.tokens):
			return
		case r.is(i, "}"):
			c.Known, c.Names = r.is(i+1, ")", ","), names
			return
		case r.is(i, "...", "["):
			c.Open = true
		case r.tokens[i].kind == text || r.word(i) != "" && !slices.Contains([]string{"get", "set", "async"}, r.word(i)) || r.word(i) != "" && r.is(i+1, ":", ",", "}"):
			names = append(names, r.tokens[i].text)
		default:
			c.Open = true // a method, an accessor, a number
		}
		if i = r.skip(i); r.is(i, ",") {
			i++
		}
	}
}

// skip goes to the , or } that ends the member that begins at i.
func (r *reading) skip(i int) int {
	for depth := 0; i < len(r.tokens); i++ {
		switch {
		case depth == 0 && r.is(i, ",", "}"):
			return i
		case r.is(i, "(", "[", "{"):
			depth++
		case r.is(i, ")", "]", "}"):
			depth--
		}
	}
	return i
}

func position(code string, offset int) (line, column int) {
	before := code[:offset]
	return 1 + strings.Count(before, "\n"), offset - strings.LastIndexByte(before, '\n')
}
