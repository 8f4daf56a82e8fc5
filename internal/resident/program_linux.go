package resident

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// listBytes bounds the list of mappings that is read: a process has some hundreds of them, of
// half a kilobyte each.
const listBytes = 16 << 20

// ReleaseProgram lets the pages of the program file go that nobody wrote to, and returns
// how many bytes of them were resident. Where the system does not tell which they are it does nothing.
func ReleaseProgram() int64 {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0
	}
	defer f.Close()
	var n int64
	for _, m := range unchanged(io.LimitReader(f, listBytes), program) {
		// Not unix.Madvise: it wants a slice of what is no memory of Go's.
		if _, _, e := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); e == 0 {
			n += m.resident
		}
	}
	return n
}

// processorTime is what the process used so far.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// mapping is a part of the address space.
type mapping struct {
	from, to uintptr
	resident int64
}

// unchanged are the mappings of the file in a list as proc_pid_smaps(5) describes it that
// cannot be written to and have no page of their own: letting go such a page, one that a
// linker relocated or a debugger wrote to, would lose what it holds.
func unchanged(list io.Reader, file string) (out []mapping) {
	var m mapping
	var of bool // the file, and not to be written to
	for s := bufio.NewScanner(list); s.Scan(); {
		line := s.Bytes()
		f := bytes.Fields(line)
		switch {
		case len(f) < 3:
		case f[0][len(f[0])-1] != ':': // the first line of a mapping
			m, of = mapping{}, len(f) == 6 && string(f[5]) == file && len(f[1]) == 4 && f[1][0] == 'r' && f[1][1] == '-' && f[1][3] == 'p'
			if from, to, ok := bytes.Cut(f[0], []byte("-")); of && ok {
				a, err1 := strconv.ParseUint(string(from), 16, strconv.IntSize)
				b, err2 := strconv.ParseUint(string(to), 16, strconv.IntSize)
				of = err1 == nil && err2 == nil && a < b
				m.from, m.to = uintptr(a), uintptr(b)
			}
		case !of:
		case string(f[0]) == "Rss:":
			kb, _ := strconv.ParseInt(string(f[1]), 10, 32)
			m.resident = kb << 10
		case string(f[0]) == "Anonymous:":
			if string(f[1]) == "0" && m.resident > 0 {
				out = append(out, m)
			}
			of = false
		}
	}
	return out
}
