package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluicegate/sluice/admin/store/dump"
	"github.com/sluicegate/sluice/internal/problem"
)

// Load fills an empty database with a dump of either kind of database, brings its
// schema up to date and returns how many records there are. It is all or nothing. It
// fails with [problem.Conflict] when the database is not empty or the dump is newer
// than this program or from before a release, and with [problem.InvalidArgument] when the dump is not whole.
func Load(ctx context.Context, opts Options, r io.Reader) (rows int64, err error) {
	opts.defaults()
	d, err := dump.Open(r)
	if err != nil {
		return 0, err
	}
	head := &d.Head
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
		if used, err = dump.HasRows(ctx, s.read.DB, s.postgres); err != nil {
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
	if rows, err = d.Fill(ctx, s.write.DB, s.postgres); err != nil {
		return rows, err
	}
	return rows, s.migrate(ctx, opts)
}
