package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/claim"
	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/admin/store/usage"
	"github.com/sluicegate/sluice/internal/probe"
	"github.com/sluicegate/sluice/internal/problem"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Bounds of lists.
const (
	// DefaultLimit is how many records a list returns when nothing is said.
	DefaultLimit = table.DefaultSize
	// MaxLimit is the most a list returns at once.
	MaxLimit = table.MaxSize
)

// Options of a store.
type Options struct {
	// Path is the SQLite file; it is made, with mode 0600, when it does not exist.
	Path string
	// URL names a PostgreSQL database (13 or newer) instead: postgres://… It may hold
	// a password and is never logged.
	URL string
	// Existing refuses a database whose schema is not this program's instead of
	// migrating it, and makes none: for looking at one that another process may use.
	Existing bool
	// Claim makes this process the one control plane of a PostgreSQL database, before
	// anything is migrated: Open fails with [problem.Conflict], naming the other, while
	// another is. See [Store.Claimed].
	Claim bool
	// StandBy makes Open wait for as long as another control plane is, also while the
	// server is away meanwhile; it is called once, with the error that names the other.
	// Default: Open waits ten seconds.
	StandBy func(taken error)
	// CallLogRows is how many calls of each workspace are kept. Default:
	// [DefaultCallLogRows].
	CallLogRows uint64
	// CallLogAge is how long calls are kept. Default: [DefaultCallLogAge].
	CallLogAge time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Logger gets migrations. Default: discard.
	Logger *slog.Logger
}

func (o *Options) defaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CallLogRows == 0 {
		o.CallLogRows = DefaultCallLogRows
	}
	if o.CallLogAge <= 0 {
		o.CallLogAge = DefaultCallLogAge
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Store is one open database. It is safe for concurrent use.
type Store struct {
	read  *bun.DB // several connections
	write *bun.DB // SQLite: one connection, so that writers queue here and not on a lock
	now   func() time.Time
	// postgres: both are the same pool, and writers of a workspace queue on a lock.
	postgres bool
	claim    *claim.Claim // nil: none was asked for
	sessions claim.Sessions
	usage    usage.Writer
	watch    watcher
	probe    *probe.Probe
	path     string // of SQLite's file, or host and port of the server

	// audited is notified of the newest audit record of each committed transaction; nil
	// when nobody listens.
	audited atomic.Pointer[func(*Audit)]

	idMu    sync.Mutex
	entropy *ulid.MonotonicEntropy // guarded by idMu
}

// firstSchema is the version of the oldest schema that is read. Databases and backups of
// earlier ones are of programs from before a release.
const firstSchema = 200

// Open opens the database, brings its schema up to date and returns a store. A schema
// newer than this program, or from before a release, is refused with [problem.Conflict].
func Open(ctx context.Context, opts Options) (*Store, error) {
	if (opts.Path == "") == (opts.URL == "") {
		return nil, problem.New(problem.InvalidArgument, "no database is named").Fix("set the data directory")
	}
	opts.defaults()
	if opts.Existing && opts.Path != "" {
		if _, err := os.Stat(opts.Path); err != nil {
			return nil, problem.New(problem.NotFound, "there is no database %s", opts.Path).Fix("name the data directory of a control plane, or its PostgreSQL database in SLUICE_DATABASE").Because(err)
		}
	}
	s, err := connect(ctx, opts)
	if err != nil {
		return nil, err
	}
	if opts.Claim && s.postgres {
		if s.claim, err = claim.Open(ctx, opts.URL, opts.StandBy, opts.Logger); err == nil {
			s.claim.OnHang(s.sessions.Hang)
			err = claim.Exclusive(ctx, s.write.DB)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.migrate(ctx, opts); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.claim != nil {
		if err := s.begin(ctx); err != nil {
			return nil, errors.Join(s.Explain(err), s.Close())
		}
	}
	return s, nil
}

// connect opens the database as it is.
func connect(ctx context.Context, opts Options) (*Store, error) {
	s := &Store{now: opts.Now, entropy: ulid.Monotonic(rand.Reader, 0), path: opts.Path}
	s.watch.now = opts.Now
	s.usage = usage.Writer{Now: opts.Now, NewID: s.NewID, CallRows: opts.CallLogRows, CallAge: opts.CallLogAge}
	open := func() error { return s.openSQLite(opts.Path) }
	if opts.URL != "" {
		open = func() error { return s.openPostgres(opts.URL) }
	}
	if err := open(); err != nil {
		if p := Fault(err); p != nil {
			return nil, named(p, s.path)
		}
		return nil, err
	}
	same := s.read == s.write
	s.write = s.write.WithQueryHook(&s.watch)
	if s.read = s.read.WithQueryHook(&s.watch); same {
		s.read = s.write
	}
	s.probe = s.newProbe()
	if err := s.write.PingContext(ctx); err != nil {
		if p := Fault(err); p != nil {
			return nil, errors.Join(named(p, s.path), s.Close())
		}
		return nil, errors.Join(problem.New(problem.Unavailable, "the database cannot be reached").
			Fix("look whether it runs, and at its name, user and password").Because(err), s.Close())
	}
	return s, nil
}

// provider runs the migrations of the schema on this database.
func (s *Store) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("reading the migrations: %w", err)
	}
	dialect, options := goose.DialectSQLite3, []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true)}
	if s.postgres {
		// Of replicas that start together one migrates.
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, fmt.Errorf("reading the migrations: %w", err)
		}
		dialect, options = goose.DialectPostgres, append(options, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(dialect, s.write.DB, files, options...)
	if err != nil {
		return nil, fmt.Errorf("reading the migrations: %w", err)
	}
	return p, nil
}

func (s *Store) migrate(ctx context.Context, opts Options) (err error) {
	defer func() {
		if p := Fault(err); p != nil && problem.As(err) == nil {
			err = named(p, s.path)
		}
		err = s.unexpected(ctx, err)
	}()
	p, err := s.provider()
	if err != nil {
		return err
	}
	have, target, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema version: %w", err)
	}
	if have > target {
		return problem.New(problem.Conflict, "the database has schema %d, this program knows up to %d", have, target).
			Fix("use the newer program that wrote the database, or restore a backup")
	}
	if have != 0 && have < firstSchema {
		return problem.New(problem.Conflict, "the database has schema %d, of a version of Sluice from before the first release, which this version does not read", have).
			Fix("export the toolsets with the old version (sluice export), start this one with a new data directory or database, and import them there (sluice import)")
	}
	if opts.Existing {
		if have != target {
			return problem.New(problem.Conflict, "the database has schema %d, this program knows %d", have, target).
				Fix("use the program that runs there, or start this one there first")
		}
		return nil
	}
	results, err := p.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	for _, r := range results {
		opts.Logger.LogAttrs(ctx, slog.LevelInfo, "schema migrated",
			slog.Int64("version", r.Source.Version), slog.Float64("duration_s", r.Duration.Seconds()))
	}
	return nil
}

// Close closes the database after the statements that run.
func (s *Store) Close() error {
	if s.claim != nil {
		err := s.claim.Close() // the session ends with it, whatever it says
		s.claim = nil
		return errors.Join(s.Close(), err)
	}
	if s.read == s.write {
		return s.write.Close()
	}
	return errors.Join(s.read.Close(), s.write.Close())
}

// Ping reports whether the database answers, for readiness.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.read.PingContext(ctx); err != nil {
		return fmt.Errorf("asking the database: %w", err)
	}
	return nil
}

// Now is the clock of the store, in UTC.
func (s *Store) Now() time.Time { return s.now().UTC() }

// NewID makes an identifier: prefix, "_" and a ULID, which grows with time also
// within one millisecond of this process.
func (s *Store) NewID(prefix string) string {
	s.idMu.Lock()
	defer s.idMu.Unlock()
	id, err := ulid.New(ulid.Timestamp(s.now()), s.entropy)
	if err != nil { // the random part overflowed within one millisecond: 2^80 ids
		id = ulid.Make()
	}
	return prefix + "_" + id.String()
}

// Workspace returns the handle through which everything of one workspace is
// read and written. The workspace must exist for writes; see
// [Store.EnsureWorkspace].
func (s *Store) Workspace(id string) *Workspace {
	return &Workspace{newScope(s.read, id), s}
}

// EnsureWorkspace makes the workspace when it does not exist.
func (s *Store) EnsureWorkspace(ctx context.Context, id, name string) error {
	row := workspaceRow{ID: id, Name: name, CreatedAt: Time{Time: s.now()}}
	if _, err := s.write.NewInsert().Model(&row).On("CONFLICT (id) DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("making workspace %s: %w", id, err)
	}
	return nil
}

// Workspaces returns the ids of all workspaces, sorted.
func (s *Store) Workspaces(ctx context.Context) ([]string, error) {
	var ids []string
	if err := s.read.NewSelect().Model((*workspaceRow)(nil)).Column("id").Order("id").Scan(ctx, &ids); err != nil {
		return nil, fmt.Errorf("listing workspaces: %w", err)
	}
	return ids, nil
}

// WorkspacesPage lists workspaces by id.
func (s *Store) WorkspacesPage(ctx context.Context, p Page) ([]string, string, error) {
	var rows []workspaceRow
	rows, next, err := table.Read(ctx, s.read, s.read.NewSelect().Model(&rows), &rows, WorkspaceList, p, "workspaces")
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids, next, err
}

// scope is the part of both handles that reads: a connection or transaction and
// the workspace that every statement is restricted to.
type scope struct {
	usage.Reader
	db bun.IDB
	id string
}

func newScope(db bun.IDB, id string) scope { return scope{usage.Of(db, id), db, id} }

// ID returns the workspace's id.
func (c *scope) ID() string { return c.id }

// from starts a query of the workspace's rows of model. It is the only way to
// read in this package outside of store-wide sweeps.
func (c *scope) from(model any) *bun.SelectQuery {
	return c.db.NewSelect().Model(model).Where("workspace_id = ?", c.id)
}

// Workspace reads the records of one workspace, and opens transactions on them.
type Workspace struct {
	scope
	store *Store
}

// Tx is one transaction on one workspace. It must not be used after the function
// it was given to returned, nor by two goroutines.
type Tx struct {
	scope
	tx    bun.Tx
	store *Store
	last  *Audit // newest record that the transaction appended to the audit log
}

// Update runs fn in a transaction: all of its writes happen or none. Writers of
// one SQLite database run one after the other, so fn must not wait for anything
// but the database. An error of fn is returned as it is.
func (w *Workspace) Update(ctx context.Context, fn func(*Tx) error) error {
	tx, err := w.store.write.BeginTx(ctx, &sql.TxOptions{})
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	// After Commit this does nothing; after an error or a panic it undoes.
	defer func() { _ = tx.Rollback() }()
	if w.store.postgres {
		if _, err := tx.ExecContext(ctx, lockWorkspace, w.id); err != nil {
			return fmt.Errorf("waiting for other writers: %w", err)
		}
		if err := w.store.fence(ctx, tx); err != nil {
			return err
		}
	}
	t := &Tx{scope: newScope(tx, w.id), tx: tx, store: w.store}
	if err := fn(t); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		// A context that ended rolls back by itself, and then the transaction says
		// only that it is over.
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("committing: %w", err)
	}
	if tell := w.store.audited.Load(); tell != nil && t.last != nil {
		(*tell)(t.last)
	}
	return nil
}

// NewID is [Store.NewID].
func (w *Workspace) NewID(prefix string) string { return w.store.NewID(prefix) }

// Now is the store's clock, in UTC.
func (w *Workspace) Now() time.Time { return w.store.now().UTC() }

// Now is the store's clock, in UTC.
func (t *Tx) Now() time.Time { return t.store.now().UTC() }

// NewID is [Store.NewID].
func (t *Tx) NewID(prefix string) string { return t.store.NewID(prefix) }

// insert starts the insertion of one row; the row's workspace is overwritten with
// the transaction's.
func (t *Tx) insert(row scoped) *bun.InsertQuery {
	*row.Workspace() = t.id
	return t.tx.NewInsert().Model(row)
}

// scoped is a row that belongs to a workspace.
type scoped interface{ Workspace() *string }

// updateOf and deleteOf start statements that are restricted to the workspace.
func (t *Tx) updateOf(model any) *bun.UpdateQuery {
	return t.tx.NewUpdate().Model(model).Where("workspace_id = ?", t.id)
}

func (t *Tx) deleteOf(model any) *bun.DeleteQuery {
	return t.tx.NewDelete().Model(model).Where("workspace_id = ?", t.id)
}

// affected returns how many rows a statement changed.
func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// All reads every page of a list of the store, such as that of [Workspace.Toolsets].
func All[T any](ctx context.Context, read func(context.Context, Page) ([]T, string, error)) ([]T, error) {
	var all []T
	for page := (Page{Limit: MaxLimit}); ; {
		rows, next, err := read(ctx, page)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if page.After = next; next == "" {
			return all, nil
		}
	}
}
