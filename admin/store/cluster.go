package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/sluicegate/sluice/admin/store/claim"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// MemberAge is how long a control plane that says nothing any more is listed.
	MemberAge = time.Hour
	// memberConnections of a control plane that follows: one asks who leads, one says that
	// it is there.
	memberConnections = 2
	// undefinedTable is PostgreSQL's code for a table that is not there: the schema is of a
	// version without it.
	undefinedTable = "42P01"
)

// Leader is the control plane that reads and writes the records of a database.
type Leader struct {
	bun.BaseModel `bun:"table:cluster_leader"`
	ID            int64  `bun:"id,pk"`  // 1: there is one row
	Number        uint64 `bun:"number"` // grows with each leader
	Member        string `bun:"member"`
	URL           string `bun:"url"`    // where others of the cluster reach it; "": it does not serve yet, or to nobody
	Pin           string `bun:"pin"`    // digest of its certificate; "": none is shown, or one of an authority
	Keys          string `bun:"keys"`   // identifiers of its keys
	Sealed        []byte `bun:"sealed"` // the key that requests are passed on with
	Since         Time   `bun:"since"`
}

// Record is what the key of a leader is sealed for.
func (l *Leader) Record() secrets.Record {
	return secrets.Record{Key: "cluster/" + l.Member, Version: l.Number}
}

// ClusterMember is a control plane of a database.
type ClusterMember struct {
	bun.BaseModel `bun:"table:cluster_members"`
	Name          string `bun:"name,pk"`
	URL           string `bun:"url"`
	Version       string `bun:"version"`
	StartedAt     Time   `bun:"started_at"`
	SeenAt        Time   `bun:"seen_at"`
}

// Cluster is what a control plane asks and says of the others before it leads: who does,
// and that it is there. It is safe for concurrent use.
type Cluster struct {
	db  *bun.DB
	now func() time.Time
}

// OpenCluster opens a PostgreSQL database without a look at it: a server that is away answers
// later.
func OpenCluster(url string) (*Cluster, error) {
	c, err := claim.Config(url, "sluice member")
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(stdlib.GetConnector(*c))
	db.SetMaxOpenConns(memberConnections)
	db.SetMaxIdleConns(memberConnections)
	return &Cluster{db: bun.NewDB(db, pgdialect.New()), now: time.Now}, nil
}

// Close closes the connections.
func (c *Cluster) Close() error { return c.db.Close() }

// Leader returns the leader; nil: there is none, or one of a version that does not say where
// it is.
func (c *Cluster) Leader(ctx context.Context) (*Leader, error) {
	l, err := leader(ctx, c.db)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == undefinedTable {
		return nil, nil //nolint:nilnil // there is none
	}
	return l, err
}

func leader(ctx context.Context, db bun.IDB) (*Leader, error) {
	l := new(Leader)
	err := db.NewSelect().Model(l).Where("id = 1").Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("asking who leads: %w", err)
	}
	return l, nil
}

// Seen says that a member is there. Where the schema has no place for that, nothing is said.
func (c *Cluster) Seen(ctx context.Context, m *ClusterMember) error {
	m.SeenAt = Time{Time: c.now()}
	_, err := c.db.NewInsert().Model(m).On("CONFLICT (name) DO UPDATE").Set("url = EXCLUDED.url").Set("version = EXCLUDED.version").
		Set("started_at = EXCLUDED.started_at").Set("seen_at = EXCLUDED.seen_at").Exec(ctx)
	if err == nil {
		_, err = c.db.NewDelete().Model((*ClusterMember)(nil)).Where("seen_at < ?", Time{Time: c.now().Add(-MemberAge)}).Exec(ctx)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == undefinedTable {
		return nil
	}
	if err != nil {
		return fmt.Errorf("telling the other control planes: %w", err)
	}
	return nil
}

// Gone takes a member that ends off the list.
func (c *Cluster) Gone(ctx context.Context, name string) error {
	if _, err := c.db.NewDelete().Model((*ClusterMember)(nil)).Where("name = ?", name).Exec(ctx); err != nil {
		return fmt.Errorf("telling the other control planes: %w", err)
	}
	return nil
}

// ClusterMembers lists the control planes of the database by name, and who leads: nil where no
// control plane ever took the lead.
func (s *Store) ClusterMembers(ctx context.Context) ([]ClusterMember, *Leader, error) {
	var rows []ClusterMember
	if err := s.read.NewSelect().Model(&rows).Where("seen_at >= ?", Time{Time: s.now().Add(-MemberAge)}).Order("name").Limit(MaxLimit).Scan(ctx); err != nil {
		return nil, nil, fmt.Errorf("listing the control planes: %w", err)
	}
	l, err := leader(ctx, s.read)
	return rows, l, err
}

// begin makes this process the leader: writes of the one before are refused from now on. It
// waits for those that run.
func (s *Store) begin(ctx context.Context) error {
	var number uint64
	err := s.write.QueryRowContext(ctx, `INSERT INTO cluster_leader (id, number, member, url, pin, keys, since) VALUES (1, 1, '', '', '', '', ?)
		ON CONFLICT (id) DO UPDATE SET number = cluster_leader.number + 1, member = '', url = '', pin = '', keys = '', sealed = NULL, since = EXCLUDED.since
		RETURNING number`, Time{Time: s.now()}).Scan(&number)
	if err != nil {
		return fmt.Errorf("taking the lead: %w", err)
	}
	s.claim.Begin(number)
	return nil
}

// Term is the number under which this process leads; 0 where nothing is claimed.
func (s *Store) Term() uint64 {
	if s.claim == nil {
		return 0
	}
	return s.claim.Number()
}

// Announce says where the leader is. It fails with [problem.Unavailable] when this process
// does not lead any more.
func (s *Store) Announce(ctx context.Context, l *Leader) error {
	l.ID, l.Since = 1, Time{Time: s.now()}
	n, err := affected(s.write.NewUpdate().Model(l).WherePK().Where("number = ?", l.Number).Exec(ctx))
	if err != nil {
		return fmt.Errorf("saying where the leader is: %w", err)
	}
	if n == 0 {
		s.claim.Replaced()
		return errReplaced()
	}
	return nil
}

// fence refuses a transaction of a process that does not lead any more, and makes the next
// leader wait for those that do. On SQLite the directory is locked.
func (s *Store) fence(ctx context.Context, tx bun.IDB) error {
	if s.claim == nil {
		return nil
	}
	number := s.claim.Number()
	if number == 0 {
		return nil // this process is only about to lead
	}
	var now uint64
	if err := tx.QueryRowContext(ctx, `SELECT number FROM cluster_leader WHERE id = 1 FOR SHARE`).Scan(&now); err != nil {
		return fmt.Errorf("asking who leads: %w", err)
	}
	if now != number {
		s.claim.Replaced()
		return errReplaced()
	}
	return nil
}

// errReplaced is the error of what a process asks for that does not lead any more.
func errReplaced() error {
	return problem.New(problem.Unavailable, "another control plane has taken over the database, and nothing was changed").
		Fix("repeat the request in a moment")
}
