package certificate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// maxValueBytes of one value: a chain has some kilobytes, and comes from an authority.
	maxValueBytes = 1 << 20
	// lease of a lock, which its holder renews every third of it: what a process that was
	// killed holds up is held up that long.
	lease = time.Minute
	// lockPause is between two tries to take a lock.
	lockPause = 250 * time.Millisecond
)

// storage is what certmagic keeps, sealed in the records of the control plane.
type storage struct {
	store *store.Store
	ring  *secrets.Keyring

	mu    sync.Mutex
	locks map[string]*lock // guarded by mu; those that this process holds, by name
}

type lock struct {
	holder string
	stop   context.CancelFunc // of what renews it
}

var (
	_ certmagic.Storage   = (*storage)(nil)
	_ certmagic.TryLocker = (*storage)(nil)
)

// Store implements [certmagic.Storage].
func (s *storage) Store(ctx context.Context, key string, value []byte) error {
	if len(value) > maxValueBytes {
		return problem.New(problem.TooLarge, "the record %.200s has %d bytes, the limit is %d", key, len(value), maxValueBytes)
	}
	return s.store.SaveACMEValue(ctx, key, len(value), func(rec secrets.Record) ([]byte, error) { return s.ring.SealBytes(rec, value) })
}

// Load implements [certmagic.Storage].
func (s *storage) Load(ctx context.Context, key string) ([]byte, error) {
	row, err := s.store.ACMEValue(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.ring.OpenBytes(row.Record(), row.Sealed)
}

// Delete implements [certmagic.Storage].
func (s *storage) Delete(ctx context.Context, key string) error {
	return s.store.DeleteACMEValues(ctx, strings.TrimSuffix(key, "/"))
}

// Exists implements [certmagic.Storage].
func (s *storage) Exists(ctx context.Context, key string) bool {
	paths, err := s.store.ACMEPaths(ctx, key)
	return err == nil && len(paths) > 0
}

// List implements [certmagic.Storage].
func (s *storage) List(ctx context.Context, path string, recursive bool) ([]string, error) {
	paths, err := s.store.ACMEPaths(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	if recursive {
		return paths, nil
	}
	above := strings.TrimSuffix(path, "/")
	if above != "" {
		above += "/"
	}
	var out []string
	for _, p := range paths {
		name, below := strings.CutPrefix(p, above)
		if !below {
			continue // the value at the path itself
		}
		name, _, _ = strings.Cut(name, "/")
		if !slices.Contains(out, above+name) {
			out = append(out, above+name)
		}
	}
	return out, nil
}

// Stat implements [certmagic.Storage].
func (s *storage) Stat(ctx context.Context, key string) (certmagic.KeyInfo, error) {
	row, err := s.store.ACMEValue(ctx, key)
	if err == nil {
		return certmagic.KeyInfo{Key: key, Modified: row.ModifiedAt.Time, Size: row.Size, IsTerminal: true}, nil
	}
	if errors.Is(err, fs.ErrNotExist) && s.Exists(ctx, key) {
		return certmagic.KeyInfo{Key: key}, nil
	}
	return certmagic.KeyInfo{}, err
}

// TryLock implements [certmagic.TryLocker].
func (s *storage) TryLock(ctx context.Context, name string) (bool, error) {
	holder := rand.Text()
	taken, err := s.store.TakeACMELock(ctx, name, holder, lease)
	if err != nil || !taken {
		return false, err
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	s.locks[name] = &lock{holder, stop}
	s.mu.Unlock()
	go func() {
		for retry.Sleep(renewing, lease/3) == nil {
			// What fails is tried again before the lease is over; what was lost stays so.
			if kept, err := s.store.KeepACMELock(renewing, name, holder, lease); err == nil && !kept {
				return
			}
		}
	}()
	return true, nil
}

// Lock implements [certmagic.Storage].
func (s *storage) Lock(ctx context.Context, name string) error {
	for {
		taken, err := s.TryLock(ctx, name)
		if err != nil || taken {
			return err
		}
		if err := retry.Sleep(ctx, lockPause); err != nil {
			return err
		}
	}
}

// Unlock implements [certmagic.Storage].
func (s *storage) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	l := s.locks[name]
	delete(s.locks, name)
	s.mu.Unlock()
	if l == nil {
		return fmt.Errorf("the lock %s is not held", name)
	}
	l.stop()
	if _, err := s.store.FreeACMELock(ctx, name, l.holder); err != nil {
		return err
	}
	return nil // one that was lost meanwhile is another's
}

// close frees the locks of this process.
func (s *storage) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.locks {
		l.stop() // its time will be over
	}
	clear(s.locks)
}
