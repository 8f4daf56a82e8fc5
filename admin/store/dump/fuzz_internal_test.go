package dump

import (
	"bytes"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// FuzzParseValues: a row of a backup has as many values as its table, each of a kind that a
// database takes, or is refused in words.
func FuzzParseValues(f *testing.F) {
	for _, s := range []string{`[1,"a",true,null,{"b":"AAEC"}]`, `[1.5]`, `[9223372036854775808]`, `[{"b":"?"}]`, `[[]]`, `[{"b":7}]`, `null`, `[1] [2]`, `{}`} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 5)
	}
	f.Fuzz(func(t *testing.T, line []byte, n int) {
		values, err := parseValues(line, n)
		if err != nil {
			if !problem.Is(err, problem.InvalidArgument) || values != nil {
				t.Fatal(values, err)
			}
			return
		}
		if len(values) != n {
			t.Fatalf("%d values, want %d", len(values), n)
		}
		for _, v := range values {
			switch v.(type) {
			case int64, string, bool, nil, []byte:
			default:
				t.Fatalf("%T", v)
			}
		}
	})
}

// FuzzOpen: what is no backup's head is refused in words.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("{\"format\":\"" + format + "\",\"version\":1}\n"))
	f.Add([]byte("{}\n"))
	f.Add([]byte("{\"format\":\"" + format + "\",\"version\":1}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Open(bytes.NewReader(b))
		switch {
		case err != nil && (d != nil || !problem.Is(err, problem.InvalidArgument)):
			t.Fatal(d, err)
		case err == nil && (d.Head.Format != format || d.Head.Version != 1 || !bytes.Contains(b, []byte("\n"))):
			t.Fatalf("%+v of %q", d.Head, b)
		}
	})
}
