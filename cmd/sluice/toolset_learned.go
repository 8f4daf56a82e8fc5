package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
)

func (a *app) toolsetLearned() *cobra.Command {
	var tool, forget string
	var forgetAll, use bool
	cmd := &cobra.Command{
		Use:   "learned TOOLSET [--tool TOOL] [--use | --forget QUERY | --forget-all]",
		Short: "Show, use or delete the searches that a toolset learned",
		Long: `Show what a toolset in search mode learned: searches of agents, redacted, after which a
call of a tool they found succeeded. It learns only while that is turned on:
sluice toolset optimize TOOLSET --selection search --learn on

What was learned becomes part of the draft with its next change, or with --use, and
live when that is deployed.`,
		Example: "  sluice toolset learned shop\n" +
			"  sluice toolset learned shop --use\n" +
			"  sluice toolset learned shop --tool list_orders --forget 'where is my parcel'",
		Args: exactly(1, "a toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			forgets := cmd.Flags().Changed("forget")
			if use && (forgets || forgetAll) || forgets && forgetAll {
				return usagef("--use, --forget and --forget-all exclude each other")
			}
			if forgets && forget == "" {
				return usagef("--forget needs the text of a request")
			}
			c, t, etag, err := a.clientAndToolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			e := &toolEdit{app: a, c: c, toolset: t, etag: etag}
			switch {
			case use:
				return e.useLearned(cmd.Context())
			case forgetAll:
				if err := a.confirm("Delete what " + t.Slug + " learned?"); err != nil {
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
func (e *toolEdit) learnedPath(q url.Values) string {
	path := toolsetPath(e.toolset, "learned")
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

func (e *toolEdit) listLearned(ctx context.Context, tool string) error {
	const most = "2048" // all there may be
	q := url.Values{"limit": {most}}
	if tool != "" {
		q.Set("tool", tool)
	}
	var out admin.LearnedRequests
	if _, err := e.c.do(ctx, apiCall{method: http.MethodGet, path: e.learnedPath(q), out: &out}); err != nil {
		return err
	}
	if !out.Learn {
		e.say("%s does not learn. Turn it on: sluice toolset optimize %s --selection search --learn on", e.toolset.Slug, e.toolset.Slug)
	}
	if len(out.Items) == 0 {
		e.say("%s has no learned searches.", e.toolset.Slug)
	}
	now := time.Now()
	return list(e.app, out.Items, nil, []column[admin.LearnedRequest]{
		{header: "tool", value: func(r admin.LearnedRequest) string {
			if r.Tool == "" {
				return "(" + r.Operation.Method + " " + r.Operation.Path + ")"
			}
			return r.Tool
		}},
		{header: "uses", value: func(r admin.LearnedRequest) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", r.Uses), ".0") }},
		{header: "used", value: func(r admin.LearnedRequest) string {
			if r.Used {
				return "yes"
			}
			return "no"
		}},
		{header: "last", value: func(r admin.LearnedRequest) string { return ago(r.LastAt, now) }},
		{header: "request", value: func(r admin.LearnedRequest) string { return printable(r.Query) }},
	}, func(r admin.LearnedRequest) string { return r.Query })
}

func (e *toolEdit) useLearned(ctx context.Context) error {
	var t admin.Toolset
	if _, err := e.c.do(ctx, apiCall{method: http.MethodPost, path: toolsetPath(e.toolset, "learned") + "/use", in: struct{}{}, out: &t, ifMatch: e.etag}); err != nil {
		return err
	}
	if t.Digest == e.toolset.Digest {
		e.say("The draft has all of it already.")
		return nil
	}
	e.say("✓ the draft has what was learned so far")
	e.sayNext()
	return nil
}

func (e *toolEdit) forgetLearned(ctx context.Context, tool, query string) error {
	q := url.Values{}
	if tool != "" {
		q.Set("tool", tool)
	}
	if query != "" {
		q.Set("query", query)
	}
	var out admin.DeletedRequests
	if _, err := e.c.do(ctx, apiCall{method: http.MethodDelete, path: e.learnedPath(q), out: &out, ifMatch: e.etag}); err != nil {
		return err
	}
	e.say("✓ %s deleted", plural(out.Deleted, "request"))
	e.sayNext()
	return nil
}
