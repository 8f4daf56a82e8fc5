package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/registry"
)

func toolsetTools(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "tools TOOLSET [list | enable GLOB… | disable GLOB… | rename OLD NEW | describe TOOL TEXT | annotate TOOL HINT…]",
		Short: "List, choose, rename, describe and annotate the tools of a toolset",
		Example: `  sluice toolset tools petstore
  sluice toolset tools petstore enable 'list_*' get_pet_by_id
  sluice toolset tools petstore rename get_pet_by_id get_pet
  sluice toolset tools petstore describe get_pet "One pet by its identifier"
  sluice toolset tools petstore annotate find_pets read-only
  sluice toolset tools petstore annotate refresh_pets not-read-only idempotent
  sluice toolset tools petstore annotate find_pets generated`,
		Args: command.Between(1, -1, "a toolset and what to do"),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, rest := "list", []string(nil)
			if len(args) > 1 {
				verb, rest = args[1], args[2:]
			}
			c, t, etag, err := cli.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			e := &toolEdit{Session: cli, c: c, toolset: t, etag: etag}
			switch {
			case verb == "list" && len(rest) == 0:
				return e.list(cmd.Context())
			case verb == "enable" && len(rest) > 0:
				return e.switchTools(cmd.Context(), rest, true)
			case verb == "disable" && len(rest) > 0:
				return e.switchTools(cmd.Context(), rest, false)
			case verb == "rename" && len(rest) == 2:
				return e.patch(cmd.Context(), rest[0], admin.PatchTool{Name: &rest[1]}, "is now called "+rest[1])
			case verb == "annotate" && len(rest) > 1:
				said, err := annotationsOf(rest[1:])
				if err != nil {
					return err
				}
				return e.patch(cmd.Context(), rest[0], admin.PatchTool{Annotations: said}, "is annotated")
			case verb == "describe" && len(rest) == 2:
				return e.patch(cmd.Context(), rest[0], admin.PatchTool{Description: &rest[1]}, "has a new description")
			}
			return exit.Usagef("%q is not something to do with tools\nusage: %s", strings.Join(args[1:], " "), cmd.UseLine())
		},
	}
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
			return nil, exit.Usagef("%q is none of read-only, destructive, idempotent and open-world, with not- in front for the opposite, or generated alone", hint)
		}
	}
	return out, nil
}

// toolEdit changes tools of one toolset.
type toolEdit struct {
	*command.Session
	c       *client.Client
	toolset *admin.ToolsetDetail
	etag    string
}

func (e *toolEdit) list(ctx context.Context) error {
	items, raw, err := client.All[toolset.Tool](ctx, e.c, client.ToolsetPath(e.toolset, "tools"))
	if err != nil {
		return err
	}
	return terminal.List(&e.Terminal, items, raw, []terminal.Column[toolset.Tool]{
		{Header: "name", Value: func(t toolset.Tool) string { return t.Name }},
		{Header: "on", Value: func(t toolset.Tool) string {
			if t.Enabled {
				return "yes"
			}
			return "no"
		}},
		{Header: "operation", Value: func(t toolset.Tool) string { return t.Operation.Method + " " + t.Operation.Path }},
		{Header: "tokens", Value: func(t toolset.Tool) string { return terminal.Thousands(t.Tokens) }},
		{Header: "generated name", Value: func(t toolset.Tool) string { return t.OriginalName }, Wide: true},
		{Header: "description", Value: func(t toolset.Tool) string {
			if e.Format == "wide" {
				return t.Description
			}
			return terminal.FirstSentence(t.Description)
		}},
	}, func(t toolset.Tool) string { return t.Name })
}

// switchTools turns the tools that match a glob on or off.
func (e *toolEdit) switchTools(ctx context.Context, globs []string, on bool) error {
	items, _, err := client.All[toolset.Tool](ctx, e.c, client.ToolsetPath(e.toolset, "tools"))
	if err != nil {
		return err
	}
	in := admin.BatchUpdate{}
	for _, t := range items {
		matched, err := matchesAny(globs, t.Name)
		if err != nil {
			return err
		}
		if matched && t.Enabled != on {
			in.Updates = append(in.Updates, admin.ToolUpdate{Tool: t.Name, PatchTool: admin.PatchTool{Enabled: &on}})
		}
	}
	what := map[bool]string{true: "enabled", false: "disabled"}[on]
	if len(in.Updates) == 0 {
		e.Say("No tool had to be %s: nothing matches, or it was so already. See: sluice toolset tools %s", what, e.toolset.Slug)
		return exit.SilentError(exit.NotFound)
	}
	if err := e.c.Post(ctx, client.ToolsetPath(e.toolset, "tools")+"/batch-update", in, nil, client.IfMatch(e.etag)); err != nil {
		return err
	}
	e.Say("✓ %s %s", terminal.Plural(len(in.Updates), "tool"), what)
	e.sayNext()
	return nil
}

func (e *toolEdit) patch(ctx context.Context, tool string, in admin.PatchTool, what string) error {
	var out toolset.Tool
	if err := e.c.Patch(ctx, client.ToolsetPath(e.toolset, "tools", tool), in, &out, client.IfMatch(e.etag)); err != nil {
		return err
	}
	e.sayNext()
	return e.Object(out, func(w io.Writer) { fmt.Fprintf(w, "✓ %s %s\n", tool, what) })
}

// sayNext reminds that an edit changes the draft only.
func (e *toolEdit) sayNext() {
	if e.toolset.Status == "live" {
		e.Say("  next   the draft has changed; make it live: sluice toolset test %s", e.toolset.Slug)
	}
}

// ConnectorFlag adds the flag that names one of several connectors.
func ConnectorFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "connector", "", "`NAME` of the connector in the toolset, when it has several")
}

// OfConnector shows a connector as a toolset of it alone.
func OfConnector(c *admin.ToolsetConnector) *admin.Toolset {
	return &admin.Toolset{Source: c.Source, Methods: c.Methods, Authentication: c.Authentication}
}
