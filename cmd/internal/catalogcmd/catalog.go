package catalogcmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	entries "github.com/sluicegate/sluice/plugins/catalog"
)

// Path of the catalog in the admin API.
const Path = "/v1/catalog"

var items = command.Resource[catalog.EntryOutline]{
	Path: Path, Empty: "No pre-built connector fits. An API with an OpenAPI document needs none: sluice add URL. Ask for one: sluice request create NAME",
	Name: func(i catalog.EntryOutline) string { return i.ID },
	Columns: []terminal.Column[catalog.EntryOutline]{
		{Header: "id", Value: func(i catalog.EntryOutline) string { return i.ID }},
		{Header: "name", Value: func(i catalog.EntryOutline) string { return i.Name }},
		{Header: "category", Value: func(i catalog.EntryOutline) string { return i.Category }},
		{Header: "kind", Value: func(i catalog.EntryOutline) string { return kindText(i.Kind) }},
		{Header: "tools", Value: func(i catalog.EntryOutline) string {
			if i.Tools == 0 {
				return "all"
			}
			return strconv.Itoa(i.Tools)
		}},
		{Header: "tokens", Value: func(i catalog.EntryOutline) string {
			switch {
			case !i.Verified:
				return "unverified"
			case i.Saved <= 0:
				return terminal.Thousands(i.Tokens)
			}
			return fmt.Sprintf("%s (−%d %%)", terminal.Thousands(i.Tokens), i.Saved)
		}},
		{Header: "toolsets", Value: func(i catalog.EntryOutline) string {
			switch n := len(i.UsedBy); {
			case n == 0:
				return ""
			case i.Updates > 0:
				return fmt.Sprintf("%d (%d to update)", n, i.Updates)
			default:
				return strconv.Itoa(n)
			}
		}},
		{Header: "version", Value: func(i catalog.EntryOutline) string { return i.Version }, Wide: true},
		{Header: "from", Value: func(i catalog.EntryOutline) string { return i.From }, Wide: true},
		{Header: "summary", Value: func(i catalog.EntryOutline) string { return i.Summary }, Wide: true},
	},
}

func kindText(kind string) string {
	if kind == entries.KindMCP {
		return "MCP server"
	}
	return "REST API"
}

// Command is "sluice catalog", with more commands below it.
func Command(s *command.Session, more ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: "catalog", Short: "List, search and add pre-built connectors",
		Long: `Pre-built connectors say where the OpenAPI document or the MCP server of a service is, how
to authenticate, and which of its operations are worth having as tools, with names,
descriptions and examples. The vendor's document is read when you add one.`,
		Example: `  sluice catalog search issues
  sluice catalog show github
  sluice catalog add github --api-key-file token.txt`,
	}
	cmd.AddCommand(list(s), search(s), show(s), lint(s))
	cmd.AddCommand(more...)
	return cmd
}

func list(s *command.Session) *cobra.Command {
	var category, kind string
	var filter *command.Filter
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List pre-built connectors", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return items.ShowFiltered(cmd.Context(), s, listPath("", category, kind), filter)
		},
	}
	filters(cmd, &category, &kind)
	filter = command.FilterOf(cmd, "kind:openapi category:development", "-savedPercent,id")
	return cmd
}

func search(s *command.Session) *cobra.Command {
	var category, kind string
	cmd := &cobra.Command{
		Use: "search WORD…", Short: "Find pre-built connectors by what they do", Args: command.Between(1, -1, "words to search for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return items.Show(cmd.Context(), s, listPath(strings.Join(args, " "), category, kind))
		},
	}
	filters(cmd, &category, &kind)
	return cmd
}

func filters(cmd *cobra.Command, category, kind *string) {
	cmd.Flags().StringVar(category, "category", "", "only of this category: "+strings.Join(entries.Categories, ", "))
	cmd.Flags().StringVar(kind, "kind", "", "only of this kind: openapi, mcp")
	command.MustComplete(cmd, "category", entries.Categories)
	command.MustComplete(cmd, "kind", []string{entries.KindOpenAPI, entries.KindMCP})
}

func listPath(query, category, kind string) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": query, "category": category, "kind": kind} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return Path
	}
	return Path + "?" + q.Encode()
}

// EntryPath is where the admin API has an entry.
func EntryPath(id string) string { return Path + "/" + url.PathEscape(id) }

func show(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show ENTRY", Aliases: []string{"get"}, Short: "Show a pre-built connector with its tools", Args: command.Exactly(1, "one entry of the catalog"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return command.Get(cmd.Context(), s, EntryPath(args[0]), write)
		},
	}
}

func write(w io.Writer, e *catalog.EntryDetail) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-15s %s\n", name, terminal.Printable(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(w, "%s: %s\n", terminal.Printable(e.Name), terminal.Printable(e.Summary))
	line("kind", "%s, %s", kindText(e.Kind()), e.Category)
	if e.From != "built-in" {
		line("from", "a catalog of this server's operator, not built in")
	}
	line("version", "%s", e.Version)
	line("documentation", "%s", e.Documentation)
	line("source", "%s", e.URL())
	switch b := e.Base; {
	case b == nil:
	case b.Ask != "":
		line("calls", "--base-url: %s", b.Ask)
	default:
		line("calls", "%s", b.URL)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		line("value", "--value %s=…: %s", name, e.Values[name])
	}
	if v := e.Verified; v != nil {
		line("verified", "with version %s: %s tokens, generated %s", v.Version, terminal.Thousands(v.Tokens), terminal.Thousands(v.GeneratedTokens))
	} else {
		line("verified", "no")
	}
	for i := range e.Authentication {
		a := &e.Authentication[i]
		line("authentication", "%s: %s", a.Settings.AuthType, a.Key)
		if a.KeyURL != "" {
			line("", "made at %s", a.KeyURL)
		}
		if len(a.ReadOnly) > 0 {
			line("", "to read only: %s", strings.Join(a.ReadOnly, ", "))
		}
	}
	for i := range e.UseCases {
		line("use case", "%s: %s (%s)", e.UseCases[i].ID, e.UseCases[i].Summary, terminal.Plural(len(e.UseCases[i].Tools), "tool"))
	}
	if len(e.Tools) > 0 {
		fmt.Fprintln(w, "  tools")
	}
	for i := range e.Tools {
		t := &e.Tools[i]
		fmt.Fprintf(w, "    %-32s %s\n", t.Name, terminal.Printable(t.Operation))
	}
	if ids := e.WorkflowIDs(func(entries.Operation) bool { return true }); len(ids) > 0 {
		fmt.Fprintf(w, "  workflows\n    %s\n", strings.Join(ids, "\n    "))
	}
	fmt.Fprintf(w, "  next   sluice catalog add %s\n", e.ID)
}

func lint(s *command.Session) *cobra.Command {
	var schema bool
	cmd := &cobra.Command{
		Use: "lint FILE|DIR…", Short: "Check entries of a catalog", Args: cobra.ArbitraryArgs,
		Long: `Check the files of entries, or the *.yaml files of folders, without a node. A node reads
a folder with --catalog DIR when it starts.`,
		Example: "  sluice catalog lint ./catalog\n  sluice catalog lint --schema > entry.schema.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case schema && len(args) == 0:
				return s.WriteResult(entries.Schema())
			case schema || len(args) == 0:
				return exit.Usagef("%s takes files and folders, or --schema", cmd.CommandPath())
			}
			return lintAll(s, args)
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of entries instead")
	return cmd
}

// lintAll checks everything that is named and says what is wrong with each.
func lintAll(s *command.Session, names []string) error {
	good, bad := 0, 0
	for _, name := range names {
		list, faults, err := read(name)
		if err != nil {
			return err
		}
		if len(list)+len(faults) == 0 {
			faults = append(faults, problem.New(problem.NotFound, "the folder %s has no *.yaml file", name))
		}
		for _, fault := range faults {
			s.Report(fault)
		}
		good, bad = good+len(list), bad+len(faults)
	}
	if bad > 0 {
		s.Say("%s can be used, %d cannot", terminal.Plural(good, "connector"), bad)
		return exit.SilentError(exit.Invalid)
	}
	s.Say("✓ %s can be used", terminal.Plural(good, "connector"))
	return nil
}

func read(name string) ([]*entries.Entry, []error, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil, problem.New(problem.NotFound, "there is no file or folder %s", name)
	case err != nil:
		return nil, nil, fmt.Errorf("reading %s: %w", name, err)
	case info.IsDir():
		return entries.Open(name)
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, entries.MaxEntryBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", name, err)
	}
	e, err := entries.Parse(name, data)
	if err != nil {
		return nil, []error{err}, nil
	}
	return []*entries.Entry{e}, nil, nil
}
