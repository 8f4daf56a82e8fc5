package dump

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// A dump is lines of JSON that both databases can read: a head, then for each table
// a line that names its columns and one for each row, and a last line with the
// number of rows. Bytes are {"b": base64}.

const format = "sluice-records"

// maxLine of one row: a specification of 64 MB that gzip does not make smaller,
// in base64, with room.
const maxLine = 128 << 20

// Head is the first line of a dump.
type Head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Schema  int64  `json:"schema"` // of the migrations
}

type section struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

type trailer struct {
	End  bool  `json:"end"`
	Rows int64 `json:"rows"`
}

type octets struct {
	B []byte `json:"b"`
}

// Write writes the rows of tables, which [Tables] listed, and returns how many there are. It holds
// one row at a time.
func Write(ctx context.Context, conn *sql.Conn, tables []string, schema int64, w io.Writer) (rows int64, err error) {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Head{Format: format, Version: 1, Schema: schema}); err != nil {
		return 0, err
	}
	for _, t := range tables {
		n, err := writeRows(ctx, conn, t, enc)
		if err != nil {
			return rows, fmt.Errorf("reading table %s: %w", t, err)
		}
		rows += n
	}
	if err := enc.Encode(trailer{End: true, Rows: rows}); err != nil {
		return rows, err
	}
	return rows, b.Flush()
}

func writeRows(ctx context.Context, conn *sql.Conn, table string, enc *json.Encoder) (n int64, err error) {
	rows, err := conn.QueryContext(ctx, `SELECT * FROM "`+table+`"`) //nolint:gosec,unqueryvet // the name is the schema's own, and a dump has every column
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }() // rows.Err says what matters
	kinds, err := rows.ColumnTypes()
	if err != nil {
		return 0, err
	}
	head := section{Table: table}
	for _, k := range kinds {
		head.Columns = append(head.Columns, k.Name())
	}
	if err := enc.Encode(head); err != nil {
		return 0, err
	}
	values, to := make([]any, len(kinds)), make([]any, len(kinds))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return n, err
		}
		for i, v := range values {
			kind := strings.ToUpper(kinds[i].DatabaseTypeName())
			switch v := v.(type) {
			case []byte:
				values[i] = octets{append([]byte{}, v...)} // nothing is no null
				if kind == "TEXT" {
					values[i] = string(v)
				}
			case string:
				if kind == "BYTEA" {
					values[i] = octets{[]byte(v)}
				}
			case int64:
				if strings.HasPrefix(kind, "BOOL") {
					values[i] = v != 0
				}
			case bool, nil:
			default:
				return n, fmt.Errorf("column %s holds a %T", kinds[i].Name(), v)
			}
		}
		if err := enc.Encode(values); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

// Tables lists the tables of records, each after those that its rows refer to. Which control
// planes run is not a record.
func Tables(ctx context.Context, conn *sql.Conn, postgres bool) ([]string, error) {
	names, refers := `SELECT name, '' FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`,
		`SELECT m.name, f."table" FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`
	if postgres {
		names = `SELECT table_name, '' FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name`
		refers = `SELECT c.relname, p.relname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class p ON p.oid = k.confrelid ` +
			`WHERE k.contype = 'f' AND c.relnamespace = current_schema()::regnamespace`
	}
	all, err := pairs(ctx, conn, names)
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}
	edges, err := pairs(ctx, conn, refers)
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}
	var out []string
	var visit func(name string, depth int)
	visit = func(name string, depth int) {
		if slices.Contains(out, name) || strings.HasPrefix(name, "goose_") || strings.HasPrefix(name, "cluster_") || depth > len(all) {
			return
		}
		for _, e := range edges {
			if e[0] == name && e[1] != name {
				visit(e[1], depth+1)
			}
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, n := range all {
		visit(n[0], 0)
	}
	return out, nil
}

func pairs(ctx context.Context, conn *sql.Conn, query string) (out [][2]string, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err says what matters
	for rows.Next() {
		var p [2]string
		if err := rows.Scan(&p[0], &p[1]); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// HasRows reports whether any table of records has a row.
func HasRows(ctx context.Context, db *sql.DB, postgres bool) (bool, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, fmt.Errorf("reading the records: %w", err)
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	tables, err := Tables(ctx, conn, postgres)
	if err != nil {
		return false, err
	}
	for _, t := range tables {
		var one int
		err := conn.QueryRowContext(ctx, `SELECT 1 FROM "`+t+`" LIMIT 1`).Scan(&one) // the name is the schema's own
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return false, fmt.Errorf("reading table %s: %w", t, err)
		}
	}
	return false, nil
}

// Fill inserts the rows of the dump in one transaction and returns how many there are.
func (d *Reader) Fill(ctx context.Context, db *sql.DB, postgres bool) (n int64, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("beginning a transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit this does nothing
	conn, err := columns(ctx, tx, postgres)
	if err != nil {
		return 0, err
	}
	var stmt *sql.Stmt
	var table section
	for {
		var line json.RawMessage
		if err := d.next(&line); err != nil {
			return n, err
		}
		if line[0] == '[' {
			if stmt == nil {
				return n, notADump("a row comes before its table")
			}
			values, err := parseValues(line, len(table.Columns))
			if err != nil {
				return n, err
			}
			if _, err := stmt.ExecContext(ctx, values...); err != nil {
				return n, fmt.Errorf("writing a row of %s: %w", table.Table, err)
			}
			n++
			continue
		}
		if stmt != nil {
			if err := stmt.Close(); err != nil {
				return n, fmt.Errorf("writing %s: %w", table.Table, err)
			}
		}
		var end trailer
		if json.Unmarshal(line, &end) == nil && end.End {
			if end.Rows != n {
				return n, notADump(fmt.Sprintf("it says %d rows and has %d", end.Rows, n))
			}
			break
		}
		table = section{}
		if json.Unmarshal(line, &table) != nil || !knownColumns(conn[table.Table], table.Columns) {
			return n, notADump(fmt.Sprintf("it has a table %.80q that its schema does not have", table.Table))
		}
		if stmt, err = tx.PrepareContext(ctx, insertInto(&table, postgres)); err != nil {
			return n, fmt.Errorf("writing %s: %w", table.Table, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return n, fmt.Errorf("committing: %w", err)
	}
	return n, nil
}

// columns are the columns of every table. Names of a dump are compared with them
// before they become part of a statement.
func columns(ctx context.Context, tx *sql.Tx, postgres bool) (map[string][]string, error) {
	query := `SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`
	if postgres {
		query = `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()`
	}
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("listing the columns: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err says what matters
	out := map[string][]string{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, fmt.Errorf("listing the columns: %w", err)
		}
		out[table] = append(out[table], column)
	}
	return out, rows.Err()
}

func knownColumns(known, given []string) bool {
	for _, c := range given {
		if !slices.Contains(known, c) {
			return false
		}
	}
	return len(given) > 0
}

func insertInto(t *section, postgres bool) string {
	var b strings.Builder
	b.WriteString(`INSERT INTO "` + t.Table + `" ("` + strings.Join(t.Columns, `", "`) + `") VALUES (`)
	for i := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		if postgres {
			fmt.Fprintf(&b, "$%d", i+1)
		} else {
			b.WriteByte('?')
		}
	}
	b.WriteByte(')')
	return b.String()
}

func parseValues(line []byte, n int) ([]any, error) {
	dec := json.NewDecoder(strings.NewReader(string(line)))
	dec.UseNumber()
	var values []any
	if err := dec.Decode(&values); err != nil || len(values) != n {
		return nil, notADump("a row does not fit its table")
	}
	for i, v := range values {
		switch v := v.(type) {
		case json.Number:
			x, err := v.Int64()
			if err != nil {
				return nil, notADump("it has a number that is not whole")
			}
			values[i] = x
		case map[string]any:
			text, _ := v["b"].(string)
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, notADump("it has bytes that are not base64")
			}
			values[i] = b
		case string, bool, nil:
		default:
			return nil, notADump("it has a value of an unknown kind")
		}
	}
	return values, nil
}

func notADump(why string) error {
	return problem.New(problem.InvalidArgument, "the records of the backup cannot be read: %s", why).Fix("use another backup")
}

// Reader reads a dump. It is used by one goroutine.
type Reader struct {
	Head  Head
	lines *bufio.Reader
}

// Open reads the head of a dump. It fails with [problem.InvalidArgument] when it is none.
func Open(r io.Reader) (*Reader, error) {
	d := &Reader{lines: bufio.NewReaderSize(r, 1<<16)}
	if err := d.next(&d.Head); err != nil {
		return nil, err
	}
	if d.Head.Format != format || d.Head.Version != 1 {
		return nil, notADump("its format is not known")
	}
	return d, nil
}

// next reads a line into a value.
func (d *Reader) next(to any) error {
	line, err := d.line()
	if err != nil {
		return err
	}
	if json.Unmarshal(line, to) != nil {
		return notADump("a line is not JSON")
	}
	return nil
}

// line is the next line with its end.
func (d *Reader) line() (line []byte, err error) {
	for {
		part, err := d.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, notADump("a row is too long")
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, notADump("it ends early")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("reading the records: %w", err)
		}
	}
}
