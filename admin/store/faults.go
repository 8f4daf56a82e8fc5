package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/diskfault"
	"github.com/sluicegate/sluice/internal/probe"
	"github.com/sluicegate/sluice/internal/problem"
)

// How often the database is written to see whether it can be, at most.
const (
	probeEvery = 10 * time.Second // orchestrators ask every few seconds
	probeAgain = time.Second      // so that it is soon known that there is room again
	// probePatience is beyond the longest wait for the lock of writers (busy_timeout).
	probePatience = 15 * time.Second
)

// Codes of PostgreSQL (its documentation, appendix A) for a server that cannot write.
const (
	pgDiskFull        = "53100"
	pgReadOnly        = "25006"
	pgDataCorrupted   = "XX001"
	pgIndexCorrupted  = "XX002"
	pgInvalidPassword = "28P01"
	pgInvalidAuth     = "28000"
	pgNoDatabase      = "3D000"
)

// Fault returns what is wrong with the database or its disk, as a problem that names the
// cause; nil when err reports no such fault.
func Fault(err error) *problem.Error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		if p := sqliteFault(e.Code()); p != nil {
			return p.Because(err)
		}
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if p := postgresFault(e.Code); p != nil {
			return p.Because(err)
		}
	}
	return diskfault.Of(err)
}

func sqliteFault(code int) *problem.Error {
	const where = "the database of the records"
	switch code & 0xff { // the rest of an extended code says where it happened
	case sqlitelib.SQLITE_FULL:
		return diskfault.Full(where)
	case sqlitelib.SQLITE_READONLY:
		return diskfault.ReadOnly(where)
	case sqlitelib.SQLITE_PERM, sqlitelib.SQLITE_AUTH:
		return diskfault.Forbidden(where)
	case sqlitelib.SQLITE_IOERR:
		return diskfault.Failing(where)
	case sqlitelib.SQLITE_CANTOPEN:
		return problem.New(problem.Unavailable, "the database of the records cannot be opened").
			Fix("see that the data directory can be written, and that the disk has room")
	case sqlitelib.SQLITE_CORRUPT:
		return problem.New(problem.Unavailable, "the database of the records is damaged").
			Fix("stop the node and restore a backup: sluice restore FILE --replace; the disk may be failing")
	case sqlitelib.SQLITE_NOTADB:
		return problem.New(problem.Unavailable, "the database of the records is damaged, or no SQLite database").
			Fix("stop the node and restore a backup: sluice restore FILE --replace; the disk may be failing")
	}
	return nil
}

func postgresFault(code string) *problem.Error {
	switch code {
	case pgDiskFull:
		return problem.New(problem.Unavailable, "the disk of the database server is full").Fix("make room there")
	case pgReadOnly:
		return problem.New(problem.Unavailable, "the database server is read-only").Fix("name the primary server, not a standby")
	case pgDataCorrupted, pgIndexCorrupted:
		return problem.New(problem.Unavailable, "the database server reports damaged data").Fix("look at its log; restore a backup into a new database")
	case pgInvalidPassword, pgInvalidAuth:
		return problem.New(problem.Unavailable, "the database server refuses the user or password").Fix("check SLUICE_DATABASE")
	case pgNoDatabase:
		return problem.New(problem.Unavailable, "the database server has no database of that name").Fix("make it, or check SLUICE_DATABASE")
	}
	return nil
}

// tryBytes are written beside a database that cannot be opened, to see why.
const tryBytes = 64 << 10

// named puts the file of an SQLite database into a fault of it. SQLite tells a full disk
// that it met while opening as an error of input or output: what the directory says about
// a file counts then.
func named(p *problem.Error, path string) *problem.Error {
	if path == "" || p.Place.File != "" {
		return p
	}
	if e, ok := errors.AsType[*sqlite.Error](p); ok && (e.Code()&0xff == sqlitelib.SQLITE_IOERR || e.Code()&0xff == sqlitelib.SQLITE_CANTOPEN) {
		if cause := diskfault.Of(tryWrite(filepath.Dir(path))); cause != nil {
			p = cause
		}
	}
	return p.At(path, 0, 0, "")
}

// Explain is err, or what is wrong with the file of the records when that is its cause and
// nothing said so yet: for those who open what works on them.
func (s *Store) Explain(err error) error {
	if _, ok := errors.AsType[*sqlite.Error](err); !ok || problem.As(err) != nil {
		return err
	}
	if p := Fault(err); p != nil {
		return named(p, s.path)
	}
	return err
}

// unexpected is Explain for an error of SQLite that names no fault of the disk, where no
// statement can be wrong: damage makes tables seem to be missing, or to be there twice.
func (s *Store) unexpected(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && Fault(err) == nil && problem.As(err) == nil && e.Code()&0xff == sqlitelib.SQLITE_ERROR && s.Check(ctx) != nil {
		return named(sqliteFault(sqlitelib.SQLITE_CORRUPT).Because(err), s.path)
	}
	return s.Explain(err)
}

func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, atomicfile.TempPrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, tryBytes))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

// watcher remembers that a statement met damage: a database that has lost pages answers
// other statements as if nothing were wrong.
type watcher struct{ damage atomic.Pointer[problem.Error] }

var _ bun.QueryHook = (*watcher)(nil)

// BeforeQuery implements [bun.QueryHook].
func (w *watcher) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

// AfterQuery implements [bun.QueryHook].
func (w *watcher) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if e.Err == nil {
		return
	}
	if s, ok := errors.AsType[*sqlite.Error](e.Err); ok {
		if c := s.Code() & 0xff; c == sqlitelib.SQLITE_CORRUPT || c == sqlitelib.SQLITE_NOTADB {
			w.damage.CompareAndSwap(nil, Fault(e.Err))
		}
	}
}

func (s *Store) newProbe() *probe.Probe {
	return &probe.Probe{Every: probeEvery, Again: probeAgain, Patience: probePatience, Check: s.writeProbe}
}

// writeProbe writes one row, durably.
func (s *Store) writeProbe(ctx context.Context) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO write_probe (id, written_at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET written_at = EXCLUDED.written_at`, Time{Time: s.now()})
	if p := Fault(err); p != nil {
		return p
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return problem.New(problem.Unavailable, "the database did not take a write within %s", probePatience).Fix("look at its load and its disk").Because(err)
	}
	if err != nil {
		return fmt.Errorf("writing to the database: %w", err)
	}
	return nil
}

// Health reports whether the records can be read and written: a row is written and
// synced, at most once in ten seconds, or each second while that fails. Damage that any
// statement met is told until the end of the process.
func (s *Store) Health(ctx context.Context) error {
	if p := s.watch.damage.Load(); p != nil {
		return p
	}
	if err := s.Ping(ctx); err != nil {
		if p := Fault(err); p != nil {
			return p
		}
		return err
	}
	return s.probe.Result(ctx)
}
