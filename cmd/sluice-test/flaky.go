package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// roundTimeout bounds one run of a package, which the load makes several times slower.
const roundTimeout = 45 * time.Minute

// A flaky runs packages many times on a busy machine. Its state is written after each
// run: an interrupted search goes on there, and a package whose test binary changed
// starts again.
type flaky struct {
	out                io.Writer
	dir                string
	rounds, slowRounds int
	slow               string
	race               bool
}

// progress is the state of one package in DIR/state.json.
type progress struct {
	Binary   string    `json:"binary"` // SHA-256
	Rounds   int       `json:"rounds"`
	Failures []failure `json:"failures,omitempty"`
}

type failure struct {
	Round int      `json:"round"`
	Why   []string `json:"why"`
	Log   string   `json:"log"`
}

// run returns an error that lists every failure of the packages, those of an earlier,
// interrupted search included.
func (f *flaky) run(ctx context.Context, patterns []string) error {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	pkgs, err := testedPackages(ctx, patterns)
	if err != nil {
		return err
	}
	state := map[string]*progress{}
	file := filepath.Join(f.dir, "state.json")
	if b, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(b, &state); err != nil {
			return fmt.Errorf("%s: %w: remove it to start again", file, err)
		}
	}
	save := func() error {
		b, err := json.MarshalIndent(state, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(file+".new", b, 0o644); err != nil {
			return err
		}
		return os.Rename(file+".new", file)
	}

	for _, p := range pkgs {
		binary, hash, err := f.build(ctx, p)
		if err != nil {
			return err
		}
		s := state[p.path]
		if s == nil || s.Binary != hash {
			s = &progress{Binary: hash}
			state[p.path] = s
			if err := f.forget(p); err != nil {
				return err
			}
		}
		rounds := f.rounds
		if p.path == f.slow {
			rounds = f.slowRounds
		}
		done := s.Rounds
		start := time.Now()
		for s.Rounds < rounds {
			why, log, err := f.round(ctx, p, binary, s.Rounds+1)
			if err != nil {
				return fmt.Errorf("%s: %w: the same command goes on from here", p.path, err)
			}
			s.Rounds++
			if len(why) > 0 {
				s.Failures = append(s.Failures, failure{s.Rounds, why, log})
				fmt.Fprintf(f.out, "%s: run %d failed: %s\n", p.path, s.Rounds, strings.Join(why, "; "))
			}
			if err := save(); err != nil {
				return err
			}
		}
		if err := os.Remove(binary); err != nil {
			return err
		}
		fmt.Fprintf(f.out, "%s: %d runs, %d failed (%d runs now, %.0f s)\n", p.path, s.Rounds, len(s.Failures), s.Rounds-done, time.Since(start).Seconds())
	}

	runs := 0
	var faults []string
	for _, p := range pkgs {
		s := state[p.path]
		runs += s.Rounds
		for _, x := range s.Failures {
			faults = append(faults, fmt.Sprintf("%s, run %d of %d (%s):\n    %s", p.path, x.Round, s.Rounds, x.Log, strings.Join(x.Why, "\n    ")))
		}
	}
	fmt.Fprintf(f.out, "%d packages, %d runs, %d failed\n", len(pkgs), runs, len(faults))
	if len(faults) > 0 {
		return errors.New("flaky or broken:\n  " + strings.Join(faults, "\n  "))
	}
	return nil
}

// log is the file of what a failed run of a package printed.
func (f *flaky) log(p tested, run string) string {
	return filepath.Join(f.dir, strings.ReplaceAll(p.path, "/", "_")+"."+run+".log")
}

// forget removes what failed runs of another test binary printed.
func (f *flaky) forget(p tested) error {
	logs, err := filepath.Glob(f.log(p, "[0-9]*"))
	for _, log := range logs {
		err = errors.Join(err, os.Remove(log))
	}
	return err
}

type tested struct{ path, dir string }

func testedPackages(ctx context.Context, patterns []string) ([]tested, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var pkgs []tested
	for line := range strings.Lines(string(out)) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			pkgs = append(pkgs, tested{path, dir})
		}
	}
	if len(pkgs) == 0 {
		return nil, fmt.Errorf("%s: no package with a test", strings.Join(patterns, " "))
	}
	return pkgs, nil
}

// build writes the test binary of a package. Equal sources give equal binaries.
func (f *flaky) build(ctx context.Context, p tested) (binary, hash string, err error) {
	binary, err = filepath.Abs(filepath.Join(f.dir, strings.ReplaceAll(p.path, "/", "_")+".test"))
	if err != nil {
		return "", "", err
	}
	args := []string{"test", "-c", "-trimpath", "-o", binary}
	if f.race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, p.path)...)
	if f.race {
		cmd.Env = withCgo(nil)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("go test -c %s: %w\n%s", p.path, err, out)
	}
	b, err := os.ReadFile(binary)
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(b)
	return binary, hex.EncodeToString(sum[:]), nil
}

// round runs the tests of a package once, under load. It returns why they failed, and
// the file that has what they printed.
func (f *flaky) round(ctx context.Context, p tested, binary string, n int) (why []string, log string, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	stop := load(f.dir)
	defer stop()

	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-p", p.path, binary, "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+roundTimeout.String())
	cmd.Dir = p.dir
	cmd.WaitDelay = time.Minute
	var events, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &events, &said
	ended := cmd.Run()
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, "", ctx.Err()
	}
	r, err := read(bytes.NewReader(events.Bytes()), &said)
	if err != nil {
		return nil, "", err
	}
	why = r.certain
	for _, t := range r.doubtful {
		why = append(why, t.name)
	}
	if ended != nil && len(why) == 0 {
		why = append(why, ended.Error())
	}
	if len(why) > 0 {
		log = f.log(p, strconv.Itoa(n))
		err = os.WriteFile(log, said.Bytes(), 0o644)
	}
	return why, log, err
}

// load keeps every processor busy, and the disk of dir with small writes that are
// synced, until the function that it returns is called.
func load(dir string) (stop func()) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	ended := func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	for range runtime.NumCPU() {
		wg.Go(func() {
			sum := sha256.Sum256(nil)
			for !ended() {
				for range 10_000 {
					sum = sha256.Sum256(sum[:])
				}
			}
		})
	}
	wg.Go(func() {
		block := make([]byte, 64<<10)
		for !ended() {
			file, err := os.CreateTemp(dir, "load-*")
			if err != nil {
				return // the processors are load enough
			}
			_, _ = file.Write(block)
			_ = file.Sync()
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	})
	return func() { close(done); wg.Wait() }
}
