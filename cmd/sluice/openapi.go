package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/internal/problem"
)

func (a *app) openapiCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "openapi", Short: "Check specifications"}
	cmd.AddCommand(a.openapiCheck())
	return cmd
}

// checked is the report on one specification.
type checked struct {
	File        string              `json:"file"`
	Valid       bool                `json:"valid"`
	SpecVersion string              `json:"specVersion,omitempty"`
	Format      string              `json:"format,omitempty"`
	Operations  int                 `json:"operations"`
	Tools       int                 `json:"tools"`
	Callable    float64             `json:"callable"` // share of the operations that are tools
	Unsupported []admin.Unsupported `json:"unsupported"`
	Findings    []admin.Diagnostic  `json:"findings"`
	Error       *problemDocument    `json:"error,omitempty"`
}

func (a *app) openapiCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE|DIR|URL|-…",
		Short: "Say what Sluice makes of a specification",
		Long: `Compile specifications and report: how many operations become tools, which do not
and why, and what was repaired. Exit code 6 when one is not valid. In a directory
every .json, .yaml and .yml file is checked.`,
		Example: "  sluice openapi check petstore.yaml\n  sluice openapi check specs/ -o jsonl",
		Args:    between(1, -1, "specifications: files, directories, URLs, or - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var files []string
			for _, arg := range args {
				more, err := expand(arg)
				if err != nil {
					return err
				}
				files = append(files, more...)
			}
			return a.check(cmd.Context(), files)
		},
	}
}

// expand lists the specifications of a directory; anything else is itself.
func expand(arg string) ([]string, error) {
	if isURL(arg) || arg == "-" {
		return []string{arg}, nil
	}
	if info, err := os.Stat(arg); err != nil || !info.IsDir() {
		return []string{arg}, nil //nolint:nilerr // a file that is not there is reported where it is read
	}
	var files []string
	err := filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, strings.ToLower(filepath.Ext(path))) {
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		return nil, problem.New(problem.NotFound, "%s has no .json, .yaml or .yml file", arg).Because(errNoSpecifications)
	}
	return files, err
}

func (a *app) check(ctx context.Context, files []string) error {
	var reports []checked
	invalid := false
	for _, file := range files {
		r, err := a.checkOne(ctx, file)
		if err != nil {
			p := problem.As(err)
			if len(files) == 1 && (p == nil || p.Kind != problem.InvalidSpec) || ctx.Err() != nil {
				return err
			}
			doc := problemOf(err)
			r = checked{File: file, Error: &doc, Unsupported: []admin.Unsupported{}, Findings: []admin.Diagnostic{}}
			invalid = true
			if a.flags.output == "table" || a.flags.output == "wide" {
				writeError(a.stderr, err)
			}
		}
		reports = append(reports, r)
	}
	columns := []column[checked]{
		{header: "file", value: func(c checked) string { return c.File }},
		{header: "result", value: func(c checked) string {
			if c.Valid {
				return "ok"
			}
			return "invalid"
		}},
		{header: "version", value: func(c checked) string { return c.SpecVersion }},
		{header: "operations", value: func(c checked) string { return thousands(c.Operations) }},
		{header: "tools", value: func(c checked) string { return thousands(c.Tools) }},
		{header: "callable", value: func(c checked) string { return fmt.Sprintf("%.0f %%", 100*c.Callable) }},
		{header: "findings", value: func(c checked) string { return thousands(len(c.Findings)) }},
	}
	if err := list(a, reports, nil, columns, func(c checked) string { return c.File }); err != nil {
		return err
	}
	if a.flags.output == "table" || a.flags.output == "wide" {
		for _, r := range reports {
			a.sayFindings(r)
		}
	}
	if invalid {
		return silentError(exitInvalid)
	}
	return nil
}

// sayFindings lists what was found, all of it with -o wide.
func (a *app) sayFindings(r checked) {
	shown := 20 // of each kind: enough for a small specification
	if a.flags.output == "wide" {
		shown = max(len(r.Unsupported), len(r.Findings))
	}
	for _, u := range r.Unsupported[:min(len(r.Unsupported), shown)] {
		a.say("! %s  %s %s is not a tool: %s", u.Code, u.Method, printable(u.Path), printable(u.Reason))
	}
	for _, d := range r.Findings[:min(len(r.Findings), shown)] {
		a.say("! %s  %s", d.Code, diagnosticLine(d.Line, d.Column, d.Pointer, d.Detail))
		if d.Remedy != "" {
			a.say("      %s", printable(d.Remedy))
		}
	}
	if n := len(r.Unsupported) + len(r.Findings) - min(len(r.Unsupported), shown) - min(len(r.Findings), shown); n > 0 {
		a.say("! and %s more with -o wide", thousands(n))
	}
}

func (a *app) checkOne(ctx context.Context, file string) (checked, error) {
	spec, err := a.openSpecification(file)
	if err != nil {
		return checked{}, err
	}
	if spec.url != "" {
		if err := a.fetchHere(ctx, &spec); err != nil {
			return checked{}, err
		}
	}
	_, result, err := compileConnector(ctx, spec)
	if err != nil {
		return checked{}, err
	}
	r := checked{
		File: file, Valid: true, SpecVersion: result.SpecVersion, Format: result.Format, Operations: result.Operations, Tools: result.Tools,
		Unsupported: unsupportedOf(result), Findings: findingsOf(result),
	}
	if r.Operations > 0 {
		r.Callable = float64(r.Tools) / float64(r.Operations)
	}
	return r, nil
}
