package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/tool"
)

// figure is one promise and what was measured.
type figure struct {
	what, goal, measured string
	ok                   bool
	skipped              bool // not measured in this run
}

// report collects what the document says.
type report struct {
	out    io.Writer // progress
	corpus string
	sluice string
	python string // interpreter with FastMCP; empty: none
	lists  string // directory of the lists that FastMCP made
	temp   string

	inspector string // directory of the MCP Inspector's package; empty: none

	figures []figure
	details strings.Builder // sections below the table
}

func (r *report) add(what, goal string, ok bool, format string, args ...any) {
	r.figures = append(r.figures, figure{what: what, goal: goal, ok: ok, measured: fmt.Sprintf(format, args...)})
}

// skip notes a promise that this run cannot measure.
func (r *report) skip(what, goal, format string, args ...any) {
	r.figures = append(r.figures, figure{what: what, goal: goal, skipped: true, measured: fmt.Sprintf(format, args...)})
}

func main() { tool.Main("sluice-openapi-report", run) }

func run(ctx context.Context, args []string, _, out io.Writer) error {
	fs := flag.NewFlagSet("sluice-openapi-report", flag.ContinueOnError)
	fs.SetOutput(out)
	corpus := fs.String("corpus", os.Getenv("SLUICE_CORPUS"), "`DIR` of the corpus")
	binary := fs.String("sluice", "bin/sluice", "`PATH` of the sluice binary")
	python := fs.String("python", "", "`PATH` of a Python with fastmcp; empty: FastMCP is not measured")
	lists := fs.String("lists", "", "`DIR` that keeps what FastMCP lists for the next run; empty: it is not kept")
	inspector := fs.String("inspector", "", "`DIR` of the package @modelcontextprotocol/inspector; empty: it is not run")
	to := fs.String("to", "docs/openapi-coverage.md", "`FILE` to write")
	only := fs.String("only", "", "run only the section of this `NAME`, print it, and write nothing")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *corpus == "" {
		return errors.New("SLUICE_CORPUS is not set: there is nothing to report on")
	}
	sluice, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "sluice-report-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	r := &report{out: out, corpus: *corpus, sluice: sluice, python: *python, lists: cmp.Or(*lists, temp), temp: temp}
	if err := os.MkdirAll(r.lists, 0o755); err != nil { //nolint:gosec // lists of public specifications
		return err
	}
	if *inspector != "" {
		if r.inspector, err = filepath.Abs(*inspector); err != nil {
			return err
		}
	}
	// What measures the memory of children stands before what needs much itself: the
	// kernel counts a parent's pages for a child that has just been forked.
	for _, s := range []struct {
		name string
		run  func(*report, context.Context) error
	}{
		{"imports", (*report).imports},
		{"requests", (*report).requests},
		{"oracle", (*report).oracle},
		{"hostile", (*report).hostile},
		{"cost", (*report).cost},
		{"node", (*report).node},
		{"memory", (*report).memory},
		{"tokens", (*report).tokens},
		{"clients", (*report).clients},
	} {
		if *only != "" && *only != s.name {
			continue
		}
		start := time.Now()
		if err := s.run(r, ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(out, "# %s: %s\n", s.name, time.Since(start).Round(time.Second))
	}
	var missed []error
	for _, f := range r.figures {
		fmt.Fprintf(out, "%-60s %-28s %s\n", f.what, f.goal, f.measured)
		if !f.ok && !f.skipped {
			missed = append(missed, fmt.Errorf("%s is %s, the goal is %s", f.what, f.measured, f.goal))
		}
	}
	if *only != "" {
		fmt.Fprint(out, r.details.String())
	} else if err := os.WriteFile(*to, []byte(r.markdown()), 0o644); err != nil { //nolint:gosec // a document
		return err
	}
	return errors.Join(missed...)
}

func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString("# OpenAPI coverage\n\n`make openapi-report` measures this on the corpus of real specifications (116 of 70 vendors, see\n" +
		"[CONTRIBUTING.md](../CONTRIBUTING.md)) and writes this page. What each rule does is in [openapi-support.md](openapi-support.md).\n\n" +
		"| promise | goal | measured | |\n| --- | --- | --- | --- |\n")
	for _, f := range r.figures {
		mark := "met"
		switch {
		case f.skipped:
			mark = "not measured"
		case !f.ok:
			mark = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.what, f.goal, f.measured, mark)
	}
	b.WriteString(r.details.String())
	return b.String()
}
