package compress

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
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

// TestTOONFixtures runs the encoder's conformance tests of the format.
func TestTOONFixtures(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set: the conformance tests of TOON are not part of the repository")
	}
	files, err := filepath.Glob(filepath.Join(dir, "toon", "tests", "fixtures", "encode", "*.json"))
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
			Tests []struct {
				Name     string          `json:"name"`
				Input    json.RawMessage `json:"input"`
				Expected string          `json:"expected"`
				Options  struct {
					Delimiter  string `json:"delimiter"`
					IndentSize int    `json:"indentSize"`
				} `json:"options"`
			} `json:"tests"`
		}
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		for _, c := range doc.Tests {
			o := Toon{Indent: c.Options.IndentSize}
			if c.Options.Delimiter != "" {
				o.Delimiter = c.Options.Delimiter[0]
			}
			count++
			if got, err := o.Append(nil, c.Input); err != nil || string(got) != c.Expected {
				t.Errorf("%s: %s: %s\n%s\n%v; want\n%s", filepath.Base(file), c.Name, c.Input, got, err, c.Expected)
			}
		}
	}
	if count < 150 {
		t.Fatalf("only %d tests", count)
	}
}
