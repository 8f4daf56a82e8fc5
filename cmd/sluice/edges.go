package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func (a *app) edgeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "edge", Aliases: []string{"edges"}, Short: "List, invite and revoke the edges of a control plane"}
	cmd.AddCommand(a.edgeList(), a.edgeToken(), a.edgeRevoke())
	return cmd
}

// labelsText is labels as the command line takes them.
func labelsText(l map[string]string) string {
	pairs := make([]string, 0, len(l))
	for _, k := range slices.Sorted(maps.Keys(l)) {
		pairs = append(pairs, k+"="+l[k])
	}
	return strings.Join(pairs, ",")
}

func parseLabels(pairs []string) (map[string]string, error) {
	l := make(map[string]string, len(pairs))
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" || v == "" {
			return nil, exit.Usagef("the label %s is not written NAME=VALUE", terminal.Printable(p))
		}
		l[k] = v
	}
	return l, nil
}

func (a *app) edgeList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List edges: what they serve, how far behind they are, what is wrong", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			items, raw, err := client.All[admin.Edge](cmd.Context(), c, "/v1/edges")
			if err != nil {
				return err
			}
			if len(items) == 0 {
				a.Say("There are no edges yet. Invite one: sluice edge token")
			}
			now := time.Now()
			return terminal.List(&a.Terminal, items, raw, []terminal.Column[admin.Edge]{
				{Header: "name", Value: func(e admin.Edge) string { return e.Name }},
				{Header: "id", Value: func(e admin.Edge) string { return e.ID }, Wide: true},
				{Header: "state", Value: func(e admin.Edge) string { return e.State }},
				{Header: "release", Value: func(e admin.Edge) string { return fmt.Sprintf("%d.%d", e.Epoch, e.Revision) }},
				{Header: "lag", Value: func(e admin.Edge) string { return strconv.FormatUint(e.Lag, 10) }},
				{Header: "toolsets", Value: func(e admin.Edge) string { return terminal.Thousands(e.Toolsets) }},
				{Header: "labels", Value: func(e admin.Edge) string { return labelsText(e.Labels) }},
				{Header: "version", Value: func(e admin.Edge) string { return e.Version }, Wide: true},
				{Header: "seen", Value: func(e admin.Edge) string { return terminal.Ago(e.LastSeen, now) }},
				{Header: "errors", Value: func(e admin.Edge) string { return strings.Join(e.Errors, "; ") }},
			}, func(e admin.Edge) string { return e.Name })
		},
	}
}

func (a *app) edgeToken() *cobra.Command {
	var labels []string
	var name string
	var everyone bool
	var uses uint64
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "token", Aliases: []string{"invite"}, Short: "Make a join token: a node enrols with it once",
		Long: `Make a join token and write it to stdout. It is shown once. Put it into a file on
the new node, readable by its owner only:

  sluice serve --role edge --control-plane URL --join-token-file FILE --data DIR

Labels choose what the edge serves: a toolset goes to the edges that have all labels
of the toolset ("sluice toolset labels"); one without labels goes to every edge.`,
		Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := parseLabels(labels)
			if err != nil {
				return err
			}
			c := a.Client()
			in := admin.CreateJoinToken{Name: name, Labels: l, AllWorkspaces: everyone, MaxUses: uses, TTLSeconds: int64(ttl / time.Second)}
			var out admin.JoinToken
			if err := c.Post(cmd.Context(), "/v1/edges/join-tokens", in, &out); err != nil {
				return err
			}
			return a.Object(out, func(w io.Writer) {
				fmt.Fprintln(w, out.Token)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&labels, "label", nil, "label of the edges that join with it, NAME=VALUE")
	fs.StringVar(&name, "name", "", "name of the token in lists")
	fs.BoolVar(&everyone, "all-workspaces", false, "the edges serve every workspace (operator only)")
	fs.Uint64Var(&uses, "uses", 1, "how many nodes may join with it")
	fs.DurationVar(&ttl, "ttl", 24*time.Hour, "how long it is good")
	return cmd
}

func (a *app) edgeRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke EDGE", Short: "Revoke an edge: it gets nothing more", Args: command.Exactly(1, "one edge"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			if err := c.Delete(cmd.Context(), "/v1/edges/"+url.PathEscape(args[0]), nil); err != nil {
				return err
			}
			a.Say("%s is revoked. It serves what it has until it stops; if the machine is lost, rotate the keys it had: sluice toolset auth TOOLSET set", args[0])
			return nil
		},
	}
}

func (a *app) toolsetLabels() *cobra.Command {
	var clearAll bool
	cmd := &cobra.Command{
		Use: "labels TOOLSET [NAME=VALUE …]", Short: "Show or choose the edges a toolset goes to",
		Long: "Show or set the labels of a toolset. It goes to the edges that have all of them; without labels it goes to every edge.",
		Args: command.Between(1, -1, "a toolset and labels"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := parseLabels(args[1:])
			if err != nil {
				return err
			}
			c := a.Client()
			call := client.Call{Method: http.MethodGet, Path: "/v1/toolsets/" + url.PathEscape(args[0]) + "/labels"}
			if len(l) > 0 || clearAll {
				call.Method, call.In = http.MethodPut, admin.LabelsBody{Labels: l}
			}
			var out admin.LabelsBody
			call.Out = &out
			if _, err := c.Do(cmd.Context(), call); err != nil {
				return err
			}
			return a.Object(out, func(w io.Writer) {
				if text := labelsText(out.Labels); text != "" {
					fmt.Fprintln(w, text)
				} else {
					fmt.Fprintln(w, "no labels: every edge")
				}
			})
		},
	}
	cmd.Flags().BoolVar(&clearAll, "clear", false, "take all labels off")
	return cmd
}
