package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/answers"
)

// checked is a line of "sluice openapi check -o jsonl".
type checked struct {
	File        string
	OK          bool
	Version     string
	Operations  int
	Tools       int
	Unsupported []struct{ Method, Path, Code, Reason string }
	Warnings    int
	Error       *struct{ Code, Detail string }
	Seconds     float64
	PeakMemory  int64 `json:"peakMemoryBytes"`
}

// spec is a line of the corpus's specs.tsv.
type spec struct{ id, vendor, file string }

func (r *report) specs() ([]spec, error) {
	rows, err := answers.ReadTSV(filepath.Join(r.corpus, "specs.tsv"))
	if err != nil {
		return nil, err
	}
	out := make([]spec, len(rows))
	for i, s := range rows {
		out[i] = spec{s["id"], s["vendor"], filepath.Join("specs", s["main_file"])}
	}
	return out, nil
}

// child runs the binary under test and returns its output, its time and the
// largest resident set that the kernel saw. An exit code is not an error: the output
// says what it means.
func (r *report) child(ctx context.Context, args ...string) (out []byte, code int, took time.Duration, peak int64, err error) {
	//nolint:gosec // the binary under test
	cmd := exec.CommandContext(ctx, r.sluice, args...)
	cmd.Dir = r.corpus
	var b bytes.Buffer
	cmd.Stdout = &b
	start := time.Now()
	err = cmd.Run()
	took = time.Since(start)
	if ee, ok := errors.AsType[*exec.ExitError](err); ok && ee.Exited() {
		code, err = ee.ExitCode(), nil
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = usage.Maxrss << 10 // Linux: KiB
	}
	return b.Bytes(), code, took, peak, err
}

// imports checks every specification of the corpus.
func (r *report) imports(ctx context.Context) error {
	specs, err := r.specs()
	if err != nil {
		return err
	}
	out, _, _, _, err := r.child(ctx, "openapi", "check", "specs", "-o", "jsonl")
	if err != nil {
		return err
	}
	byFile := map[string]checked{}
	for line := range bytes.Lines(out) {
		var c checked
		if err := json.Unmarshal(line, &c); err != nil {
			return fmt.Errorf("reading %.200s: %w", line, err)
		}
		byFile[c.File] = c
	}
	versions := map[string]int{}
	imported, operations, tools, listed := 0, 0, 0, 0
	seconds, peak := 0.0, int64(0)
	fmt.Fprintf(&r.details, "\n## Specifications\n\nEach in one process, one after the other; the time is from the bytes of the file to packed tools.\n\n"+
		"| specification | version | operations | tools | warnings | ms | peak MB |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, s := range specs {
		c, ok := byFile[s.file]
		if !ok {
			return fmt.Errorf("%s was not checked", s.file)
		}
		if c.OK && c.Operations == c.Tools+len(c.Unsupported) {
			imported++
		}
		versions[c.Version[:min(len(c.Version), 3)]]++
		operations, tools, listed = operations+c.Operations, tools+c.Tools, listed+len(c.Unsupported)
		seconds, peak = seconds+c.Seconds, max(peak, c.PeakMemory)
		fmt.Fprintf(&r.details, "| %s | %s | %d | %d | %d | %.0f | %d |\n", s.id, c.Version, c.Operations, c.Tools, c.Warnings, 1000*c.Seconds, c.PeakMemory>>20)
	}
	for _, s := range specs {
		for _, u := range byFile[s.file].Unsupported {
			fmt.Fprintf(&r.details, "\nNot a tool: %s, %s %s: %s (`%s`).\n", s.id, u.Method, u.Path, u.Reason, u.Code)
		}
	}
	r.add("specifications imported, each operation a tool or listed with a reason", "all of "+strconv.Itoa(len(specs)), imported == len(specs), "%d (%d Swagger 2.0, %d OpenAPI 3.0, %d 3.1, %d 3.2)",
		imported, versions["2.0"], versions["3.0"], versions["3.1"], versions["3.2"])
	share := 100 * float64(tools) / float64(operations)
	r.add("operations that are tools", "≥ 99.5 %", share >= 99.5, "%.2f %% (%d of %d; %d listed)", share, tools, operations, listed)
	r.add("time and memory of the whole corpus in one process", "reported", true, "%.1f s, at most %d MB for one", seconds, peak>>20)
	return nil
}

// goTest runs tests of a package that need the corpus and returns what they log.
func (r *report) goTest(ctx context.Context, pkg, pattern string) (string, bool, error) {
	//nolint:gosec // the arguments are constants of this program
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-timeout", "10m", "-run", pattern, pkg)
	cmd.Env = append(os.Environ(), "SLUICE_CORPUS="+r.corpus, "SLUICE_ORACLE=all")
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return "", false, err
	}
	if bytes.Contains(out, []byte("--- SKIP")) || bytes.Contains(out, []byte("no tests to run")) {
		return "", false, fmt.Errorf("%s %s did not run", pkg, pattern)
	}
	return string(out), err == nil, nil
}

var excuseLine = regexp.MustCompile(`excuse: (\d+): (.*)`)

var judgedLine = regexp.MustCompile(`: (\d+) requests judged, (\d+) refused by hidden constraints, (\d+) excused, (\d+) faults`)

// requests has software that is not ours judge requests, and a real server see them.
func (r *report) requests(ctx context.Context) error {
	out, passed, err := r.goTest(ctx, "./plugins/connector", "^TestRandomRequests$")
	if err != nil {
		return err
	}
	sum := [4]int{}
	specs := 0
	for _, m := range judgedLine.FindAllStringSubmatch(out, -1) {
		if m[1] != "0" {
			specs++
		}
		for i := range sum {
			n, err := strconv.Atoi(m[i+1])
			if err != nil {
				return err
			}
			sum[i] += n
		}
	}
	fmt.Fprintf(&r.details, "\n## Requests\n\nOf %d requests, kin-openapi's validator judged %d; of another %d, constraints that are not published (formats, patterns) made Sluice refuse the arguments.\n"+
		"It refused %d for a reason that is none of the request's:\n\n| requests | reason |\n| ---: | --- |\n", sum[0]+sum[1], sum[0], sum[1], sum[2])
	for _, m := range excuseLine.FindAllStringSubmatch(out, -1) {
		fmt.Fprintf(&r.details, "| %s | %s |\n", m[1], m[2])
	}
	r.add("requests of random operations with random arguments against the rules, judged by kin-openapi's openapi3filter", "0 of ≥ 2,000",
		passed && sum[3] == 0 && sum[0]-sum[2] >= 2000, "%d of %d (%d specifications; %d more in the [list of excuses](#requests))",
		sum[3], sum[0]-sum[2], specs, sum[2])
	out, passed, err = r.goTest(ctx, "./plugins/operation", "^TestVectors$")
	if err != nil {
		return err
	}
	n := regexp.MustCompile(`(\d+) vectors`).FindStringSubmatch(out)
	if n == nil {
		return errors.New("TestVectors does not say how many vectors it ran")
	}
	r.add("serialisation vectors, byte for byte", "all", passed, "%s of %s", map[bool]string{true: n[1], false: "fewer"}[passed], n[1])
	out, passed, err = r.goTest(ctx, "./plugins/connector", "^TestTorture$")
	if err != nil {
		return err
	}
	n = regexp.MustCompile(`(\d+) torture operations`).FindStringSubmatch(out)
	if n == nil {
		return errors.New("TestTorture does not say how many operations it called")
	}
	r.add("torture operations, as a real HTTP server sees them", "all", passed, "%s of %s", map[bool]string{true: n[1], false: "fewer"}[passed], n[1])
	return nil
}

var oracleLine = regexp.MustCompile(`oracle: (\d+) specifications, (\d+) operations, (\d+) parameters, (\d+) schemas, (\d+) differences`)

// oracle compares what was compiled with libopenapi's model.
func (r *report) oracle(ctx context.Context) error {
	out, passed, err := r.goTest(ctx, "./plugins/openapi", "^TestOracle$")
	if err != nil {
		return err
	}
	m := oracleLine.FindStringSubmatch(out)
	if m == nil {
		return errors.New("TestOracle does not say what it compared")
	}
	r.add("differences from libopenapi's model: operations, parameters, bodies, schemas", "all explained", passed,
		"%s in %s operations, %s parameters and %s schemas of %s specifications; %s ([the list](../plugins/openapi/testdata/oracle.tsv))",
		m[5], m[2], m[3], m[4], m[1], map[bool]string{true: "each explained", false: "not all explained"}[passed])
	return nil
}

// hostileOutcomes has, by file, the outcome ("ok" or a diagnostic code) and the
// number of tools that are right for it.
//
//go:embed hostile.tsv
var hostileOutcomes string

// What one hostile input may cost.
const (
	hostileTime   = 5 * time.Second
	hostileMemory = 512 << 20
)

// hostile checks every hostile input in a process of its own.
func (r *report) hostile(ctx context.Context) error {
	dir := filepath.Join(r.temp, "hostile")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	script, err := filepath.Abs(filepath.Join(r.corpus, "hostile_gen.py"))
	if err != nil {
		return err
	}
	//nolint:gosec // the corpus's own program
	gen := exec.CommandContext(ctx, "python3", script)
	gen.Dir = dir
	if out, err := gen.CombinedOutput(); err != nil {
		return fmt.Errorf("generating hostile inputs: %w\n%s", err, out)
	}
	if err := r.copyHostile(dir); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	var slowest time.Duration
	var largest int64
	right := 0
	expected := map[string]string{}
	for line := range strings.Lines(hostileOutcomes) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), "\t")
		expected[name] = outcome
	}
	var wrong []string
	for _, file := range files {
		limited, cancel := context.WithTimeout(ctx, 4*hostileTime)
		out, code, took, peak, err := r.child(limited, "openapi", "check", file, "-o", "jsonl")
		cancel()
		slowest, largest = max(slowest, took), max(largest, peak)
		name := filepath.Base(file)
		want, known := expected[name]
		delete(expected, name)
		var c checked
		got := "the process ended with " + fmt.Sprint(err, " ", code)
		if err == nil && json.Unmarshal(out, &c) == nil && c.File != "" {
			got = "ok\t" + strconv.Itoa(c.Tools)
			if !c.OK {
				got = c.Error.Code + "\t" + strconv.Itoa(c.Tools)
			}
		}
		if known && got == want && took <= hostileTime && peak <= hostileMemory {
			right++
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s: %s in %s with %d MB, expected %s", name, strings.ReplaceAll(got, "\t", ", tools "), took.Round(time.Millisecond), peak>>20, strings.ReplaceAll(want, "\t", ", tools ")))
	}
	for name := range expected {
		wrong = append(wrong, name+" was not there")
	}
	slices.Sort(wrong)
	for _, w := range wrong {
		fmt.Fprintf(&r.details, "\nHostile input: %s\n", w)
		fmt.Fprintln(r.out, w)
	}
	r.add("hostile inputs with the expected outcome, each in a process of its own", fmt.Sprintf("all within %s and %d MB", hostileTime, hostileMemory>>20),
		len(wrong) == 0, "%d of %d; at most %.1f s, %d MB", right, len(files), slowest.Seconds(), largest>>20)
	return nil
}

// copyHostile puts the corpus's hostile files into dir, unpacked.
func (r *report) copyHostile(dir string) error {
	files, err := filepath.Glob(filepath.Join(r.corpus, "adversarial", "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := filepath.Base(file)
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				return err
			}
			if data, err = io.ReadAll(z); err != nil {
				return err
			}
			name = strings.TrimSuffix(name, ".gz")
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil { //nolint:gosec // the name is a base name
			return err
		}
	}
	return nil
}

var benchLine = regexp.MustCompile(`^BenchmarkGitHub/format=(\w+)/impl=(\w+)\S*\s+\d+\s+([0-9.]+) ns/op.*\s([0-9.]+) cpu-ns/op`)

// cost compares compiling GitHub's specification with only parsing it.
func (r *report) cost(ctx context.Context) error {
	binary := filepath.Join(r.temp, "connector.test")
	//nolint:gosec // the arguments are constants of this program
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./plugins/connector").CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	times := map[string][]float64{}
	for range 3 {
		//nolint:gosec // the binary was built above
		cmd := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", "^BenchmarkGitHub$", "-test.benchtime", "3x", "-test.timeout", "10m")
		cmd.Env = append(os.Environ(), "SLUICE_CORPUS="+r.corpus)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("the benchmark: %w\n%s", err, out)
		}
		sc := bufio.NewScanner(bytes.NewReader(out))
		for sc.Scan() {
			if m := benchLine.FindStringSubmatch(sc.Text()); m != nil {
				ns, err := strconv.ParseFloat(m[3], 64)
				if err != nil {
					return err
				}
				cpu, err := strconv.ParseFloat(m[4], 64)
				if err != nil {
					return err
				}
				name := m[1] + " " + m[2]
				times[name], times[name+" cpu"] = append(times[name], ns/1e6), append(times[name+" cpu"], cpu/1e6)
			}
		}
	}
	// The fastest of each: the machine may be busy with other things, too.
	best := func(name string) float64 {
		if len(times[name]) == 0 {
			return 0
		}
		return slices.Min(times[name])
	}
	for _, f := range []struct{ format, baseline, what string }{
		{"json", "encodingjson", "GitHub (13 MB JSON), bytes to connector over encoding/json to `any`"},
		{"yaml", "yamlnodes", "the same as YAML over go.yaml.in/yaml/v4 to nodes"},
	} {
		own, other := best(f.format+" sluice"), best(f.format+" "+f.baseline)
		ownCPU, otherCPU := best(f.format+" sluice cpu"), best(f.format+" "+f.baseline+" cpu")
		if own == 0 || other == 0 {
			return fmt.Errorf("the benchmark has no figures of %s", f.format)
		}
		r.add(f.what, "≤ 1.5×", own/other <= 1.5, "%.2f× (%.0f ms over %.0f ms; processor time %.2f×, %.0f ms over %.0f ms)",
			own/other, own, other, ownCPU/otherCPU, ownCPU, otherCPU)
	}
	_, code, _, peak, err := r.child(ctx, "connector", "generate", "specs/github/api.github.com.json", "--to", filepath.Join(r.temp, "github"))
	if err != nil || code != 0 {
		return fmt.Errorf("sluice connector generate ended with %d: %w", code, err)
	}
	const goal = 150 << 20
	r.add("GitHub, largest resident set of `sluice connector generate`", "≤ 150 MB", peak <= goal, "%d MB", peak>>20)
	return nil
}
