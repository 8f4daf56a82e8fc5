package dump

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/sluicegate/sluice/internal/problem"
)

// schema has each kind of column, tables whose order matters, and tables that hold no
// records.
const schema = `
CREATE TABLE children (id TEXT PRIMARY KEY, parent_id TEXT REFERENCES parents (id));
CREATE TABLE loops (id INTEGER PRIMARY KEY, next INTEGER REFERENCES loops (id));
CREATE TABLE parents (id TEXT PRIMARY KEY, grown_of TEXT REFERENCES roots (name));
CREATE TABLE roots (name TEXT PRIMARY KEY, n BIGINT, on_off BOOLEAN, body BLOB, note TEXT);
CREATE TABLE goose_db_version (id INTEGER);
CREATE TABLE cluster_members (name TEXT);`

func open(t *testing.T, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "a.db")+"?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, q := range append([]string{schema}, statements...) {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	return db
}

func conn(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func written(t *testing.T, db *sql.DB) (text string, rows int64) {
	t.Helper()
	c := conn(t, db)
	tables, err := Tables(t.Context(), c, false)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if rows, err = Write(t.Context(), c, tables, 300, &b); err != nil {
		t.Fatal(err)
	}
	return b.String(), rows
}

// TestTables: each table comes after those that its rows refer to, and what is not a record is
// left out.
func TestTables(t *testing.T) {
	got, err := Tables(t.Context(), conn(t, open(t)), false)
	if want := []string{"roots", "parents", "children", "loops"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// TestWriteAndFill: what is written of each kind of value is there again once it is filled
// in, byte for byte.
func TestWriteAndFill(t *testing.T) {
	from := open(t,
		`INSERT INTO roots VALUES ('a', 9007199254740993, true, x'00ff', 'ü "<&>" '' \')`,
		`INSERT INTO roots VALUES ('b', -1, false, x'', '')`, `INSERT INTO roots VALUES ('c', NULL, NULL, NULL, NULL)`,
		`INSERT INTO parents VALUES ('p', 'a')`, `INSERT INTO children VALUES ('x', 'p'), ('y', NULL)`,
		`INSERT INTO cluster_members VALUES ('no record')`)
	text, rows := written(t, from)
	want := `{"format":"sluice-records","version":1,"schema":300}
{"table":"roots","columns":["name","n","on_off","body","note"]}
["a",9007199254740993,true,{"b":"AP8="},"ü \"<&>\" ' \\"]
["b",-1,false,{"b":""},""]
["c",null,null,null,null]
{"table":"parents","columns":["id","grown_of"]}
["p","a"]
{"table":"children","columns":["id","parent_id"]}
["x","p"]
["y",null]
{"table":"loops","columns":["id","next"]}
{"end":true,"rows":6}
`
	if text != want || rows != 6 {
		t.Fatalf("%d rows:\n%swant:\n%s", rows, text, want)
	}
	to := open(t)
	if has, err := HasRows(t.Context(), to, false); err != nil || has {
		t.Fatalf("an empty database has rows: %v, %v", has, err)
	}
	r, err := Open(strings.NewReader(text))
	if err != nil || r.Head.Schema != 300 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n, err := r.Fill(t.Context(), to, false); err != nil || n != 6 {
		t.Fatalf("filled %d, %v", n, err)
	}
	if again, _ := written(t, to); again != text {
		t.Errorf("filled in, it is\n%s", again)
	}
	if has, err := HasRows(t.Context(), to, false); err != nil || !has {
		t.Errorf("it has no rows: %v, %v", has, err)
	}
}

// TestHead: what does not begin as a dump is refused.
func TestHead(t *testing.T) {
	for _, head := range []string{
		"", "\n", "{}\n", "[]\n", "nonsense\n", `{"format":"sluice-records","version":1,"schema":300}`, // without an end of its line
		`{"format":"sluice-records","version":2,"schema":300}` + "\n", `{"format":"other","version":1,"schema":300}` + "\n",
	} {
		if _, err := Open(strings.NewReader(head)); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%q: %v", head, err)
		}
	}
	failed := errors.New("the disk failed")
	if _, err := Open(io.MultiReader(strings.NewReader("{"), broken{failed})); !errors.Is(err, failed) || problem.As(err) != nil {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// TestFillRefuses: a dump that is not whole, or names what the schema does not have, leaves
// nothing behind, and says what is wrong with it.
func TestFillRefuses(t *testing.T) {
	const roots = `{"table":"roots","columns":["name","n"]}` + "\n"
	for text, want := range map[string]string{
		"": "ends early",
		`["a",1]` + "\n" + `{"end":true,"rows":1}` + "\n":                                             "a row comes before its table",
		roots + `["a",1]` + "\n":                                                                      "ends early",
		roots + `["a",1]` + "\n" + `{"end":true,"rows":2}` + "\n":                                     "says 2 rows and has 1",
		roots + `["a",1]` + "\n" + `{"end":true,"rows":0}` + "\n":                                     "says 0 rows and has 1",
		roots + `["a",1]` + "\n" + `{"end":false,"rows":1}` + "\n":                                    "that its schema does not have",
		roots + `["a"]` + "\n":                                                                        "a row does not fit its table",
		roots + `["a",1,2]` + "\n":                                                                    "a row does not fit its table",
		roots + `["a",1.5]` + "\n":                                                                    "a number that is not whole",
		roots + `["a",9223372036854775808]` + "\n":                                                    "a number that is not whole",
		roots + `["a",{"b":"%"}]` + "\n":                                                              "bytes that are not base64",
		roots + `["a",[1]]` + "\n":                                                                    "a value of an unknown kind",
		roots + `["a",1` + "\n":                                                                       "a line is not JSON",
		`{"table":"strangers","columns":["name"]}` + "\n":                                             `a table "strangers" that its schema does not have`,
		`{"table":"roots","columns":["name","other"]}` + "\n":                                         `a table "roots" that its schema does not have`,
		`{"table":"roots","columns":[]}` + "\n":                                                       `a table "roots" that its schema does not have`,
		`{"table":"roots\" (name) VALUES ('x'); DROP TABLE roots; --","columns":["name"]}` + "\n":     "that its schema does not have",
		`{"table":"roots","columns":["name\") VALUES ('x'); DROP TABLE roots; --"]}` + "\n":           "that its schema does not have",
		roots + `["a",1]` + "\n" + `["a",2]` + "\n" + `{"end":true,"rows":2}` + "\n":                  "writing a row of roots",
		`{"table":"parents","columns":["id","grown_of"]}` + "\n" + `["p","nobody"]` + "\n":            "writing a row of parents",
		roots + `["a",1]` + "\n" + `{"table":"roots","columns":["name"]}` + "\n" + `["b"]` + "\n{}\n": "that its schema does not have",
	} {
		db := open(t)
		r, err := Open(strings.NewReader(`{"format":"sluice-records","version":1,"schema":300}` + "\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Fill(t.Context(), db, false)
		if err == nil || !strings.Contains(err.Error(), want) || problem.Is(err, problem.InvalidArgument) == strings.HasPrefix(want, "writing") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if has, err := HasRows(t.Context(), db, false); err != nil || has {
			t.Errorf("%q leaves rows: %v, %v", text, has, err)
		}
	}
}

// endless has zeros without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestLongestLine: a row may have maxLine bytes with the end of its line, and not one more.
func TestLongestLine(t *testing.T) {
	for size, want := range map[int64]string{maxLine: "", maxLine + 1: "a row is too long"} {
		r, err := Open(io.MultiReader(strings.NewReader(`{"format":"sluice-records","version":1,"schema":300}`+"\n"), io.LimitReader(endless{}, size-1), strings.NewReader("\n")))
		if err != nil {
			t.Fatal(err)
		}
		if line, err := r.line(); want == "" && (err != nil || len(line) != maxLine) || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("a line of %d bytes: %d are read, %v", size, len(line), err)
		}
	}
}
