package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// results holds, by benchmark name without the GOMAXPROCS suffix and by unit
// ("ns/op", "B/op", …), one value for each repetition.
type results map[string]map[string][]float64

// goBench runs the Go benchmarks of a package that match pattern, b.count times,
// each time in a new process: so implementations take turns, and memory that one
// run left behind does not count as the next one's. An empty benchtime is Go's
// default of a second.
func (b *bench) goBench(ctx context.Context, pkg, pattern, benchtime string, env ...string) (results, error) {
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "bench.test")
	//nolint:gosec // the arguments are constants of this program
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, pkg).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c %s: %w\n%s", pkg, err, out)
	}
	args := []string{"-test.run", "^$", "-test.bench", pattern, "-test.benchmem", "-test.timeout", "20m"}
	if benchtime != "" {
		args = append(args, "-test.benchtime", benchtime)
	}
	r := results{}
	for range b.count {
		//nolint:gosec // the binary was built above
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Dir = pkg // fixtures are found as in go test
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("benchmarks %s of %s: %w\n%s", pattern, pkg, err, out)
		}
		r.add(out)
	}
	return r, nil
}

// add reads the format of golang.org/design/14313-benchmark-format.
func (r results) add(out []byte) {
	for l := range bytes.Lines(out) {
		f := strings.Fields(string(l))
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := f[0]
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			if _, err := strconv.Atoi(name[i+1:]); err == nil {
				name = name[:i]
			}
		}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				break
			}
			if r[name] == nil {
				r[name] = map[string][]float64{}
			}
			r[name][f[i+1]] = append(r[name][f[i+1]], v)
		}
	}
}

// median returns the median of one benchmark's unit.
func (r results) median(name, unit string) (float64, error) {
	v := r[name][unit]
	if len(v) == 0 {
		return 0, fmt.Errorf("no %s of %s in the output", unit, name)
	}
	return median(v), nil
}

// ratio returns the median time of one benchmark over another's.
func (r results) ratio(name, baseline string) (value, of, over float64, err error) {
	if of, err = r.median(name, "ns/op"); err != nil {
		return 0, 0, 0, err
	}
	if over, err = r.median(baseline, "ns/op"); err != nil {
		return 0, 0, 0, err
	}
	return of / over, of, over, nil
}
