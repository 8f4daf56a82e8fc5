package toolsetcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

type fixFlags struct {
	tool, connector string
	release         []string
}

func fixCommand(cli *command.Session) *cobra.Command {
	var f fixFlags
	cmd := &cobra.Command{
		Use:   "fix TOOLSET [ARGUMENT=VALUE …]",
		Short: "Show or set fixed arguments, hidden from the model",
		Long: "Show or set values of arguments that are sent with every call and that the model does not see: a\n" +
			"tenant, an API version, a locale. They hold for each tool of the connector that takes an argument of\n" +
			"that name, or for one tool. A member of the argument body is body.member. A value is JSON, or the text\n" +
			"itself where the argument is one. Secrets belong to the authentication: sluice toolset auth.",
		Example: `  sluice toolset fix shop tenant_id=acme api_version=2
  sluice toolset fix shop --tool create_order currency=EUR body.channel=web
  sluice toolset fix shop --release tenant_id
  sluice toolset fix shop`,
		Args: command.Between(1, -1, "a toolset, and arguments with their values"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			return e.fix(cmd.Context(), &f, args[1:])
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.tool, "tool", "", "of this `TOOL` only")
	ConnectorFlag(cmd, &f.connector)
	fs.StringArrayVar(&f.release, "release", nil, "give the `ARGUMENT` back to the model (repeatable)")
	cmd.MarkFlagsMutuallyExclusive("tool", "connector")
	return cmd
}

func (e *edit) fix(ctx context.Context, f *fixFlags, pairs []string) error {
	change, err := e.fixedArguments(ctx, f, pairs)
	if err != nil {
		return err
	}
	for _, name := range f.release {
		change[name] = nil
	}
	if f.tool != "" {
		return settle(ctx, e, e.path("tools", f.tool), len(change) > 0, draft.PatchTool{Fixed: change}, func(w io.Writer, out *toolset.Tool) { printFixed(w, out.Name, out.Fixed) })
	}
	name := f.connector
	if name == "" {
		if len(e.t.Connectors) > 1 {
			return exit.Usagef("%s has several connectors: name one with --connector, or a tool with --tool", e.t.Slug)
		}
		name = e.t.Connectors[0].Name
	}
	return settle(ctx, e, e.path("connectors", name), len(change) > 0, draft.PatchConnector{Fixed: change}, func(w io.Writer, out *view.ToolsetConnectorDetail) {
		printFixed(w, out.Name, out.Fixed)
	})
}

func printFixed(w io.Writer, name string, fixed map[string]json.RawMessage) {
	if len(fixed) == 0 {
		fmt.Fprintf(w, "%s has no fixed arguments\n", terminal.Printable(name))
	}
	for _, argument := range slices.Sorted(maps.Keys(fixed)) {
		fmt.Fprintf(w, "%s  %s\n", terminal.Printable(argument), terminal.Printable(string(fixed[argument])))
	}
}

// fixedArguments reads ARGUMENT=VALUE pairs. What the schema of a tool calls a string
// is taken as it is; other values are JSON, or else text.
func (e *edit) fixedArguments(ctx context.Context, f *fixFlags, pairs []string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if len(pairs) == 0 {
		return out, nil
	}
	items, _, err := client.All[toolset.Tool](ctx, e.Client(), e.path("tools")+"?"+url.Values{"schemas": {"true"}}.Encode())
	if err != nil {
		return nil, err
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("%q is not ARGUMENT=VALUE", terminal.Printable(pair))
		}
		if json.Valid([]byte(value)) && !e.fixesText(items, name) && !f.takesText(items, name) {
			out[name] = json.RawMessage(value)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, nil
}

// fixesText reports whether the argument, which is in no schema then, is a text now.
func (e *edit) fixesText(items []toolset.Tool, name string) bool {
	isText := func(fixed map[string]json.RawMessage) bool { return strings.HasPrefix(string(fixed[name]), `"`) }
	return slices.ContainsFunc(items, func(t toolset.Tool) bool { return isText(t.Fixed) }) ||
		slices.ContainsFunc(e.t.Connectors, func(c view.ToolsetConnector) bool { return isText(c.Fixed) })
}

// takesText reports whether a tool takes a string as the argument of a name.
func (f *fixFlags) takesText(items []toolset.Tool, name string) bool {
	type schema struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	isText := func(text json.RawMessage) bool {
		var s schema
		return json.Unmarshal(text, &s) == nil && s.Type == "string"
	}
	for i := range items {
		var root, object schema
		if f.tool != "" && items[i].Name != f.tool || json.Unmarshal(items[i].InputSchema, &root) != nil {
			continue
		}
		if isText(root.Properties[name]) {
			return true
		}
		outer, member, nested := strings.Cut(name, ".")
		if nested && json.Unmarshal(root.Properties[outer], &object) == nil && isText(object.Properties[member]) {
			return true
		}
	}
	return false
}
