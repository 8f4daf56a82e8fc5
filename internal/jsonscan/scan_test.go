package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseAccepts(t *testing.T) {
	f := func(in string, kind Kind, raw string) {
		t.Helper()
		v, err := Parse([]byte(in), 0)
		if err != nil || v.Kind() != kind || string(v.Raw()) != raw {
			t.Fatalf("Parse(%q) = %v %q, %v; want %v %q", in, v.Kind(), v.Raw(), err, kind, raw)
		}
	}
	f("null", Null, "null")
	f(" \t\r\n true ", Bool, "true")
	f("-0.5e+10", Number, "-0.5e+10")
	f(`"a\u00e9\"\\\/\b\f\n\r\té"`, String, `"a\u00e9\"\\\/\b\f\n\r\té"`)
	f(`"\ud800"`, String, `"\ud800"`)
	f("[ ]", Array, "[ ]")
	f(`{"a" : [1,{"b":null}] , "a":2}`, Object, `{"a" : [1,{"b":null}] , "a":2}`)
	f(`"`+strings.Repeat("x", 100)+`"`, String, `"`+strings.Repeat("x", 100)+`"`)
}

func TestParseRefuses(t *testing.T) {
	f := func(in string, offset int, msg string) {
		t.Helper()
		_, err := Parse([]byte(in), 0)
		var se *SyntaxError
		if !errors.As(err, &se) || se.Offset != offset || !strings.Contains(se.Msg, msg) {
			t.Fatalf("Parse(%q) = %v; want %q at byte %d", in, err, msg, offset)
		}
		if json.Valid([]byte(in)) && utf8.ValidString(in) {
			t.Fatalf("%q is valid JSON", in)
		}
	}
	f("", 0, "found the end")
	f("  ", 2, "found the end")
	f("nul", 0, "expected a value")
	f("01", 1, "after the value")
	f("-", 1, "digit")
	f("1.", 2, "decimal point")
	f("1e", 2, "exponent")
	f("1e+", 3, "exponent")
	f(".5", 0, "expected a value")
	f("+1", 0, "expected a value")
	f("[1,]", 3, "expected a value")
	f("[1 2]", 3, "expected , or ]")
	f("[1", 2, "not closed")
	f(`{"a":1,}`, 7, "member name")
	f(`{"a" 1}`, 5, "expected :")
	f(`{"a":1`, 6, "not closed")
	f(`{a:1}`, 1, "member name")
	f(`"a`, 2, "not closed")
	f(`"a\`, 3, "not closed")
	f(`"\x"`, 1, "unknown escape")
	f(`"\u12g4"`, 1, "hexadecimal")
	f("\"a\nb\"", 2, "control")
	f("\"12345678\x01\"", 9, "control")
	f("true false", 5, "after the value")
	f("\"\xff\"", 1, "UTF-8")
	f("\xef\xbb\xbf1", 0, "expected a value")
	f("'a'", 0, "expected a value")
	f("NaN", 0, "expected a value")
}

func TestDepth(t *testing.T) {
	nest := func(n int) []byte { return []byte(strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2)) }
	if _, err := Parse(nest(DefaultMaxDepth), 0); err != nil {
		t.Fatalf("depth %d: %v", DefaultMaxDepth, err)
	}
	if _, err := Parse(append(append([]byte("["), nest(DefaultMaxDepth)...), ']'), 0); !errors.Is(err, ErrDepth) {
		t.Fatalf("depth %d: %v, want ErrDepth", DefaultMaxDepth+1, err)
	}
	if _, err := Parse([]byte("[[1],[[2]]]"), 3); err != nil {
		t.Fatalf("siblings must not add up: %v", err)
	}
	if _, err := Parse([]byte("[[[[2]]]]"), 3); !errors.Is(err, ErrDepth) {
		t.Fatalf("depth 4 of 3: %v, want ErrDepth", err)
	}
}

func TestGet(t *testing.T) {
	v, err := Parse([]byte(`{"a":1,"\u0062":{"c" : [true, "x\ny"]},"a":2,"":3,"é":4}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	f := func(key, want string) {
		t.Helper()
		if got := string(v.Get(key).Raw()); got != want {
			t.Fatalf("Get(%q) = %q, want %q", key, got, want)
		}
	}
	f("a", "2")
	f("b", `{"c" : [true, "x\ny"]}`)
	f("", "3")
	f("é", "4")
	f("nope", "")
	if v.Get("a").Get("deeper").Exists() || v.Get("nope").Get("deeper").Exists() {
		t.Error("a member of no object exists")
	}
	it := v.Get("b").Get("c").Elements()
	if !it.Next() || string(it.Value().Raw()) != "true" || !it.Next() || !it.Value().EqualText("x\ny") || it.Next() {
		t.Error("elements of [true, \"x\\ny\"] are wrong")
	}
	if v.Len() != 5 || v.Get("b").Get("c").Len() != 2 || v.Get("a").Len() != 0 {
		t.Error("Len is wrong")
	}
	if b, ok := v.Get("b").Get("c").Elements(), true; !ok || b.i != 1 {
		t.Error("iterator starts at the wrong place")
	}
}

func TestScalars(t *testing.T) {
	f := func(in string, want int64, ok bool) {
		t.Helper()
		if got, gotOK := Trusted([]byte(in)).Int64(); got != want || gotOK != ok {
			t.Fatalf("Int64(%s) = %d, %v; want %d, %v", in, got, gotOK, want, ok)
		}
	}
	f("0", 0, true)
	f("-0", 0, true)
	f("9223372036854775807", 9223372036854775807, true)
	f("9223372036854775808", 0, false)
	f("-9223372036854775808", -9223372036854775808, true)
	f("-9223372036854775809", 0, false)
	f("99999999999999999999", 0, false)
	f("1.0", 0, false)
	f("1e3", 0, false)
	f(`"1"`, 0, false)
	f("null", 0, false)
	for in, want := range map[string][2]bool{"true": {true, true}, "false": {false, true}, `"true"`: {}, "1": {}} {
		if v, ok := Trusted([]byte(in)).Bool(); v != want[0] || ok != want[1] {
			t.Errorf("Bool(%s) = %v, %v", in, v, ok)
		}
	}
	if p, ok := Trusted([]byte(`"ab"`)).Plain(); !ok || string(p) != "ab" {
		t.Errorf("Plain = %q, %v", p, ok)
	}
	if _, ok := Trusted([]byte(`"a\nb"`)).Plain(); ok {
		t.Error("Plain of an escaped string")
	}
}

func TestAppend(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(AppendStringOf(nil, in)); got != want || string(AppendString(nil, []byte(in))) != want {
			t.Fatalf("AppendStringOf(%q) = %s, want %s", in, got, want)
		}
		got, plain := AppendPlain(nil, []byte(in))
		if string(got) != want || plain != !strings.ContainsFunc(in, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f }) {
			t.Fatalf("AppendPlain(%q) = %s, %v", in, got, plain)
		}
	}
	f("", `""`)
	f("plain \"text\\ \n\t~ of more than eight bytes", `"plain \"text\\ \n\t~ of more than eight bytes"`)
	for _, c := range []string{"\x7f", "\r", "\x1f", "\x00", "é", "\xff"} {
		for i := range 17 {
			in := strings.Repeat("a", i) + c + strings.Repeat("a", 16-i)
			if _, plain := AppendPlain(nil, []byte(in)); plain {
				t.Fatalf("%q is plain", in)
			}
		}
	}
	f("a\"b\\c\n\r\t\b\f\x01\x7f/<é\u2028😀", `"a\"b\\c\n\r\t\b\f\u0001`+"\x7f"+`/<é`+"\u2028"+`😀"`)
	for i := range 20 { // wherever in a step it begins, and with what has to be looked at behind it
		for _, c := range []string{"é", "東", "😀", "Привет", "é\"", "東\n", "\"é", "\x7fé"} {
			text := strings.Repeat("a", i) + c + strings.Repeat("b", 20-i)
			f(text, `"`+strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(text)+`"`)
			f(text+text, `"`+strings.Repeat(strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(text), 2)+`"`)
			f(text+"\xff"+c, `"`+strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(text+"\uFFFD"+c)+`"`)
		}
	}
	f("a\xffb\xe2\x82", "\"a\uFFFDb\uFFFD\uFFFD\"")

	if got := string(AppendMinified(nil, []byte(" { \"a b\" : [ 1 , \"x  y\\\" \" ] }\n"))); got != `{"a b":[1,"x  y\" "]}` {
		t.Fatalf("AppendMinified = %s", got)
	}
}

// rebuild turns a view back into Go values with nothing but this package.
func rebuild(v Value) any {
	switch v.Kind() {
	case Object:
		m := map[string]any{}
		for it := v.Members(); it.Next(); {
			m[string(it.KeyText(nil))] = rebuild(it.Value())
		}
		return m
	case Array:
		a := []any{}
		for it := v.Elements(); it.Next(); {
			a = append(a, rebuild(it.Value()))
		}
		return a
	case String:
		return string(v.AppendText(nil))
	case Number:
		return json.Number(v.Raw())
	case Bool:
		b, _ := v.Bool()
		return b
	}
	return nil
}

// FuzzAgainstEncodingJSON: the same documents are accepted (valid UTF-8 apart),
// and every value, member and string is the same.
func FuzzAgainstEncodingJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00\ud800",null,true,{}],"a":"b","\u0061":{"":[]}}`,
		` [ ] `, `"\ud800\u0041"`, `"\udc00\ud800\udc00"`, `-0`, `[1,]`, "\"\xff\"", `{"a":1}}`, `"12345678\"90"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(compare)
}

// compare reads a document with this package and with encoding/json.
func compare(t *testing.T, in []byte) {
	t.Helper()
	const depth = 64
	v, err := Parse(in, depth)
	valid := json.Valid(in) && utf8.Valid(in)
	if errors.Is(err, ErrDepth) {
		return
	}
	if (err == nil) != valid {
		t.Fatalf("Parse(%q) = %v, encoding/json valid: %v", in, err, valid)
	}
	if err != nil {
		probe(Trusted(in)) // must stay inside the bytes
		return
	}
	dec := json.NewDecoder(bytes.NewReader(in))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if got := rebuild(v); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got %#v, want %#v", in, got, want)
	}
	minified := AppendMinified(nil, in)
	var ref bytes.Buffer
	if err := json.Compact(&ref, in); err != nil || !bytes.Equal(minified, ref.Bytes()) {
		t.Fatalf("minified %q = %q, want %q", in, minified, ref.Bytes())
	}
	if s, ok := want.(string); ok {
		if !v.EqualText(s) || v.EqualText(s+"x") {
			t.Fatalf("EqualText of %q is wrong", in)
		}
		back, err := Parse(AppendStringOf(nil, s), 0)
		if err != nil || !back.EqualText(s) {
			t.Fatalf("AppendStringOf(%q) does not read back: %v", s, err)
		}
	}
}

// probe walks whatever is there.
func probe(v Value) {
	for it := v.Members(); it.Next(); {
		_, _ = it.KeyText(nil), it.KeyEqual("a")
		if len(it.Value().Raw()) < len(v.Raw()) {
			probe(it.Value())
		}
	}
	for it := v.Elements(); it.Next(); {
		if len(it.Value().Raw()) < len(v.Raw()) {
			probe(it.Value())
		}
	}
	_, _ = v.Int64()
	v.EqualText("x")
	v.AppendText(nil)
}

func TestAppendSet(t *testing.T) {
	f := func(in, key, value, want string) {
		t.Helper()
		var v Value
		if in != "" {
			v = Trusted([]byte(in))
		}
		var set []byte
		if value != "" {
			set = []byte(value)
		}
		if got := string(AppendSet([]byte("x"), v, key, set)); got != "x"+want {
			t.Errorf("%s of %s to %s: %s, want %s", key, in, value, got, want)
		}
	}
	f(``, "k", `1`, `{"k":1}`)
	f(`[1]`, "k", `1`, `{"k":1}`)
	f(`{}`, `a"b`, `"x"`, `{"a\"b":"x"}`)
	f(`{ "a" : 1 , "k":2,"\u006b":3, "b":{"k":4} }`, "k", `[5]`, `{"k":[5],"a":1,"b":{"k":4}}`)
	f(`{"k":2,"a":1,"k":3,"b":0}`, "k", ``, `{"a":1,"b":0}`)
	f(`{"k":2}`, "k", ``, `{}`)
}

// TestWhole: a whole number is read in whatever notation, up to 2^53.
func TestWhole(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "7": 7, "7.0": 7, "7e0": 7, "70e-1": 7, `"7"`: 7, `"\u0037"`: 7, "9007199254740992": 1 << 53, `"9007199254740992"`: 1 << 53,
		"9007199254740993": -1, `"9007199254740993"`: -1, "1e16": -1, "-1": -1, "-1.0": -1, "7.5": -1, `"7.0"`: -1, `""`: -1, `"-7"`: -1, `" 7"`: -1, "1e999": -1, "null": -1, "true": -1, "[7]": -1,
	} {
		if got, ok := Trusted([]byte(in)).Whole(); ok != (want >= 0) || ok && got != uint64(want) {
			t.Errorf("%s: %d, %t", in, got, ok)
		}
	}
}
