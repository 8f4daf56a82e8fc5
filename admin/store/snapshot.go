package store

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/dump"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Snapshot reads the records as they were at one moment, while writers go on. It
// holds one connection and is used by one goroutine. An SQLite database keeps what is
// written meanwhile in its write-ahead log until the snapshot is closed.
type Snapshot struct {
	store  *Store
	conn   bun.Conn
	schema int64
	tables []string
}

// Snapshot begins to read. The caller closes it.
func (s *Store) Snapshot(ctx context.Context) (_ *Snapshot, err error) {
	p, err := s.provider()
	if err != nil {
		return nil, err
	}
	schema, err := p.GetDBVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the schema version: %w", err)
	}
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the records: %w", err)
	}
	begin := "BEGIN" // the driver's own would take the lock of writers
	if s.postgres {
		begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	}
	out := &Snapshot{store: s, conn: conn, schema: schema}
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		_ = conn.Close() // nothing was begun
		return nil, fmt.Errorf("reading the records: %w", err)
	}
	// The first read fixes the moment, on both databases.
	if out.tables, err = dump.Tables(ctx, conn.Conn, s.postgres); err != nil {
		_ = out.Close() // the error before it says more
		return nil, err
	}
	return out, nil
}

// Close ends the snapshot.
func (p *Snapshot) Close() error {
	_, _ = p.conn.ExecContext(context.Background(), "ROLLBACK") // nothing was written
	return p.conn.Close()
}

// Dump writes every record and returns how many there are. It holds one row at a time.
func (p *Snapshot) Dump(ctx context.Context, w io.Writer) (rows int64, err error) {
	return dump.Write(ctx, p.conn.Conn, p.tables, p.schema, w)
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

// LiveBundles lists the bundles that the records say are live.
func (p *Snapshot) LiveBundles(ctx context.Context) ([]Bundle, error) {
	return liveBundles(ctx, p.conn)
}

// SealedKeys is [Store.SealedKeys] of the snapshot.
func (p *Snapshot) SealedKeys(ctx context.Context) ([]string, error) { return sealedKeys(ctx, p.conn) }

// LiveBundles lists the bundles of every workspace that the records say are live, and of
// candidates on trial.
func (s *Store) LiveBundles(ctx context.Context) ([]Bundle, error) { return liveBundles(ctx, s.read) }

func liveBundles(ctx context.Context, db bun.IDB) ([]Bundle, error) {
	var rows []Toolset
	if err := db.NewSelect().Model(&rows).Column("live_digest", "live_repository").Where("live_digest <> ''").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing live toolsets: %w", err)
	}
	out, err := trialBundles(ctx, db)
	for i := range rows {
		out = append(out, Bundle{rows[i].LiveRepository, rows[i].LiveDigest})
	}
	return out, err
}

// sealedColumns are those that hold what a [secrets.Keyring] sealed for long; empty bytes
// seal nothing. Pending logins, which nobody misses after minutes, are not among them.
var sealedColumns = [][2]string{
	{"credentials", "sealed"}, {"oauth_tokens", "sealed"}, {"oauth_clients", "sealed"}, {"channels", "sealed"}, {"request_people", "sealed"}, {"acme_values", "sealed"},
}

// SealedKeys lists the identifiers of the key-encryption keys that sealed what is in
// the records, sorted. Without each of them something cannot be opened.
func (s *Store) SealedKeys(ctx context.Context) ([]string, error) { return sealedKeys(ctx, s.read) }

func sealedKeys(ctx context.Context, db bun.IDB) ([]string, error) {
	seen := map[string]bool{}
	for _, c := range sealedColumns {
		// The head of a sealed value names its key; SUBSTR works on bytes in both databases.
		var heads [][]byte
		err := db.NewSelect().Table(c[0]).ColumnExpr("DISTINCT SUBSTR(?, 1, ?) AS head", bun.Ident(c[1]), secrets.SealedHead).
			Where("LENGTH(?) > 0", bun.Ident(c[1])).Scan(ctx, &heads)
		if err != nil {
			return nil, fmt.Errorf("listing the keys that sealed %s: %w", c[0], err)
		}
		for _, h := range heads {
			if id, ok := secrets.SealedBy(h); ok {
				seen[id] = true
			}
		}
	}
	out := make([]string, 0, len(seen))
	for id := range seen {
		out = append(out, id)
	}
	slices.Sort(out)
	return out, nil
}
