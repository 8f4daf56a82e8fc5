//go:build ignore

// Testreport reads the output of "go test -json" on standard input and prints it
// as plain "go test" would: packages as they finish, with the output of failed
// tests. At the end come the counts, and every skipped test with its reason.
//
// With CI=true a skip fails the run, so that a test cannot silently stop running,
// except where the reason names SLUICE_CORPUS: the large corpus is not part of
// the repository.
//
// Usage: go test -json ./... | go run .ci/testreport.go
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action, Package, ImportPath, Test, Output string
}

type test struct{ pkg, name string }

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
		bad            []string
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
					bad = append(bad, e.Package)
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
				if b := output[t]; b != nil {
					fmt.Print(b)
				}
				delete(output, t)
			case "skip":
				skips = append(skips, t)
			}
		}
	}
	for t, b := range output { // a test that never ended: panic, time-out, os.Exit
		if t.name != "" && !contains(skips, t) {
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
	case len(bad) > 0:
		return fmt.Errorf("%s", strings.Join(bad, " "))
	case passed == 0:
		return fmt.Errorf("no test ran")
	case refused > 0 && os.Getenv("CI") == "true":
		return fmt.Errorf("%d tests were skipped, and with CI=true only a missing SLUICE_CORPUS is a reason", refused)
	}
	return nil
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

func contains(ts []test, t test) bool {
	for _, x := range ts {
		if x == t {
			return true
		}
	}
	return false
}
