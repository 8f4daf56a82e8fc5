package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// An event of test2json; see "go doc test2json".
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + " " + t.name }

// A result is what the events of one go command say.
type result struct {
	passed, failed int
	skips          []skipped
	tests          map[test]bool    // that ended
	begun          map[test]bool    // and those that began, and benchmarks
	took           map[test]float64 // seconds, of tests without parts of tests
	packages       map[string]bool
	badPackages    int

	// certain are failures that no busy machine explains, with the reason.
	certain []string
	// doubtful are failed tests, without parts of tests, that may pass when run again.
	doubtful []test
	// said is what failed tests, without parts of tests, first complained of.
	said map[test]string
}

type skipped struct {
	test
	reason string
}

// A running package.
type running struct {
	output  strings.Builder
	tests   map[string]*strings.Builder // not ended, with their output
	begun   int
	failed  []string // tests, without parts of tests
	nothing bool     // the package says that it has no test
}

// read prints the events of in as plain "go test" does, and returns what they say.
func read(in io.Reader, out io.Writer) (*result, error) {
	r := &result{tests: map[test]bool{}, begun: map[test]bool{}, packages: map[string]bool{}, took: map[test]float64{}, said: map[test]string{}}
	pkgs := map[string]*running{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && err == io.EOF {
			break
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		var e event
		if json.Unmarshal(line, &e) != nil || e.Action == "" {
			_, _ = out.Write(line) // what is not an event comes from the go command
			continue
		}
		if e.Action == "build-output" || e.Action == "build-fail" {
			fmt.Fprint(out, e.Output) // the package has its own end
			continue
		}
		p := pkgs[e.Package]
		if p == nil {
			p = &running{tests: map[string]*strings.Builder{}}
			pkgs[e.Package] = p
		}
		if e.Test != "" {
			r.ofTest(e, p, out)
		} else if r.ofPackage(e, p, out) {
			delete(pkgs, e.Package)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pkgs)) {
		fmt.Fprint(out, pkgs[name].output.String())
		r.printRunning(name, pkgs[name], out)
		r.certain = append(r.certain, name+": no event says that it ended")
	}
	return r, nil
}

func (r *result) ofTest(e event, p *running, out io.Writer) {
	t := test{e.Package, e.Test}
	said := p.tests[e.Test]
	switch e.Action {
	case "run":
		p.begun++
		r.begun[t] = true
		p.tests[e.Test] = &strings.Builder{}
	case "output":
		if said == nil { // after the end of the test
			said = &p.output
		}
		said.WriteString(e.Output)
	case "pass", "fail", "skip":
		delete(p.tests, e.Test)
		r.tests[t] = true
		if !strings.Contains(e.Test, "/") {
			r.took[t] = e.Elapsed
		}
		text := ""
		if said != nil {
			text = said.String()
		}
		switch e.Action {
		case "pass":
			r.passed++
		case "skip":
			r.skips = append(r.skips, skipped{t, skipReason(text)})
		case "fail":
			r.failed++
			fmt.Fprint(out, text)
			name, _, _ := strings.Cut(e.Test, "/")
			if whole := (test{e.Package, name}); r.said[whole] == "" { // A test ends after its parts.
				r.said[whole] = complaint(text)
			}
			if why := grave(text); why != "" {
				r.certain = append(r.certain, t.String()+": "+why)
			}
			if !strings.Contains(e.Test, "/") {
				p.failed = append(p.failed, e.Test)
			}
			if isBenchmark(e.Test) {
				r.certain = append(r.certain, t.String()+": failed"+below(complaint(text)))
			}
		}
	}
}

// ofPackage reports whether the package ended.
func (r *result) ofPackage(e event, p *running, out io.Writer) bool {
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
		p.nothing = p.nothing || strings.Contains(e.Output, "[no test")
		return false
	case "pass", "fail", "skip":
	default:
		return false
	}
	r.packages[e.Package] = true
	said := p.output.String()
	printPackage(e.Action, said, out)
	bad := func(format string, args ...any) {
		r.certain = append(r.certain, e.Package+": "+fmt.Sprintf(format, args...))
	}
	before := len(r.certain)
	r.endBenchmarks(e, p, out)
	if n := len(p.tests); n > 0 {
		bad("%d tests began and did not end, %s first: a crash, a signal or os.Exit", n, slices.Sorted(maps.Keys(p.tests))[0])
		r.printRunning(e.Package, p, out)
	}
	switch e.Action {
	case "fail":
		if why := grave(said); why != "" {
			bad("%s", why)
		}
		if len(p.failed) == 0 && len(r.certain) == before {
			bad("failed, and none of its tests did")
		}
	case "pass":
		if len(p.failed) > 0 {
			bad("ended well, and %d of its tests failed: does TestMain lose the result?", len(p.failed))
		}
		if p.begun == 0 && !p.nothing {
			bad("ended well before its first test: does TestMain run the tests?")
		}
	}
	if e.Action == "fail" || len(r.certain) > before {
		r.badPackages++
	}
	for _, name := range p.failed {
		if !isBenchmark(name) { // these are certain
			r.doubtful = append(r.doubtful, test{e.Package, name})
		}
	}
	return true
}

// endBenchmarks ends those of a package that ended: no event says that one went well. Of
// those of a package that failed a crash may be the reason.
func (r *result) endBenchmarks(e event, p *running, out io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		if !isBenchmark(name) {
			continue
		}
		if said := p.tests[name].String(); e.Action == "fail" {
			fmt.Fprint(out, said)
			if why := grave(said); why != "" {
				r.certain = append(r.certain, e.Package+" "+name+": "+why)
			}
		}
		delete(p.tests, name)
	}
}

func isBenchmark(name string) bool { return strings.HasPrefix(name, "Benchmark") }

func (r *result) printRunning(pkg string, p *running, out io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		fmt.Fprintf(out, "--- not ended: %s %s\n%s", pkg, name, p.tests[name])
		if why := grave(p.tests[name].String()); why != "" {
			r.certain = append(r.certain, pkg+" "+name+": "+why)
		}
	}
}

// grave returns what in the output of a failed test or package no busy machine
// explains, or an empty string.
func grave(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		for _, what := range []string{"WARNING: DATA RACE", "race detected during", "panic: ", "fatal error: ", "signal: ", "unexpected fault address", "SIGSEGV", "SIGABRT"} {
			if strings.Contains(line, what) {
				return line[:min(len(line), 200)]
			}
		}
	}
	return ""
}

// complaint returns the first lines that a failed test logged, from the one with their
// position in a file: what a long log is searched for.
func complaint(output string) string {
	const lines, length = 12, 160
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if len(said) > 0 || position.MatchString(line) {
			said = append(said, "    "+line[:min(len(line), length)])
		}
		if len(said) == lines {
			break
		}
	}
	return strings.Join(said, "\n")
}

var position = regexp.MustCompile(`^\s+\w+\.go:\d+: `)

// printPackage prints what "go test" without -v prints of a package.
func printPackage(action, said string, out io.Writer) {
	for line := range strings.Lines(said) {
		if line == "PASS\n" || action == "skip" && strings.HasPrefix(line, "?") {
			continue
		}
		fmt.Fprint(out, line)
	}
}

// skipReason returns the last line that the test logged, without its position.
func skipReason(s string) string {
	reason := ""
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		reason = line
	}
	return reason
}
