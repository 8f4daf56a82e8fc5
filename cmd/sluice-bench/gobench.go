package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// results holds, by benchmark name without the GOMAXPROCS suffix and by unit
// ("ns/op", "B/op", …), one value for each repetition.
type results map[string]map[string][]float64

// goBench runs the Go benchmarks of a package that match pattern, b.count times.
func (b *bench) goBench(ctx context.Context, pkg, pattern string, env ...string) (results, error) {
	//nolint:gosec // the arguments are constants of this program
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-count", strconv.Itoa(b.count), "-benchmem", "-timeout", "20m", pkg)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -bench %s %s: %w\n%s", pattern, pkg, err, out)
	}
	return parseResults(out), nil
}

// parseResults reads the format of golang.org/design/14313-benchmark-format.
func parseResults(out []byte) results {
	r := results{}
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
	return r
}

// median returns the median of one benchmark's unit.
func (r results) median(name, unit string) (float64, error) {
	v := r[name][unit]
	if len(v) == 0 {
		return 0, fmt.Errorf("no %s of %s in the output", unit, name)
	}
	return median(v), nil
}

// ratio returns the median of one benchmark over another's, of the same unit.
func (r results) ratio(name, baseline, unit string) (value, of, over float64, err error) {
	if of, err = r.median(name, unit); err != nil {
		return 0, 0, 0, err
	}
	if over, err = r.median(baseline, unit); err != nil {
		return 0, 0, 0, err
	}
	return of / over, of, over, nil
}
