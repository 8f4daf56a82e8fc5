package compress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

func TestTOON(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, err := AppendTOON([]byte("x"), []byte(in))
		if err != nil || string(got) != "x"+want {
			t.Fatalf("%s:\n%s\n%v; want\n%s", in, got, err, want)
		}
	}
	f(`{"items":[{"id":1,"user":{"login":"ada"}},{"id":2,"user":{"login":"b, c"}}],"n":[1,2],"e":{},"l":[]}`,
		"items[2]{id,user{login}}:\n  1,ada\n  2,\"b, c\"\nn[2]: 1,2\ne:\nl: []")
	f(`{"a":[{"x":1},{"x":[1]}],"k":{"p":{"v":1},"q":{"v":2}}}`, "a[2]:\n  - x: 1\n  - x[1]: 1\nk[2:]{v}:\n  p: 1\n  q: 2")
	f(`{"a":1,"a":2}`, "a: 1\na: 2")
	f(`{"a":{"x":1,"x":2},"b":{"x":1}}`, "a:\n  x: 1\n  x: 2\nb:\n  x: 1")
	f(`"\u00e9\n"`, `"é\n"`)
	f(`[]`, "[]")
	f(`[[],[[1]]]`, "[2]:\n  - [0]:\n  - [1]:\n    - [1]: 1")
	number := func(in, want string) {
		t.Helper()
		if got := string(appendToonNumber(nil, []byte(in))); got != want {
			t.Fatalf("%s: %s, want %s", in, got, want)
		}
	}
	number("-0.0", "0")
	number("1.500", "1.5")
	number("12345678901234567890.10", "12345678901234567890.1")
	number("1e20", "100000000000000000000")
	number("1e21", "1e+21")
	number("1.5E-7", "1.5e-7")
	number("-1e-6", "-0.000001")
	number("100e-2", "1")
	number("1e99999999999", "1e99999999999")
}

// toonFixture is a conformance test of the format.
type toonFixture struct {
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Expected json.RawMessage `json:"expected"`
	Fails    bool            `json:"shouldError"`
	Options  struct {
		Delimiter  string `json:"delimiter"`
		IndentSize int    `json:"indentSize"`
		Strict     *bool  `json:"strict"`
	} `json:"options"`
}

func (c *toonFixture) options() Toon {
	o := Toon{Indent: c.Options.IndentSize, Lenient: c.Options.Strict != nil && !*c.Options.Strict}
	if c.Options.Delimiter != "" {
		o.Delimiter = c.Options.Delimiter[0]
	}
	return o
}

// toonFixtures calls f for the conformance tests in a folder of the format's.
func toonFixtures(t *testing.T, folder string, least int, f func(where string, c *toonFixture)) {
	t.Helper()
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set: the conformance tests of TOON are not part of the repository")
	}
	files, err := filepath.Glob(filepath.Join(dir, "toon", "tests", "fixtures", folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures in %s: %v", dir, err)
	}
	count := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Tests []toonFixture `json:"tests"`
		}
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		for i := range doc.Tests {
			count++
			f(filepath.Base(file)+": "+doc.Tests[i].Name, &doc.Tests[i])
		}
	}
	if count < least {
		t.Fatalf("only %d tests", count)
	}
}

// TestTOONFixtures runs the encoder's conformance tests of the format, and gives
// what they expect to the decoder.
func TestTOONFixtures(t *testing.T) {
	toonFixtures(t, "encode", 150, func(where string, c *toonFixture) {
		var want string
		if err := json.Unmarshal(c.Expected, &want); err != nil {
			t.Fatal(err)
		}
		got, err := c.options().Append(nil, c.Input)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s\n%s\n%v; want\n%s", where, c.Input, got, err, want)
		}
		if back, err := c.options().Decode(nil, got); err != nil || !sameValue(back, c.Input) {
			t.Errorf("%s: %s decodes to %s, %v; want %s", where, got, back, err, c.Input)
		}
	})
}

// TestTOONDecodeFixtures runs the decoder's.
func TestTOONDecodeFixtures(t *testing.T) {
	toonFixtures(t, "decode", 250, func(where string, c *toonFixture) {
		var text string
		if err := json.Unmarshal(c.Input, &text); err != nil {
			t.Fatal(err)
		}
		got, err := c.options().Decode([]byte("x"), []byte(text))
		switch {
		case c.Fails && err == nil:
			t.Errorf("%s: %q decodes to %s; want an error", where, text, got)
		case c.Fails && string(got) != "x":
			t.Errorf("%s: %s is left behind the error", where, got)
		case !c.Fails && (err != nil || !sameValue(got[1:], c.Expected)):
			t.Errorf("%s: %q decodes to %s, %v; want %s", where, text, got[1:], err, c.Expected)
		}
	})
}

// sameValue compares as JSON: numbers by value, members in any order.
func sameValue(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func TestDecodeTOON(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got, err := DecodeTOON([]byte("x"), []byte(text))
		if err != nil || string(got) != "x"+want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	f("", "{}")
	f("# only a comment\n", "{}")
	f("items[2]{id,user{login}}:\n  1,ada\n  2,\"b, c\"\nn[2]: 1,2\ne:\nl: []",
		`{"items":[{"id":1,"user":{"login":"ada"}},{"id":2,"user":{"login":"b, c"}}],"n":[1,2],"e":{},"l":[]}`)
	f("a[2]:\n  - x: 1\n  - x[1]: 1\nk[2:]{v}:\n  p: 1\n  q: 2", `{"a":[{"x":1},{"x":[1]}],"k":{"p":{"v":1},"q":{"v":2}}}`)
	f("[2]:\n  - [0]:\n  - [1]:\n    - [1]: 1", `[[],[[1]]]`)
	f("[3]:\n  -\n  - []\n  -\n    a: 1", `[{},[],{"a":1}]`)
	f("[1]:\n  - t[1|]{a|b{c}}:\n      1|x\n    u:\n      v: \"\\u00e9\\n\"", `[{"t":[{"a":1,"b":{"c":"x"}}],"u":{"v":"é\n"}}]`)
	f("n[4]: 1.50,-1E+03,12345678901234567890123,05", `{"n":[1.50,-1E+03,12345678901234567890123,"05"]}`)
	f("foo [2]: bar", `{"foo [2]":"bar"}`)
	f("a\r\n", `"a"`)

	fails := func(text string, line int, msg string) {
		t.Helper()
		got, err := DecodeTOON([]byte("x"), []byte(text))
		var e *ToonError
		if !errors.As(err, &e) || e.Line != line || !strings.Contains(e.Msg, msg) || string(got) != "x" {
			t.Errorf("%q: %s, %v; want line %d: %s", text, got, err, line, msg)
		}
	}
	fails("a[2]:\n  - 1\nb: 2", 1, "1 items follow where the header says 2")
	fails("# c\n\na[1]{x,y}:\n  1", 4, "1 cells where the header has 2 fields")
	fails("a:\n   b: 1", 2, "not a multiple of 2")
	fails("a:\n  b: \"\\x\"", 2, `\x is not an escape`)
	fails("a: 1\nb: 2\na: 3", 3, `"a" stands twice`)
	fails("a[2]:\n  - 1\n\n  - 2", 4, "blank line")
	fails("a\nb: 1", 1, "a key and a colon")
	fails("a: \"\xff\"", 1, "not UTF-8")
	deep := strings.Repeat("- ", jsonscan.DefaultMaxDepth+1)
	fails("[1]:\n  "+strings.ReplaceAll(deep, "- ", "- [1]:\n"), 2, "")
}

// TestDecodeTOONBounds gives what stands for more than it takes: a long name in a
// header is written once a row.
func TestDecodeTOONBounds(t *testing.T) {
	text := func(rows int) []byte {
		return []byte(fmt.Sprintf("[%d]{%s}:\n", rows, strings.Repeat("k", 1<<16)) + strings.Repeat("  1\n", rows))
	}
	if _, err := DecodeTOON(nil, text(MaxDecoded>>16-1)); err != nil {
		t.Errorf("just below the bound: %v", err)
	}
	if _, err := DecodeTOON(nil, text(MaxDecoded>>16+1)); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("just above the bound: %v", err)
	}
	nest := func(n int) []byte {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", 2*i) + "a:\n")
		}
		return []byte(b.String())
	}
	if _, err := DecodeTOON(nil, nest(jsonscan.DefaultMaxDepth-1)); err != nil {
		t.Errorf("nested as deeply as allowed: %v", err)
	}
	if _, err := DecodeTOON(nil, nest(jsonscan.DefaultMaxDepth)); err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Errorf("nested too deeply: %v", err)
	}
}

// FuzzTOON writes any document and reads it back, and reads any text: what it
// stands for is written as a text that stands for the same.
func FuzzTOON(f *testing.F) {
	for _, s := range []string{`{"a":[{"x":1,"y":{"z":null}},{"x":2,"y":{"z":"#"}}],"b":{"k":{"v":1},"l":{"v":-1.5e300}}}`, `["a,b","- x","1",true]`, `[[],[[1]],{}]`, `"\u0000\n"`} {
		f.Add([]byte(s), byte(','))
	}
	f.Add([]byte("a[1]:\n  - b[2|]{c|d}:\n      1|2\n      3|4\n    e: f\n"), byte('|'))
	f.Fuzz(func(t *testing.T, text []byte, delimiter byte) {
		if delimiter != '\t' && delimiter != '|' {
			delimiter = ','
		}
		o := Toon{Delimiter: delimiter}
		if doc, err := DecodeTOON(nil, text); err == nil {
			if v, err := jsonscan.Parse(doc, jsonscan.DefaultMaxDepth); err != nil {
				t.Fatalf("%q stands for %s, no JSON: %v", text, doc, err)
			} else if len(v.Raw()) != len(doc) {
				t.Fatalf("%q stands for %s, not minified", text, doc)
			}
			text = doc
		} else if doc, err := (Toon{Lenient: true}).Decode(nil, text); err == nil && !json.Valid(doc) {
			t.Fatalf("%q stands for %s, no JSON", text, doc)
		}
		toon, err := o.Append(nil, text)
		if err != nil {
			return
		}
		back, err := Toon{}.Decode(nil, toon)
		if err != nil {
			if strings.Contains(err.Error(), "stands twice") || strings.Contains(err.Error(), "UTF-8") {
				return // JSON that TOON has no form for
			}
			t.Fatalf("%s\n%s\n%v", text, toon, err)
		}
		if !sameNumbers(back, text) {
			t.Fatalf("%s\n%s\nstands for %s", text, toon, back)
		}
	})
}

// sameNumbers is sameValue with numbers compared exactly.
func sameNumbers(a, b []byte) bool {
	read := func(s []byte) (v any, err error) {
		d := json.NewDecoder(bytes.NewReader(s))
		d.UseNumber()
		err = d.Decode(&v)
		return exact(v), err
	}
	x, err := read(a)
	if err != nil {
		return false
	}
	y, err := read(b)
	return err == nil && reflect.DeepEqual(x, y)
}

// exact replaces numbers by what they are after normalization.
func exact(v any) any {
	switch x := v.(type) {
	case json.Number:
		return json.Number(appendToonNumber(nil, []byte(x)))
	case []any:
		for i := range x {
			x[i] = exact(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = exact(x[k])
		}
	}
	return v
}
