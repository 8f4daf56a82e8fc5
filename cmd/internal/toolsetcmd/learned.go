package toolsetcmd

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func learnedCommand(cli *command.Session) *cobra.Command {
	var tool, forget string
	var forgetAll, use bool
	cmd := &cobra.Command{
		Use:   "learned TOOLSET [--tool TOOL] [--use | --forget QUERY | --forget-all]",
		Short: "List, use or delete searches that a toolset learned",
		Long: `Show what a toolset in search mode learned: searches of agents, redacted, after which a
call of a tool they found succeeded. It learns only while that is turned on:
sluice toolset optimize TOOLSET --selection search --learn on

What was learned becomes part of the draft with its next change, or with --use, and
live when that is deployed.`,
		Example: "  sluice toolset learned shop\n" +
			"  sluice toolset learned shop --use\n" +
			"  sluice toolset learned shop --tool list_orders --forget 'where is my parcel'",
		Args: command.Exactly(1, "a toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			forgets := cmd.Flags().Changed("forget")
			if use && (forgets || forgetAll) || forgets && forgetAll {
				return exit.Usagef("--use, --forget and --forget-all exclude each other")
			}
			if forgets && forget == "" {
				return exit.Usagef("--forget needs the text of a request")
			}
			e, err := open(cmd.Context(), cli, args[0])
			if err != nil {
				return err
			}
			switch {
			case use:
				return e.useLearned(cmd.Context())
			case forgetAll:
				if err := e.Confirm(cmd.Context(), "Delete what "+e.t.Slug+" learned?"); err != nil {
					return err
				}
				return e.forgetLearned(cmd.Context(), tool, "")
			case forgets:
				return e.forgetLearned(cmd.Context(), tool, forget)
			}
			return e.listLearned(cmd.Context(), tool)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&tool, "tool", "", "only of this `TOOL`")
	fs.StringVar(&forget, "forget", "", "delete this `QUERY`; it is not learned again")
	fs.BoolVar(&forgetAll, "forget-all", false, "delete all of them")
	fs.BoolVar(&use, "use", false, "take what was learned so far into the draft")
	return cmd
}

// learnedPath is the path of what was learned, of one tool and request when named.
func (e *edit) learnedPath(q url.Values) string {
	path := e.path("learned")
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

func (e *edit) listLearned(ctx context.Context, tool string) error {
	const most = "2048" // all there may be
	q := url.Values{"limit": {most}}
	if tool != "" {
		q.Set("tool", tool)
	}
	var out advice.LearnedRequests
	if err := e.Client().Get(ctx, e.learnedPath(q), &out); err != nil {
		return err
	}
	if !out.Learn {
		e.Say("%s does not learn. Turn it on: sluice toolset optimize %s --selection search --learn on", e.t.Slug, e.t.Slug)
	}
	if len(out.Items) == 0 {
		e.Say("%s has no learned searches.", e.t.Slug)
	}
	now := time.Now()
	return terminal.List(&e.Terminal, out.Items, nil, []terminal.Column[advice.LearnedRequest]{
		{Header: "tool", Value: func(r advice.LearnedRequest) string {
			if r.Tool == "" {
				return "(" + r.Operation.Method + " " + r.Operation.Path + ")"
			}
			return r.Tool
		}},
		{Header: "uses", Value: func(r advice.LearnedRequest) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", r.Uses), ".0") }},
		{Header: "used", Value: func(r advice.LearnedRequest) string {
			if r.Used {
				return "yes"
			}
			return "no"
		}},
		{Header: "last", Value: func(r advice.LearnedRequest) string { return terminal.Ago(r.LastAt, now) }},
		{Header: "request", Value: func(r advice.LearnedRequest) string { return terminal.Printable(r.Query) }},
	}, func(r advice.LearnedRequest) string { return r.Query })
}

func (e *edit) useLearned(ctx context.Context) error {
	var t view.Toolset
	if err := e.Client().Post(ctx, e.path("learned")+"/use", struct{}{}, &t, client.IfMatch(e.etag)); err != nil {
		return err
	}
	if t.Digest == e.t.Digest {
		e.Say("The draft has all of it already.")
		return nil
	}
	e.Say("✓ the draft has what was learned so far")
	e.sayNext()
	return nil
}

func (e *edit) forgetLearned(ctx context.Context, tool, query string) error {
	q := url.Values{}
	if tool != "" {
		q.Set("tool", tool)
	}
	if query != "" {
		q.Set("query", query)
	}
	var out advice.DeletedRequests
	if err := e.Client().Delete(ctx, e.learnedPath(q), &out, client.IfMatch(e.etag)); err != nil {
		return err
	}
	e.Say("✓ %s deleted", terminal.Plural(out.Deleted, "request"))
	e.sayNext()
	return nil
}
