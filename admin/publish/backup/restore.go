package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/filelock"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry/oci"
)

// fileLock, in a data directory, is held by the node that runs there.
const fileLock = "lock"

// RestoreOptions of a restore.
type RestoreOptions struct {
	Dir        string         // data directory. Required
	Replace    bool           // what is in Dir is moved aside; without it Dir is new or empty
	Database   store.Options  // the one in Dir, or an empty PostgreSQL database
	Identities []age.Identity // one of them opens the backup
	// Ring has the key-encryption keys that are given as a value. nil: none are.
	Ring *secrets.Keyring
	// Artifacts opens the registry of a data directory, which may be elsewhere. Required.
	Artifacts func(ctx context.Context, dir string) (oci.Backend, error)
}

// Restore makes a data directory and the records of a backup, and signs its releases in
// a new epoch. Everything is restored beside what is there and checked before anything
// is replaced; then the directory changes at once, also over a crash ([Finish]). When it
// fails, everything is as it was.
//
// It fails with [problem.Conflict] when something is there already or a node runs there,
// and with [problem.InvalidArgument] when the backup cannot be opened or is not whole.
func Restore(ctx context.Context, r io.Reader, o RestoreOptions) (sum *Summary, err error) {
	unlock, err := takeDirectory(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock(err != nil)) }()
	stage, err := os.MkdirTemp(o.Dir, stagePrefix)
	if err != nil {
		return nil, fmt.Errorf("restore into %s: %w", o.Dir, err)
	}
	defer func() { _ = os.RemoveAll(stage) }() // after the change it is not there
	s, err := restoreInto(ctx, r, stage, o.Identities, true)
	if err != nil {
		return nil, err
	}
	if s.sum.Epoch, err = s.check(ctx, o.Ring, o.Artifacts, true); err != nil {
		return nil, err
	}
	if o.Database.URL != "" {
		if err := s.move(ctx, o.Database); err != nil {
			return nil, err
		}
	}
	if err := syncTree(stage); err != nil {
		return nil, err
	}
	if s.sum.Replaced, err = change(o.Dir, stage); err != nil {
		return nil, err
	}
	return &s.sum, nil
}

// VerifyOptions of a trial.
type VerifyOptions struct {
	Temp       string // directory in which the backup is restored on trial. "": the system's
	Identities []age.Identity
	Ring       *secrets.Keyring // as in [RestoreOptions]
}

// Verify restores a backup into a new directory, checks it as [Restore] does, and removes
// the directory. Nothing else is read or changed.
func Verify(ctx context.Context, r io.Reader, o VerifyOptions) (_ *Summary, err error) {
	dir, err := os.MkdirTemp(o.Temp, "sluice-verify-")
	if err != nil {
		return nil, fmt.Errorf("restore the backup on trial: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := restoreInto(ctx, r, dir, o.Identities, false)
	if err != nil {
		return nil, err
	}
	if _, err := s.check(ctx, o.Ring, nil, false); err != nil {
		return nil, err
	}
	return &s.sum, nil
}

// takeDirectory makes the data directory if need be and locks it. unlock, after a
// restore that failed, also removes what was made.
func takeDirectory(o RestoreOptions) (unlock func(failed bool) error, err error) {
	_, err = os.Stat(o.Dir)
	made := errors.Is(err, os.ErrNotExist)
	if err := atomicfile.MkdirAll(atomicfile.OS, o.Dir, 0o700); err != nil {
		return nil, err
	}
	lock := filepath.Join(o.Dir, fileLock)
	release, err := filelock.Exclusive(lock)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, problem.New(problem.Conflict, "a node runs in %s", o.Dir).Fix("stop it first, or name another directory with --data").Because(err)
	}
	if err != nil {
		return nil, err
	}
	unlock = func(failed bool) error {
		if failed && made {
			_ = os.Remove(lock)  // made here
			_ = os.Remove(o.Dir) // made here; what is not empty stays
		}
		return release()
	}
	if err := Finish(o.Dir); err != nil {
		return nil, errors.Join(err, unlock(true))
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the data directory: %w", err), unlock(true))
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, stagePrefix):
			if err := os.RemoveAll(filepath.Join(o.Dir, name)); err != nil {
				return nil, errors.Join(fmt.Errorf("remove what a restore left: %w", err), unlock(true))
			}
		case ours(name):
		case !o.Replace:
			err := problem.New(problem.Conflict, "the directory %s is not empty", o.Dir).Fix("name a new one with --data; or give --replace, which moves the existing data aside")
			return nil, errors.Join(err, unlock(true))
		}
	}
	return unlock, nil
}

// ours reports whether a name in a data directory belongs to restoring, locking or the
// file system, and not to what is restored or replaced.
func ours(name string) bool {
	return name == fileLock || name == doneName || name == "lost+found" || strings.HasPrefix(name, stagePrefix) || strings.HasPrefix(name, replacedPrefix)
}

// move copies the checked records into another database, all or none, and removes them
// from the directory.
func (s *staged) move(ctx context.Context, to store.Options) error {
	from, err := store.Open(ctx, store.Options{Path: filepath.Join(s.dir, fileDatabase), Existing: true})
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	go func() {
		_, err := from.Dump(ctx, w)
		_ = w.CloseWithError(err) // it cannot fail
	}()
	_, err = store.Load(ctx, to, r)
	_ = r.Close() // ends the dump when the database failed
	if err = errors.Join(err, from.Close()); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(s.dir, fileDatabase+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the records of the trial: %w", err)
		}
	}
	return nil
}
