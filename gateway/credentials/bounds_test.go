package credentials

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// TestValuesOfFields tries every byte at every place of a value.
func TestValuesOfFields(t *testing.T) {
	for c := range 256 {
		b := byte(c)
		visible := b > ' ' && b < 0x7f
		for place, v := range map[string][]byte{"alone": {b}, "first": {b, 'x'}, "inside": {'x', b, 'x'}, "last": {'x', b}} {
			if got, want := fieldValue(v), visible || b == ' ' && place == "inside"; got != want {
				t.Errorf("%q %s: a field may have it: %v", b, place, got)
			}
			if got, want := cookieValue(string(v)), visible && !strings.ContainsRune(`",;\`, rune(b)); got != want {
				t.Errorf("%q %s: a cookie may have it: %v", b, place, got)
			}
		}
	}
	if fieldValue(nil) || cookieValue("") {
		t.Error("an empty value is one")
	}
}

// TestEveryPlaceWantsAValue: a credential without a value is told as that, in whatever
// place it goes, also behind a prefix; one with a line break as something else.
func TestEveryPlaceWantsAValue(t *testing.T) {
	origins := registry.Origins{"http://h"}
	for _, kind := range []Type{Header, Query, Cookie, Body, Basic, Bearer, Token, Certificate} {
		r := Rule{Type: kind, Name: "n", Prefix: "p"}
		req := memberRequest("application/json", `{"a":1}`)
		before := wire(t, req)
		err := r.Apply(req, Credential{Origins: origins})
		if !problem.Is(err, problem.Unauthenticated) || !strings.Contains(err.Error(), "has no value") {
			t.Errorf("%s without a value: %v", r, err)
		}
		if got := wire(t, req); got != before {
			t.Errorf("%s without a value: sent %q", r, got)
		}
		err = r.Apply(req, Credential{Value: secrets.New("a\nb"), Origins: origins})
		switch kind {
		case Header, Cookie, Bearer, Token:
			if !problem.Is(err, problem.Unauthenticated) || !strings.Contains(err.Error(), "cannot be sent") {
				t.Errorf("%s with a line break: %v", r, err)
			}
		case None, Query, Body, Basic, Certificate: // it is encoded there
			if err != nil {
				t.Errorf("%s with a line break: %v", r, err)
			}
		}
		fasthttp.ReleaseRequest(req)
	}
}

// TestInnerOfBase64 compares what stands for a secret in base64 and base32 with the
// encoders: it is there whatever is in front and behind, and a character more on either
// side would not be.
func TestInnerOfBase64(t *testing.T) {
	type encoder interface{ EncodeToString(b []byte) string }
	f := func(what string, enc encoder, secret []byte, skip int, got string) {
		t.Helper()
		var all []string
		for _, fill := range []string{"\x00", "\xff"} {
			for _, end := range []string{"\x00\x00\x00\x00\x00", "\xff\xff\xff\xff\xff"} {
				all = append(all, enc.EncodeToString([]byte(strings.Repeat(fill, skip)+string(secret)+end)))
			}
		}
		same := func(i int) bool {
			return !slices.ContainsFunc(all, func(s string) bool { return s[i] != all[0][i] })
		}
		from := 0
		for skip > 0 && !same(from) {
			from++
		}
		to := from
		for to < len(all[0]) && same(to) {
			to++
		}
		if want := all[0][from:to]; got != want {
			t.Errorf("%s of %q behind %d: %q, want %q", what, secret, skip, got, want)
		}
	}
	secret := []byte("U\xaa\xfb\xefs\xff?>7kUU\xaaU\xaaUUU") // no end of it looks like what is put around it
	for n := minRedact; n <= len(secret); n++ {
		s := append(bytes.Clone(secret[:n-1]), 'U')
		for skip := range 3 {
			f("base64", base64.StdEncoding, s, skip, string(appendInner(nil, s, skip, false)))
			f("base64url", base64.URLEncoding, s, skip, string(appendInner(nil, s, skip, true)))
		}
		for skip := range 5 {
			f("base32", base32.StdEncoding, s, skip, string(appendInner32(nil, s, skip)))
		}
	}
	if got := appendInner([]byte("x"), []byte("UUUUUUUU"), 0, true); string(got) != "x" {
		t.Errorf("what is the same in both alphabets is there twice: %q", got)
	}
	for _, c := range []struct{ secret, want string }{{"\xfb\xff\xbe\xfb\xff\xbe", "-_---_--"}, {"\xff\xff\xff", "____"}, {"\xfb\xef\xbe", "----"}} {
		if got := appendInner(nil, []byte(c.secret), 0, true); strings.ContainsAny(string(got), "+/") || string(got) != base64.RawURLEncoding.EncodeToString([]byte(c.secret)) {
			t.Errorf("%q in the alphabet of URLs: %q", c.secret, got)
		}
	}
}

// TestSearches compares the searches with plain ones over all short texts.
func TestSearches(t *testing.T) {
	for c := range 256 {
		for p := range 128 {
			if p >= 'A' && p <= 'Z' {
				continue // a probe is in small letters
			}
			text, probe := []byte{byte(c)}, []byte{byte(p)}
			if got, want := containsFold(text, probe), lower(byte(c)) == byte(p); got != want || prefixFold(text, probe) != want {
				t.Errorf("%q in %q: %v, at its beginning %v", probe, text, got, prefixFold(text, probe))
			}
		}
	}
	const letters = "aA1b"
	var texts [][]byte
	for n := range 6 {
		total := 1 << (2 * n)
		for x := range total {
			var s []byte
			for i := range n {
				s = append(s, letters[x>>(2*i)&3])
			}
			texts = append(texts, s)
		}
	}
	for _, probe := range texts {
		if len(probe) > 3 || bytes.ContainsRune(probe, 'A') {
			continue
		}
		for _, text := range texts {
			small := bytes.ToLower(text)
			if got := containsFold(text, probe); got != bytes.Contains(small, probe) {
				t.Fatalf("%q in %q: %v", probe, text, got)
			}
			if got := prefixFold(text, probe); got != bytes.HasPrefix(small, probe) {
				t.Fatalf("%q at the beginning of %q: %v", probe, text, got)
			}
		}
	}
	for s, want := range map[string]string{"": "", "--": "", "ab": "ab", "ab-cd": "ab", "ab-cde": "cde", "-ab": "ab", "ab-": "ab", "a--b1": "b1"} {
		if got := longestPlain([]byte(s)); string(got) != want {
			t.Errorf("longest run of %q: %q, want %q", s, got, want)
		}
	}
}

// TestWideChars: ASCII in UTF-16 is the same in both byte orders between its first and last byte.
func TestWideChars(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", "ab": "a\x00b", "abc": "a\x00b\x00c"} {
		if got := string(wideChars([]byte(text))); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestGrams: a probe is found wherever it stands, and a text that shares some bytes with
// it is none.
func TestGrams(t *testing.T) {
	g := newGrams([][]byte{[]byte("abcdefgh"), []byte("0123456789abcdefghijklmn"), []byte("abcdefgh")})
	if len(g.probes) != 2 || g.stride != len("abcdefgh")-gramBytes+1 {
		t.Errorf("%d probes, stride %d", len(g.probes), g.stride)
	}
	for _, probe := range []string{"abcdefgh", "AbCdEfGh", "0123456789abcdefghijklmn"} {
		for front := range 20 {
			for back := range 6 {
				text := strings.Repeat("x", front) + probe + strings.Repeat("y", back)
				if !g.in([]byte(text)) {
					t.Errorf("%q is not found", text)
				}
			}
		}
	}
	for _, text := range []string{"", "abc", "abcd", "abcdefg", "bcdefgh", "efghxxxxxxxx", "xxabcdefgxhxx", "abcdxfghabcxefgh"} {
		if g.in([]byte(text)) {
			t.Errorf("%q has a probe", text)
		}
	}
	none := newGrams(nil)
	if long := newGrams([][]byte{bytes.Repeat([]byte("0123456789"), 4)}); long.stride != maxStride || none.in([]byte("abcdefgh")) {
		t.Errorf("stride %d", long.stride)
	}
}

// TestReadsEscapes: each way to write one character, on both sides of what is one.
func TestReadsEscapes(t *testing.T) {
	f := func(text string, c byte, fold bool, want int) {
		t.Helper()
		if got := escaped([]byte(text), 0, c, false, fold); got != want {
			t.Errorf("escaped(%q, %q, %v) = %d, want %d", text, c, fold, got, want)
		}
	}
	f("=41", 'A', false, 3)
	f("=4", 4, false, 0)
	f("=4g", 'D', false, 0)
	f("%2B", ' ', false, 3)
	f("&amp;#65;", 'A', false, 9)
	f("&amp;amp;lt;", '<', false, 12)
	f("&lt;#65;", 'A', false, 0)
	f("%41", 'A', false, 3)
	f("%41x", 'A', false, 3)
	f("%41", 'a', false, 0)
	f("%41", 'a', true, 3)
	f("%00", 0, false, 3)
	f("%0A", '\n', false, 3)
	f("%f0", 0xf0, false, 3)
	f("%", 0, false, 0)
	f("%4", 4, false, 0)
	f("%g1", 0xf1, false, 0)
	f("%4g", 0xff, false, 0)
	f(`\u002541`, 'A', false, 8)
	f("A", 'A', false, 0)
	f("", 0, false, 0)
	f("&amp;", '&', false, 5)
	f("&amp;x", '&', false, 5)
	f("&amp", '&', false, 0)
	f("&", '&', false, 0)
	f("&;", '&', false, 0)
	f("&lt;", '&', false, 0)
	f("&#65;", 'A', false, 5)
	f("&#65;", 'a', true, 5)
	f("&#65xyz", 'A', false, 4) // x is a digit at the beginning only
	// The longest reference has maxEntity characters.
	f("&#"+strings.Repeat("0", maxEntity-3)+"65;", 'A', false, maxEntity+2)
	f("&#"+strings.Repeat("0", maxEntity-2)+"65;", 'A', false, 0)

	// A sign that escapes nothing has what is behind it looked at only.
	for text, c := range map[string]byte{"25%zz": '%', "41%zz": 'A', "amp;&zz": '&', "lt;&zz": '<'} {
		if got := escaped([]byte(text), strings.Index(text, "zz")-1, c, false, false); got != 0 {
			t.Errorf("%q ends at %d of %q", c, got, text)
		}
	}

	g := func(text, secret string, fold bool, want int) {
		t.Helper()
		if got := encodedPrefix([]byte(text), []byte(secret), fold); got != want {
			t.Errorf("encodedPrefix(%q, %q, %v) = %d, want %d", text, secret, fold, got, want)
		}
	}
	// A secret that looks encoded, as it is and encoded once more.
	for _, fold := range []bool{false, true} {
		g("%25abc", "%25abc", fold, 6)
		g("%2525abc", "%25abc", fold, 8)
	}
	// One that has what escapes others, escaped up to maxLayers times.
	layers := func(first, again string, n int) string { return first + strings.Repeat(again, n) }
	for n := range maxLayers {
		g(layers("a%25", "25", n)+"b", "a%b", false, len("a%25b")+2*n)
		g(layers("a&amp;", "amp;", n)+"b", "a&b", false, len("a&amp;b")+4*n)
	}
	g(layers("a%25", "25", maxLayers)+"b", "a%b", false, 0)
	g(layers("a&amp;", "amp;", maxLayers)+"b", "a&b", false, 0)
	g("%25ABC", "%25abc", true, 6)
	g("%2525ABC", "%25abc", true, 8)
	g("%25ABC", "%25abc", false, 0)
	g("+abc", " abc", false, 4)
	g("-abc", " abc", false, 0)
	g(`\\\\\\a`, `\\a`, false, 7)
	g("ab", "abc", false, 0)
}

// TestReadsLiterals: a character as it is, as JSON and programming languages write it, and behind
// backslashes that stand there for nothing.
func TestReadsLiterals(t *testing.T) {
	for _, c := range []struct {
		text string
		c    byte
		fold bool
		want int
	}{
		{"a", 'a', false, 1},
		{"a", 'A', false, 0},
		{"A", 'a', true, 1},
		{"+", ' ', false, 1},
		{"-", ' ', false, 0},
		{"", 0, false, 0},
		{`\\a`, 'a', false, 3},
		{`\u0041x`, 'A', false, 6},
		{`\u0041x`, 'a', true, 6},
		{`\u0041x`, 'u', false, 2},
		{`\\u0041x`, 'u', false, 3},
		{`\u0041x`, 'U', false, 0},
		{`\x41`, 'A', false, 4},
		{`\x41`, 'x', false, 2},
		{`\x4`, 'x', false, 2},
		{`\101`, 'A', false, 4},
		{`\101`, '1', false, 2},
		{`\U00000041`, 'A', false, 10},
		{`\u{9}`, '\t', false, 5},
		{`\u{41}`, 'A', false, 6},
		{`\u{41}`, 'u', false, 2},
		{`\u{}`, 'u', false, 2},
		{`\u{g}`, 'u', false, 2},
		{`\u{`, 'u', false, 2},
		{`\`, '\\', false, 1},
		{`\\\`, '\\', false, 3},
		{`\u0041`, '\\', false, 1},
		{`\u005c`, '\\', false, 6},
	} {
		if got := literal([]byte(c.text), 0, c.c, c.fold); got != c.want {
			t.Errorf("%q of %q, in letters of any case %t: %d, want %d", c.c, c.text, c.fold, got, c.want)
		}
	}
}

// TestBase64IsEscapedToo: the signs of base64 are found as JSON and URLs write them.
func TestBase64IsEscapedToo(t *testing.T) {
	const secret = "sk~~~???>>>live-0001"
	for name, enc := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "base64url": base64.URLEncoding} {
		text := enc.EncodeToString([]byte(secret))
		if name == "base64" && (!strings.Contains(text, "/") || !strings.Contains(text, "+")) {
			t.Fatal(text)
		}
		for _, body := range []string{text, strings.ReplaceAll(text, "/", `\/`), url.QueryEscape(text), strings.ReplaceAll(text, "+", `\u002b`)} {
			if got := string(boundTo(secret, true).Redact([]byte("<" + body + ">"))); !strings.HasPrefix(got, "<[redacted]") {
				t.Errorf("%s: %s became %s", name, body, got)
			}
		}
	}
}

// TestEscapesOfRuns: the longest run of letters and digits is looked for escaped when three
// characters of it make a probe; of a secret with shorter runs its beginning is.
func TestEscapesOfRuns(t *testing.T) {
	for secret, want := range map[string]string{
		"ab-ab-ab-": "ab-ab-ab-", "ab-abc-ab": "abc", "--------": "--------",
		strings.Repeat("k", probeBytes): strings.Repeat("k", probeBytes), strings.Repeat("k", probeBytes+1): strings.Repeat("k", probeBytes),
	} {
		all := escapes([]byte(secret))
		if len(all) != len(escapeFormats) || len(all[0]) != 3*len(want) || !bytes.HasPrefix(all[0], []byte("%"+string("0123456789abcdef"[want[0]>>4]))) {
			t.Errorf("escapes of %q: %q, want those of %q", secret, all[0], want)
		}
	}
}

// TestShortestSecret: what is as long as the shortest secret that is looked for is found
// in a text that is nothing else, and what is shorter is not looked for.
func TestShortestSecret(t *testing.T) {
	var rs Redactors
	for _, kind := range []Type{Header, Query, Cookie, Body, Bearer, Token} {
		r := Rule{Type: kind, Name: "n"}
		for value, want := range map[string]string{"k3y-0001": secrets.Redacted, "k3y-001": "k3y-001"} {
			for _, c := range []Credential{{Value: secrets.New(value)}, rs.Prepare(r, Credential{Value: secrets.New(value)})} {
				if got := r.Redact([]byte(value), c); string(got) != want {
					t.Errorf("%s: %q became %q, want %q", r, value, got, want)
				}
			}
		}
	}
	for value, want := range map[string]string{"u:k3y-0001": "<[redacted]>", "u:k3y-001": "<k3y-001>", "k3y-0001": "<k3y-0001>"} {
		_, password, _ := strings.Cut(value, ":")
		if password == "" {
			password = value // without a colon there is no password
		}
		if got := (Rule{Type: Basic}).Redact([]byte("<"+password+">"), Credential{Value: secrets.New(value)}); string(got) != want {
			t.Errorf("basic of %q: %q, want %q", value, got, want)
		}
	}
}

// TestWhatRedactorsAreKeptBy: a value of Basic is searched for in other ways than the same
// value elsewhere, each value in its own; and nothing is kept that is not sent.
func TestWhatRedactorsAreKeptBy(t *testing.T) {
	var rs Redactors
	value := func(s string) Credential { return Credential{Value: secrets.New(s), Version: 1} }
	for _, r := range []Rule{{Type: None}, {Type: Certificate}} {
		if c := rs.Prepare(r, value("user:password-1")); c.redactor != nil {
			t.Errorf("%s is searched for", r)
		}
	}
	if c := rs.Prepare(Rule{Type: Bearer}, Credential{}); c.redactor != nil || len(rs.recent) != 0 {
		t.Error("no value is searched for")
	}
	basic, bearer := rs.Prepare(Rule{Type: Basic}, value("user:password-1")), rs.Prepare(Rule{Type: Bearer}, value("user:password-1"))
	other := rs.Prepare(Rule{Type: Bearer}, value("user:password-2")) // of the same version
	if basic.redactor == bearer.redactor || bearer.redactor == other.redactor {
		t.Error("two credentials have the same redactor")
	}
	if again := rs.Prepare(Rule{Type: Header}, value("user:password-1")); again.redactor != bearer.redactor || len(rs.recent) != 3 {
		t.Error("the same value is worked out twice")
	}
	for body, want := range map[string][2]string{
		"<password-1>":              {"<[redacted]>", "<password-1>"},
		"<user:password-1>":         {"<user:[redacted]>", "<[redacted]>"},
		"<dXNlcjpwYXNzd29yZC0x>xyz": {"<[redacted]>xyz", "<[redacted]>xyz"},
	} {
		if a, b := (Rule{Type: Basic}).Redact([]byte(body), basic), (Rule{Type: Bearer}).Redact([]byte(body), bearer); string(a) != want[0] || string(b) != want[1] {
			t.Errorf("%s: %s and %s, want %s", body, a, b, want)
		}
	}
}

// TestRedactSplitAtEnds: what nobody sees hides no credential at the first byte of a text
// either, and a text too short to have one is left alone.
func TestRedactSplitAtEnds(t *testing.T) {
	const secret = "Zq9-Sekrit+Value"
	b := Bound{Rules: Rules{{Type: Header, Name: "X"}}, Values: []Credential{{Value: secrets.New(secret)}}}
	for _, split := range []string{"\u200b" + secret[:9] + "\u200b" + secret[9:], secret[:1] + "\u200b" + secret[1:], secret[:15] + "\x1b[31m" + secret[15:]} {
		for _, body := range []string{split, "[" + split, "{" + split, " " + split, `["` + split + `"]`} {
			if got := b.Redact([]byte(body)); !bytes.Contains(got, []byte(secrets.Redacted)) {
				t.Errorf("%+q became %+q", body, got)
			}
		}
	}
	for _, body := range []string{"", "a", "\u200b", "1234567", `12345678\`, `{1234567\`, `12345678\u`, `[1234567\u20`} {
		if got := b.Redact([]byte(body)); string(got) != body {
			t.Errorf("%+q became %+q", body, got)
		}
	}
	none := Bound{}
	if got := none.Redact([]byte("a\u200bbcdefghijk")); string(got) != "a\u200bbcdefghijk" {
		t.Errorf("without a credential: %+q", got)
	}
}

// TestPairs: a query keeps its other parameters as they are written, of whatever length.
func TestPairs(t *testing.T) {
	f := func(query, left, with string) {
		t.Helper()
		if got := withoutPairs([]byte(query), "k"); string(got) != left {
			t.Errorf("%q without k: %q, want %q", query, got, left)
		}
		if got := (Rule{Name: "k"}).appendPair([]byte(query), secrets.New("&v")); string(got) != with {
			t.Errorf("%q with k: %q, want %q", query, got, with)
		}
	}
	f("", "", "k=%26v")
	f("k=1", "", "k=%26v")
	f("a", "a", "a&k=%26v")
	f("a&b&k", "a&b", "a&b&k=%26v")
	f("&a&&b&", "a&b", "a&b&k=%26v")
	f("k&a", "a", "a&k=%26v")
	f("K=1", "K=1", "K=1&k=%26v")
}

// TestForTheSchemeWithoutAName: what is bound to no scheme goes along once.
func TestForTheSchemeWithoutAName(t *testing.T) {
	rules := Rules{{Type: Query, Name: "k"}, {Type: Header, Name: "X", Scheme: "s"}}
	if got := rules.For([]operation.Requirement{{"", "s"}}, true); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// source has one credential, or fails.
type source map[string]Credential

func (s source) Credential(_ context.Context, id string) (Credential, error) {
	c, ok := s[id]
	if !ok {
		return c, errors.New("no " + id)
	}
	return c, nil
}

// TestBind: each rule has its own value, ready to be searched for; without one of them
// nothing is bound, and where one cannot be put nothing after it is.
func TestBind(t *testing.T) {
	rules := Rules{{Type: Header, Name: "A", ID: "a"}, {Type: Header, Name: "B", ID: "b"}}
	at := registry.Origins{"http://h"}
	all := source{"a": {Value: secrets.New("value-of-a"), Origins: at}, "b": {Value: secrets.New("value-of-b"), Origins: at}}
	b, err := Bind(t.Context(), rules, all)
	if err != nil || len(b.Values) != 2 || b.Values[0].redactor == nil || b.Values[1].redactor == nil {
		t.Fatalf("%+v, %v", b, err)
	}
	req := memberRequest("", "")
	defer fasthttp.ReleaseRequest(req)
	if err := b.Apply(req); err != nil || string(req.Header.Peek("A")) != "value-of-a" || string(req.Header.Peek("B")) != "value-of-b" {
		t.Errorf("%v, sent %s", err, wire(t, req))
	}
	if got := b.Redact([]byte("value-of-b value-of-a")); string(got) != "[redacted] [redacted]" {
		t.Errorf("%s", got)
	}
	b.Strip(req)
	if got := wire(t, req); strings.Contains(got, "value-of") {
		t.Errorf("left %s", got)
	}
	b.Values[0].Origins = nil
	if err := b.Apply(req); !problem.Is(err, problem.Forbidden) || len(req.Header.Peek("B")) != 0 {
		t.Errorf("%v, sent %s", err, wire(t, req))
	}
	delete(all, "b")
	if b, err := Bind(t.Context(), rules, all); err == nil || b != nil {
		t.Errorf("bound %v, %v", b, err)
	}
}

// TestKindsOfBodies: a member goes into JSON by each of its names, and into a form; not
// where its value would end the part that it is in.
func TestKindsOfBodies(t *testing.T) {
	apply := func(method, media, body, value string) (string, error) {
		req := memberRequest(media, body)
		defer fasthttp.ReleaseRequest(req)
		req.Header.SetMethod(method)
		err := Rule{Type: Body, Name: "k"}.Apply(req, Credential{Value: secrets.New(value), Origins: registry.Origins{"http://h"}})
		return string(req.Body()), err
	}
	for _, media := range []string{"application/json", "text/json", "application/a+json", "Application/JSON; charset=utf-8"} {
		if got, err := apply("POST", media, `{"a":1}`, "v"); err != nil || got != `{"k":"v","a":1}` {
			t.Errorf("%s: %s, %v", media, got, err)
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		if got, err := apply(method, "", "", "v"); !problem.Is(err, problem.Unauthenticated) || got != "" {
			t.Errorf("%s without a body: %q, %v", method, got, err)
		}
		if got, err := apply(method, "application/json", `{}`, "v"); err != nil || got != `{"k":"v"}` {
			t.Errorf("%s with a body: %q, %v", method, got, err)
		}
	}
	for _, c := range [][2]string{{"", "{}"}, {"text/plain", ""}, {"a/", ""}, {"json", "{}"}, {"application/jsonx", "{}"}} {
		if got, err := apply("POST", c[0], c[1], "v"); !problem.Is(err, problem.Unauthenticated) || got != c[1] {
			t.Errorf("%q of type %q: %q, %v", c[1], c[0], got, err)
		}
	}
	const form = "--BOUND\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--BOUND--\r\n"
	for value, ok := range map[string]bool{"v": true, "xBOUNDx": false} {
		got, err := apply("POST", "multipart/form-data; boundary=BOUND", form, value)
		if (err == nil) != ok || strings.Contains(got, value) != ok {
			t.Errorf("the value %s: %q, %v", value, got, err)
		}
	}
	for _, media := range []string{"multipart/form-data", "multipart/form-data; boundary=" + strings.Repeat("b", 71)} {
		if got, err := apply("POST", media, form, "v"); !problem.Is(err, problem.Unauthenticated) || got != form {
			t.Errorf("%s: %q, %v", media, got, err)
		}
	}
	if got, err := apply("POST", "multipart/form-data; boundary=BOUND", form[:len(form)-12], "v"); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("a form that ends early: %q, %v", got, err)
	}
	req := memberRequest("application/json", "")
	defer fasthttp.ReleaseRequest(req)
	Rule{Type: Body, Name: "k"}.Strip(req)
	if len(req.Body()) != 0 {
		t.Errorf("a body of nothing became %q", req.Body())
	}
}

// TestWhatPeopleRead says of each place what is sent there.
func TestWhatPeopleRead(t *testing.T) {
	for kind, want := range map[Type]string{
		Body: "member k of the body", Basic: `header Authorization with the prefix "Basic " (user name and password)`,
		Bearer: `header Authorization with the prefix "Bearer " (with its trailing space)`, Token: `header Authorization with the prefix "Bearer " and an OAuth access token`,
	} {
		if got := (Rule{Type: kind, Name: "k"}).String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
