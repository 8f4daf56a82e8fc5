package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
)

// A restore changes a data directory in one step: the directory with everything in it,
// checked and synced, gets the name doneName. From then on the restore has happened;
// what is left is to move things to their places, which [Finish] does now or, after a
// crash, before the next start. The data directory itself is never renamed: it may be a
// mounted volume.
const (
	stagePrefix    = ".restore-"  // not whole, or not checked
	doneName       = ".restored"  // whole
	replacedPrefix = "replaced-"  // what was in the directory before
	asideName      = ".move-away" // in doneName: its content names the directory for what was there
)

// change makes the restored directory the content of dir, and returns where what was in
// dir before is; "" nothing was.
func change(dir, stage string) (replaced string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("read the data directory: %w", err)
	}
	for _, e := range entries {
		if !ours(e.Name()) {
			replaced = filepath.Join(dir, replacedPrefix+time.Now().UTC().Format("20060102T150405.000Z"))
			break
		}
	}
	if replaced != "" {
		if err := atomicfile.Write(filepath.Join(stage, asideName), []byte(filepath.Base(replaced)), 0o600); err != nil {
			return "", err
		}
	}
	if err := os.Rename(stage, filepath.Join(dir, doneName)); err != nil {
		return "", fmt.Errorf("put the restored directory in place: %w", err)
	}
	if err := atomicfile.OS.SyncDir(dir); err != nil {
		return "", fmt.Errorf("put the restored directory in place: %w", err)
	}
	return replaced, Finish(dir)
}

// Finish completes a restore that was interrupted when everything was checked; without
// one it does nothing. Whoever has the lock of the data directory calls it before
// anything in there is opened.
func Finish(dir string) error {
	done := filepath.Join(dir, doneName)
	if _, err := os.Stat(done); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("finish a restore: %w", err)
	}
	if err := moveAway(dir, done); err != nil {
		return fmt.Errorf("finish a restore: %w", err)
	}
	if err := moveAll(done, dir, func(string) bool { return false }); err != nil {
		return fmt.Errorf("finish a restore: %w", err)
	}
	if err := os.Remove(done); err != nil {
		return fmt.Errorf("finish a restore: %w", err)
	}
	return atomicfile.OS.SyncDir(dir)
}

// moveAway moves what was in the directory aside, unless that was done: it is the first
// step, and its note is removed when it is over.
func moveAway(dir, done string) error {
	note := filepath.Join(done, asideName)
	name, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	aside := filepath.Join(dir, filepath.Base(string(name)))
	if err := atomicfile.MkdirAll(atomicfile.OS, aside, 0o700); err != nil {
		return err
	}
	if err := moveAll(dir, aside, ours); err != nil {
		return err
	}
	return atomicfile.Remove(atomicfile.OS, note)
}

// moveAll moves the entries of a directory into another one, durably.
func moveAll(from, to string, stays func(name string) bool) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if stays(e.Name()) {
			continue
		}
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return errors.Join(atomicfile.OS.SyncDir(to), atomicfile.OS.SyncDir(from))
}

// syncTree makes the names in a directory, and in those below it, durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if err := atomicfile.OS.SyncDir(path); err != nil {
			return fmt.Errorf("sync %s: %w", path, err)
		}
		return nil
	})
}
