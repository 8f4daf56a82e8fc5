package store

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/sluicegate/sluice/admin/store/bound"
	"github.com/sluicegate/sluice/admin/store/claim"
)

// postgresConnections is how many connections one process holds: commits group on
// the server, and its default of 100 is shared by replicas and people.
const postgresConnections = 16

// uniqueViolation is PostgreSQL's code for a violated UNIQUE or PRIMARY KEY
// constraint (PostgreSQL documentation, appendix A).
const uniqueViolation = "23505"

func (s *Store) openPostgres(url string) error {
	c, err := claim.Config(url, claim.Name)
	if err != nil {
		return err
	}
	s.path = claim.Server(c)
	s.sessions.Keep(c)
	db := bound.OpenConnector(stdlib.GetConnector(*c), '$')
	db.SetMaxOpenConns(postgresConnections)
	db.SetMaxIdleConns(postgresConnections)
	s.write = bun.NewDB(db, bound.Postgres{Dialect: pgdialect.New()})
	s.read = s.write
	s.postgres = true
	return nil
}

// lockWorkspace makes the writers of one workspace run one after the other, as on
// SQLite: the numbers of audit records and revisions count on it.
const lockWorkspace = `SELECT pg_advisory_xact_lock(hashtextextended('sluice workspace ' || ?, 0))`

func isUniquePostgres(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == uniqueViolation
}
