package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/internal/secrets"
)

// ACMEValue is something that the client of a certificate authority keeps. It belongs to
// no workspace.
type ACMEValue struct {
	bun.BaseModel `bun:"table:acme_values"`
	Path          string `bun:"path,pk"`
	Version       uint64 `bun:"version"` // raised by every write
	Sealed        []byte `bun:"sealed"`
	Size          int64  `bun:"size"` // of what is sealed
	ModifiedAt    Time   `bun:"modified_at"`
}

// Record is what the value is sealed for.
func (v *ACMEValue) Record() secrets.Record {
	return secrets.Record{Key: "acme/" + v.Path, Version: v.Version}
}

type acmeLock struct {
	bun.BaseModel `bun:"table:acme_locks"`
	Name          string `bun:"name,pk"`
	Holder        string `bun:"holder"`
	ExpiresAt     Time   `bun:"expires_at"`
}

// ACMEValue reads a value. It fails with an error that is [fs.ErrNotExist].
func (s *Store) ACMEValue(ctx context.Context, path string) (*ACMEValue, error) {
	row := new(ACMEValue)
	err := s.read.NewSelect().Model(row).Where("path = ?", path).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return row, nil
}

// SaveACMEValue writes a value that seal seals for the record that it is given. Only the
// control plane that holds the claim writes.
func (s *Store) SaveACMEValue(ctx context.Context, path string, size int, seal func(secrets.Record) ([]byte, error)) error {
	if err := s.Claimed(ctx); err != nil {
		return err
	}
	for {
		row := &ACMEValue{Path: path, Version: 1, Size: int64(size), ModifiedAt: Time{Time: s.now()}}
		old, err := s.ACMEValue(ctx, path)
		switch {
		case err == nil:
			row.Version = old.Version + 1
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if row.Sealed, err = seal(row.Record()); err != nil {
			return err
		}
		var n int64
		if old == nil {
			n, err = affected(s.write.NewInsert().Model(row).On("CONFLICT (path) DO NOTHING").Exec(ctx))
		} else {
			n, err = affected(s.write.NewUpdate().Model(row).WherePK().Where("version = ?", old.Version).Exec(ctx))
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		if n == 1 {
			return nil
		}
		// Another one wrote it between: the last one stays, as with files.
	}
}

// under restricts a query to a path and what is below it.
func under(path string) (clause string, args []any) {
	if path == "" {
		return "1 = 1", nil
	}
	prefix := path + "/"
	return "path = ? OR SUBSTR(path, 1, ?) = ?", []any{path, utf8.RuneCountInString(prefix), prefix}
}

// DeleteACMEValues removes a value and those below its path.
func (s *Store) DeleteACMEValues(ctx context.Context, path string) error {
	if err := s.Claimed(ctx); err != nil {
		return err
	}
	clause, args := under(path)
	if _, err := s.write.NewDelete().Model((*ACMEValue)(nil)).Where(clause, args...).Exec(ctx); err != nil {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	return nil
}

// ACMEPaths lists the paths of the values at and below a path, sorted.
func (s *Store) ACMEPaths(ctx context.Context, path string) ([]string, error) {
	clause, args := under(strings.TrimSuffix(path, "/"))
	var out []string
	if err := s.read.NewSelect().Model((*ACMEValue)(nil)).Column("path").Where(clause, args...).Order("path").Scan(ctx, &out); err != nil {
		return nil, fmt.Errorf("listing what is below %s: %w", path, err)
	}
	return out, nil
}

// TakeACMELock takes a lock for a time, if it is free or its time is over. No two holders
// may have the same name: what one does after its time does nothing then.
func (s *Store) TakeACMELock(ctx context.Context, name, holder string, lease time.Duration) (taken bool, err error) {
	if err := s.Claimed(ctx); err != nil {
		return false, err
	}
	now := s.now()
	row := &acmeLock{Name: name, Holder: holder, ExpiresAt: Time{Time: now.Add(lease)}}
	n, err := affected(s.write.NewInsert().Model(row).On("CONFLICT (name) DO UPDATE").
		Set("holder = EXCLUDED.holder").Set("expires_at = EXCLUDED.expires_at").
		Where("acme_lock.expires_at <= ?", Time{Time: now}).Exec(ctx))
	if err != nil {
		return false, fmt.Errorf("taking the lock %s: %w", name, err)
	}
	return n == 1, nil
}

// KeepACMELock gives the holder of a lock more time; false: another one holds it by now.
func (s *Store) KeepACMELock(ctx context.Context, name, holder string, lease time.Duration) (bool, error) {
	n, err := affected(s.write.NewUpdate().Model((*acmeLock)(nil)).Set("expires_at = ?", Time{Time: s.now().Add(lease)}).
		Where("name = ?", name).Where("holder = ?", holder).Exec(ctx))
	if err != nil {
		return false, fmt.Errorf("keeping the lock %s: %w", name, err)
	}
	return n == 1, nil
}

// FreeACMELock frees a lock; false: another one holds it by now.
func (s *Store) FreeACMELock(ctx context.Context, name, holder string) (bool, error) {
	n, err := affected(s.write.NewDelete().Model((*acmeLock)(nil)).Where("name = ?", name).Where("holder = ?", holder).Exec(ctx))
	if err != nil {
		return false, fmt.Errorf("freeing the lock %s: %w", name, err)
	}
	return n == 1, nil
}

// sweepLocks forgets locks whose holders are gone.
func (s *Store) sweepLocks(ctx context.Context) error {
	if _, err := s.write.NewDelete().Model((*acmeLock)(nil)).Where("expires_at < ?", Time{Time: s.now()}).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping locks: %w", err)
	}
	return nil
}

// RewrapACMEValues puts the values under the current key of the ring.
func (s *Store) RewrapACMEValues(ctx context.Context, ring *secrets.Keyring) (changed int, err error) {
	paths, err := s.ACMEPaths(ctx, "")
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		row, err := s.ACMEValue(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return changed, err
		}
		out, did, err := ring.Rewrap(row.Record(), row.Sealed)
		if err != nil {
			return changed, fmt.Errorf("re-wrapping %s: %w", path, err)
		}
		if !did {
			continue
		}
		row.Sealed = out
		// Of another version it was sealed with the current key.
		if _, err := s.write.NewUpdate().Model(row).Column("sealed").WherePK().Where("version = ?", row.Version).Exec(ctx); err != nil {
			return changed, fmt.Errorf("re-wrapping %s: %w", path, err)
		}
		changed++
	}
	return changed, nil
}
