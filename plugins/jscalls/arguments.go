package jscalls

import "slices"

// maxPattern is how many tokens {a, b = 2} before = args may have; args counts as used as a
// whole behind a longer one.
const maxPattern = 512

// Argument is one that a script reads.
type Argument struct {
	Name string
	// Optional: the script has a value for it, or looks whether it is there: args.n ?? 2,
	// if (args.n), {n = 2}.
	Optional bool
}

// argument notes one; what is optional anywhere is optional.
func (r *reading) argument(name string, optional bool) {
	i := slices.IndexFunc(r.out.Arguments, func(a Argument) bool { return a.Name == name })
	if i < 0 {
		r.out.Arguments = append(r.out.Arguments, Argument{name, optional})
		return
	}
	r.out.Arguments[i].Optional = r.out.Arguments[i].Optional || optional
}

// use reads what a script does with its arguments, whose name stands at i: one of them is
// read, they are taken apart, or they are used as a whole.
func (r *reading) use(i int) {
	name, next, ok := r.member(i + 1)
	switch {
	case ok:
		r.argument(name, r.asked(i, next))
	case r.is(i+1, "?.") && r.word(i+2) != "":
		r.argument(r.word(i+2), true)
	case r.is(i+1, "=") && !r.is(i+2, "="): // a variable of the script's own
	case r.is(i-1, "=") && r.pattern(r.opening(i-2)):
	default:
		r.out.OpenArguments = true
	}
}

// asked reports whether what stands between i and next is looked at for whether it is there.
func (r *reading) asked(i, next int) bool {
	switch {
	case r.is(next, "?", "?."), r.is(next, "|", "&") && r.is(next+1, r.tokens[next].text):
		return true
	case r.is(i-1, "!"), r.word(i-1) == "typeof", r.word(i-2) == "if" && r.is(i-1, "(") && r.is(next, ")"):
		return true
	}
	for at := next; r.is(at, "=", "!"); at++ { // a comparison with undefined or null
		if w := r.word(at + 1); at > next && (w == "undefined" || w == "null") {
			return true
		}
	}
	return false
}

// opening finds the { of the } at i; -1: there is none near.
func (r *reading) opening(i int) int {
	if !r.is(i, "}") {
		return -1
	}
	for depth, end := 0, max(0, i-1-maxPattern); i >= end; i-- {
		switch {
		case r.is(i, "}"):
			depth++
		case r.is(i, "{"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// pattern reads the names of {a, b = 2, c: d, ...rest}, which begins at i.
func (r *reading) pattern(i int) bool {
	if i < 0 {
		return false
	}
	name, optional := "", false
	for depth, first := 0, true; i+1 < len(r.tokens); {
		i++
		switch {
		case depth == 0 && r.is(i, ",", "}"):
			if name != "" {
				r.argument(name, optional)
				r.out.local(r.localName(i-1, name), name)
			}
			if r.is(i, "}") {
				return true
			}
			name, optional, first = "", false, true
			continue
		case r.is(i, "(", "[", "{"):
			depth++
		case r.is(i, ")", "]", "}"):
			depth--
		case first && r.is(i, "..."):
			r.out.OpenArguments = true
		case first && (r.tokens[i].kind == word || r.tokens[i].kind == text):
			name = r.tokens[i].text
		case depth == 0 && r.is(i, "="):
			optional = true
		}
		first = false
	}
	return false
}

// localName is what a member of a pattern that ends at i is called in the script: d of {c: d}.
func (r *reading) localName(i int, name string) string {
	if w := r.word(i); w != "" && r.is(i-1, ":") {
		return w
	}
	return name
}

// local notes what an argument is called in the script.
func (o *Script) local(as, name string) {
	if o.locals == nil {
		o.locals = map[string]string{}
	}
	o.locals[as] = name
}

// parameter reads what a script that is one function takes: async ({id, n = 2}) => …, or
// function main(input) …. It returns the name that the arguments have in it, and where that
// stands.
func (r *reading) parameter() (name string, at int) {
	i := 0
	for r.is(i, "(") || slices.Contains([]string{"export", "default", "async"}, r.word(i)) {
		if r.is(i, "(") && (r.is(i+1, "{") || r.word(i+1) != "" && r.word(i+1) != "async" && r.word(i+1) != "function") {
			break
		}
		i++
	}
	function := r.word(i) == "function"
	if function {
		if i++; !r.is(i, "(") {
			i++ // its name
		}
	}
	if !function && r.word(i) != "" && r.is(i+1, "=>") {
		return r.word(i), i
	}
	if !r.is(i, "(") {
		return "", -1
	}
	end := r.closing(i)
	if end < 0 || !function && !r.is(end+1, "=>") {
		return "", -1
	}
	if r.is(i+1, "{") {
		r.pattern(i + 1)
		return "", -1
	}
	return r.word(i + 1), i + 1
}

// closing finds the ) of the ( at i; -1: there is none.
func (r *reading) closing(i int) int {
	for depth := 0; i < len(r.tokens); i++ {
		switch {
		case r.is(i, "("):
			depth++
		case r.is(i, ")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
