package bound

import (
	"database/sql/driver"
	"runtime"
	"testing"

	"github.com/uptrace/bun/dialect/pgdialect"
)

// FuzzBind: whatever a value is, it comes out of the statement as it was, and nothing
// of it is left in the text.
func FuzzBind(f *testing.F) {
	f.Add("a", []byte("b"))
	f.Add("'; DROP TABLE x; --", []byte{0, 1, 0xff})
	f.Add("\x01s\x01$1 ?1 \\", []byte("\x01b\x01"))
	f.Fuzz(func(t *testing.T, s string, b []byte) {
		d := Postgres{pgdialect.New()}
		q := append(d.AppendString([]byte("SELECT "), s), ", "...)
		q = append(d.AppendBytes(q, append([]byte{}, b...)), " FROM x WHERE y = $1"...)
		text, args, err := bind('$', string(q), []driver.NamedValue{{Ordinal: 1, Value: int64(7)}})
		if err != nil || text != "SELECT $2, $3 FROM x WHERE y = $1" || len(args) != 3 {
			t.Fatalf("%q, %v, %v", text, args, err)
		}
		if args[0].Value != int64(7) || args[1].Value != s || string(args[2].Value.([]byte)) != string(b) || args[2].Ordinal != 3 {
			t.Fatalf("%v", args)
		}
	})
}

func TestBindRefuses(t *testing.T) {
	for _, q := range []string{"\x01", "a\x01s", "\x01\x01", "\x01x\x01", "\x01s!\x01", "\x01sYQ==\x01 \x01"} {
		if _, _, err := bind('?', q, nil); err == nil {
			t.Errorf("%q was accepted", q)
		}
	}
	args := make([]driver.NamedValue, 1, 8)
	if _, _, err := bind('?', string(appendMark(nil, markString, "x")), args); err != nil || args[:2][1].Value != nil {
		t.Errorf("the caller's array was written to: %v, %v", args[:2], err)
	}
	if got := SQLite.AppendBytes(SQLite{}, nil, nil); string(got) != "NULL" {
		t.Errorf("nil bytes: %q", got)
	}
}

// manyMarks is a statement as the calls of a busy minute are written with.
func manyMarks(n int) string {
	var q []byte
	for range n {
		q = appendMark(append(q, ','), markString, "list_items")
	}
	return string(q)
}

// TestBindIsLinear: each value is copied once, not with each that follows it.
func TestBindIsLinear(t *testing.T) {
	const marks = 4000
	q := manyMarks(marks)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := bind('?', q, nil); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > marks*1000 {
		t.Errorf("%d bytes for %d values", n, marks)
	}
}

func BenchmarkBind(b *testing.B) {
	q := manyMarks(4000)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := bind('?', q, nil); err != nil {
			b.Fatal(err)
		}
	}
}
