package credentials

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	stdhex "encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// writings are the ways in which answers repeat a secret.
func writings(t testing.TB, secret string) map[string]string {
	t.Helper()
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[1 : len(b)-1])
	}
	unicode := ""
	for _, c := range []byte(secret) {
		if plain(c) {
			unicode += string(rune(c))
		} else {
			unicode += `\u00` + strings.ToUpper(string("0123456789abcdef"[c>>4])+string("0123456789abcdef"[c&15]))
		}
	}
	return map[string]string{
		"plain": secret, "JSON": quote(secret), "JSON in JSON": quote(quote(secret)), "PHP": strings.ReplaceAll(quote(secret), "/", `\/`), "unicode": unicode,
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "lower": strings.NewReplacer("%2B", "%2b", "%2F", "%2f", "%3D", "%3d").Replace(url.QueryEscape(secret)),
		"HTML": html.EscapeString(secret), "query in JSON": quote(url.QueryEscape(secret)), "HTML in JSON": quote(html.EscapeString(secret)),
	}
}

func checkWritings(t *testing.T, secret string) {
	t.Helper()
	for name, text := range writings(t, secret) {
		in := `{"you":"` + text + `","again":"` + text + `"}`
		got := string(Rule{Type: Header, Name: "X"}.Redact([]byte(in), Credential{Value: secrets.New(secret)}))
		if want := `{"you":"[redacted]","again":"[redacted]"}`; got != want {
			t.Errorf("%s: %s became %s", name, in, got)
		}
	}
}

func TestRedactEncodings(t *testing.T) {
	for _, secret := range []string{
		"plain-key-0001", "query key/0002", "a+b/c==d?e&f=g", `quo"te'd<tag>&amp`, `back\slash\\key`, "~!@#$%^&*()_+", "/starts+ends/", "p%20q%2Fr-0001",
	} {
		checkWritings(t, secret)
	}
}

// What is not the secret stays, whatever it looks like.
func TestRedactLeaves(t *testing.T) {
	for _, in := range []string{
		`{"a":"secret%2Bkex","b":"secret%2bke","c":"secret-key"}`, `secret\u002ckey`, `secret&#44;key`, `secret&#x2B`, `secret%2`, `secret\`, `secret&`, `secret`,
	} {
		if got := (Rule{Type: Query}).Redact([]byte(in), Credential{Value: secrets.New("secret+key")}); string(got) != in {
			t.Errorf("%s became %s", in, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(`a+b/c==d?e&f=g`)
	f.Add(`back\slash\\key`)
	f.Fuzz(func(t *testing.T, secret string) {
		// Letters at both ends: a secret that begins or ends with an escape cannot be told
		// from what stands around it.
		secret = "k" + secret + "k"
		if len(secret) < minRedact || !fieldValue([]byte(secret)) || strings.Contains(secret, `\`) {
			return
		}
		checkWritings(t, secret)
	})
}

// A secret in base64, wherever it stands in what was encoded, in hexadecimal digits
// and in other letters does not pass.
func TestRedactForms(t *testing.T) {
	const secret = "sk-Live/Key+4711?Xy"
	r, c := Rule{Type: Header, Name: "X"}, Credential{Value: secrets.New(secret)}
	core := func(enc *base64.Encoding, skip int) string {
		out := enc.EncodeToString([]byte(strings.Repeat("p", skip) + secret + "end"))
		return out[skip+2 : skip+2+len(secret)]
	}
	for name, form := range map[string]string{
		"lower": strings.ToLower(secret), "upper": strings.ToUpper(secret), "title": "Sk-live/key+4711?xy", "mixed": "sK-LiVe/kEy+4711?xY",
		"mixed in JSON": `sK-LiVe\/kEy\u002B4711?xY`, "mixed in a URL": "sK-LiVe%2fkEy%2B4711%3fxY",
		"mixed hex": strings.Replace(stdhex.EncodeToString([]byte(secret)), "c", "C", 1),
		"hex":       stdhex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(stdhex.EncodeToString([]byte(secret))),
		"base64 0": core(base64.StdEncoding, 0), "base64 1": core(base64.StdEncoding, 1), "base64 2": core(base64.StdEncoding, 2),
		"url 0": core(base64.URLEncoding, 0), "url 1": core(base64.URLEncoding, 1), "url 2": core(base64.URLEncoding, 2),
	} {
		whole := form
		if strings.HasPrefix(name, "base64 ") || strings.HasPrefix(name, "url ") {
			skip := int(name[len(name)-1] - '0')
			enc := base64.StdEncoding
			if strings.HasPrefix(name, "url") {
				enc = base64.URLEncoding
			}
			whole = enc.EncodeToString([]byte(strings.Repeat("p", skip) + secret + "end"))
		}
		got := string(r.Redact([]byte(`{"echo":"`+whole+`"}`), c))
		if strings.Contains(got, form) || !strings.Contains(got, "[redacted]") {
			t.Errorf("%s: %s became %s", name, whole, got)
		}
	}
}

// TestRedactDisguised: a secret in encodings that nobody needs does not pass, wherever it
// stands in a text, in what was encoded, and in the answer.
func TestRedactDisguised(t *testing.T) {
	each := func(format string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for _, c := range []byte(s) {
				fmt.Fprintf(&b, format, c)
			}
			return b.String()
		}
	}
	plain32 := base32.StdEncoding.WithPadding(base32.NoPadding)
	encodings := map[string]func(string) string{
		"reversed":                        func(s string) string { b := []byte(s); slices.Reverse(b); return string(b) },
		"REVERSED":                        func(s string) string { b := []byte(strings.ToUpper(s)); slices.Reverse(b); return string(b) },
		"base32":                          func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
		"base32, small letters":           func(s string) string { return strings.ToLower(base32.StdEncoding.EncodeToString([]byte(s))) },
		"base32 without padding":          func(s string) string { return plain32.EncodeToString([]byte(s)) },
		"base32 without padding, small":   func(s string) string { return strings.ToLower(plain32.EncodeToString([]byte(s))) },
		"base64":                          func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64url":                       func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"base64 twice":                    func(s string) string { return twice(base64.StdEncoding, base64.StdEncoding, s, "") },
		"base64 twice, 1":                 func(s string) string { return twice(base64.StdEncoding, base64.StdEncoding, s, "p") },
		"base64 twice, 2":                 func(s string) string { return twice(base64.StdEncoding, base64.StdEncoding, s, "pp") },
		"base64url twice":                 func(s string) string { return twice(base64.RawURLEncoding, base64.RawURLEncoding, s, "") },
		"base64url of base64":             func(s string) string { return twice(base64.StdEncoding, base64.URLEncoding, s, "p") },
		"every character as %XX":          each("%%%02X"),
		"every character as %xx":          each("%%%02x"),
		"every character as \\u00XX":      each(`\u%04X`),
		"every character as \\u00xx":      each(`\u%04x`),
		"every character as \\\\u00xx":    each(`\\u%04x`),
		"every character as a number":     each("&#%d;"),
		"every character as a hex number": each("&#x%X;"),
		"letters and digits as %XX": func(s string) string {
			return regexp.MustCompile("[A-Za-z0-9]").ReplaceAllStringFunc(s, each("%%%02X"))
		},
		"letters and digits as \\u00xx": func(s string) string {
			return regexp.MustCompile("[A-Za-z0-9]").ReplaceAllStringFunc(s, each(`\u%04x`))
		},
	}
	for _, secret := range []string{"sk-Live/Key+4711?Xy", "Zq9SekritValue0123xyz", "a+b/c==d?e&f=g", "Pa55word", strings.Repeat("eyJhbGciOiJIUzI1NiJ9.", 40)} {
		var rs Redactors
		r := Rule{Type: Header, Name: "X"}
		c := rs.Prepare(r, Credential{Value: secrets.New(secret)})
		for name, encode := range encodings {
			for offset := range 3 {
				// In front of the secret, and in front of the encoding in the answer.
				if strings.HasPrefix(name, "letters") && len(longestPlain([]byte(secret))) < 3 {
					continue // there is no run to look for
				}
				for _, text := range []string{encode(strings.Repeat("p", offset) + secret + "end"), strings.Repeat("p", offset) + encode(secret)} {
					got := string(r.Redact([]byte(`{"echo":"`+text+`"}`), c))
					// What holds bits of neighbours may stay, at each end.
					if rest := len(got) - len(`{"echo":"[redacted]"}`); !strings.Contains(got, "[redacted]") || rest > len(text)-len(encode(secret))+12 {
						t.Errorf("%s of %.20q at %d: %s became %s", name, secret, offset, text, got)
					}
				}
			}
		}
	}
	// What reads alike and is not the secret stays.
	for _, in := range []string{"yX?1174+yeK/eviL-k", "gC&f=e?d==c/b+a", `\u0073\u006b`, "%73%6b%2d", "ONVS2TDJOZSS6"} {
		if got := string(Rule{Type: Header}.Redact([]byte(in), Credential{Value: secrets.New("sk-Live/Key+4711?Xy")})); got != in {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// What programs make of a secret that they encode, and encode again: UTF-16 of either byte
// order in base64, as PowerShell has it, digits in base64 and base64 in digits, the other
// alphabet of base32, JSON in base64, backwards and in base64, quoted-printable, and URLs and
// HTML that are escaped several times.
func TestRedactNested(t *testing.T) {
	times := func(n int, encode func(string) string) func(string) string {
		return func(s string) string {
			for range n {
				s = encode(s)
			}
			return s
		}
	}
	each := func(format string) func(string) string {
		return func(s string) (out string) {
			for _, c := range []byte(s) {
				out += fmt.Sprintf(format, c)
			}
			return out
		}
	}
	backwards := func(s string) string { b := []byte(s); slices.Reverse(b); return string(b) }
	base := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	digits := func(s string) string { return stdhex.EncodeToString([]byte(s)) }
	low, high := each("%c\x00"), each("\x00%c")
	encodings := map[string]func(string) string{
		"UTF-16LE in base64":    func(s string) string { return base(low(s)) },
		"UTF-16BE in base64":    func(s string) string { return base(high(s)) },
		"UTF-16LE in base64url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(low(s))) },
		"UTF-16LE in digits":    func(s string) string { return digits(low(s)) },
		"UTF-16BE in DIGITS":    func(s string) string { return strings.ToUpper(digits(high(s))) },
		"digits in base64":      func(s string) string { return base(digits(s)) },
		"base64 in digits":      func(s string) string { return digits(base(s)) },
		"base32hex":             func(s string) string { return base32.HexEncoding.EncodeToString([]byte(s)) },
		"base32hex, small":      func(s string) string { return strings.ToLower(base32.HexEncoding.EncodeToString([]byte(s))) },
		"JSON in base64":        func(s string) string { b, _ := json.Marshal(s); return base(string(b)) },
		"base64 backwards":      func(s string) string { return backwards(base(s)) },
		"backwards in base64":   func(s string) string { return base(backwards(s)) },
		"each as =XX":           each("=%02X"),
		"each as %25XX":         each("%%25%02X"),
		"each as %2525XX":       each("%%2525%02x"),
		"each as &amp;#N;":      each("&amp;#%d;"),
		"query twice":           times(2, url.QueryEscape),
		"query three times":     times(3, url.QueryEscape),
		"path three times":      times(3, url.PathEscape),
		"HTML twice":            times(2, html.EscapeString),
		"HTML three times":      times(3, html.EscapeString),
	}
	for _, secret := range []string{"sk-Live/Key+4711?Xy", "Zq9SekritValue0123xyz", "Pa55word", "a secret\\with \"quotes\" & 100% <tags>", strings.Repeat("eyJhbGciOiJIUzI1NiJ9.", 40)} {
		bound := boundTo(secret, true)
		for name, encode := range encodings {
			for offset := range 3 {
				in := strings.Repeat("p", offset)
				if strings.Contains(name, "backwards") || strings.Contains(name, "JSON") {
					in = ""
				}
				encoded := encode(in + secret)
				got := string(bound.Redact([]byte(`{"echo":"` + encoded + `"}`)))
				if rest := len(got) - len(`{"echo":"[redacted]"}`); !strings.Contains(got, "[redacted]") || rest > len(encoded)-len(encode(secret))+24 {
					t.Errorf("%s of %.20q at %d: %s became %s", name, secret, offset, encoded, got)
				}
			}
		}
	}
}

// twice encodes s behind front, in a text, and that text.
func twice(inner, outer *base64.Encoding, s, front string) string {
	return outer.EncodeToString([]byte(front + inner.EncodeToString([]byte(s))))
}

// TestRedactSplit: characters that nobody sees, and that are removed later, do not hide a
// credential, raw or as JSON escapes them; other text keeps its own.
func TestRedactSplit(t *testing.T) {
	const secret = "Zq9-Sekrit+Value/0123xyz"
	b := Bound{Rules: Rules{{Type: Header, Name: "X"}}, Values: []Credential{{Value: secrets.New(secret)}}}
	for name, c := range map[string]string{
		"zero width space": "\u200b", "soft hyphen": "\u00ad", "bidi": "\u202e", "tag": "\U000e0041", "ANSI": "\x1b[31m", "DEL": "\x7f", "BEL": "\a",
		"byte order mark": "\ufeff", "word joiner": "\u2060",
	} {
		split := secret[:9] + c + secret[9:14] + c + secret[14:]
		quoted, err := json.Marshal(map[string]any{"a": split, "n": 1})
		if err != nil {
			t.Fatal(err)
		}
		forms := map[string]string{"JSON": string(quoted), "text": "key: " + split}
		if strings.HasPrefix(strconv.QuoteToASCII(c), `"\\u`) {
			forms["escaped"] = `{"a":` + strconv.QuoteToASCII(split) + `}`
		}
		for form, body := range forms {
			if got := b.Redact([]byte(body)); !bytes.Contains(got, []byte("[redacted]")) {
				t.Errorf("%s, %s: %+q", name, form, got)
			}
		}
		if other := "an ordinary text" + c; string(b.Redact([]byte(other))) != other {
			t.Errorf("%s: a text without the credential is changed", name)
		}
	}
}

// TestRedactWhatIsSent: what no request carries is not looked for in answers.
func TestRedactWhatIsSent(t *testing.T) {
	const body, lines = `{"a":"plain-key-0001"}`, "plain-\nkey-0001"
	for _, c := range []struct {
		kind Type
		want string
	}{{None, body}, {Certificate, body}, {Header, `{"a":"[redacted]"}`}, {Query, `{"a":"[redacted]"}`}} {
		if got := string((Rule{Type: c.kind, Name: "X"}).Redact([]byte(body), Credential{Value: secrets.New("plain-key-0001")})); got != c.want {
			t.Errorf("%v: %s, want %s", c.kind, got, c.want)
		}
		in := Bound{Rules: Rules{{Type: c.kind, Name: "X"}}, Values: []Credential{{Value: secrets.New("plain-key-0001")}}}
		if got := string(in.Redact([]byte(lines))); (got == lines) != (c.want == body) {
			t.Errorf("%v in lines: %s", c.kind, got)
		}
	}
}

// TestManySecrets: each of many secrets is found, wherever it stands among the others in
// the order of their texts.
func TestManySecrets(t *testing.T) {
	var all []Credential
	var rules Rules
	var body strings.Builder
	for i := range 40 {
		s := strconv.Itoa(i*7919%40) + "-zyxwvutsrqponmlk-" + strconv.Itoa(i)
		all = append(all, Credential{Value: secrets.New(s)})
		rules = append(rules, Rule{Type: Header, Name: "X-" + strconv.Itoa(i)})
		body.WriteString(s + "\n")
	}
	for i := range rules {
		got := string(rules[i].Redact([]byte(body.String()), all[i]))
		if strings.Contains(got, all[i].Value.Reveal()) {
			t.Errorf("secret %d is still there", i)
		}
	}
	probes := [][]byte{}
	for i := range all {
		probes = append(probes, []byte(all[i].Value.Reveal()))
	}
	g := newGrams(probes)
	for i := 1; i < len(g.list); i++ {
		if hash(g.list[i-1].text) > hash(g.list[i].text) {
			t.Fatalf("the list is not in order at %d", i)
		}
	}
}

// TestCompileRefusesUnknown: a credential of a type that is not known refuses the toolset,
// alone and as one of several.
func TestCompileRefusesUnknown(t *testing.T) {
	unknown := registry.AuthShape{Type: "telepathy"}
	for _, shape := range []*registry.AuthShape{&unknown, {Type: registry.AuthList, Items: []registry.AuthShape{unknown}}} {
		if r, err := Compile(shape); !problem.Is(err, problem.Unsupported) || r != nil {
			t.Errorf("%+v: %v, %v", shape, r, err)
		}
	}
}
