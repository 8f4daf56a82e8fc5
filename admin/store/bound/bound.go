package bound

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
)

// bun writes values into the text of a statement. Here it writes marks instead, which
// the connection takes out again and binds as parameters: no text and no bytes of a
// record are ever part of SQL. Numbers stay in the text.
//
// A mark is markByte, a letter for the kind of value, the value in base64, markByte.
// The byte is in no statement of package store, and base64 cannot hold it.

const (
	markByte   = '\x01'
	markString = 's'
	markBytes  = 'b'
)

var errMark = errors.New("BUG: a statement has a broken parameter mark")

func appendMark[T string | []byte](b []byte, kind byte, value T) []byte {
	b = append(b, markByte, kind)
	b = base64.StdEncoding.AppendEncode(b, []byte(value))
	return append(b, markByte)
}

// Postgres is bun's dialect with marks for text and bytes.
type Postgres struct{ *pgdialect.Dialect }

// SQLite is bun's dialect with marks for text and bytes.
type SQLite struct{ *sqlitedialect.Dialect }

// AppendString implements [schema.Dialect].
func (Postgres) AppendString(b []byte, s string) []byte { return appendMark(b, markString, s) }

// AppendBytes appends NULL for nil.
func (Postgres) AppendBytes(b, value []byte) []byte { return appendBytesMark(b, value) }

// AppendJSON appends a JSON text.
func (Postgres) AppendJSON(b, text []byte) []byte { return appendMark(b, markString, text) }

// AppendString implements [schema.Dialect].
func (SQLite) AppendString(b []byte, s string) []byte { return appendMark(b, markString, s) }

// AppendBytes appends NULL for nil.
func (SQLite) AppendBytes(b, value []byte) []byte { return appendBytesMark(b, value) }

// AppendJSON appends a JSON text.
func (SQLite) AppendJSON(b, text []byte) []byte { return appendMark(b, markString, text) }

func appendBytesMark(b, value []byte) []byte {
	if value == nil {
		return append(b, "NULL"...)
	}
	return appendMark(b, markBytes, value)
}

// bind takes the marks out of a statement: numbered placeholders, which begin with
// prefix, take their place, and the values follow args. SQLite's have no number where
// they stand in order anyway: it keeps a list of the numbered ones, which its driver reads
// from the start for each of them.
func bind(prefix byte, query string, args []driver.NamedValue) (string, []driver.NamedValue, error) {
	at := strings.IndexByte(query, markByte)
	if at < 0 {
		return query, args, nil
	}
	numbered := prefix != '?' || len(args) > 0
	var text strings.Builder
	text.Grow(len(query))
	var encoded, raw []byte // of the values, one after the other
	args = append(make([]driver.NamedValue, 0, len(args)+strings.Count(query, string(markByte))/2), args...)
	for ; at >= 0; at = strings.IndexByte(query, markByte) {
		text.WriteString(query[:at])
		mark, rest, ok := strings.Cut(query[at+1:], string(markByte))
		if !ok || mark == "" {
			return "", nil, errMark
		}
		var err error
		encoded = append(encoded[:0], mark[1:]...)
		if raw, err = base64.StdEncoding.AppendDecode(raw[:0], encoded); err != nil {
			return "", nil, errMark
		}
		var value driver.Value
		switch mark[0] {
		case markBytes:
			value = append([]byte{}, raw...) // not nil, which is NULL
		case markString:
			value = string(raw)
		default:
			return "", nil, errMark
		}
		n := len(args) + 1
		args = append(args, driver.NamedValue{Ordinal: n, Value: value})
		text.WriteByte(prefix)
		if numbered {
			text.WriteString(strconv.Itoa(n))
		}
		query = rest
	}
	text.WriteString(query)
	return text.String(), args, nil
}

// OpenConnector opens a database whose connections bind; placeholders are numbered after prefix.
func OpenConnector(c driver.Connector, prefix byte) *sql.DB {
	return sql.OpenDB(boundConnector{c, prefix})
}

// boundConnector makes connections that bind.
type boundConnector struct {
	driver.Connector

	prefix byte // of a placeholder: $ or ?
}

// Connect implements [driver.Connector].
func (c boundConnector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := inner.(boundable)
	if !ok {
		return nil, errors.Join(errors.New("BUG: the database driver does not take parameters with a statement"), inner.Close())
	}
	return &boundConn{conn, c.prefix}, nil
}

// boundable is what both drivers implement.
type boundable interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
}

// boundConn is a connection that binds the values of marks.
type boundConn struct {
	boundable

	prefix byte
}

// ExecContext implements [driver.ExecerContext].
func (c *boundConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query, args, err := bind(c.prefix, query, args)
	if err != nil {
		return nil, err
	}
	return c.boundable.ExecContext(ctx, query, args)
}

// QueryContext implements [driver.QueryerContext].
func (c *boundConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, args, err := bind(c.prefix, query, args)
	if err != nil {
		return nil, err
	}
	return c.boundable.QueryContext(ctx, query, args)
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (c *boundConn) CheckNamedValue(v *driver.NamedValue) error {
	if inner, ok := c.boundable.(driver.NamedValueChecker); ok {
		return inner.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// ResetSession implements [driver.SessionResetter].
func (c *boundConn) ResetSession(ctx context.Context) error {
	if inner, ok := c.boundable.(driver.SessionResetter); ok {
		return inner.ResetSession(ctx)
	}
	return nil
}

// IsValid implements [driver.Validator].
func (c *boundConn) IsValid() bool {
	inner, ok := c.boundable.(driver.Validator)
	return !ok || inner.IsValid()
}

// dsnConnector is a driver that has no connectors of its own, with a name to open.
type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

// Connect implements [driver.Connector].
func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

// Driver implements [driver.Connector].
func (c dsnConnector) Driver() driver.Driver { return c.driver }

// Open opens a database of a registered driver without connectors, with binding
// connections; placeholders are numbered after prefix.
func Open(name, dsn string, prefix byte) (*sql.DB, error) {
	plain, err := sql.Open(name, dsn) // does not connect
	if err != nil {
		return nil, err
	}
	d := plain.Driver()
	return sql.OpenDB(boundConnector{dsnConnector{d, dsn}, prefix}), plain.Close()
}
