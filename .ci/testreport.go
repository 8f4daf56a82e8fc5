//go:build ignore

// Testreport reads the output of "go test -json" on standard input and prints it
// as plain "go test" would: packages as they finish, with the output of failed
// tests. At the end come the counts, and every skipped test with its reason.
//
// With CI=true a skip fails the run, so that a test cannot silently stop running,
// except where the reason names SLUICE_CORPUS: the large corpus is not part of
// the repository.
//
// A test that failed is run once more, alone and without the race detector: most of
// what fails here and not there had to share two cores with other packages. When it
// passes it is named as flaky, which is to be mended, and the run goes on; a data race,
// a panic, a time-out and more than three such tests fail the run at once.
//
// After each go command an event {"Action": "exit"} has its exit code as Output, so
// that one which ended before its first test is not taken for a success.
//
// Usage: go test -json ./... | go run .ci/testreport.go
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

type event struct {
	Action, Package, ImportPath, Test, Output string
}

type test struct{ pkg, name string }

// maxFlaky tests are run again; more are no coincidence.
const maxFlaky = 3

func main() {
	if err := report(); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

func report() error {
	var (
		passed, failed int
		skips          []test
		output         = map[test]*strings.Builder{}
		in             = bufio.NewReader(os.Stdin)
		bad            []string // packages
		again          []test   // failed tests that may be flaky
		certain        bool     // that something failed which is not run again
		inRun          bool     // a package failed since the last exit
	)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			os.Stdout.Write(line) // what is not an event comes from the go command
			continue
		}
		if e.Package == "" {
			e.Package = e.ImportPath // of a build event
		}
		t := test{e.Package, e.Test}
		switch e.Action {
		case "output", "build-output":
			if output[t] == nil {
				output[t] = &strings.Builder{}
			}
			output[t].WriteString(e.Output)
		case "pass", "fail", "skip", "build-fail":
			if e.Test == "" { // the package is done
				printPackage(t, e.Action, output[t])
				if e.Action == "fail" || e.Action == "build-fail" {
					inRun = true
					bad = append(bad, e.Package)
					ofTest := slices.ContainsFunc(again, func(a test) bool { return a.pkg == e.Package })
					certain = certain || !ofTest || grave(text(output[t]))
				}
				delete(output, t)
				continue
			}
			switch e.Action {
			case "pass":
				passed++
				delete(output, t)
			case "fail":
				failed++
				said := text(output[t])
				fmt.Print(said)
				certain = certain || grave(said)
				if !strings.Contains(e.Test, "/") {
					again = append(again, t)
				}
				delete(output, t)
			case "skip":
				skips = append(skips, t)
			}
		case "exit":
			if e.Output != "0" && !inRun {
				return fmt.Errorf("go test ended with %s before a package failed", e.Output)
			}
			inRun = false
		}
	}
	for t, b := range output { // a test that never ended: panic, time-out, os.Exit
		if t.name != "" && !slices.Contains(skips, t) {
			fmt.Print(b)
		}
	}
	refused := 0
	for _, s := range skips {
		reason := ""
		if b := output[s]; b != nil {
			reason = skipReason(b.String())
		}
		allowed := strings.Contains(reason, "SLUICE_CORPUS")
		if !allowed {
			refused++
		}
		if !allowed || os.Getenv("CI") != "true" {
			fmt.Printf("skipped %s %s: %s\n", s.pkg, s.name, reason)
		}
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, len(skips))
	switch {
	case len(bad) > 0 && !certain && len(again) <= maxFlaky && passAlone(again):
		fmt.Printf("%d flaky: they failed beside others and passed alone\n", len(again))
	case len(bad) > 0:
		return fmt.Errorf("%s", strings.Join(bad, " "))
	case passed == 0:
		return fmt.Errorf("no test ran")
	}
	switch {
	case refused > 0 && os.Getenv("CI") == "true":
		return fmt.Errorf("%d tests were skipped, and with CI=true only a missing SLUICE_CORPUS is a reason", refused)
	}
	return nil
}

// grave reports whether output has what no busy machine explains.
func grave(output string) bool {
	return strings.Contains(output, "DATA RACE") || strings.Contains(output, "race detected") || strings.Contains(output, "panic: ")
}

// passAlone runs tests once more, each alone.
func passAlone(ts []test) bool {
	ok := true
	for _, t := range ts {
		out, err := exec.Command("go", "test", "-count=1", "-v", "-timeout", "5m", "-run", "^"+t.name+"$", t.pkg).CombinedOutput()
		passed := err == nil && strings.Contains(string(out), "--- PASS: "+t.name+" ")
		fmt.Printf("again, alone: %s %s: passed %t\n", t.pkg, t.name, passed)
		if !passed {
			os.Stdout.Write(out)
			ok = false
		}
	}
	return ok
}

func text(b *strings.Builder) string {
	if b == nil {
		return ""
	}
	return b.String()
}

// printPackage prints what "go test" without -v prints of a package.
func printPackage(t test, action string, b *strings.Builder) {
	if b == nil {
		return
	}
	for line := range strings.Lines(b.String()) {
		if line == "PASS\n" || action == "skip" && strings.HasPrefix(line, "?") {
			continue
		}
		fmt.Print(line)
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
