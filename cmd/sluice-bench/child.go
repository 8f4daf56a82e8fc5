package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startTimeout bounds how long a child may take until it says that it listens: a
// server with 1,000 toolsets on a busy machine needs a few seconds.
const startTimeout = 60 * time.Second

// stopTimeout is the grace between the request to stop and the kill.
const stopTimeout = 10 * time.Second

// child is a process under test.
type child struct {
	cmd  *exec.Cmd
	addr string // what a role printed after "listening "
	done chan struct{}
	err  error // of Wait; valid once done is closed
	log  *tail
	stop sync.Once
}

// tail keeps the last bytes that a child wrote, for the message when it ends
// before its time.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// tailBytes is enough for a Go panic's first goroutine.
const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// role starts this binary again as the server called name and waits until it
// says where it listens. See roles.
func (b *bench) role(ctx context.Context, name string, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	//nolint:gosec // starts itself
	cmd := exec.CommandContext(ctx, self, append([]string{"-role", name}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c, err := start(cmd)
	if err != nil {
		return nil, err
	}
	addr := make(chan string, 1)
	go func() {
		defer close(addr)
		for sc := bufio.NewScanner(stdout); sc.Scan(); {
			if a, ok := strings.CutPrefix(sc.Text(), "listening "); ok {
				addr <- a
				break
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
	}()
	select {
	case a, ok := <-addr:
		if !ok {
			c.Close()
			return nil, fmt.Errorf("role %s ended before it listened: %s", name, c.log)
		}
		c.addr = a
		return c, nil
	case <-time.After(startTimeout):
		c.Close()
		return nil, fmt.Errorf("role %s did not listen within %s: %s", name, startTimeout, c.log)
	case <-ctx.Done():
		c.Close()
		return nil, ctx.Err()
	}
}

// start starts cmd in a process of its own; its standard error is kept for messages.
func start(cmd *exec.Cmd) (*child, error) {
	c := &child{cmd: cmd, done: make(chan struct{}), log: &tail{}}
	if cmd.Stdout == nil {
		cmd.Stdout = c.log
	}
	cmd.Stderr = c.log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// Close asks the process to end, kills it when it does not, and waits for it. A
// second call does nothing.
func (c *child) Close() {
	c.stop.Do(func() {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.done:
		case <-time.After(stopTimeout):
			_ = c.cmd.Process.Kill()
			<-c.done
		}
	})
}

// ended says why the process ended, when it did.
func (c *child) ended() error {
	select {
	case <-c.done:
		return fmt.Errorf("%s ended: %w\n%s", c.cmd.Path, cmp.Or(c.err, errors.New("without a fault")), c.log)
	default:
		return nil
	}
}

// cpu returns the CPU time, user and system, that the process has used so far.
func (c *child) cpu() (time.Duration, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(c.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0, err
	}
	return parseStat(b)
}

// ticksPerSecond is USER_HZ, which is 100 on every Linux architecture that Go supports.
const ticksPerSecond = 100

// parseStat reads utime and stime of proc_pid_stat(5). The second field, the
// command, may hold spaces and parentheses, so fields are counted from the last ")".
func parseStat(b []byte) (time.Duration, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, errors.New("stat has no command")
	}
	f := strings.Fields(string(b[i+1:]))
	const utime, stime = 11, 12 // fields 14 and 15, counted from field 3
	if len(f) <= stime {
		return 0, errors.New("stat is too short")
	}
	u, err := strconv.ParseUint(f[utime], 10, 63)
	if err != nil {
		return 0, fmt.Errorf("stat utime: %w", err)
	}
	s, err := strconv.ParseUint(f[stime], 10, 63)
	if err != nil {
		return 0, fmt.Errorf("stat stime: %w", err)
	}
	return time.Duration(u+s) * time.Second / ticksPerSecond, nil
}

// memory returns a field of proc_pid_status(5) in bytes: VmRSS (resident now) or
// VmHWM (the highest it was).
func (c *child) memory(field string) (int64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(c.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0, err
	}
	return parseStatus(b, field)
}

func parseStatus(b []byte, field string) (int64, error) {
	for l := range strings.Lines(string(b)) {
		rest, ok := strings.CutPrefix(l, field+":")
		if !ok {
			continue
		}
		f := strings.Fields(rest)
		if len(f) != 2 || f[1] != "kB" {
			return 0, fmt.Errorf("status %s: unexpected %q", field, strings.TrimSpace(rest))
		}
		kb, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("status %s: %w", field, err)
		}
		return kb << 10, nil
	}
	return 0, fmt.Errorf("status has no %s", field)
}
