package engine

// Reference runs a program on in, appends the result to dst and returns it. It
// is the implementation in Go: the oracle of the WebAssembly engine, equal to it
// byte for byte and error for error, and what runs where that cannot.
//
// program must have passed [Check] or come from [Compile] or [Open]. dst must
// not overlap in. It keeps neither; goroutines may share program and in. On an error
// (ErrNotJSON, ErrDepth, ErrFuel, ErrTooLarge) it returns dst as it was.
func Reference(dst, program, in []byte, lim Limits) ([]byte, Stats, error) {
	lim = lim.WithDefaults(len(in))
	r := run{t: table(program), in: in, out: dst, base: len(dst), maxDepth: lim.MaxDepth, fuel: int64(min(lim.Fuel, 1<<62))}
	r.st.In = uint64(len(in))
	if len(in) > lim.MaxInput {
		return dst, Stats{In: r.st.In}, ErrTooLarge
	}
	if !r.document() {
		return dst, Stats{In: r.st.In}, r.err
	}
	r.st.Out = uint64(len(r.out) - len(dst))
	r.st.Fuel = min(lim.Fuel, 1<<62) - uint64(r.fuel)
	return r.out, r.st, nil
}

// WithDefaults fills in the defaults of l for an input of inputBytes.
func (l Limits) WithDefaults(inputBytes int) Limits {
	if l.MaxInput <= 0 {
		l.MaxInput = DefaultMaxInput
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = DefaultMaxDepth
	}
	l.MaxDepth = min(l.MaxDepth, HardMaxDepth)
	if l.Fuel == 0 {
		l.Fuel = DefaultFuel(inputBytes)
	}
	return l
}

// run is one execution. engine.c has the same functions in the same order.
type run struct {
	t        table
	in       []byte
	p        int // next byte of in
	out      []byte
	base     int // length of out at the start
	depth    int
	maxDepth int
	fuel     int64
	st       Stats
	err      error
}

func (r *run) fail(err error) bool {
	r.err = err
	return false
}

// charge takes n units of fuel.
func (r *run) charge(n int) bool {
	if r.fuel -= int64(n); r.fuel < 0 {
		return r.fail(ErrFuel)
	}
	return true
}

// space skips white space and returns the next byte, 0 at the end.
func (r *run) space() byte {
	in, p := r.in, r.p
	for p < len(in) && isSpace(in[p]) {
		p++
	}
	r.p = p
	if p < len(in) {
		return in[p]
	}
	return 0
}

func (r *run) document() bool {
	if hasPrefixAt(r.in, 0, "\xef\xbb\xbf") {
		r.p = 3
	}
	if r.t.documents() == DocumentStream {
		return r.stream()
	}
	r.space()
	if !r.value(r.t.root(), true) {
		return false
	}
	r.space()
	if r.p != len(r.in) {
		return r.fail(ErrNotJSON)
	}
	return true
}

// stream treats the documents of the input as the elements of an array.
func (r *run) stream() bool {
	rows := r.rowsOf(r.t.root())
	r.out = append(r.out, '[')
	first := true
	for {
		for r.p < len(r.in) && (isSpace(r.in[r.p]) || r.in[r.p] == 0x1e) {
			r.p++
		}
		if r.p == len(r.in) {
			r.out = append(r.out, ']')
			return true
		}
		start := r.in[r.p]
		if !r.element(r.t.root(), &rows, &first) {
			return false
		}
		// A number or literal needs something between it and the next document.
		if c := start | 0x20; c != '{' && start != '"' && r.p < len(r.in) {
			if n := r.in[r.p]; !isSpace(n) && n != 0x1e && n|0x20 != '{' && n != '"' {
				return r.fail(ErrNotJSON)
			}
		}
	}
}

// value treats the value at r.p with a node; outer says that row rules apply.
func (r *run) value(node int, outer bool) bool {
	if !r.charge(1) {
		return false
	}
	if node < 0 {
		return r.keep()
	}
	if r.p >= len(r.in) {
		return r.fail(ErrNotJSON)
	}
	switch r.in[r.p] {
	case '{':
		return r.object(node)
	case '[':
		return r.array(node, outer)
	case '"':
		return r.text(node)
	}
	return r.keep()
}

// enter counts a bracket.
func (r *run) enter() bool {
	if r.depth++; r.depth > r.maxDepth {
		return r.fail(ErrDepth)
	}
	r.p++
	return true
}

func (r *run) object(node int) bool {
	if !r.enter() {
		return false
	}
	r.out = append(r.out, '{')
	if r.space() == '}' {
		r.p++
		r.depth--
		r.out = append(r.out, '}')
		return true
	}
	n := r.t.node(node)
	var x extView
	if n.ext != 0 {
		x = r.t.ext(n.ext)
	}
	var lone loneURLs
	var seen [MaxFields / 64]uint64
	found, first := 0, true
	for {
		if r.space() != '"' {
			return r.fail(ErrNotJSON)
		}
		start := r.p
		end, escaped := strictString(r.in, start+1)
		if end < 0 {
			return r.fail(ErrNotJSON)
		}
		r.p = end
		if r.space() != ':' {
			return r.fail(ErrNotJSON)
		}
		r.p++
		r.space()

		name := r.in[start+1 : end-1]
		var buf [MaxName + 8]byte
		if escaped {
			name = appendDecoded(buf[:0], name, MaxName)
		}
		child, exempt, byName, rules, asked := n.rest, false, false, n.rules, saysOwn
		var told entryView
		if i := r.t.find(&n, name); i >= 0 {
			e := r.t.entry(&n, i)
			told = e
			asked = saysAsked
			if child, exempt = e.child, e.exempt; e.url {
				rules &^= DropURL
			}
			if e.any {
				rules &^= KeepPages
			}
			if child != childDrop {
				if seen[i>>6]>>(i&63)&1 != 0 {
					child = childDrop
				} else {
					seen[i>>6] |= 1 << (i & 63)
					found++
				}
			}
		} else if child != childDrop && x.suffixes > 0 && r.t.dropSuffix(&x, name) {
			child, byName = childDrop, true
		}
		if rules&(KeepPages|OnlyNamed) == KeepPages|OnlyNamed && (!addressName(name) || rules&KeepAsked != 0 && nameSays(name) >= asked) {
			rules &^= DropURL
		}
		address := byName && n.rules&KeepLone != 0 && first && r.dropped(DropURL)
		if child != childDrop && rules != 0 && !exempt && r.dropped(rules) {
			child = childDrop
			address = n.rules&KeepLone != 0 && first && r.in[r.p] == '"'
		}
		if child == childDrop {
			r.st.FieldsDropped++
			if told.told && r.telling() {
				if r.st.Told++; r.st.Told == 1 {
					r.st.ToldAt, r.st.ToldLen = uint32(told.key), uint32(told.length)
				}
			}
			at := r.p
			if !r.skip() {
				return false
			}
			if address && lone.n < MaxLone {
				lone.at[lone.n] = [4]int{start, end, at, r.p}
				lone.n++
			}
		} else {
			mark := len(r.out)
			if !first {
				r.out = append(r.out, ',')
			}
			r.out = append(append(r.out, r.in[start:end]...), ':')
			at := len(r.out)
			if !r.value(child, true) {
				return false
			}
			if n.rules&DropEmpty != 0 && !exempt && len(r.out)-at == 2 && isEmpty(r.out[at]) {
				r.out = r.out[:mark]
				r.st.FieldsDropped++
			} else {
				first = false
			}
		}
		if n.rest == childDrop && found == n.fields {
			if first {
				r.keepLone(&lone)
			}
			return r.leave()
		}
		c := r.space()
		r.p++
		if c == ',' {
			continue
		}
		if c != '}' {
			return r.fail(ErrNotJSON)
		}
		if first {
			r.keepLone(&lone)
		}
		r.depth--
		r.out = append(r.out, '}')
		return true
	}
}

// loneURLs remembers members that KeepLone may bring back: where their names and
// values start and end.
type loneURLs struct {
	n  int
	at [MaxLone][4]int
}

// keepLone writes the members remembered.
func (r *run) keepLone(l *loneURLs) {
	for i, m := range l.at[:l.n] {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		r.out = append(append(append(r.out, r.in[m[0]:m[1]]...), ':'), r.in[m[2]:m[3]]...)
		r.st.FieldsDropped--
	}
}

func isEmpty(c byte) bool { return c == '"' || c == '[' || c == '{' }

// leave goes to the end of an object of which nothing more is wanted.
func (r *run) leave() bool {
	end := skipContainer(r.in, r.p)
	if end < 0 {
		return r.fail(ErrNotJSON)
	}
	n := end - r.p
	r.p = end
	r.depth--
	r.out = append(r.out, '}')
	return r.charge(n >> 6)
}

// dropped tells whether a rule leaves out the value at r.p.
func (r *run) dropped(rules Rules) bool {
	if r.p >= len(r.in) {
		return false
	}
	switch r.in[r.p] {
	case 'n':
		return rules&DropNull != 0 && hasPrefixAt(r.in, r.p, "null")
	case 'f':
		return rules&DropFalse != 0 && hasPrefixAt(r.in, r.p, "false")
	case '"':
		if rules&DropURL != 0 && hasPrefixAt(r.in, r.p+1, "http") {
			end := skipString(r.in, r.p+1)
			return end > 0 && isURL(r.in[r.p+1:end-1]) && (rules&KeepPages == 0 || forPrograms(r.in[r.p+1:end-1]))
		}
	}
	return false
}

// telling tells whether the value at r.p says more than that it is not there.
func (r *run) telling() bool {
	if r.p >= len(r.in) {
		return false
	}
	c := r.in[r.p]
	if c == 'n' || c == '"' && r.p+1 < len(r.in) && r.in[r.p+1] == '"' {
		return false
	}
	if c != '{' && c != '[' {
		return true
	}
	at := r.p + 1
	for at < len(r.in) && isSpace(r.in[at]) {
		at++
	}
	return at >= len(r.in) || r.in[at] != c+2
}

// skip goes behind the value at r.p.
func (r *run) skip() bool {
	end := r.skipFrom(r.p)
	if end < 0 {
		return false
	}
	r.p = end
	return true
}

// skipFrom finds the end of the value at p, pays for it, and fails with -1.
func (r *run) skipFrom(p int) int {
	end := -1
	if p < len(r.in) {
		switch r.in[p] {
		case '"':
			end = skipString(r.in, p+1)
		case '{', '[':
			end = skipContainer(r.in, p+1)
		default:
			end = skipScalar(r.in, p)
		}
	}
	if end < 0 {
		r.fail(ErrNotJSON)
		return -1
	}
	if !r.charge(1 + (end-p)>>6) {
		return -1
	}
	return end
}

// rowState is what is left of a node's row rules.
type rowState struct {
	on            bool
	where         int
	offset, limit uint32
}

func (r *run) rowsOf(node int) rowState {
	if node < 0 {
		return rowState{}
	}
	n := r.t.node(node)
	if n.ext == 0 {
		return rowState{}
	}
	x := r.t.ext(n.ext)
	return rowState{on: x.where != 0 || x.offset != 0 || x.limit != noLimit, where: x.where, offset: x.offset, limit: x.limit}
}

func (r *run) array(node int, outer bool) bool {
	if !r.enter() {
		return false
	}
	r.out = append(r.out, '[')
	if r.space() == ']' {
		r.p++
		r.depth--
		r.out = append(r.out, ']')
		return true
	}
	var rows rowState
	if outer {
		rows = r.rowsOf(node)
	}
	if x := r.t.node(node).ext; x != 0 && !rows.on {
		if most := r.t.ext(x).numbers; most > 0 {
			if cut, ok := r.numbers(int(most)); cut || !ok {
				return ok
			}
		}
	}
	first := true
	for {
		r.space()
		if !r.element(node, &rows, &first) {
			return false
		}
		c := r.space()
		r.p++
		if c == ',' {
			continue
		}
		if c != ']' {
			return r.fail(ErrNotJSON)
		}
		r.depth--
		r.out = append(r.out, ']')
		return true
	}
}

// element treats one element at r.p.
func (r *run) element(node int, rows *rowState, first *bool) bool {
	if rows.on {
		r.st.Rows++
		if rows.where != 0 {
			hit, ok := r.test(rows.where - 1)
			if !ok {
				return false
			}
			if !hit {
				r.st.RowsDropped++
				return r.skip()
			}
		}
		if rows.offset > 0 {
			rows.offset--
			r.st.RowsCut++
			return r.skip()
		}
		if rows.limit == 0 {
			r.st.RowsCut++
			return r.skip()
		}
		if rows.limit != noLimit {
			rows.limit--
		}
	}
	if !*first {
		r.out = append(r.out, ',')
	}
	*first = false
	return r.value(node, false)
}
