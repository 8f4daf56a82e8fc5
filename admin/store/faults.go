package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/sluicegate/sluice/admin/store/claim"
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
	// fullFor is how long a full disk of the database server is told after a statement met it.
	fullFor = 30 * time.Second
)

// Fault returns what is wrong with the database or its disk, as a problem that names the
// cause; nil when err reports no such fault.
func Fault(err error) *problem.Error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		if p := sqliteFault(e.Code()); p != nil {
			return p.Because(err)
		}
	}
	if p := claim.Fault(err); p != nil {
		return p
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

// Explain is err, or what is wrong with the file of the records or the database server when
// that is its cause and nothing said so yet: for those who open what works on them.
func (s *Store) Explain(err error) error {
	if _, ok := errors.AsType[*sqlite.Error](err); !ok && claim.Fault(err) == nil || problem.As(err) != nil {
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

// watcher remembers that a statement met damage, or a full disk of the database server: other
// statements are answered as if nothing were wrong, also that of the probe, whose one row takes
// no more room than before.
type watcher struct {
	damage atomic.Pointer[problem.Error]
	full   atomic.Pointer[fullDisk]
	now    func() time.Time
}

// fullDisk is what a statement met at a time.
type fullDisk struct {
	what *problem.Error
	at   time.Time
}

var _ bun.QueryHook = (*watcher)(nil)

// BeforeQuery implements [bun.QueryHook].
func (w *watcher) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

// AfterQuery implements [bun.QueryHook].
func (w *watcher) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if e.Err == nil {
		return
	}
	if claim.Full(e.Err) {
		w.full.Store(&fullDisk{claim.Fault(e.Err), w.now()})
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
// statement met is told until the end of the process, a full disk of a server for 30 seconds.
func (s *Store) Health(ctx context.Context) error {
	if p := s.watch.damage.Load(); p != nil {
		return p
	}
	if f := s.watch.full.Load(); f != nil && s.now().Sub(f.at) < fullFor {
		return f.what
	}
	if err := s.Ping(ctx); err != nil {
		return cmp.Or(Fault(err), problem.New(problem.Unavailable, "the database does not answer").Fix("look at its server and at the network").Because(err))
	}
	return s.probe.Result(ctx)
}
