package atomicfiletest

import "github.com/sluicegate/sluice/internal/atomicfile"

// Fast is the real file system without fsync, for tests that make many files and
// are about something else than power cuts.
func Fast() atomicfile.System { return fast{atomicfile.OS} }

type fast struct{ atomicfile.System }

func (f fast) CreateTemp(dir, pattern string) (atomicfile.File, error) {
	file, err := f.System.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return unsynced{file}, nil
}

func (fast) SyncDir(string) error { return nil }

type unsynced struct{ atomicfile.File }

func (unsynced) Sync() error { return nil }
