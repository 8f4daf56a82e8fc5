package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// MaxSharedKeyBytes bounds a file of the shared keys: the readers of each take no more.
	MaxSharedKeyBytes = 16 << 10
	// beforeShared is behind the name of a key that another one of the shared keys replaced.
	beforeShared = ".before"
)

// takeSharedKeys takes the keys that several control planes share from a folder that nobody
// here writes, such as a mounted secret. The release and workspace key are copied to the
// data directory, where a backup has them; what another one replaces there is kept beside.
// The key-encryption keys are not: they are rotated where they come from, as those of the
// environment. It fails with [problem.InvalidArgument] when a key is missing.
func (c *control) takeSharedKeys(ctx context.Context) error {
	dir := c.o.Records.SharedKeys
	if dir == "" {
		return nil
	}
	for _, name := range []string{datadir.ReleaseKey, datadir.WorkspaceKey} {
		key, err := readShared(dir, name)
		if err != nil {
			return err
		}
		file := c.path(name)
		have, err := os.ReadFile(file)
		switch {
		case err == nil && bytes.Equal(have, key):
			continue
		case err == nil:
			if err := keepBefore(file); err != nil {
				return c.dataFault(err)
			}
			c.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a shared key replaces the one of the data directory", slog.String("file", file), slog.String("kept", file+beforeShared))
		case !errors.Is(err, fs.ErrNotExist):
			return c.dataFault(err)
		}
		if err := atomicfile.Write(file, key, 0o600); err != nil {
			return c.dataFault(err)
		}
	}
	if k := &c.o.Records.Keys; k.Value.IsZero() && len(k.Command) == 0 {
		key, err := readShared(dir, datadir.MasterKey)
		if err != nil {
			return err
		}
		k.Value, k.from = secrets.New(string(key)), filepath.Join(dir, filepath.Base(datadir.MasterKey))
	}
	return nil
}

// keepBefore keeps a file that is about to be replaced; what was there first stays.
func keepBefore(file string) error {
	if _, err := os.Lstat(file + beforeShared); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(file, file+beforeShared)
}

// readShared reads one of the shared keys.
func readShared(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, filepath.Base(name))
	f, err := os.Open(path) // the operator names the folder
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.New(problem.InvalidArgument, "the folder of --shared-keys has no %s", filepath.Base(name)).At(path, 0, 0, "").
			Fix("put it there from the folder keys of the data directory of a control plane, or make one: docs/keys.md, Shared keys")
	}
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "a file of --shared-keys cannot be read").At(path, 0, 0, "").Because(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, MaxSharedKeyBytes+1))
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "a file of --shared-keys cannot be read").At(path, 0, 0, "").Because(fmt.Errorf("read: %w", err))
	}
	if len(b) > MaxSharedKeyBytes {
		return nil, problem.New(problem.InvalidArgument, "a file of --shared-keys is larger than %d bytes", MaxSharedKeyBytes).At(path, 0, 0, "")
	}
	return b, nil
}
