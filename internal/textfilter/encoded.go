package textfilter

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
)

var (
	base64Run  = expression(`[A-Za-z0-9+/_-]{` + strconv.Itoa(minEncoded) + `,}={0,2}`)
	base32Run  = expression(`[A-Z2-7]{` + strconv.Itoa(minEncoded) + `,}={0,6}`)
	hexRun     = expression(`(?:[0-9a-fA-F]{2}[ :]?){` + strconv.Itoa(minEncoded) + `,}`)
	decimalRun = expression(`(?:\b[0-9]{2,3}[ ,]+){14,}[0-9]{2,3}\b`)
	binaryRun  = expression(`(?:\b[01]{7,8}[ ,]*){8,}`)
)

// decoded is prose that text has in base64, base32, hexadecimal digits, or the decimal or
// binary codes of its characters, once or twice; "": none.
func decoded(text string) string {
	for range 2 {
		inner, isProse := decodeOnce(text)
		if isProse {
			return inner
		}
		if text = inner; len(text) < minEncoded {
			break
		}
	}
	return ""
}

// decodeOnce returns prose, or else the first run that is ASCII again.
func decodeOnce(text string) (inner string, isProse bool) {
	for _, form := range [...]struct {
		run    func() *regexp.Regexp
		decode func(string) []byte
	}{
		{base64Run, func(m string) []byte {
			raw := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(m, "="))
			b, _ := base64.RawStdEncoding.DecodeString(raw[:len(raw)/4*4])
			return b
		}},
		{hexRun, func(m string) []byte {
			b, _ := hex.DecodeString(strings.NewReplacer(" ", "", ":", "").Replace(m))
			return b
		}},
		{base32Run, func(m string) []byte {
			raw := strings.TrimRight(m, "=")
			b, _ := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(raw[:len(raw)/8*8])
			return b
		}},
		{decimalRun, func(m string) []byte { return codes(m, 10) }},
		{binaryRun, func(m string) []byte { return codes(m, 2) }},
	} {
		for _, m := range form.run().FindAllString(text, maxFindings) {
			b := form.decode(m)
			if prose(b) {
				return string(b), true
			}
			if inner == "" && len(b) >= minEncoded && isASCII(b) {
				inner = string(b)
			}
		}
	}
	return inner, false
}

// codes are the characters that numbers name; nil where one names none.
func codes(list string, base int) []byte {
	var out []byte
	for _, n := range strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' }) {
		c, err := strconv.ParseUint(n, base, 7)
		if err != nil {
			return nil
		}
		out = append(out, byte(c))
	}
	return out
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// prose reports words with spaces between them.
func prose(b []byte) bool {
	letters, spaces := 0, 0
	for _, c := range b {
		switch {
		case c == ' ':
			spaces++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		case c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f:
			return false
		}
	}
	return spaces >= min(3, len(b)/10) && spaces > 0 && (letters+spaces)*5 >= len(b)*4
}
