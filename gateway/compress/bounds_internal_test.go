package compress

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestFormBounds: what is larger than a bound is written as JSON, or as data, and nothing
// of it is lost.
func TestFormBounds(t *testing.T) {
	rows := func(n int, row func(i int) string) []byte {
		out := make([]string, n)
		for i := range out {
			out[i] = row(i)
		}
		return []byte("[" + strings.Join(out, ",") + "]")
	}
	f := func(what string, limit int, doc func(n int) []byte, table func(text []byte) bool) {
		t.Helper()
		for n, want := range map[int]bool{limit: true, limit + 1: false} {
			d := doc(n)
			text, _, err := AppendTable(nil, d)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := DecodeTable(nil, text); err != nil || !bytes.Equal(back, d) {
				t.Errorf("%d %s: %v, or another document", n, what, err)
			}
			if got := table(text); got != want {
				t.Errorf("%d %s: a table %v, want %v: %.80s", n, what, got, want, text)
			}
		}
	}
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":%d`, i, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	header := func(text []byte) bool { return bytes.HasPrefix(text, []byte("#A")) }
	f("columns", maxColumns, func(n int) []byte { return rows(3, func(int) string { return names(n) }) }, header)
	// The last two rows have a shape that comes after so many others.
	f("shapes", maxShapes, func(n int) []byte {
		return rows(n+1, func(i int) string { return fmt.Sprintf(`{"k%d":1,"long_name_of_a_member":2}`, min(i, n-1)) })
	}, func(text []byte) bool { return !bytes.Contains(text, fmt.Appendf(nil, "k%d:", maxShapes)) })
	wide := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, " k%d", i)
		}
		return "#A" + b.String() + "\n[A\n]"
	}
	if _, err := DecodeTable(nil, []byte(wide(maxColumns))); err != nil {
		t.Error(err)
	}
	if _, err := DecodeTable(nil, []byte(wide(maxColumns+1))); err == nil || !strings.Contains(err.Error(), "columns") {
		t.Errorf("a header of one column more: %v", err)
	}
}

// TestTreeLimit: a document of more values is not a tree.
func TestTreeLimit(t *testing.T) {
	var tr tree // its room is used again
	for n, want := range map[int]bool{treeLimit: true, treeLimit + 1: false} {
		doc := append(bytes.Repeat([]byte("0,"), n-1), ']') // the list is one
		doc[len(doc)-2] = ' '
		if got := tr.build(append([]byte("["), doc...)); got != want || len(tr.nodes) > treeLimit+1 {
			t.Errorf("%d values: %v, %d nodes", n, got, len(tr.nodes))
		}
	}
}

// TestMaxEncoded: a longer document stays JSON, whatever form is wanted.
func TestMaxEncoded(t *testing.T) {
	row := `{"name":"aaaaaaaa","value":"bbbbbbbb"}`
	for n, want := range map[int]bool{MaxEncoded: true, MaxEncoded + 1: false} {
		doc := "[" + strings.Repeat(row+",", 10000) + `"`
		doc += strings.Repeat("x", n-len(doc)-2) + `"]`
		for _, form := range []Form{Table, TOON} {
			_, got, _ := AppendForm(nil, []byte(doc), form, Estimated)
			if (got == form) != want {
				t.Errorf("%d bytes as %s became %s", len(doc), form, got)
			}
		}
	}
}
