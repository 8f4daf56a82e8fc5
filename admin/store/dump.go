package store

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

const dumpFormat = "sluice-records"

// maxDumpLine of one row: a specification of 64 MB that gzip does not make smaller,
// in base64, with room.
const maxDumpLine = 128 << 20

type dumpHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Schema  int64  `json:"schema"` // of the migrations
}

type dumpTable struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

type dumpEnd struct {
	End  bool  `json:"end"`
	Rows int64 `json:"rows"`
}

type dumpBytes struct {
	B []byte `json:"b"`
}

// Dump is [Snapshot.Dump] of this moment.
func (s *Store) Dump(ctx context.Context, w io.Writer) (rows int64, err error) {
	p, err := s.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.Close() }() // nothing was written
	return p.Dump(ctx, w)
}

func dumpRows(ctx context.Context, conn *sql.Conn, table string, enc *json.Encoder) (n int64, err error) {
	rows, err := conn.QueryContext(ctx, `SELECT * FROM "`+table+`"`) //nolint:gosec,unqueryvet // the name is the schema's own, and a dump has every column
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }() // rows.Err says what matters
	kinds, err := rows.ColumnTypes()
	if err != nil {
		return 0, err
	}
	head := dumpTable{Table: table}
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
				values[i] = dumpBytes{append([]byte{}, v...)} // nothing is no null
				if kind == "TEXT" {
					values[i] = string(v)
				}
			case string:
				if kind == "BYTEA" {
					values[i] = dumpBytes{[]byte(v)}
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

// tables lists the tables of records, each after those that its rows refer to. Which control
// planes run is no record.
func (s *Store) tables(ctx context.Context, conn *sql.Conn) ([]string, error) {
	names, refers := `SELECT name, '' FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`,
		`SELECT m.name, f."table" FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`
	if s.postgres {
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

// Load fills an empty database with a dump of either kind of database, brings its
// schema up to date and returns how many records there are. It is all or nothing. It
// fails with [problem.Conflict] when the database is not empty or the dump is newer
// than this program or from before a release, and with [problem.InvalidArgument] when the dump is not whole.
func Load(ctx context.Context, opts Options, r io.Reader) (rows int64, err error) {
	opts.defaults()
	d := &dumpReader{lines: bufio.NewReaderSize(r, 1<<16)}
	var head dumpHead
	if err := d.next(&head); err != nil {
		return 0, err
	}
	if head.Format != dumpFormat || head.Version != 1 {
		return 0, notADump("its format is not known")
	}
	if head.Schema < firstSchema {
		return 0, problem.New(problem.Conflict, "the backup has schema %d, of a version of Sluice from before the first release, which this version does not read", head.Schema).
			Fix("restore it with the old version, export the toolsets there (sluice export), and import them into a new data directory (sluice import)")
	}
	s, err := connect(ctx, opts)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := s.provider()
	if err != nil {
		return 0, err
	}
	have, target, err := p.GetVersions(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the schema version: %w", err)
	}
	// Tables without a row are what a load that failed leaves.
	used := have > head.Schema
	if have != 0 && !used {
		if used, err = s.hasRows(ctx); err != nil {
			return 0, err
		}
	}
	switch {
	case used:
		return 0, problem.New(problem.Conflict, "the database is not empty").Fix("restore into a new data directory, or a new database")
	case head.Schema > target:
		return 0, problem.New(problem.Conflict, "the backup has schema %d, this program knows up to %d", head.Schema, target).Fix("use the newer program")
	}
	if _, err := p.UpTo(ctx, head.Schema); err != nil {
		return 0, fmt.Errorf("making the schema of the backup: %w", err)
	}
	if rows, err = s.fill(ctx, d); err != nil {
		return rows, err
	}
	return rows, s.migrate(ctx, opts)
}

// hasRows reports whether any table of records has a row.
func (s *Store) hasRows(ctx context.Context) (bool, error) {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return false, fmt.Errorf("reading the records: %w", err)
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	tables, err := s.tables(ctx, conn.Conn)
	if err != nil {
		return false, err
	}
	for _, t := range tables {
		var one int
		err := conn.NewSelect().Table(t).ColumnExpr("1").Limit(1).Scan(ctx, &one)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return false, fmt.Errorf("reading table %s: %w", t, err)
		}
	}
	return false, nil
}

// fill inserts the rows of a dump in one transaction.
func (s *Store) fill(ctx context.Context, d *dumpReader) (n int64, err error) {
	tx, err := s.write.DB.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("beginning a transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit this does nothing
	conn, err := s.columns(ctx, tx)
	if err != nil {
		return 0, err
	}
	var stmt *sql.Stmt
	var table dumpTable
	for {
		var line json.RawMessage
		if err := d.next(&line); err != nil {
			return n, err
		}
		if line[0] == '[' {
			if stmt == nil {
				return n, notADump("a row comes before its table")
			}
			values, err := dumpValues(line, len(table.Columns))
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
		var end dumpEnd
		if json.Unmarshal(line, &end) == nil && end.End {
			if end.Rows != n {
				return n, notADump(fmt.Sprintf("it says %d rows and has %d", end.Rows, n))
			}
			break
		}
		table = dumpTable{}
		if json.Unmarshal(line, &table) != nil || !knownColumns(conn[table.Table], table.Columns) {
			return n, notADump(fmt.Sprintf("it has a table %.80q that its schema does not have", table.Table))
		}
		if stmt, err = tx.PrepareContext(ctx, s.insertInto(&table)); err != nil {
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
func (s *Store) columns(ctx context.Context, tx *sql.Tx) (map[string][]string, error) {
	query := `SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`
	if s.postgres {
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

func (s *Store) insertInto(t *dumpTable) string {
	var b strings.Builder
	b.WriteString(`INSERT INTO "` + t.Table + `" ("` + strings.Join(t.Columns, `", "`) + `") VALUES (`)
	for i := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		if s.postgres {
			fmt.Fprintf(&b, "$%d", i+1)
		} else {
			b.WriteByte('?')
		}
	}
	b.WriteByte(')')
	return b.String()
}

func dumpValues(line []byte, n int) ([]any, error) {
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

// dumpReader reads lines of JSON.
type dumpReader struct{ lines *bufio.Reader }

func (d *dumpReader) next(to any) error {
	var line []byte
	for {
		part, err := d.lines.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxDumpLine {
			return notADump("a row is too long")
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				return notADump("it ends early")
			}
			return fmt.Errorf("reading the records: %w", err)
		}
	}
	if json.Unmarshal(line, to) != nil {
		return notADump("a line is not JSON")
	}
	return nil
}
