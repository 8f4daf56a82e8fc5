package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
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
	var model, apply, estimate bool
	cmd := &cobra.Command{
		Use:   "suggest TOOLSET",
		Short: "Propose names and descriptions of tools, each with its reason",
		Long: `Propose better names and descriptions for the enabled tools of a toolset, or for those
that --tools names. Nothing changes without --apply.

Rules make the suggestions, the same ones every time: a verb and an object for names that
repeat a path, and descriptions with the words that people use. --model asks the model that
the node was started with (--suggest-url, --suggest-model), and sends it what agents see of
the tools; --estimate says what that takes and sends nothing.`,
		Example: "  sluice toolset suggest petstore\n" +
			"  sluice toolset suggest petstore --model --tools 'get_*'\n" +
			"  sluice toolset suggest petstore --apply\n" +
			"  sluice toolset suggest petstore --model --estimate\n" +
			"  sluice toolset suggest petstore --model --apply",
		Args: command.Exactly(1, "a toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			s := &suggesting{e}
			switch {
			case estimate && (!model || apply):
				return exit.Usagef("--estimate goes with --model, and not with --apply")
			case estimate:
				return s.estimate(cmd.Context(), globs)
			}
			return s.run(cmd.Context(), globs, model, apply)
		}),
	}
	cmd.Flags().StringSliceVar(&globs, "tools", nil, "names or globs of tools (default: all that are enabled)")
	cmd.Flags().BoolVar(&model, "model", false, "ask the node's model instead of the rules")
	cmd.Flags().BoolVar(&estimate, "estimate", false, "with --model: say how many questions and tokens that takes, and ask nothing")
	cmd.Flags().BoolVar(&apply, "apply", false, "apply all that is proposed in one change, after a question")
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
	in := draft.BatchUpdate{}
	for i := range out.Items {
		p := &out.Items[i]
		u := draft.ToolUpdate{Tool: p.Tool}
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
func (s *suggesting) ask(ctx context.Context, globs []string, model bool) (*advice.Suggestions, error) {
	path := s.path("suggestions")
	out := new(advice.Suggestions)
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
	names, err := s.named(ctx, globs)
	if err != nil {
		return nil, err
	}
	c := s.Client()
	c.Timeout = max(c.Timeout, askTimeout)
	if len(names) > askedAtOnce {
		e, err := s.estimated(ctx, names)
		if err != nil {
			return nil, err
		}
		s.Say("  asking %s about %s tools: %s", e.Model, terminal.Thousands(len(names)), estimateText(e.Estimate))
	}
	taken := map[string]bool{} // names proposed so far
	for some := range slices.Chunk(names, askedAtOnce) {
		var part advice.Suggestions
		in := map[string]any{"tools": some}
		if err := s.Client().Post(ctx, path, in, &part); err != nil {
			return nil, err
		}
		out.From, out.Model, out.Looked = part.From, part.Model, out.Looked+part.Looked
		out.Tokens, out.TokensAfter = out.Tokens+part.Tokens, out.TokensAfter+part.TokensAfter
		for _, p := range part.Items {
			if p.Name != "" && taken[p.Name] {
				out.TokensAfter += p.Tokens - p.TokensAfter
				out.Dropped = append(out.Dropped, advice.NoSuggestion{Tool: p.Tool, Reason: fmt.Sprintf("the name %q was proposed for another tool", p.Name)})
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

// named are the tools that a model is asked about.
func (s *suggesting) named(ctx context.Context, globs []string) (names []string, err error) {
	items, _, err := client.All[toolset.Tool](ctx, s.Client(), s.path("tools"))
	if err != nil {
		return nil, err
	}
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
	return names, nil
}

// namedAtOnce is how many tools one request may name.
const namedAtOnce = 256

// estimated asks what asking the model about tools takes.
func (s *suggesting) estimated(ctx context.Context, names []string) (*advice.Suggestions, error) {
	out := &advice.Suggestions{Estimate: &advice.SuggestionEstimate{}}
	for some := range slices.Chunk(names, namedAtOnce-namedAtOnce%askedAtOnce) {
		var part advice.Suggestions
		if err := s.Client().Post(ctx, s.path("suggestions"), map[string]any{"tools": some, "estimate": true}, &part); err != nil {
			return nil, err
		}
		out.From, out.Model, out.Looked = part.From, part.Model, out.Looked+part.Looked
		out.Tokens, out.TokensAfter = out.Tokens+part.Tokens, out.TokensAfter+part.TokensAfter
		out.Estimate.Questions += part.Estimate.Questions
		out.Estimate.InputTokens += part.Estimate.InputTokens
		out.Estimate.OutputTokens += part.Estimate.OutputTokens
	}
	return out, nil
}

func (s *suggesting) estimate(ctx context.Context, globs []string) error {
	names, err := s.named(ctx, globs)
	if err != nil {
		return err
	}
	out, err := s.estimated(ctx, names)
	if err != nil {
		return err
	}
	return s.Object(out, func(w io.Writer) {
		fmt.Fprintf(w, "asking %s about %s would take %s\n", out.Model, terminal.Plural(len(names), "tool"), estimateText(out.Estimate))
	})
}

func estimateText(e *advice.SuggestionEstimate) string {
	return fmt.Sprintf("%s, %s tokens sent, at most %s back", terminal.Plural(e.Questions, "question"), terminal.Thousands(e.InputTokens), terminal.Thousands(e.OutputTokens))
}

func printSuggestions(w io.Writer, s *advice.Suggestions) {
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
	fmt.Fprintf(w, "%s for %s", terminal.Plural(len(s.Items), "suggestion"), terminal.Plural(s.Looked, "tool"))
	if len(s.Items) > 0 {
		fmt.Fprintf(w, "; texts and schemas %s tokens, with all of them %s", terminal.Thousands(s.Tokens), terminal.Thousands(s.TokensAfter))
	}
	fmt.Fprintln(w)
}

// orNone spells out that a text is empty.
func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
