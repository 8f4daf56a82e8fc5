package toolsetcmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

func itemsCommand(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "items TOOLSET [list | enable GLOB… | disable GLOB… | rename OLD NEW | describe ITEM TEXT]",
		Short: "List, choose, rename and describe the prompts and resources of a toolset",
		Long: "List the prompts, resources and resource templates that the MCP servers of a toolset have besides tools, or\n" +
			"change what clients list of them. An ITEM is named by its name, its URI or its URI template.",
		Example: `  sluice toolset items notes
  sluice toolset items notes disable 'file:///private/*'
  sluice toolset items notes enable summarize
  sluice toolset items notes rename summarize summary
  sluice toolset items notes describe summary "A summary of all notes"`,
		Args: command.Between(1, -1, "a toolset and what to do"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			verb, rest := "list", []string(nil)
			if len(args) > 1 {
				verb, rest = args[1], args[2:]
			}
			switch {
			case verb == "list" && len(rest) == 0:
				return e.listItems(cmd.Context())
			case verb == "enable" && len(rest) > 0:
				return e.switchItems(cmd.Context(), rest, true)
			case verb == "disable" && len(rest) > 0:
				return e.switchItems(cmd.Context(), rest, false)
			case verb == "rename" && len(rest) == 2:
				return e.patchItem(cmd.Context(), rest[0], draft.PatchItem{Name: &rest[1]}, "is now called "+rest[1])
			case verb == "describe" && len(rest) == 2:
				return e.patchItem(cmd.Context(), rest[0], draft.PatchItem{Description: &rest[1]}, "has a new description")
			}
			return command.UnknownAction(cmd, args[1:])
		}),
	}
}

func (e *edit) listItems(ctx context.Context) error {
	r := command.Resource[toolset.Item]{Columns: []terminal.Column[toolset.Item]{
		{Header: "name", Value: func(it toolset.Item) string { return it.Name }},
		{Header: "on", Value: func(it toolset.Item) string { return yesNo(it.Enabled) }},
		{Header: "kind", Value: func(it toolset.Item) string { return noun(&it) }},
		{Header: "key", Value: func(it toolset.Item) string { return it.Key }},
		{Header: "connector", Value: func(it toolset.Item) string { return it.Connector }, Wide: true},
		{Header: "description", Value: func(it toolset.Item) string { return e.described(it.Description) }},
	}, Name: func(it toolset.Item) string { return it.Name }}
	return r.Show(ctx, e.Session, e.path("items"))
}

// noun is what people call the kind.
func noun(it *toolset.Item) string { return strings.ReplaceAll(it.Kind, "T", " t") }

// switchItems turns the items whose name or key matches a glob on or off.
func (e *edit) switchItems(ctx context.Context, globs []string, on bool) error {
	items, _, err := client.All[toolset.Item](ctx, e.Client(), e.path("items"))
	if err != nil {
		return err
	}
	in, found := draft.ItemsUpdate{}, false
	for i := range items {
		it := &items[i]
		matched, err := matchesAny(globs, it.Name)
		if err == nil && !matched {
			matched, err = matchesAny(globs, it.Key)
		}
		if err != nil {
			return err
		}
		found = found || matched
		if matched && it.Enabled != on {
			in.Updates = append(in.Updates, update(it, draft.PatchItem{Enabled: &on}))
		}
	}
	if !found {
		return e.noItem(strings.Join(globs, ", "))
	}
	return e.switched(ctx, "items", in, len(in.Updates), "item", on)
}

func (e *edit) patchItem(ctx context.Context, name string, in draft.PatchItem, what string) error {
	items, _, err := client.All[toolset.Item](ctx, e.Client(), e.path("items"))
	if err != nil {
		return err
	}
	var found []*toolset.Item
	for i := range items {
		if it := &items[i]; it.Name == name || it.Key == name {
			found = append(found, it)
		}
	}
	switch len(found) {
	case 0:
		return e.noItem(name)
	case 1:
		in := draft.ItemsUpdate{Updates: []draft.ItemUpdate{update(found[0], in)}}
		if err := e.Client().Post(ctx, e.path("items")+"/batch-update", in, nil, client.IfMatch(e.etag)); err != nil {
			return err
		}
		e.Say("✓ %s %s", terminal.Printable(name), what)
		e.sayNext()
		return nil
	}
	return problem.New(problem.Conflict, "%d items of %s are named %s: a %s and a %s", len(found), e.t.Slug, terminal.Printable(name), noun(found[0]), noun(found[1])).
		Fix("name it by its URI, or change it over the admin API, by kind, key and connector")
}

func (e *edit) noItem(name string) error {
	return problem.New(problem.NotFound, "no prompt or resource of %s matches %s", e.t.Slug, terminal.Printable(name)).Fix("see: sluice toolset items %s", e.t.Slug)
}

func update(it *toolset.Item, p draft.PatchItem) draft.ItemUpdate {
	return draft.ItemUpdate{Kind: it.Kind, Key: it.Key, Connector: it.Connector, PatchItem: p}
}
