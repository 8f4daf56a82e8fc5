package credentials

import (
	"bytes"
	"encoding/base64"
	stdhex "encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/secrets"
)

// partedSecrets are secrets whose encodings differ in what is hard to find.
var partedSecrets = []string{"Zq9-Sekrit+Value/0123xyz", "sk-live-7Qm2ZxK9vB4tR8wL", "a+b/c==d?e&f=gh", "Pa55word"}

// boundTo is one credential as the gateway holds it, prepared or not.
func boundTo(secret string, prepared bool) *Bound {
	r, c := Rule{Type: Header, Name: "X"}, Credential{Value: secrets.New(secret)}
	if prepared {
		var rs Redactors
		c = rs.Prepare(r, c)
	}
	return &Bound{Rules: Rules{r}, Values: []Credential{c}}
}

// quoted is text in an object of JSON, whose line breaks are escaped.
func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"a": text, "n": 1})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wrap breaks text into lines of width bytes.
func wrap(text string, width int, line string) string {
	var b strings.Builder
	for i := 0; i < len(text); i += width {
		b.WriteString(text[i:min(i+width, len(text))])
		if i+width < len(text) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestRedactLines: line breaks in a credential, in any of its encodings, as MIME and YAML
// make them, hide nothing of it; text around it keeps its lines.
func TestRedactLines(t *testing.T) {
	for _, secret := range partedSecrets {
		long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("A", 49) + secret + strings.Repeat("B", 40)))
		for name, line := range map[string]string{"LF": "\n", "CRLF": "\r\n", "indented": "\n      ", "tab": "\n\t", "CR": "\r", "NEL": "\u0085", "line separator": "\u2028"} {
			for what, encoded := range map[string]string{
				"as it is": wrap(secret, 5, line), "base64": wrap(base64.StdEncoding.EncodeToString([]byte(secret)), 8, line),
				"base64 of lines of 4":   wrap(base64.StdEncoding.EncodeToString([]byte(secret)), 4, line),
				"base64 in a longer one": wrap(long, 76, line), "hexadecimal": wrap(stdhex.EncodeToString([]byte(secret)), 10, line),
			} {
				text := "first line" + line + "second: " + encoded + " end" + line + "last line"
				numbers := strings.NewReplacer(`\n`, `\u000a`, `\r`, `\u000D`, `\t`, `\u0009`).Replace(quoted(t, text))
				for form, body := range map[string]string{"text": text, "JSON": quoted(t, text), "JSON with numbers": numbers, "JSON in JSON": quoted(t, quoted(t, text))} {
					for _, prepared := range []bool{true, false} {
						got := string(boundTo(secret, prepared).Redact([]byte(body)))
						if !strings.Contains(got, secretsRedacted) || strings.Contains(got, encoded) {
							t.Errorf("%s, %s, %s of %s: %q", what, name, form, secret, got)
						}
						if !strings.Contains(got, "first line") || !strings.HasSuffix(strings.TrimRight(got, `"}:1n,\`), "last line") || strings.Count(got, line) < 2 && form == "text" {
							t.Errorf("%s, %s, %s: the text around it is changed: %q", what, name, form, got)
						}
						if form != "text" && !json.Valid([]byte(got)) {
							t.Errorf("%s, %s, %s: no JSON any more: %q", what, name, form, got)
						}
					}
				}
			}
		}
	}
	for _, other := range []string{"a text\nof lines", "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ]\n}", `{"a":"x\ny"}`, "\n", "a\n", "\nb", `\n`, `a\`, "AAAA\nBBBB"} {
		if got := boundTo(partedSecrets[0], true).Redact([]byte(other)); string(got) != other {
			t.Errorf("%q became %q", other, got)
		}
	}
}

const secretsRedacted = secrets.Redacted

// TestRedactJoiners: U+200C and U+200D, which stay between letters because languages and
// emoji need them, do not hide a credential.
func TestRedactJoiners(t *testing.T) {
	for _, secret := range partedSecrets {
		for _, joiner := range []string{"\u200c", "\u200d"} {
			for what, text := range map[string]string{"everywhere": strings.Join(strings.Split(secret, ""), joiner), "once": secret[:4] + joiner + secret[4:]} {
				escaped := fmt.Sprintf(`{"a":"%s"}`, strings.ReplaceAll(strings.ReplaceAll(text, `"`, `\"`), joiner, fmt.Sprintf(`\u%04X`, []rune(joiner)[0])))
				for form, body := range map[string]string{"text": text, "JSON": quoted(t, text), "escaped": escaped} {
					if got := boundTo(secret, true).Redact([]byte(body)); !bytes.Contains(got, []byte(secretsRedacted)) {
						t.Errorf("%s, %s, %+q of %s: %+q", what, form, joiner, secret, got)
					}
				}
			}
		}
	}
	const other = "می\u200cخواهم 👩\u200d💻"
	if got := boundTo(partedSecrets[0], true).Redact([]byte(other)); string(got) != other {
		t.Errorf("%+q became %+q", other, got)
	}
}

// TestRedactEscapes: escapes of programming languages, references of HTML in all their
// forms, percent signs that are escaped themselves, and lists of bytes.
func TestRedactEscapes(t *testing.T) {
	each := func(format, sep string) func(string) string {
		return func(s string) string {
			var parts []string
			for _, c := range []byte(s) {
				parts = append(parts, fmt.Sprintf(format, c))
			}
			return strings.Join(parts, sep)
		}
	}
	encodings := map[string]func(string) string{
		`\xXX`: each(`\x%02x`, ""), `\XX in octal`: each(`\%03o`, ""), `\U000000XX`: each(`\U%08X`, ""), `\u{XX}`: each(`\u{%x}`, ""),
		`\\\\u00XX`: each(`\\\\u%04x`, ""), "%25XX": each("%%25%02x", ""), "%25XX in capital letters": each("%%25%02X", ""),
		"&#NN without semicolon": each("&#%d", ""), "&#xXX without semicolon": each("&#x%x", ""), "&#X00XX;": each("&#X%04X;", ""), "&#0NNN;": each("&#%04d;", ""), "&#0NN;": each("&#%03d;", ""),
		"XX:XX": each("%02x", ":"), "XX:XX in capital letters": each("%02X", ":"), "XX XX": each("%02x", " "), "0xXX, 0xXX": each("0x%02x", ", "), "0xXX,0xXX": each("0x%02x", ","),
		"list of numbers": each("%d", ","), "list of numbers with spaces": each("%d", ", "), "list of numbers in lines": each("%d", ",\n    "),
	}
	for _, secret := range partedSecrets {
		for what, encode := range encodings {
			text := encode(secret)
			for form, body := range map[string]string{"text": "got " + text + " back", "JSON": quoted(t, "got "+text+" back")} {
				if form == "JSON" && strings.Contains(what, `\\\\`) {
					continue // of three levels, two are looked for
				}
				for _, prepared := range []bool{true, false} {
					got := string(boundTo(secret, prepared).Redact([]byte(body)))
					if !strings.Contains(got, secretsRedacted) || len(got) > len("got "+secretsRedacted+" back")+len(body)-len(text)+8 && form == "text" {
						t.Errorf("%s, %s of %s: %s became %s", what, form, secret, body, got)
					}
				}
			}
		}
	}
	for _, in := range []string{`\x73\x6b`, "&#115&#107", "&#", "&#x", "%25", "%2573", `\u{`, `\u{73`, `\u{}`, `\U0000007`, `\16`, `\x7`, "5a:71:39", "90,113,57"} {
		if got := boundTo(partedSecrets[0], true).Redact([]byte(in + " and more of it")); string(got) != in+" and more of it" {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// TestPartedBounds: how long an escape is, how often a percent sign is escaped, and texts
// whose buffer is kept and is not.
func TestPartedBounds(t *testing.T) {
	for text, want := range map[string]int{
		`\u{` + strings.Repeat("0", maxBraced-len("{5a}")) + "5a}": 1, `\u{` + strings.Repeat("0", maxBraced-len("{5a}")+1) + "5a}": 0,
		strings.Repeat("%25", 1) + "5a": 1, "%" + strings.Repeat("25", maxLayers-1) + "5a": 1, "%" + strings.Repeat("25", maxLayers) + "5a": 0,
	} {
		if got := prefix([]byte(text), []byte("Z"), escapesFirst, false); (got == len(text)) != (want == 1) {
			t.Errorf("%s: %d", text, got)
		}
	}
	const secret = "Zq9-Sekrit+Value/0123xyz"
	for _, size := range []int{maxWhole, maxWhole + 1} {
		body := append(bytes.Repeat([]byte("x"), size-len(secret)), secret[:9]+"\n"+secret[9:]...)
		if got := boundTo(secret, true).Redact(body); !bytes.HasSuffix(got, []byte("x"+secretsRedacted)) {
			t.Errorf("%d bytes: it ends with %q", size, got[len(got)-40:])
		}
	}
}

// TestInPlace: what overlaps is one place, and one inside of another none.
func TestInPlace(t *testing.T) {
	at := []int{0, 1, 2, 5, 6, 7, 8, 9, 12, 13}
	got := inPlace([]span{{7, 9}, {1, 4}, {2, 3}, {3, 5}, {1, 2}}, at)
	if want := []span{{1, 7}, {9, 13}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestRedactRuns: however long a run of backslashes, line breaks or blanks is, each of its
// bytes is looked at a few times. Were each looked at once for each before it, this would
// take hours, and go test ends it after minutes.
func TestRedactRuns(t *testing.T) {
	const secret, size = "sk-live-4f9a8b7c6d5e", 4 << 20
	for _, run := range []string{`\`, "\n", " \n", "\n ", "\r", "\u200c", `\n`, `\u`, "s"} {
		long := strings.Repeat(run, size/len(run))
		if got := string(boundTo(secret, true).Redact([]byte(long))); got != long {
			t.Errorf("%q: it is changed", run)
		}
		got := string(boundTo(secret, true).Redact([]byte(secret + " a\nb " + long)))
		if want := secretsRedacted + " a\nb " + long; got != want {
			t.Errorf("%q behind a secret: %.60q", run, got)
		}
	}
}

// TestInSecret: white space, quotes, brackets and backslashes are around secrets, all else may
// be in one.
func TestInSecret(t *testing.T) {
	const around = "\x00\t\n\r \"{}[]\\"
	for c := range 256 {
		if got := inSecret(byte(c)); got != (c > ' ' && !strings.ContainsRune(around, rune(c))) {
			t.Errorf("%q: %t", rune(c), got)
		}
	}
}

// TestPartsAsExpressions: what parts a text, and what of it is left out when it is searched, is
// what regular expressions of the rules say, of all short texts.
func TestPartsAsExpressions(t *testing.T) {
	const (
		separators = "\n\r\u0085\u2028\u2029\u200c\u200d"
		escaped    = `\\+(?:[nr]|u(?:000[aAdD]|0085|2028|2029|200[cdCD]))`
		parts      = `(?:[` + separators + `]|` + escaped + `)(?:[ \t` + separators + `]|` + escaped + `|\\+(?:t|u0009|u0020))*`
		in         = `[^\x00- "{}\[\]\\]` // may be of a secret
	)
	lines := regexp.MustCompile(in + `[\r \t]*[\n\r][ \t\r\n]*` + in)
	wide := regexp.MustCompile("[\u0085\u2028\u2029\u200c\u200d]")
	first, next, last, run := regexp.MustCompile(`^`+parts), regexp.MustCompile(`^`+in), regexp.MustCompile(in+`$`), regexp.MustCompile(`^\\+`)
	piece := regexp.MustCompile(`^(?:(?:\\\\)*\\[^\\]|\\+|(?s:.))`)
	left := func(text string) (out string) {
		for text != "" {
			if n := len(first.FindString(text)); n > 0 {
				text = text[n:]
				continue
			}
			n := len(piece.FindString(text))
			out, text = out+text[:n], text[n:]
		}
		return out
	}
	apart := func(text string) bool {
		if lines.MatchString(text) || wide.MatchString(text) {
			return true
		}
		for before, rest := "", text; rest != ""; {
			n := len(first.FindString(rest))
			if rest[0] == '\\' && n > 0 && last.MatchString(before) && next.MatchString(rest[n:]) {
				return true
			}
			n = max(n, len(run.FindString(rest)), 1)
			before, rest = before+rest[:n], rest[n:]
		}
		return false
	}
	tokens := []string{"t", "n", `\n`, " ", "\t", "\n", "\r", `\`, `"`, "u000A", "U000A", "u200c", "u0020", "\u2028", "\u0085", "é"}
	var try func(text string, more int)
	try = func(text string, more int) {
		if got, want := parted([]byte(text)), apart(text); got != want {
			t.Fatalf("%q is parted: %t, want %t", text, got, want)
		}
		var at []int
		got := whole(nil, []byte(text), &at)
		if want := left(text); string(got) != want {
			t.Fatalf("%q without its parts: %q, want %q", text, got, want)
		}
		for i, from := range at {
			if text[from] != got[i] || i > 0 && from <= at[i-1] {
				t.Fatalf("%q: byte %d of %q was at %d", text, i, got, from)
			}
		}
		if len(at) != len(got) {
			t.Fatalf("%q: %d places of %d bytes", text, len(at), len(got))
		}
		if more > 0 {
			for _, token := range tokens {
				try(text+token, more-1)
			}
		}
	}
	try("", 4)
}
