package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// askedAtOnce is how many tools one request asks the model about: a few questions
	// of the control plane, so that progress shows.
	askedAtOnce = 24
	// askTimeout of such a request, at least: large models on small machines are slow.
	askTimeout = 5 * time.Minute
)

func suggestCommand(cli *command.Session) *cobra.Command {
	var globs []string
	var model, apply bool
	cmd := &cobra.Command{
		Use:   "suggest TOOLSET",
		Short: "Propose names and descriptions of tools, each with its reason",
		Long: `Propose better names and descriptions for the enabled tools of a toolset, or for those
that --tools names. Nothing changes without --apply.

Rules make the suggestions; --model asks the model that the node was started with
(--suggest-url, --suggest-model), and sends it what agents see of the tools.`,
		Example: "  sluice toolset suggest petstore\n" +
			"  sluice toolset suggest petstore --model --tools 'get_*'\n" +
			"  sluice toolset suggest petstore --model --apply",
		Args: command.Exactly(1, "a toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			s := &suggesting{e}
			return s.run(cmd.Context(), globs, model, apply)
		}),
	}
	cmd.Flags().StringSliceVar(&globs, "tools", nil, "names or globs of tools (default: all that are enabled)")
	cmd.Flags().BoolVar(&model, "model", false, "ask the node's model instead of the rules")
	cmd.Flags().BoolVar(&apply, "apply", false, "apply what is proposed, after a question")
	return cmd
}

// suggesting asks for suggestions of one toolset and applies them.
type suggesting struct{ *edit }

func (s *suggesting) run(ctx context.Context, globs []string, model, apply bool) error {
	out, err := s.ask(ctx, globs, model)
	if err != nil {
		return err
	}
	err = s.Object(out, func(w io.Writer) { printSuggestions(w, out) })
	if err != nil || len(out.Items) == 0 {
		return err
	}
	if !apply {
		s.Say("  next   apply all with --apply; or some: sluice toolset tools %s rename OLD NEW, describe TOOL TEXT", s.t.Slug)
		return nil
	}
	if err := s.Confirm(ctx, fmt.Sprintf("Apply %s to the draft of %s?", terminal.Plural(len(out.Items), "suggestion"), s.t.Slug)); err != nil {
		return err
	}
	in := admin.BatchUpdate{}
	for i := range out.Items {
		p := &out.Items[i]
		u := admin.ToolUpdate{Tool: p.Tool}
		if p.Name != "" {
			u.Name = &p.Name
		}
		if p.Description != "" {
			u.Description = &p.Description
		}
		in.Updates = append(in.Updates, u)
	}
	if err := s.Client().Post(ctx, s.path("tools")+"/batch-update", in, nil, client.IfMatch(s.etag)); err != nil {
		return err
	}
	s.Say("✓ %s changed", terminal.Plural(len(in.Updates), "tool"))
	s.sayNext()
	return nil
}

// ask gets the suggestions of the rules at once, of the model some tools at a time.
func (s *suggesting) ask(ctx context.Context, globs []string, model bool) (*admin.Suggestions, error) {
	path := s.path("suggestions")
	out := new(admin.Suggestions)
	if !model {
		q := url.Values{}
		for _, g := range globs {
			q.Add("tools", g)
		}
		if len(q) > 0 {
			path += "?" + q.Encode()
		}
		err := s.Client().Get(ctx, path, out)
		return out, err
	}
	c := s.Client()
	c.Timeout = max(c.Timeout, askTimeout)
	items, _, err := client.All[toolset.Tool](ctx, s.Client(), s.path("tools"))
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range items {
		named, err := matchesAny(globs, items[i].Name)
		if err != nil {
			return nil, err
		}
		if named || len(globs) == 0 && items[i].Enabled {
			names = append(names, items[i].Name)
		}
	}
	if len(names) == 0 {
		return nil, problem.New(problem.NotFound, "no tool of %s matches", s.t.Slug).Fix("see: sluice toolset tools %s", s.t.Slug)
	}
	taken := map[string]bool{} // names proposed so far
	for some := range slices.Chunk(names, askedAtOnce) {
		var part admin.Suggestions
		in := map[string]any{"tools": some}
		if err := s.Client().Post(ctx, path, in, &part); err != nil {
			return nil, err
		}
		out.From, out.Model, out.Looked = part.From, part.Model, out.Looked+part.Looked
		for _, p := range part.Items {
			if p.Name != "" && taken[p.Name] {
				out.Dropped = append(out.Dropped, admin.NoSuggestion{Tool: p.Tool, Reason: fmt.Sprintf("the name %q was proposed for another tool", p.Name)})
				continue
			}
			taken[p.Name] = true
			out.Items = append(out.Items, p)
		}
		out.Dropped = append(out.Dropped, part.Dropped...)
		if len(names) > askedAtOnce {
			s.Say("  %s asked, %s of %s tools", part.Model, terminal.Thousands(out.Looked), terminal.Thousands(len(names)))
		}
	}
	return out, nil
}

func printSuggestions(w io.Writer, s *admin.Suggestions) {
	for i := range s.Items {
		p := &s.Items[i]
		if p.Name != "" {
			fmt.Fprintf(w, "%s → %s\n", p.Tool, p.Name)
		} else {
			fmt.Fprintln(w, p.Tool)
		}
		if p.Description != "" {
			fmt.Fprintf(w, "  is     %s\n  better %s\n", orNone(terminal.Printable(p.Present)), terminal.Printable(p.Description))
		}
		fmt.Fprintf(w, "  why    %s\n", p.Reason)
	}
	for _, d := range s.Dropped {
		fmt.Fprintf(w, "! %s: %s\n", d.Tool, d.Reason)
	}
	fmt.Fprintf(w, "%s for %s\n", terminal.Plural(len(s.Items), "suggestion"), terminal.Plural(s.Looked, "tool"))
}

// orNone spells out that a text is empty.
func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
