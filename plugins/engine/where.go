package engine

import (
	"bytes"
	"math"
)

// test evaluates the predicate at operation i on the value at r.p, which stays
// where it is. ok is false when the run failed.
func (r *run) test(i int) (hit, ok bool) {
	o := r.t.op(i)
	switch o.op {
	case opNot:
		hit, ok = r.test(i + 1)
		return !hit, ok
	case opAnd, opOr:
		for k := i + 1; k < o.next; k = r.t.op(k).next {
			hit, ok = r.test(k)
			if !ok || hit == (o.op == opOr) {
				return hit, ok
			}
		}
		return hit, true
	}
	if !r.charge(1) {
		return false, false
	}
	return r.leaf(&o, r.p, o.path, 0)
}

// leaf evaluates a comparison on the value at p, of which the path from offset
// path is still to go.
func (r *run) leaf(o *opView, p, path, depth int) (hit, ok bool) {
	if p >= len(r.in) {
		return false, r.fail(ErrNotJSON)
	}
	c := r.in[p]
	if c == '[' {
		return r.leafArray(o, p, path, depth)
	}
	if path == o.path+o.pathLen {
		return r.compare(o, p)
	}
	if c != '{' {
		return false, true
	}
	if r.depth+depth+1 > r.maxDepth {
		return false, r.fail(ErrDepth)
	}
	want := r.t[path+2:][:r.t.u16(path)]
	p = spaceAt(r.in, p+1)
	if p < len(r.in) && r.in[p] == '}' {
		return false, true
	}
	for {
		if p >= len(r.in) || r.in[p] != '"' {
			return false, r.fail(ErrNotJSON)
		}
		end, escaped := strictString(r.in, p+1)
		if end < 0 {
			return false, r.fail(ErrNotJSON)
		}
		name := r.in[p+1 : end-1]
		var buf [MaxName + 8]byte
		if escaped {
			name = appendDecoded(buf[:0], name, MaxName)
		}
		p = spaceAt(r.in, end)
		if p >= len(r.in) || r.in[p] != ':' {
			return false, r.fail(ErrNotJSON)
		}
		p = spaceAt(r.in, p+1)
		if bytes.Equal(name, want) {
			return r.leaf(o, p, path+2+len(want), depth+1)
		}
		if p = r.skipFrom(p); p < 0 {
			return false, false
		}
		p = spaceAt(r.in, p)
		if p >= len(r.in) || r.in[p] != ',' && r.in[p] != '}' {
			return false, r.fail(ErrNotJSON)
		}
		if r.in[p] == '}' {
			return false, true
		}
		p = spaceAt(r.in, p+1)
	}
}

func (r *run) leafArray(o *opView, p, path, depth int) (hit, ok bool) {
	if r.depth+depth+1 > r.maxDepth {
		return false, r.fail(ErrDepth)
	}
	p = spaceAt(r.in, p+1)
	if p < len(r.in) && r.in[p] == ']' {
		return false, true
	}
	for {
		if hit, ok = r.leaf(o, p, path, depth+1); hit || !ok {
			return hit, ok
		}
		if p = r.skipFrom(p); p < 0 {
			return false, false
		}
		p = spaceAt(r.in, p)
		if p >= len(r.in) || r.in[p] != ',' && r.in[p] != ']' {
			return false, r.fail(ErrNotJSON)
		}
		if r.in[p] == ']' {
			return false, true
		}
		p = spaceAt(r.in, p+1)
	}
}

func spaceAt(in []byte, p int) int {
	for p < len(in) && isSpace(in[p]) {
		p++
	}
	return p
}

// compare evaluates the comparison itself on the value at p, no array.
func (r *run) compare(o *opView, p int) (hit, ok bool) {
	end := r.skipFrom(p)
	if end < 0 {
		return false, false
	}
	if Cmp(o.cmp) == CmpExists {
		return true, true
	}
	raw := r.in[p:end]
	want := r.t[o.value:][:o.valueBytes]
	switch o.kind {
	case kindNull:
		return string(raw) == "null", true
	case kindFalse:
		return string(raw) == "false", true
	case kindTrue:
		return string(raw) == "true", true
	case kindNumber:
		if raw[0] != '-' && raw[0]-'0' > 9 || numberEnd(raw, 0) != len(raw) {
			return false, true
		}
		return holds(Cmp(o.cmp), compareNumbers(raw, want)), true
	}
	if raw[0] != '"' {
		return false, true
	}
	send, escaped := strictString(r.in, p+1)
	if send < 0 {
		return false, r.fail(ErrNotJSON)
	}
	s := raw[1 : len(raw)-1]
	if escaped { // the room behind the output serves as scratch
		n := len(r.out)
		d := appendDecoded(r.out, s, math.MaxInt)
		r.out, s = d[:n], d[n:]
	}
	switch Cmp(o.cmp) {
	case CmpContains:
		return r.contains(s, want)
	case CmpPrefix:
		return bytes.HasPrefix(s, want), true
	case CmpGlob:
		return r.glob(s, want)
	}
	return holds(Cmp(o.cmp), bytes.Compare(s, want)), true
}

func holds(c Cmp, order int) bool {
	switch c {
	case CmpEq:
		return order == 0
	case CmpLt:
		return order < 0
	case CmpLe:
		return order <= 0
	case CmpGt:
		return order > 0
	}
	return order >= 0
}

// contains pays for what matched in vain: without, a long run of one byte would
// cost the product of both lengths.
func (r *run) contains(s, want []byte) (hit, ok bool) {
	if len(want) == 0 {
		return true, true
	}
	for len(s) >= len(want) {
		i := bytes.IndexByte(s[:len(s)-len(want)+1], want[0])
		if i < 0 {
			return false, true
		}
		s = s[i:]
		n := 1
		for n < len(want) && s[n] == want[n] {
			n++
		}
		if n == len(want) {
			return true, true
		}
		if !r.charge(n >> 4) {
			return false, false
		}
		s = s[1:]
	}
	return false, true
}

// glob matches s against a pattern, going back to the last * only. Each return
// to it costs fuel, and what matched in vain.
func (r *run) glob(s, pat []byte) (hit, ok bool) {
	i, k, star, from := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case k < len(pat) && pat[k] == '*':
			star, from = k, i
			k++
		case k < len(pat) && (pat[k] == '?' || pat[k] == s[i]):
			i++
			k++
		case star >= 0:
			if !r.charge(1 + (i-from)>>4) {
				return false, false
			}
			from++
			i, k = from, star+1
		default:
			return false, true
		}
	}
	for k < len(pat) && pat[k] == '*' {
		k++
	}
	return k == len(pat), true
}

// decimal is a number literal taken apart: 0.d1d2d3… × 10^exp, digits with
// leading zeros removed; a zero has no digits.
type decimal struct {
	neg    bool
	exp    int64
	digits []byte // may hold one '.', and trailing zeros
}

// maxExp caps exponents: beyond it numbers are all equally huge or tiny.
const maxExp = 1 << 40

func parseDecimal(s []byte) decimal {
	var d decimal
	if s[0] == '-' {
		d.neg = true
		s = s[1:]
	}
	mant := s
	if i := bytes.IndexAny(s, "eE"); i >= 0 {
		mant = s[:i]
		e := s[i+1:]
		neg := e[0] == '-'
		if neg || e[0] == '+' {
			e = e[1:]
		}
		for _, c := range e {
			if d.exp = d.exp*10 + int64(c-'0'); d.exp > maxExp {
				d.exp = maxExp
			}
		}
		if neg {
			d.exp = -d.exp
		}
	}
	point, first := len(mant), -1
	for i, c := range mant {
		if c == '.' {
			point = i
		} else if c != '0' && first < 0 {
			first = i
		}
	}
	if first < 0 {
		return decimal{}
	}
	d.digits = mant[first:]
	if first < point {
		d.exp += int64(point - first)
	} else {
		d.exp -= int64(first - point - 1)
	}
	return d
}

// digit returns the next digit behind position *i, 0 at the end.
func (d *decimal) digit(i *int) byte {
	if *i < len(d.digits) && d.digits[*i] == '.' {
		*i++
	}
	if *i >= len(d.digits) {
		return '0'
	}
	c := d.digits[*i]
	*i++
	return c
}

// compareNumbers compares two valid number literals exactly.
func compareNumbers(a, b []byte) int {
	x, y := parseDecimal(a), parseDecimal(b)
	sign := func(d *decimal) int {
		if len(d.digits) == 0 {
			return 0
		}
		if d.neg {
			return -1
		}
		return 1
	}
	sx, sy := sign(&x), sign(&y)
	if sx != sy || sx == 0 {
		return sx - sy
	}
	if x.exp != y.exp {
		if x.exp < y.exp {
			return -sx
		}
		return sx
	}
	for i, k := 0, 0; i < len(x.digits) || k < len(y.digits); {
		p, q := x.digit(&i), y.digit(&k)
		if p != q {
			if p < q {
				return -sx
			}
			return sx
		}
	}
	return 0
}
