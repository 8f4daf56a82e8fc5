package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

func (a *app) openapiCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "openapi", Short: "Check specifications"}
	cmd.AddCommand(a.openapiCheck())
	return cmd
}

// checked is the report on one specification, one line of -o jsonl.
type checked struct {
	File        string                `json:"file"`
	OK          bool                  `json:"ok"`
	Version     string                `json:"version"` // of the specification format; empty when it cannot be read
	Operations  int                   `json:"operations"`
	Tools       int                   `json:"tools"`
	Unsupported []toolset.Unsupported `json:"unsupported"`
	Warnings    int                   `json:"warnings"`
	Error       *checkFinding         `json:"error"` // null: it can be used
	Seconds     float64               `json:"seconds"`
	PeakMemory  int64                 `json:"peakMemoryBytes"` // resident set while it was compiled; 0 where the system does not tell
}

// checkedInFull is checked with every finding.
type checkedInFull struct {
	checked
	Findings []checkFinding `json:"findings"`
}

// checkFinding is a diagnostic with its file and, of an error, what kind it is.
type checkFinding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Title    string `json:"title,omitempty"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Pointer  string `json:"pointer"`
	Detail   string `json:"detail"`
	Remedy   string `json:"remedy"`
}

func (a *app) openapiCheck() *cobra.Command {
	var strict bool
	var overlays []string
	cmd := &cobra.Command{
		Use:   "check FILE|DIR|URL|-…",
		Short: "Check a specification and list the tools it would generate",
		Long: `Compile specifications and report: how many operations become tools, which do not
and why, and what was repaired, with time and peak memory. Exit code 6 when one is
not valid. In a directory every .json, .yaml and .yml file is checked that is not a
part of another one. With --strict a specification must also follow the JSON Schema
that the OpenAPI initiative publishes for its version, and each of its operations
must become a tool.`,
		Example: "  sluice openapi check petstore.yaml\n  sluice openapi check specs/ --strict -o jsonl",
		Args:    command.Between(1, -1, "specifications: files, directories, URLs, or - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var inputs []checkInput
			for _, arg := range args {
				more, err := expand(arg)
				if err != nil {
					return err
				}
				inputs = append(inputs, more...)
			}
			return a.check(cmd.Context(), inputs, overlays, strict)
		},
	}
	cmd.Flags().StringArrayVar(&overlays, "overlay", nil, "Overlay document to apply first, a file or URL; may be repeated")
	a.SpecLimitFlag(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "also validate against the official schema of the version")
	return cmd
}

// checkInput is one specification to check.
type checkInput struct {
	file   string
	folder string // of a directory that is checked: references may go as far; empty: the file's own
}

// expand lists the specifications of a directory; anything else is itself.
func expand(arg string) ([]checkInput, error) {
	if command.IsURL(arg) || arg == "-" {
		return []checkInput{{file: arg}}, nil
	}
	if info, err := os.Stat(arg); err != nil || !info.IsDir() {
		return []checkInput{{file: arg}}, nil //nolint:nilerr // a file that is not there is reported where it is read
	}
	var files []checkInput
	err := filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() && slices.Contains(specification.SpecExtensions, strings.ToLower(filepath.Ext(path))) {
			files = append(files, checkInput{file: path, folder: arg})
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		return nil, problem.New(problem.NotFound, "%s has no .json, .yaml or .yml file", arg).Because(errNoSpecifications)
	}
	return files, err
}

func (a *app) check(ctx context.Context, inputs []checkInput, overlays []string, strict bool) error {
	var reports []checkedInFull
	invalid := false
	parts := map[string]bool{} // folders with files that another specification is made of
	notSpecs := map[string]error{}
	for _, in := range inputs {
		r, documents, err := a.checkOne(ctx, in, overlays, strict)
		for _, d := range documents {
			parts[filepath.Dir(d)] = true
		}
		if err != nil {
			p := problem.As(err)
			if len(inputs) == 1 && (p == nil || p.Kind != problem.InvalidSpec) || ctx.Err() != nil {
				return err
			}
			r.Error = findingOf(in.file, err)
			if in.folder != "" && r.Error.Code == "not_openapi" {
				notSpecs[in.file] = err
			} else {
				a.sayCheckError(err)
			}
		}
		reports = append(reports, r)
	}
	reports = slices.DeleteFunc(reports, func(r checkedInFull) bool {
		err := notSpecs[r.File]
		if err != nil && parts[filepath.Dir(r.File)] {
			return true
		}
		if err != nil {
			a.sayCheckError(err)
		}
		invalid = invalid || !r.OK
		return false
	})
	if err := a.printChecked(reports); err != nil {
		return err
	}
	if invalid {
		return exit.SilentError(exit.Invalid)
	}
	return nil
}

// tabular says that people read the result.
func (a *app) tabular() bool { return a.Format == "table" || a.Format == "wide" || a.Format == "name" }

func (a *app) sayCheckError(err error) {
	if a.tabular() {
		exit.WriteError(a.Err, err)
	}
}

// printChecked prints the reports: one line each with -o jsonl, with every
// finding in the other formats that machines read.
func (a *app) printChecked(reports []checkedInFull) error {
	columns := []terminal.Column[checkedInFull]{
		{Header: "file", Value: func(c checkedInFull) string { return c.File }},
		{Header: "result", Value: func(c checkedInFull) string {
			if c.OK {
				return "ok"
			}
			return "invalid"
		}},
		{Header: "version", Value: func(c checkedInFull) string { return c.Version }},
		{Header: "operations", Value: func(c checkedInFull) string { return terminal.Thousands(c.Operations) }},
		{Header: "tools", Value: func(c checkedInFull) string { return terminal.Thousands(c.Tools) }},
		{Header: "warnings", Value: func(c checkedInFull) string { return terminal.Thousands(c.Warnings) }},
		{Header: "time", Value: func(c checkedInFull) string { return terminal.Seconds(c.Seconds) }},
		{Header: "memory", Value: func(c checkedInFull) string { return terminal.ByteSize(c.PeakMemory) }},
	}
	name := func(c checkedInFull) string { return c.File }
	var raw []json.RawMessage
	if a.Format == "jsonl" {
		for i := range reports {
			b, err := terminal.EncodeJSON(reports[i].checked)
			if err != nil {
				return err
			}
			raw = append(raw, b)
		}
	}
	if err := terminal.List(&a.Terminal, reports, raw, columns, name); err != nil {
		return err
	}
	if a.tabular() {
		for i := range reports {
			a.sayFindings(&reports[i])
		}
	}
	return nil
}

// findingOf is the error of a specification as a finding.
func findingOf(file string, err error) *checkFinding {
	doc := exit.DocumentOf(err)
	f := &checkFinding{Code: cmp.Or(openapi.Code(err), string(doc.Code)), Severity: openapi.SeverityError, Title: doc.Title, File: file, Detail: doc.Detail, Remedy: doc.Remedy}
	if p := problem.As(err); p != nil {
		f.Line, f.Column, f.Pointer = p.Place.Line, p.Place.Column, p.Place.Pointer
	}
	return f
}

// sayFindings lists what was found, all of it with -o wide.
func (a *app) sayFindings(r *checkedInFull) {
	shown := 20 // of each kind: enough for a small specification
	if a.Format == "wide" {
		shown = max(len(r.Unsupported), len(r.Findings))
	}
	for _, u := range r.Unsupported[:min(len(r.Unsupported), shown)] {
		a.Say("! %s  %s %s is not a tool: %s", u.Code, u.Method, terminal.Printable(u.Path), terminal.Printable(u.Reason))
	}
	for _, d := range r.Findings[:min(len(r.Findings), shown)] {
		a.Say("! %s  %s", d.Code, describe.Diagnostic(d.Line, d.Column, d.Pointer, d.Detail))
		if d.Remedy != "" {
			a.Say("      %s", terminal.Printable(d.Remedy))
		}
	}
	if n := len(r.Unsupported) + len(r.Findings) - min(len(r.Unsupported), shown) - min(len(r.Findings), shown); n > 0 {
		a.Say("! and %s more with -o wide", terminal.Thousands(n))
	}
}

// checkOne compiles one specification. documents are the other files it is made
// of.
func (a *app) checkOne(ctx context.Context, in checkInput, overlays []string, strict bool) (r checkedInFull, documents []string, err error) {
	r.File, r.Unsupported, r.Findings = in.file, []toolset.Unsupported{}, []checkFinding{}
	resetPeakMemory()
	start := time.Now()
	defer func() { r.Seconds, r.PeakMemory = time.Since(start).Seconds(), peakMemory() }()
	spec, err := specification.Open(&a.Session, in.file, "")
	if err != nil {
		return r, nil, err
	}
	if in.folder != "" {
		if err := spec.RootAt(in.folder); err != nil {
			return r, nil, err
		}
	}
	if spec.URL != "" {
		if err := spec.Fetch(ctx, &a.Session); err != nil {
			return r, nil, err
		}
	}
	if err := spec.AddOverlays(ctx, &a.Session, overlays, true); err != nil {
		return r, nil, err
	}
	opts := spec.LocalOptions(&a.Session)
	opts.Strict = strict
	// Every operation becomes its plan, its schemas and its program; a connector
	// itself is not made.
	result, err := compileInto(ctx, connector.NewBuilder(new(operation.API)), &spec, opts)
	if err != nil {
		return r, nil, err
	}
	for name := range result.Documents {
		if spec.Folder != "" {
			name = filepath.Join(spec.Folder, filepath.FromSlash(name))
		}
		documents = append(documents, name)
	}
	r.Version, r.Operations, r.Tools, r.Unsupported = result.SpecVersion, result.Operations, result.Tools, unsupportedOf(result)
	r.OK = !strict || len(r.Unsupported) == 0
	for _, d := range result.Warnings {
		f := checkFinding{
			Code: d.Code, Severity: d.Severity, File: cmp.Or(d.File, in.file), Line: d.Line, Column: d.Column, Pointer: d.Pointer, Detail: d.Detail, Remedy: d.Remedy,
		}
		if d.Severity == openapi.SeverityError {
			r.OK = false
			if r.Error == nil {
				r.Error = &f
			}
		}
		if d.Severity == openapi.SeverityWarning {
			r.Warnings++
		}
		r.Findings = append(r.Findings, f)
	}
	return r, documents, nil
}
