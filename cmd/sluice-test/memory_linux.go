package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	// memoryDir is the file system in memory that every Linux has, of some size.
	memoryDir = "/dev/shm"
	// minShared is what must be free there, and minMemory of the machine's memory, bytes:
	// the tests of two packages use up to 2 GB of files, and as much memory.
	minShared = 6 << 30
	minMemory = 10 << 30
)

// inMemory makes a directory in memory for the temporary files of tests: databases and
// releases are written with fsync, which takes most of the time of such tests on a disk.
// It returns an empty string where there is no room, or programs cannot run from there.
// The directory's name depends on that of the checkout only, so that the go command
// finds results in its cache.
func inMemory(dir, checkout string) string {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Flags&unix.ST_NOEXEC != 0 || fs.Bavail*uint64(fs.Bsize) < minShared || available() < minMemory {
		return ""
	}
	sum := sha256.Sum256([]byte(checkout))
	out := filepath.Join(dir, fmt.Sprintf("sluice-test-%x", sum[:4]))
	// PostgreSQL is started as another user, who must get through to its own directory.
	if os.RemoveAll(out) != nil || os.Mkdir(out, 0o711) != nil {
		return ""
	}
	return out
}

// available is how much memory the system can give without swapping, bytes.
func available() uint64 {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kb uint64
	if _, rest, found := bytes.Cut(info, []byte("MemAvailable:")); found {
		_, _ = fmt.Sscan(string(rest), &kb)
	}
	return kb << 10
}
