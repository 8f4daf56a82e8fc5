package compress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
)

// roundTrip encodes doc and requires that decoding gives the same minified text.
func roundTrip(t *testing.T, doc []byte) []byte {
	t.Helper()
	text, _, err := AppendTable(nil, doc)
	if err != nil {
		t.Fatalf("AppendTable(%.200q): %v", doc, err)
	}
	back, err := DecodeTable(nil, text)
	if err != nil {
		t.Fatalf("DecodeTable of %.200q: %v\n%s", doc, err, text)
	}
	if want := jsonscan.AppendMinified(nil, doc); !bytes.Equal(back, want) {
		t.Fatalf("round trip\n got %s\nwant %s\ntext %s", back, want, text)
	}
	return text
}

func TestTable(t *testing.T) {
	f := func(doc, want string) {
		t.Helper()
		if got := string(roundTrip(t, []byte(doc))); got != want {
			t.Fatalf("AppendTable(%s)\n got %q\nwant %q", doc, got, want)
		}
	}
	// Nothing to name once: minified JSON.
	f(`{}`, `{}`)
	f(` [ ] `, `[]`)
	f(`"a"`, `"a"`)
	f(`[1, 2]`, `[1,2]`)
	// An object's members stand on lines.
	f(`{"id":1,"name":"a b","tags":["x","y"],"n":null}`, "id:1\nname:a b\ntags:[ x y]\nn:null")
	f(`{"a":{"b":"c","d":[1.0,2e3]}}`, "a:{ b:c d:[1.0,2e3]}")
	// An array of objects is a table; what is equal in all rows stands in the header.
	f(`[{"id":1,"s":"open"},{"id":2,"s":"open"}]`, "#A id s=open\n[A\n1\n2\n]")
	f(`{"items":[{"id":1},{"id":2}],"more":false}`, "#A id\nitems:[A\n1\n2\n]\nmore:false")
	// Tabs stand where many strings have spaces, for those would need quotes.
	f(`[{"id":1,"s":"to do"},{"id":2,"s":"in progress"}]`, "#A\tid\ts\n[A\n1\tto do\n2\tin progress\n]")
	f(`{"a":{"b":"c d"},"e":["f g","h"]}`, "a:{b:c d}\ne:[f g\th]")
	f(`{"a":[{"k":"x","l":"y","m":"z"},{"k":"u","l":"v w","m":"t"}]}`, "#A k l m\na:[A\nx y z\nu \"v w\" t\n]")
	f(`[{"a b":"x","c":"y"},{"a b":"u","c":"v"}]`, "#A\t\"a b\"\tc\n[A\nx\ty\nu\tv\n]")
	// A missing cell is empty, null is null, the empty string has quotes.
	f(`[{"a":1,"b":null},{"a":2},{"a":3,"b":""}]`, "#A a b\n[A\n1 null\n2\n3 \"\"\n]")
	// Defaults: the commonest value is an empty cell.
	f(`[{"a":1,"b":null},{"a":2,"b":null},{"a":3,"b":null},{"a":4}]`, "#A a b?=null\n[A\n1\n2\n3\n4 =\n]")
	// Strings that would read as something else are quoted.
	f(`{"a":"1","b":"true","c":" x","d":"a)","e":"=a","f":"null","g":"-1x","h":"a\nb"}`,
		"a:\"1\"\nb:\"true\"\nc:\" x\"\nd:\"a)\"\ne:\"=a\"\nf:\"null\"\ng:-1x\nh:\"a\\nb\"")
	f(`{"a b":1,"":2,"#":3,"[x":4}`, "\"a b\":1\n\"\":2\n\"#\":3\n\"[x\":4")
	// Templates refer to other columns of the row.
	f(`[{"id":7,"url":"https://api.example.com/users/7/posts"},{"id":8,"url":"https://api.example.com/users/8/posts"}]`,
		"#A id url=https://api.example.com/users/<id>/posts\n[A\n7\n8\n]")
	// Holes: the common start and end stand in the header.
	f(`[{"u":"https://example.com/a"},{"u":"https://example.com/b"}]`, "#A u=https://example.com/<>\n[A\na\nb\n]")
	// Times in basic format, UUIDs without hyphens.
	f(`[{"t":"2026-01-02T03:04:05Z"},{"t":"2026-01-02T03:04:06.5+02:00"}]`, "#A t=<@t>\n[A\n20260102T030405Z\n20260102T030406.5+02:00\n]")
	f(`[{"u":"550e8400-e29b-41d4-a716-446655440000"},{"u":"550e8400-e29b-41d4-a716-446655440001"}]`,
		"#A u=<@u>\n[A\n550e8400e29b41d4a716446655440000\n550e8400e29b41d4a716446655440001\n]")
	// Nested objects and lists of objects.
	f(`[{"u":{"id":1,"n":"a"},"l":[{"c":"x"},{"c":"y"}]},{"u":{"id":2,"n":"b"},"l":[]}]`,
		"#A u(B) l[C]\n#B id n\n#C c\n[A\n(1 a) [(x)(y)]\n(2 b) []\n]")
	// Rows that do not fit stand behind a mark.
	f(`[{"a":1},{"a":2},5,"x",[{"a":3}]]`, "#A a\n[A\n1\n2\n!5\n!x\n![(3)]\n]")
	// Objects with a key twice keep both.
	f(`[{"a":1,"a":2},{"a":1,"a":2}]`, `[{"a":1,"a":2},{"a":1,"a":2}]`)
	f(`{"x":[{"a":1,"a":2},{"b":1},{"b":2}]}`, "#A b\nx:[A\n!{ a:1 a:2}\n1\n2\n]")
	// A key that would end the reference to it is not referred to.
	f(`[{"a>":"abcdef","b":"abcdef"},{"a>":"ghijkl","b":"ghijkl"}]`, "#A\t\"a>\"\tb\n[A\nabcdef\tabcdef\nghijkl\tghijkl\n]")
	// A text that is not in all rows is a value of its own kind.
	f(`[{"a":"123456"},{"a":"123456"},{"a":"123456"},{"a":null}]`, "#A a?=\"123456\"\n[A\n\n\n\n=null\n]")
	f(`[{"a":"12345}"},{"a":"12345}"},{"a":"12345}"},{}]`, "#A a=\"12345}\"\n[A\n\n\n\n!{}\n]")
	// Constant text that looks like a template.
	f(`[{"i":1,"h":"<b>"},{"i":2,"h":"<b>"}]`, "#A i h=\"<b>\"\n[A\n1\n2\n]")
	// Digits survive.
	f(`{"n":12345678901234567890.10,"e":1E400}`, "n:12345678901234567890.10\ne:1E400")
	// Strings among numbers.
	f(`{"a":["1,2","3"],"b":[1,"x"],"c":["-"]}`, "a:[\"1,2\"\t\"3\"]\nb:[ 1 x]\nc:[\"-\"]")
}

func TestTableErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		out, err := DecodeTable([]byte("before"), []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("DecodeTable(%q) = %v, want an error with %q", text, err, want)
		}
		if string(out) != "before" {
			t.Fatalf("DecodeTable(%q) left %.40q of what it could not read", text, out)
		}
	}
	f("", "expected a key")
	f("a", "expected ':'")
	f("a:", "expected a value")
	f("[A\n]", "not declared")
	f("#A\ta\n[A\n1\n", "row or ]")
	f("#A\ta\n[A\n1\t2\n]", "expected '\\n'")
	f("#A\ta\n#A\ta\n[A\n]", "new type name")
	f("#A\ta\ta\n[A\n]", "stands twice")
	f("#A\ta(B)\n[A\n]", "not declared")
	f("#A\ta=x<b>\n[A\n]", "not a column with cells")
	f("#A\ta=<b><>\tb=<a><>\n[A\nx\ty\n]", "refer to each other")
	f("#A\ta=<@t>\n[A\nx\n]", "not a time")
	f("#A\ta\n[A\n1\n]x", "text after the end")
	f("#A\ta=<@t>\n[A\n\x04", "unexpected")
	f("#A a b\n[A\n1\t2\n]", "expected '\\n'")
	f(`a:"\x"`, "not a JSON string")
	f("a:"+strings.Repeat("[", 200), "nested deeper")
	// Ten thousand rows of a megabyte each are not written out.
	f("#A\ta\tb="+strings.Repeat("x", 1<<20)+"\n[A\n"+strings.Repeat("1\n", 10000)+"]", "stands for more")
}

func TestAppendTableRefusesNonJSON(t *testing.T) {
	if _, _, err := AppendTable(nil, []byte(`{"a":`)); err == nil {
		t.Fatal("no error for a document that is not JSON")
	}
}

// TestTableKeepsDst covers both results of AppendTable.
func TestTableKeepsDst(t *testing.T) {
	for _, doc := range []string{`[1]`, `{"a":1}`, `[{"a":1},{"a":2}]`} {
		got, _, err := AppendTable([]byte("before "), []byte(doc))
		want, _, _ := AppendTable(nil, []byte(doc))
		if err != nil || string(got) != "before "+string(want) {
			t.Fatalf("AppendTable(%q) = %q, %v", doc, got, err)
		}
	}
}

func TestTableCorpus(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "responses", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no responses in %s: %v", dir, err)
	}
	for _, name := range files {
		doc, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(doc) {
			continue
		}
		roundTrip(t, doc)
		small := jsonscan.AppendMinified(nil, doc)
		if text, form, _ := AppendForm(nil, small, Auto, Estimated); form == Table {
			if a, b := tokens.Estimate(text), tokens.Estimate(small); a > b {
				t.Errorf("%s: %d tokens as table text, %d as JSON", name, a, b)
			}
		}
	}
}

// TestFormWithin: who asks only for a budget gets the text and the answer of who counts,
// at the budget and one past it, whether or not the form was chosen by its size.
func TestFormWithin(t *testing.T) {
	rows := func(n int) []byte {
		b := []byte{'['}
		for i := range n {
			b = fmt.Appendf(b, `{"identifier":%d,"description":"the %dth of many"},`, i, i)
		}
		return append(b[:len(b)-1], ']')
	}
	f := func(doc []byte, want Form) {
		t.Helper()
		text, form, n := AppendForm(nil, doc, want, Estimated)
		for _, budget := range []int{0, 1, n - 1, n, n + 1, 2 * n} {
			got, gotForm, over := AppendFormWithin([]byte("x"), doc, want, budget)
			if string(got) != "x"+string(text) || gotForm != form || over != (budget > 0 && n > budget) {
				t.Errorf("%.40s… as %s with a budget of %d: %s, over %v; it has %d tokens as %s", doc, want, budget, gotForm, over, n, form)
			}
		}
	}
	for _, n := range []int{2, 10, 400} {
		for _, want := range []Form{Auto, JSON, Table, TOON} {
			f(rows(n), want)
		}
	}
	f([]byte(`{"a":1}`), Auto)
	f([]byte(`{"a":"`+strings.Repeat("ä", 3000)+`"}`), Auto)
	if _, form, n := choose(nil, rows(400), Auto, &Estimated); form != Table || n >= 0 {
		t.Errorf("400 rows are written as %s by counting (%d)", form, n)
	}
	if _, _, n := choose(nil, rows(2), Auto, &Estimated); n < 0 {
		t.Error("two rows are written without counting")
	}
}

func FuzzTable(f *testing.F) {
	for _, s := range []string{
		`[{"a":1,"b":null},{"a":2},{"a":3,"b":""}]`,
		`[{"id":7,"url":"https://api.example.com/users/7/posts"},{"id":8,"url":"https://api.example.com/users/8/posts"}]`,
		`[{"t":"2026-01-02T03:04:05Z","x":{"y":[{"z":1}]}},{"t":"2026-01-02T03:04:06.5+02:00","x":{"y":[]}}]`,
		`{"a":["1,2","3"],"b":[1,"x"],"c":[[1],[2,"<>"]]}`,
		`[{"a":"<","b":"a<b>"},{"a":">","b":"c<b>"}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if _, err := jsonscan.Parse(doc, jsonscan.DefaultMaxDepth-2); err != nil {
			return
		}
		roundTrip(t, doc)
	})
}

func FuzzDecodeTable(f *testing.F) {
	f.Add([]byte("#A\tid\turl=https://x/<id>/<>\n[A\n7\ta\n8\tb\n]"))
	f.Add([]byte("#A id u(B) l[B]\n#B c=<> d?=1\n[A\n7 (x) [(y =2)(z)]\n!{ a:1 b:[ x \"y z\"]}\n]"))
	f.Add([]byte("#A\tu(B)\tl[C]\n#B\tid\tn?=1\n#C\tc=<@t>\n[A\n(1\t=a)\t[(20260102T030405Z)]\n!x\n]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := DecodeTable(nil, text)
		if err != nil {
			return
		}
		if _, err := jsonscan.Parse(out, jsonscan.DefaultMaxDepth); err != nil {
			t.Fatalf("DecodeTable(%q) = %q, which is not JSON: %v", text, out, err)
		}
	})
}

// TestFormTrusts: a document that nobody validated is written in some form; what is not JSON
// ends the reading, wherever it is cut or changed, and what nests too deeply stays JSON.
func TestFormTrusts(t *testing.T) {
	doc := issues(3)
	for i := range doc {
		AppendForm(nil, doc[:i], Auto, Estimated)
		for _, c := range []byte("\"\\{}[],:0 \x00") {
			changed := bytes.Clone(doc)
			changed[i] = c
			AppendForm(nil, changed, Auto, Estimated)
		}
	}
	deep := func(n int) []byte {
		list := strings.Repeat(`{"a":1,"b":2},`, 50)
		return []byte(strings.Repeat("[", n) + list[:len(list)-1] + strings.Repeat("]", n))
	}
	for n, want := range map[int]Form{jsonscan.DefaultMaxDepth - 1: Table, jsonscan.DefaultMaxDepth: JSON} {
		if _, form, _ := AppendForm(nil, deep(n), Auto, Estimated); form != want {
			t.Errorf("nested %d deep: %v, want %v", n+1, form, want)
		}
	}
}

// FuzzForm: what is written of any document that is JSON is what AppendTable makes of it, and
// nothing else crashes.
func FuzzForm(f *testing.F) {
	f.Add(issues(3))
	f.Add([]byte(`{"a":[{"b":1},{"b":2,"c":[]}],"\\u0041":null}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		out, form, _ := AppendForm(nil, doc, Table, Estimated)
		want, table, err := AppendTable(nil, doc)
		if err == nil && (table != (form == Table) || table && !bytes.Equal(out, want)) {
			t.Fatalf("%v %q, want %v %q", form, out, table, want)
		}
	})
}
