package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is the processes of a command: the keeper is the parent of each of them, or of
// one that has gone (PR_SET_CHILD_SUBREAPER), whatever group or session they made.
type tree struct{ main int }

// dataReserve is what a runtime may reserve in one process beyond twice the limit.
const dataReserve = 1 << 30

// confine prepares the keeper for the command it will start.
func confine(o *order) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("this system does not keep processes together: %w", err)
	}
	// The kernel refuses what the keeper would see too late: one process that takes
	// memory faster than it is looked at. More than the limit, because runtimes reserve
	// more than they use.
	if err := lower(unix.RLIMIT_DATA, uint64(2*o.Memory)+dataReserve); err != nil {
		return fmt.Errorf("limiting the memory of the command: %w", err)
	}
	if err := lower(unix.RLIMIT_CORE, 0); err != nil {
		return fmt.Errorf("limiting the core files of the command: %w", err)
	}
	// When the machine runs out of memory, the command goes before the node.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) // a container may not permit it
	return nil
}

func lower(resource int, to uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return err
	}
	l.Max = min(l.Max, to)
	l.Cur = min(l.Cur, l.Max)
	return unix.Setrlimit(resource, &l)
}

// withoutNetwork gives the command a network of its own that has no way out.
func withoutNetwork(a *syscall.SysProcAttr) error {
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	return nil
}

// all lists the processes of the command, those that have ended and wait for the
// keeper apart.
func (t *tree) all() (alive, ended []int) {
	queue := childrenOf(os.Getpid())
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		if stateOf(pid) == 'Z' {
			ended = append(ended, pid)
		} else {
			alive = append(alive, pid)
		}
		queue = append(queue, childrenOf(pid)...)
	}
	return alive, ended
}

// childrenOf are the children of all threads of a process.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []int
	for _, task := range tasks {
		b, err := os.ReadFile(dir + "/" + task.Name() + "/children")
		if err != nil {
			continue
		}
		for f := range bytes.FieldsSeq(b) {
			if n, err := strconv.Atoi(string(f)); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// stateOf is the letter of proc_pid_stat(5), 'Z' for a process that is gone.
func stateOf(pid int) byte {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if i := bytes.LastIndexByte(b, ')'); err == nil && i > 0 && i+2 < len(b) {
		return b[i+2]
	}
	return 'Z'
}

// signal sends a signal to every process and reports whether there was any.
func (t *tree) signal(s syscall.Signal) bool {
	alive, ended := t.all()
	for _, pid := range ended {
		if pid != t.main { // whose end the keeper waits for by itself
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it is not a child of the keeper yet
		}
	}
	for _, pid := range alive {
		_ = syscall.Kill(pid, s) // it has ended meanwhile
	}
	return len(alive) > 0
}

// excess says what the command has too much of; "": nothing.
func (t *tree) excess(o *order) string {
	alive, ended := t.all()
	for _, pid := range ended {
		if pid != t.main {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it is not a child of the keeper yet
		}
	}
	if len(alive) > o.Processes {
		return fmt.Sprintf("it had %d processes, more than its limit of %d", len(alive), o.Processes)
	}
	var sum int64
	for _, pid := range alive {
		sum += memoryOf(pid)
	}
	if sum > o.Memory {
		return fmt.Sprintf("it took %d MiB of memory, more than its limit of %d MiB", sum>>20, o.Memory>>20)
	}
	return ""
}

// memoryOf is what a process has resident for itself: programs and libraries, which
// processes share, are not counted.
func memoryOf(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	f := bytes.Fields(b)
	if err != nil || len(f) < 3 {
		return 0
	}
	resident, err1 := strconv.ParseInt(string(f[1]), 10, 64)
	shared, err2 := strconv.ParseInt(string(f[2]), 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return max(resident-shared, 0) * int64(os.Getpagesize())
}
