package operation

import (
	"cmp"
	"math/big"
	"slices"
)

// decimal is a JSON number taken apart: 0.d1d2d3… × 10^exp, without leading and
// trailing zeros. Bounds of int64 and beyond are compared digit for digit;
// float64 would round them.
type decimal struct {
	neg    bool
	digits []byte // view: significant digits, maybe with a '.' among them
	exp    int64  // saturated at ±maxExp
}

// maxExp is far beyond any number that means something, and additions of it stay
// far from overflow.
const maxExp = 1 << 40

func parseDecimal(b []byte) decimal {
	var d decimal
	if len(b) > 0 && b[0] == '-' {
		d.neg, b = true, b[1:]
	}
	end := 0
	for end < len(b) && b[end]|0x20 != 'e' {
		end++
	}
	exp := int64(0)
	if end < len(b) {
		e, neg := b[end+1:], false
		if len(e) > 0 && (e[0] == '+' || e[0] == '-') {
			neg, e = e[0] == '-', e[1:]
		}
		for _, c := range e {
			exp = min(exp*10+int64(c-'0'), maxExp)
		}
		if neg {
			exp = -exp
		}
	}
	m := b[:end]
	point := len(m)
	for i, c := range m {
		if c == '.' {
			point = i
			break
		}
	}
	// Position of the point relative to the first significant digit.
	i := 0
	for i < len(m) && (m[i] == '0' || m[i] == '.') {
		i++
	}
	j := len(m)
	for j > i && (m[j-1] == '0' || m[j-1] == '.') {
		// A zero before the point is only dropped as a digit: exp counts it.
		j--
	}
	if i == len(m) {
		return decimal{} // zero, also -0
	}
	d.digits = m[i:j]
	if i < point {
		d.exp = int64(point-i) + exp
	} else {
		d.exp = -int64(i-point-1) + exp
	}
	return d
}

// count is the number of significant digits.
func (d decimal) count() int {
	n := len(d.digits)
	if slices.Contains(d.digits, '.') {
		return n - 1
	}
	return n
}

func (d decimal) zero() bool { return len(d.digits) == 0 }

// integral reports whether the number has no fraction.
func (d decimal) integral() bool { return d.zero() || d.exp >= int64(d.count()) }

// compareDecimals returns -1, 0 or 1.
func compareDecimals(a, b decimal) int {
	switch {
	case a.zero() && b.zero():
		return 0
	case a.zero():
		return sign(!b.neg)
	case b.zero():
		return -sign(!a.neg)
	case a.neg != b.neg:
		return sign(a.neg)
	}
	c := cmp.Compare(a.exp, b.exp)
	if c == 0 {
		c = compareDigits(a.digits, b.digits)
	}
	if a.neg {
		return -c
	}
	return c
}

// sign: smaller is true.
func sign(smaller bool) int {
	if smaller {
		return -1
	}
	return 1
}

func compareDigits(a, b []byte) int {
	i, j := 0, 0
	for {
		if i < len(a) && a[i] == '.' {
			i++
		}
		if j < len(b) && b[j] == '.' {
			j++
		}
		switch {
		case i == len(a) && j == len(b):
			return 0
		case i == len(a):
			return -1
		case j == len(b):
			return 1
		case a[i] != b[j]:
			return sign(a[i] < b[j])
		}
		i++
		j++
	}
}

// appendInteger appends an integral number without fraction and exponent. Numbers
// longer than maxIntegerDigits are left as they are.
func appendInteger(dst, literal []byte) []byte {
	d := parseDecimal(literal)
	if d.exp > maxIntegerDigits || !d.integral() {
		return append(dst, literal...)
	}
	if d.zero() {
		return append(dst, '0')
	}
	if d.neg {
		dst = append(dst, '-')
	}
	n := int64(0)
	for _, c := range d.digits {
		if c != '.' {
			dst = append(dst, c)
			n++
		}
	}
	for ; n < d.exp; n++ {
		dst = append(dst, '0')
	}
	return dst
}

// maxIntegerDigits bounds what "1e9" is written out to: no identifier is longer,
// and "1e999999999" must not become a gigabyte.
const maxIntegerDigits = 400

// multipleOf reports whether v is a multiple of m; true when the numbers are too
// far apart to be told at a bounded cost.
func multipleOf(v, m decimal) bool {
	if v.zero() || m.zero() {
		return true
	}
	low := min(v.exp-int64(v.count()), m.exp-int64(m.count()))
	if v.exp-low > maxIntegerDigits || m.exp-low > maxIntegerDigits {
		return true
	}
	a, b := v.scaled(low), m.scaled(low)
	return a.Rem(a, b).Sign() == 0
}

// scaled is the magnitude divided by 10^low, an integer.
func (d decimal) scaled(low int64) *big.Int {
	n := new(big.Int)
	ten := big.NewInt(10)
	for _, c := range d.digits {
		if c != '.' {
			n.Add(n.Mul(n, ten), big.NewInt(int64(c-'0')))
		}
	}
	return n.Mul(n, ten.Exp(ten, big.NewInt(d.exp-int64(d.count())-low), nil))
}

// isNumber reports whether b is exactly a JSON number.
func isNumber(b []byte) bool {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	run := func() int {
		from := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i - from
	}
	first := i
	if n := run(); n == 0 || n > 1 && b[first] == '0' {
		return false
	}
	if i < len(b) && b[i] == '.' {
		i++
		if run() == 0 {
			return false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if run() == 0 {
			return false
		}
	}
	return i == len(b)
}
