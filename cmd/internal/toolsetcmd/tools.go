package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

func toolsCommand(cli *command.Session) *cobra.Command {
	var filter *command.Filter
	var described []string
	cmd := &cobra.Command{
		Use:   "tools TOOLSET [list | get TOOL | enable TOOL|GLOB… | disable TOOL|GLOB… | rename TOOL NEW | describe TOOL TEXT | describe TOOL --argument NAME=TEXT… | annotate TOOL HINT… | arguments TOOL NAME… | suggest]",
		Short: "List, choose, rename, describe and annotate the tools of a toolset",
		Long: "List the tools of a toolset, show one with its arguments, or change what clients list of them. arguments lists only those arguments of\n" +
			"a tool, besides the required ones, so that its definition costs fewer tokens; a member of the argument\n" +
			"body is body.member. What is not listed is not refused: to decide a value, use sluice toolset fix. describe --argument gives an argument another\n" +
			"text, NAME= takes its text away, and NAME alone restores what was generated.",
		Example: `  sluice toolset tools petstore
  sluice toolset tools petstore --filter 'enabled:true tokens:>500' --sort -tokens
  sluice toolset tools petstore get add_pet
  sluice toolset tools petstore enable 'list_*' get_pet_by_id
  sluice toolset tools petstore rename get_pet_by_id get_pet
  sluice toolset tools petstore describe get_pet "One pet by its identifier"
  sluice toolset tools petstore describe find_pets --argument 'limit=At most 50' --argument status=
  sluice toolset tools petstore annotate find_pets read-only
  sluice toolset tools petstore annotate refresh_pets not-read-only idempotent
  sluice toolset tools petstore annotate find_pets generated
  sluice toolset tools petstore arguments find_pets status limit
  sluice toolset tools petstore arguments find_pets all
  sluice toolset tools petstore suggest`,
		Args: command.Between(1, -1, "a toolset and what to do"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			verb, rest := "list", []string(nil)
			if len(args) > 1 {
				verb, rest = args[1], args[2:]
			}
			if len(described) > 0 && (verb != "describe" || len(rest) != 1) {
				return exit.Usagef("--argument describes arguments of one tool: sluice toolset tools %s describe TOOL --argument NAME=TEXT", args[0])
			}
			switch {
			case verb == "list" && len(rest) == 0:
				return e.list(cmd.Context(), filter)
			case (verb == "get" || verb == "show") && len(rest) == 1:
				return e.showTool(cmd.Context(), rest[0])
			case verb == "suggest" && len(rest) == 0:
				return (&suggesting{e}).run(cmd.Context(), nil, false, false)
			case verb == "enable" && len(rest) > 0:
				return e.switchTools(cmd.Context(), rest, true)
			case verb == "disable" && len(rest) > 0:
				return e.switchTools(cmd.Context(), rest, false)
			case verb == "rename" && len(rest) == 2:
				return e.patch(cmd.Context(), rest[0], draft.PatchTool{Name: &rest[1]}, "is now called "+rest[1])
			case verb == "annotate" && len(rest) > 1:
				said, err := annotationsOf(rest[1:])
				if err != nil {
					return err
				}
				return e.patch(cmd.Context(), rest[0], draft.PatchTool{Annotations: said}, "is annotated")
			case verb == "arguments" && len(rest) > 1:
				names := rest[1:]
				if len(names) == 1 && names[0] == "all" {
					names = []string{}
				}
				return e.patch(cmd.Context(), rest[0], draft.PatchTool{Arguments: &names}, "lists "+listed(names))
			case verb == "describe" && len(described) > 0:
				texts, err := textsOf(described)
				if err != nil {
					return err
				}
				return e.patch(cmd.Context(), rest[0], draft.PatchTool{Texts: texts}, "describes "+strings.Join(slices.Sorted(maps.Keys(texts)), ", ")+" differently")
			case verb == "describe" && len(rest) == 2:
				return e.patch(cmd.Context(), rest[0], draft.PatchTool{Description: &rest[1]}, "has a new description")
			}
			return command.UnknownAction(cmd, args[1:])
		}),
	}
	cmd.Flags().StringArrayVar(&described, "argument", nil, "describe an argument, as NAME=TEXT; may be given several times")
	filter = command.FilterOf(cmd, "enabled:true tokens:>500", "-tokens,name")
	return cmd
}

// listed says which arguments clients list.
func listed(names []string) string {
	if len(names) == 0 {
		return "all arguments"
	}
	return "the required arguments and " + strings.Join(names, ", ")
}

// textsOf reads descriptions of arguments, NAME=TEXT or NAME alone for what was generated.
func textsOf(described []string) (map[string]*string, error) {
	out := map[string]*string{}
	for _, d := range described {
		name, text, said := strings.Cut(d, "=")
		if _, twice := out[name]; twice || name == "" {
			return nil, exit.Usagef("--argument %q: give each argument once, as NAME=TEXT", d)
		}
		if out[name] = nil; said {
			out[name] = &text
		}
	}
	return out, nil
}

// annotationsOf reads hints: read-only, destructive, idempotent and open-world, each
// with not- in front for the opposite, or generated alone.
func annotationsOf(hints []string) (*registry.AnnotationEdit, error) {
	out := new(registry.AnnotationEdit)
	if len(hints) == 1 && hints[0] == "generated" {
		return out, nil
	}
	for _, hint := range hints {
		name, not := strings.CutPrefix(hint, "not-")
		yes := !not
		switch name {
		case "read-only":
			out.ReadOnly = &yes
		case "destructive":
			out.Destructive = &yes
		case "idempotent":
			out.Idempotent = &yes
		case "open-world":
			out.OpenWorld = &yes
		default:
			return nil, exit.Usagef("%q is not one of read-only, destructive, idempotent and open-world, with the prefix not- for the opposite, or generated alone", hint)
		}
	}
	return out, nil
}

// edit is a command about one toolset, as the toolset was when the command began.
type edit struct {
	*command.Session
	t    *view.ToolsetDetail
	etag string
}

// on makes the action of a command whose first argument names a toolset.
func on(cli *command.Session, do func(cmd *cobra.Command, e *edit, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		e, err := open(cmd.Context(), cli, args[0])
		if err != nil {
			return err
		}
		return inCommands(do(cmd, e, args), e.t.Slug)
	}
}

// inCommands words the remedy of what the API refused as who types commands carries it out.
func inCommands(err error, slug string) error {
	p := problem.As(err)
	switch {
	case p == nil:
		return err
	case p.Kind == problem.Precondition:
		return p.Fix("somebody else changed %s at the same moment: run the command again", slug)
	case p.Kind == problem.TestFailed && p.Detail == noTest:
		return p.Fix("sluice toolset test %[1]s   or deploy it untested: sluice toolset deploy %[1]s --reason TEXT", slug)
	}
	return err
}

// noTest is what the API says of a draft that was not tested.
const noTest = "this draft has no passed test"

// open reads the toolset that a command is about.
func open(ctx context.Context, cli *command.Session, name string) (*edit, error) {
	_, t, etag, err := cli.Toolset(ctx, name)
	return &edit{cli, t, etag}, err
}

// settle shows what is at a path, and before that makes a change of it, if there is one.
func settle[T any](ctx context.Context, e *edit, path string, changes bool, change any, text func(w io.Writer, out *T)) error {
	var out T
	call := client.Call{Method: http.MethodGet, Path: path, Out: &out}
	if changes {
		call.Method, call.In, call.IfMatch = http.MethodPatch, change, e.etag
	}
	if _, err := e.Client().Do(ctx, call); err != nil {
		return err
	}
	if changes {
		e.sayNext()
	}
	return e.Object(out, func(w io.Writer) { text(w, &out) })
}

// path is that of the toolset in the admin API, or of something below it.
func (e *edit) path(more ...string) string { return client.ToolsetPath(e.t, more...) }

func (e *edit) list(ctx context.Context, filter *command.Filter) error {
	r := command.Resource[toolset.Tool]{Columns: []terminal.Column[toolset.Tool]{
		{Header: "name", Value: func(t toolset.Tool) string { return t.Name }},
		{Header: "on", Value: func(t toolset.Tool) string { return yesNo(t.Enabled) }},
		{Header: "operation", Value: func(t toolset.Tool) string { return t.Operation.Method + " " + t.Operation.Path }},
		{Header: "tokens", Value: func(t toolset.Tool) string { return terminal.Thousands(t.Tokens) }},
		{Header: "generated name", Value: func(t toolset.Tool) string { return t.OriginalName }, Wide: true},
		{Header: "description", Value: func(t toolset.Tool) string { return e.described(t.Description) }},
	}, Name: func(t toolset.Tool) string { return t.Name }}
	switch e.t.Selection {
	case "use-case":
		var chosen advice.ToolSelection
		if err := e.Client().Get(ctx, e.path("selection"), &chosen); err != nil {
			return err
		}
		names := map[string]bool{}
		for _, t := range chosen.Tools {
			names[t.Name] = true
		}
		r.Columns = slices.Insert(r.Columns, 2, terminal.Column[toolset.Tool]{Header: "listed", Value: func(t toolset.Tool) string { return yesNo(names[t.Name]) }})
	case "search", "code":
		e.Say("With selection %s clients list none of these, and find them: sluice toolset optimize %s --explain", e.t.Selection, e.t.Slug)
	}
	return r.ShowFiltered(ctx, e.Session, e.path("tools"), filter)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// described is a description as a table has room for it.
func (e *edit) described(text string) string {
	if e.Format == "wide" {
		return text
	}
	return terminal.FirstSentence(text)
}

// switchTools turns the tools that match a glob on or off.
func (e *edit) switchTools(ctx context.Context, globs []string, on bool) error {
	items, _, err := client.All[toolset.Tool](ctx, e.Client(), e.path("tools"))
	if err != nil {
		return err
	}
	in, found := draft.BatchUpdate{}, false
	for _, t := range items {
		matched, err := matchesAny(globs, t.Name)
		if err != nil {
			return err
		}
		found = found || matched
		if matched && t.Enabled != on {
			in.Updates = append(in.Updates, draft.ToolUpdate{Tool: t.Name, PatchTool: draft.PatchTool{Enabled: &on}})
		}
	}
	if !found {
		return problem.New(problem.NotFound, "no tool of %s matches %s", e.t.Slug, terminal.Printable(strings.Join(globs, ", "))).Fix("see: sluice toolset tools %s", e.t.Slug)
	}
	return e.switched(ctx, "tools", in, len(in.Updates), "tool", on)
}

// switched turns n things on or off by a batch of updates; n may be 0.
func (e *edit) switched(ctx context.Context, part string, in any, n int, noun string, on bool) error {
	what := map[bool]string{true: "enabled", false: "disabled"}[on]
	if n == 0 {
		e.Say("Nothing to do: all of them are %s already.", what)
		if on && part == "tools" {
			e.Say("  next   to list only some, first: sluice toolset tools %s disable '*'", e.t.Slug)
		}
		return nil
	}
	if err := e.Client().Post(ctx, e.path(part)+"/batch-update", in, nil, client.IfMatch(e.etag)); err != nil {
		return err
	}
	e.Say("✓ %s %s", terminal.Plural(n, noun), what)
	e.sayNext()
	return nil
}

func (e *edit) patch(ctx context.Context, tool string, in draft.PatchTool, what string) error {
	return settle(ctx, e, e.path("tools", tool), true, in, func(w io.Writer, _ *toolset.Tool) { fmt.Fprintf(w, "✓ %s %s\n", tool, what) })
}

// sayNext reminds that an edit changes the draft only.
func (e *edit) sayNext() {
	if e.t.Status == "live" {
		e.Say("  next   the draft has changed; make it live: sluice toolset test %s", e.t.Slug)
	}
}

// ConnectorFlag adds the flag that names one of several connectors.
func ConnectorFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "connector", "", "`NAME` of the connector in the toolset, when it has several")
}

// OfConnector shows a connector as a toolset of it alone.
func OfConnector(c *view.ToolsetConnector) *view.Toolset {
	return &view.Toolset{Source: c.Source, Methods: c.Methods, Authentication: c.Authentication}
}
