package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sluicegate/sluice/internal/filelock"
	"github.com/sluicegate/sluice/internal/problem"
)

// collectLock, in the directory of a registry, is held by a collection alone, or by
// readers that need everything to stay.
const collectLock = "collect.lock"

// holdPause is how often a reader looks whether a collection is over: it takes seconds.
const holdPause = 100 * time.Millisecond

// Hold keeps contents of the registry in dir from being collected until release is
// called, by any process; pushing goes on. It waits for a collection that runs, until
// ctx ends. dir need not be open in this process.
func Hold(ctx context.Context, dir string) (release func() error, err error) {
	t := time.NewTicker(holdPause)
	defer t.Stop()
	for {
		release, err = filelock.Shared(filepath.Join(dir, collectLock))
		if !errors.Is(err, filelock.ErrLocked) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
		}
	}
	if err != nil {
		return nil, fmt.Errorf("hold the contents of the registry: %w", err)
	}
	return release, nil
}

// collecting takes the lock of a collection; [problem.Unavailable] while somebody holds
// the contents.
func (s *Store) collecting() (done func() error, err error) {
	done, err = filelock.Exclusive(filepath.Join(s.dir, collectLock))
	if errors.Is(err, filelock.ErrLocked) {
		return nil, problem.New(problem.Unavailable, "contents cannot be collected while a backup reads them").Fix("try again when it is done; it happens by itself every hour").Because(err)
	}
	if err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	}
	return done, nil
}
