package plugincmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/toolsetcmd"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// bindFlags are those of "plugin bind".
type bindFlags struct {
	connector, tool, config, onError string
	position, maxErrors, maxMean     int
	update                           bool
	calls                            map[string]string
	grant                            []string
	rollout                          toolsetcmd.RolloutFlags
}

func (a plugins) pluginBind() *cobra.Command {
	var f bindFlags
	cmd := &cobra.Command{
		Use:   "bind TOOLSET PLUGIN[@RANGE] [--tool TOOL] [--set JSON] [--grant LIST] [--on-error fail]",
		Short: "Bind a plugin to a toolset, a connector or a tool",
		Long: `Bind a published plugin to a toolset, or to one of its connectors or tools. The range is
pinned to one version, which stays until --update. A plugin that redacts (a filter, unless
its manifest says otherwise) sees every byte that agents read, and what it cannot run on
is withheld, unless --on-error pass lets it through. Plugins run in the order of
"sluice plugin bindings", each on what the one before made; a new one is the last,
or --position. Binding again changes what is bound.

What a plugin asks for ("sluice plugin show") has to be granted or refused: all of it with
--grant all, nothing with --grant none, or a part, such as hosts=api.example.com,clock. A
newer version that asks for more is not moved to until that is decided too.

--update alone moves every binding of the plugin in the toolset; with --tool or --connector
that one.

With --shadow or --canary the draft is tested and rolled out beside what is live ("sluice
toolset rollout").

A workflow offers a tool. It calls tools by names of its own: those of the toolset, or with
--connector those of that connector, unless --call says otherwise.`,
		Example: `  sluice plugin bind shop mask
  sluice plugin bind shop mask@~1.2.0 --tool list_orders --set '{"mask":"-"}' --on-error fail
  sluice plugin bind shop mask --update
  sluice plugin bind shop mask --update --canary 10%
  sluice plugin bind shop rates --grant hosts=api.example.com,deadline=2s
  sluice plugin bind shop discussions --call list_comments=list_issue_comments`,
		Args: command.Exactly(2, "a toolset and a plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, versions, _ := strings.Cut(args[1], "@")
			grants, err := a.grantsOf(cmd.Context(), name, versions, f.grant, cmd.Flags().Changed("grant"))
			if err != nil {
				return err
			}
			if err := f.rollout.Check(); err != nil {
				return err
			}
			err = a.changeBindings(cmd.Context(), args[0], func(all []binding.PluginBinding) ([]binding.PluginBinding, error) {
				return f.apply(cmd.Flags(), args[0], name, versions, grants, all)
			})
			if err != nil || !f.rollout.Given() {
				return err
			}
			t, _, err := a.Client().Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return f.rollout.Start(cmd.Context(), a.Session, t)
		},
	}
	f.rollout.Add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.connector, "connector", "", "only tools of this connector")
	fs.StringVar(&f.tool, "tool", "", "only this tool")
	fs.StringVar(&f.config, "set", "", "configuration of the plugin, a `JSON` object")
	fs.StringToStringVar(&f.calls, "call", nil, "`NAME=TOOL`: the tool that a workflow calls by a name; may be given again")
	fs.StringSliceVar(&f.grant, "grant", nil, "permissions granted, of those it requests: `LIST` of hosts=HOST, clock, random, deadline=2s; or all, or none")
	fs.StringVar(&f.onError, "on-error", "", "pass: the answer goes on as the plugin got it; fail: the agent gets an error\n(default fail for a plugin that redacts, else pass)")
	fs.IntVar(&f.position, "position", 0, "`N`th to run (default: the last)")
	fs.IntVar(&f.maxErrors, "max-errors", 0, "`PERCENT` of 20 calls that may fail before it is left out (default 50, 100: any)")
	fs.IntVar(&f.maxMean, "max-mean", 0, "mean `MILLISECONDS` of 20 calls before it is left out (default: half of its deadline)")
	fs.BoolVar(&f.update, "update", false, "move what is bound of the plugin to the newest version of its range")
	command.MustComplete(cmd, "on-error", []string{"pass", "fail"})
	return cmd
}

// apply changes the bindings of a toolset as the flags say.
func (f *bindFlags) apply(flags *pflag.FlagSet, toolset, name, versions string, grants *plugin.PluginGrants, all []binding.PluginBinding) ([]binding.PluginBinding, error) {
	b := binding.PluginBinding{Plugin: name, Connector: f.connector, Tool: f.tool}
	at := findBinding(all, &b)
	if f.update && at < 0 {
		return f.updateAll(flags, toolset, name, versions, grants, all)
	}
	if at >= 0 {
		b = all[at]
	}
	if err := f.change(flags, versions, grants, &b); err != nil {
		return nil, err
	}
	if at >= 0 && !flags.Changed("position") {
		all[at] = b
		return all, nil
	}
	if at >= 0 {
		all = slices.Delete(all, at, at+1)
	}
	to := len(all)
	if flags.Changed("position") {
		if f.position < 1 || f.position > len(all)+1 {
			return nil, exit.Usagef("--position %d is not between 1 and %d", f.position, len(all)+1)
		}
		to = f.position - 1
	}
	return slices.Insert(all, to, b), nil
}

// updateAll changes every binding of a plugin, where none is named and it is not bound to
// the whole toolset. It makes none.
func (f *bindFlags) updateAll(flags *pflag.FlagSet, toolset, name, versions string, grants *plugin.PluginGrants, all []binding.PluginBinding) ([]binding.PluginBinding, error) {
	found := false
	for i := range all {
		if all[i].Plugin != name || f.tool != "" || f.connector != "" {
			continue
		}
		found = true
		if err := f.change(flags, versions, grants, &all[i]); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, problem.New(problem.NotFound, "%s has no such binding of %q to update", toolset, name).
			Fix("see: sluice plugin bindings %s; to bind it, leave --update out", toolset)
	}
	return all, nil
}

// change changes one binding.
func (f *bindFlags) change(flags *pflag.FlagSet, versions string, grants *plugin.PluginGrants, b *binding.PluginBinding) error {
	b.Update = f.update
	if versions != "" {
		b.Version = versions
	}
	if grants != nil {
		b.Grants, b.Decided = grants, true
	}
	if flags.Changed("set") {
		if !json.Valid([]byte(f.config)) {
			return exit.Usagef("--set is not JSON")
		}
		b.Config = json.RawMessage(f.config)
	}
	if flags.Changed("on-error") {
		b.OnError = f.onError
	}
	if flags.Changed("call") {
		calls := maps.Clone(b.Calls)
		if calls == nil {
			calls = map[string]string{}
		}
		maps.Copy(calls, f.calls)
		b.Calls = calls
	}
	if flags.Changed("max-errors") || flags.Changed("max-mean") {
		b.Unbind = &plugin.PluginUnbinding{ErrorPercent: f.maxErrors, MeanMs: f.maxMean}
	}
	return nil
}

// grantsOf reads --grant; nil: it was not given. What all is, the version says that would
// be bound.
func (a plugins) grantsOf(ctx context.Context, name, versions string, said []string, given bool) (*plugin.PluginGrants, error) {
	if !given {
		return nil, nil //nolint:nilnil // nothing is decided
	}
	if len(said) != 1 || said[0] != "all" {
		g, err := manifest.ParseGrants(said)
		if err != nil {
			return nil, exit.Usagef("--grant: %v", err)
		}
		return plugin.ShowGrants(&g), nil
	}
	path, _, _ := pluginVersionPath(name)
	var out plugin.Plugin
	if err := a.Client().Get(ctx, path, &out); err != nil {
		return nil, err
	}
	at := cmp.Or(versions, out.Latest)
	for i := range out.Versions {
		if v := &out.Versions[i]; v.Version == at {
			if v.Asks == nil {
				return &plugin.PluginGrants{}, nil
			}
			a.Say("  grants %s", v.Asks.Record())
			return v.Asks, nil
		}
	}
	return nil, exit.Usagef("--grant all needs one version, and %q is a range or no version of %s: say what is granted", at, name)
}

func findBinding(all []binding.PluginBinding, want *binding.PluginBinding) int {
	return slices.IndexFunc(all, func(b binding.PluginBinding) bool {
		return b.Plugin == want.Plugin && b.Tool == want.Tool && (want.Tool != "" || b.Connector == want.Connector)
	})
}

func (a plugins) pluginUnbind() *cobra.Command {
	var b binding.PluginBinding
	cmd := &cobra.Command{
		Use:     "unbind TOOLSET PLUGIN [--tool TOOL | --connector CONNECTOR]",
		Short:   "Unbind a plugin from a toolset, a connector or a tool",
		Example: "  sluice plugin unbind shop mask --tool list_orders",
		Args:    command.Exactly(2, "a toolset and a plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Plugin = args[1]
			return a.changeBindings(cmd.Context(), args[0], func(all []binding.PluginBinding) ([]binding.PluginBinding, error) {
				at := findBinding(all, &b)
				if at < 0 {
					return nil, problem.New(problem.NotFound, "%s does not bind %q so", args[0], b.Plugin).Fix("see: sluice plugin bindings %s", args[0])
				}
				return slices.Delete(all, at, at+1), nil
			})
		},
	}
	cmd.Flags().StringVar(&b.Connector, "connector", "", "what is bound to this connector")
	cmd.Flags().StringVar(&b.Tool, "tool", "", "what is bound to this tool")
	return cmd
}

func (a plugins) pluginBindings() *cobra.Command {
	return &cobra.Command{
		Use: "bindings TOOLSET", Short: "List the plugin bindings of a toolset, in the order they run: of its draft, and of the live revision", Args: command.Exactly(1, "a toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, _, err := a.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out binding.ToolsetPlugins
			if err := c.Get(cmd.Context(), client.ToolsetPath(t, "plugins"), &out); err != nil {
				return err
			}
			return a.Object(out, func(w io.Writer) {
				printBindings(w, t.Slug, &out)
				printLive(w, t.Slug, &out)
			})
		},
	}
}

// changeBindings reads what a toolset binds, changes it and writes it back, unless
// somebody else was faster.
func (a plugins) changeBindings(ctx context.Context, toolset string, change func([]binding.PluginBinding) ([]binding.PluginBinding, error)) error {
	c := a.Client()
	t, _, err := c.Toolset(ctx, toolset)
	if err != nil {
		return err
	}
	path := client.ToolsetPath(t, "plugins")
	var now binding.ToolsetPlugins
	etag, err := c.GetTag(ctx, path, &now)
	if err != nil {
		return err
	}
	in := binding.SetPlugins{}
	for i := range now.Bindings {
		in.Bindings = append(in.Bindings, now.Bindings[i].PluginBinding)
	}
	if in.Bindings, err = change(in.Bindings); err != nil {
		return err
	}
	if in.Bindings == nil {
		in.Bindings = []binding.PluginBinding{}
	}
	var out binding.ToolsetPlugins
	if err := c.Put(ctx, path, in, &out, client.IfMatch(etag)); err != nil {
		return namedNothing(err)
	}
	if t.Status == "live" {
		a.Say("  next   the draft has changed; make it live: sluice toolset test %s", t.Slug)
	}
	return a.Object(out, func(w io.Writer) { printBindings(w, t.Slug, &out) })
}

func printBindings(w io.Writer, slug string, p *binding.ToolsetPlugins) {
	if len(p.Bindings) == 0 {
		fmt.Fprintf(w, "%s binds no plugins\n", slug)
	}
	for i := range p.Bindings {
		b := &p.Bindings[i]
		of := placeText(b.Tool, b.Operation, b.Connector)
		if len(b.Calls) > 0 {
			fmt.Fprintf(w, "%2d  %s %s (%s)  %s\n", i+1, b.Plugin, b.Pinned, b.Version, workflowText(b))
		} else {
			fmt.Fprintf(w, "%2d  %s %s (%s)  %s  %s\n", i+1, b.Plugin, b.Pinned, b.Version, of, onErrorText(b.Kind, b.OnError))
		}
		if b.Asks != nil {
			printGrants(w, b)
		}
		if b.Warning != "" {
			fmt.Fprintf(w, "    ! %s: sluice plugin bind %s %s --on-error fail\n", terminal.SafeText(b.Warning), slug, b.Plugin)
		}
		for _, l := range b.LeftOut {
			fmt.Fprintf(w, "    ! %s\n", describe.LeftOut(&l))
		}
		if len(b.Config) > 0 {
			fmt.Fprintf(w, "    set %s\n", terminal.SafeText(string(b.Config)))
		}
		switch b.Status {
		case "yanked":
			fmt.Fprintf(w, "    ! this version was yanked\n")
		case "revoked":
			fmt.Fprintf(w, "    ! the key that signed it was revoked: it cannot be deployed again\n")
		case "disabled":
			fmt.Fprintf(w, "    ! its tool is disabled: sluice toolset tools %s enable %s\n", slug, b.Offers)
		case "waiting":
			text := "the specification has no such operation at present"
			if len(b.Calls) > 0 {
				text = "it waits for a tool that it calls: one is gone or disabled"
			}
			fmt.Fprintf(w, "    ! %s\n", text)
		}
		switch {
		case b.Waits != nil:
			fmt.Fprintf(w, "    %s waits, because it asks for more: %s\n    grant or refuse it: sluice plugin bind %s %s%s --update --grant …\n", b.Newer, b.Waits.Record(), slug, b.Plugin, placeFlag(b))
		case b.Newer != "":
			fmt.Fprintf(w, "    %s is there: sluice plugin bind %s %s%s --update\n", b.Newer, slug, b.Plugin, placeFlag(b))
		}
	}
}

// placeText says where a plugin is bound.
func placeText(tool string, operation *toolset.Operation, connector string) string {
	switch {
	case tool != "":
		return tool
	case operation != nil:
		return operation.Method + " " + operation.Path
	case connector != "":
		return "tools of " + connector
	}
	return "every tool"
}

// onErrorText says what happens when a plugin fails that is bound.
func onErrorText(kind, onError string) string {
	switch kind {
	case "auth":
		return "what it cannot sign is not sent"
	case "workflow":
		return "offers a tool"
	}
	return "on error: " + onError
}

// printLive says what serves now beside the draft.
func printLive(w io.Writer, slug string, p *binding.ToolsetPlugins) {
	switch {
	case p.LiveRevision == 0:
		fmt.Fprintf(w, "live: nothing, %s was not deployed\n", slug)
		return
	case !p.Changed && len(p.Live) == 0:
		fmt.Fprintf(w, "live: none (revision %d)\n", p.LiveRevision)
		return
	case !p.Changed:
		fmt.Fprintf(w, "live: the same (revision %d)\n", p.LiveRevision)
		return
	case len(p.Live) == 0:
		fmt.Fprintf(w, "live: none (revision %d); make the draft live: sluice toolset test %s\n", p.LiveRevision, slug)
		return
	}
	fmt.Fprintf(w, "live (revision %d), which a deploy changes:\n", p.LiveRevision)
	for i := range p.Live {
		l := &p.Live[i]
		of := placeText(l.Tool, l.Operation, l.Connector)
		kind := ""
		if j := slices.IndexFunc(p.Bindings, func(b binding.BoundPlugin) bool { return b.Plugin == l.Plugin }); j >= 0 {
			kind = p.Bindings[j].Kind
		}
		fmt.Fprintf(w, "%2d  %s %s  %s  %s\n", i+1, l.Plugin, l.Version, of, onErrorText(kind, l.OnError))
		switch l.Status {
		case "yanked":
			fmt.Fprintf(w, "    ! this version was yanked: %s\n", terminal.Printable(l.YankReason))
		case "revoked":
			fmt.Fprintf(w, "    ! the key that signed it was revoked\n")
		case "gone":
			fmt.Fprintf(w, "    ! the workspace no longer has this version\n")
		}
	}
	fmt.Fprintf(w, "make the draft live: sluice toolset test %s\n", slug)
}

// printGrants says what a binding grants of what its plugin asks for.
func printGrants(w io.Writer, b *binding.BoundPlugin) {
	grants := b.Grants.Record()
	fmt.Fprintf(w, "    granted: %s\n", grants)
	if left := b.Asks.Record().Beyond(grants); !left.Empty() {
		fmt.Fprintf(w, "    not granted, so that calls which need it fail: %s\n", left.String())
	}
}

// placeFlag names the place of a binding to "plugin bind".
func placeFlag(b *binding.BoundPlugin) string {
	switch {
	case b.Tool != "":
		return " --tool " + b.Tool
	case b.Operation == nil && b.Connector != "":
		return " --connector " + b.Connector
	}
	return ""
}

// workflowText says what a bound workflow offers and calls.
func workflowText(b *binding.BoundPlugin) string {
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(b.Calls)) {
		if tool := b.Calls[name]; tool != name {
			name += " (" + tool + ")"
		}
		calls = append(calls, name)
	}
	offers := "offers no tool at present"
	if b.Offers != "" {
		offers = "offers " + b.Offers
	}
	text := offers + ", calls " + strings.Join(calls, ", ")
	if b.Connector != "" {
		text += " of " + b.Connector
	}
	return text
}

// namedNothing makes a command that names a plugin, connector or tool that is not there end as
// any other does. To the API it is a member of the request that is wrong.
func namedNothing(err error) error {
	p := problem.As(err)
	if p == nil || p.Kind != problem.InvalidArgument || len(p.Parts) != 1 {
		return err
	}
	at := p.Parts[0].Place.Pointer
	if !slices.Contains([]string{"plugin", "connector", "tool"}, at[strings.LastIndexByte(at, '/')+1:]) {
		return err
	}
	return problem.New(problem.NotFound, "%s", p.Detail).Fix("%s", p.Parts[0].Remedy)
}
