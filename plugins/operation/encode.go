package operation

import "github.com/sluicegate/sluice/internal/jsonscan"

// escape says which bytes are written as they are. The rest is percent-encoded.
type escape uint8

const (
	// escStrict keeps RFC 3986 unreserved characters only: paths, style-based
	// queries, cookies of style form.
	escStrict escape = iota
	// escReservedQuery is allowReserved in a query: what RFC 3986 allows there, but
	// for & = + which would end or change the pair. Triples (%2F) are kept.
	escReservedQuery
	// escReservedPath is allowReserved in a path: what RFC 3986 allows inside a
	// segment. Triples are not kept, "%2F" and "%2e%2e" would leave it.
	escReservedPath
	// escForm is WHATWG application/x-www-form-urlencoded; space is "+".
	escForm
	// escNone keeps everything: headers, multipart.
	escNone
)

// keep[e] has the ASCII bytes that are written as they are.
var keep [escNone][128]bool

func init() {
	set := func(e escape, extra string) {
		const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
		for _, c := range []byte(alphanumeric + extra) {
			keep[e][c] = true
		}
	}
	set(escStrict, "-._~")
	set(escReservedQuery, "-._~!$'()*,;:@/?")
	set(escReservedPath, "-._~!$&'()*+,;=:@")
	set(escForm, "*-._")
}

const upperHex = "0123456789ABCDEF"

func appendEscaped[T string | []byte](dst []byte, s T, e escape) []byte {
	if e == escNone {
		return append(dst, s...)
	}
	k := &keep[e]
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 128 && k[c] {
			continue
		}
		if e == escReservedQuery && c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		if e == escForm && c == ' ' {
			dst = append(dst, '+')
			continue
		}
		dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
	}
	return append(dst, s[from:]...)
}

func isHex(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f' }

// appendName appends a member's name, unescaped and percent-encoded.
func (b *builder) appendName(dst []byte, it *jsonscan.MemberIter, e escape) []byte {
	b.r.name = it.KeyText(b.r.name[:0])
	return appendEscaped(dst, b.r.name, e)
}

// appendScalar appends the text of a value, percent-encoded: strings unescaped,
// integers without fraction, arrays and objects as minified JSON (OpenAPI leaves
// nested values undefined).
func (b *builder) appendScalar(dst []byte, s *Schema, v jsonscan.Value, e escape) []byte {
	v = b.heal(s, v)
	switch v.Kind() {
	case jsonscan.String:
		if text, ok := v.Plain(); ok {
			return appendEscaped(dst, text, e)
		}
		b.r.text = v.AppendText(b.r.text[:0])
	case jsonscan.Array, jsonscan.Object:
		b.r.text = b.appendJSON(b.r.text[:0], s, v)
	case jsonscan.Number:
		b.r.text = appendNumber(b.r.text[:0], s, v)
	default:
		b.r.text = append(b.r.text[:0], v.Raw()...)
	}
	return appendEscaped(dst, b.r.text, e)
}

// appendNumber keeps the literal; only where an integer is expected 1.0 becomes 1.
func appendNumber(dst []byte, s *Schema, v jsonscan.Value) []byte {
	if t := typesOf(s); t&TypeInteger != 0 && t&TypeNumber == 0 {
		return appendInteger(dst, v.Raw())
	}
	return append(dst, v.Raw()...)
}
