package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// What became of a mutant.
const (
	killed     = "killed"
	survived   = "survived"
	invalid    = "invalid"    // it does not compile, and does not count
	equivalent = "equivalent" // listed: no test can see it
)

// maxData limits the memory of a mutant's processes in KiB: a loop that lost its end
// must not take the machine with it.
const maxData = 6 << 20

// A runner tries mutants with the tests of their packages.
type runner struct {
	root  string // of the module
	tmp   string
	own   bool              // leave the wider packages out
	asked *regexp.Regexp    // which tests of these; nil: all
	woven map[string]*woven // test binaries with the mutants of a package, by directory
	mu    sync.Mutex
	clean map[string]time.Duration // how long a package's tests take, by directory
}

// timeout returns how long the tests of dir may run: several times what they take
// unchanged, which is measured once. They must pass then.
func (r *runner) timeout(ctx context.Context, dir string) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.clean[dir]; ok {
		return d, nil
	}
	out, err := r.test(ctx, dir, "", 20*time.Minute)
	if err != nil {
		return 0, fmt.Errorf("the tests of %s fail without a change: %w\n%s", dir, err, tail(out))
	}
	took := 30 * time.Second
	if m := regexp.MustCompile(`(?m)^ok\s+\S+\s+([0-9.]+)s`).FindSubmatch(out); m != nil {
		if took, err = time.ParseDuration(string(m[1]) + "s"); err != nil {
			return 0, err
		}
	}
	r.clean[dir] = 4*took + 15*time.Second
	return r.clean[dir], nil
}

// test runs the tests of dir, with the overlay if there is one. The error is that of
// the go command; the output tells a failure from a broken build.
func (r *runner) test(ctx context.Context, dir, overlay string, timeout time.Duration) ([]byte, error) {
	args := []string{"test", "-failfast", "-vet=off", "-count=1", "-timeout", timeout.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	args = append(args, "./"+dir)
	name := "go"
	if sh, err := exec.LookPath("sh"); err == nil {
		args = append([]string{"-c", fmt.Sprintf(`ulimit -d %d 2>/dev/null; exec go "$@"`, maxData), "sh"}, args...)
		name = sh
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return combinedOutput(cmd)
}

// try returns what became of m and the test that noticed it.
func (r *runner) try(ctx context.Context, m *mutant) (verdict, by string, err error) {
	if w := r.woven[m.target.dir]; w != nil && w.has(m) {
		return w.try(ctx, w.place(m))
	}
	path := filepath.Join(r.root, filepath.FromSlash(m.file))
	src, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	changed := filepath.Join(r.tmp, m.id+".go")
	overlay := filepath.Join(r.tmp, m.id+".json")
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", "", err
	}
	if err := errors.Join(os.WriteFile(changed, m.apply(src), 0o600), os.WriteFile(overlay, raw, 0o600)); err != nil {
		return "", "", err
	}
	defer func() { _ = errors.Join(os.Remove(changed), os.Remove(overlay)) }() // in a directory that goes anyway
	dirs := []string{m.target.dir}
	if !r.own {
		dirs = append(dirs, m.target.wider...)
	}
	for _, dir := range dirs {
		limit, err := r.timeout(ctx, dir)
		if err != nil {
			return "", "", err
		}
		out, err := r.test(ctx, dir, overlay, limit)
		switch {
		case ctx.Err() != nil:
			return "", "", ctx.Err()
		case err == nil:
			continue
		case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
			return invalid, firstError(out), nil
		}
		return killed, dir + " " + failure(out), nil
	}
	return survived, "", nil
}

var (
	failed   = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	timedOut = regexp.MustCompile(`panic: test timed out`)
	running  = regexp.MustCompile(`(?m)^\s+(Test\S+|Fuzz\S+) \(`)
	broken   = regexp.MustCompile(`(?m)^(\S+\.go:\d+:.*)$`)
)

// failure names the test in the output of a failed run.
func failure(out []byte) string {
	if timedOut.Match(out) {
		if m := running.FindSubmatch(out); m != nil {
			return "timeout in " + string(m[1])
		}
		return "timeout"
	}
	if m := failed.FindAllSubmatch(out, -1); m != nil {
		return string(m[0][1])
	}
	if bytes.Contains(out, []byte("panic:")) || bytes.Contains(out, []byte("fatal error:")) {
		return "crash"
	}
	return "failure without a test's name"
}

func firstError(out []byte) string {
	if m := broken.FindSubmatch(out); m != nil {
		return oneLine(string(m[1]))
	}
	return "build failed"
}

func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
