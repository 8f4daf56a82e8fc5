package toolsetcmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// Command is "sluice toolset", with more commands below it.
func Command(cli *command.Session, more ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: "toolset", Aliases: []string{"toolsets", "ts"}, Short: "List, inspect, test, deploy and delete toolsets"}
	cmd.AddCommand(toolsets.List(cli, "List toolsets"), getCommand(cli), setCommand(cli), urlCommand(cli), toolsCommand(cli), itemsCommand(cli), suggestCommand(cli), optimizeCommand(cli), fixCommand(cli), learnedCommand(cli), deployCommand(cli), pauseCommand(cli), resumeCommand(cli), refreshCommand(cli), diffCommand(cli),
		deleteCommand(cli), authCommand(cli), accessCommand(cli), labelsCommand(cli))
	cmd.AddCommand(rollbackCommand(cli), historyCommand(cli), draftCommand(cli), previewCommand(cli), scheduleCommand(cli), acceptCommand(cli), originsCommand(cli), rolloutCommand(cli))
	cmd.AddCommand(more...)
	return cmd
}

// authItemText names one credential.
func authItemText(it *credential.AuthenticationItem) string {
	text := strings.TrimSpace(it.AuthType + " " + cmp.Or(it.HeaderName, it.ParameterName, it.CookieName, it.MemberName, it.Username, it.ClientID))
	if it.State != "" && it.State != "ok" {
		text += " (" + strings.ReplaceAll(it.State, "_", " ") + ")"
	}
	return text
}

// AuthText says in a line how a toolset authenticates to its API.
func AuthText(t *view.Toolset) string {
	switch {
	case t.Authentication != nil && t.Authentication.AuthType == "list":
		parts := make([]string, len(t.Authentication.Items))
		for i := range parts {
			parts[i] = authItemText(&t.Authentication.Items[i])
		}
		return strings.Join(parts, " + ")
	case t.Authentication != nil:
		return authItemText(&t.Authentication.AuthenticationItem)
	case len(t.Methods) > 0:
		return "not set"
	default:
		return "none"
	}
}

var toolsets = command.Resource[view.Toolset]{
	Filter: "status:live -name:test updatedAt:>=7d", Sort: "-updatedAt,name",
	Path: "/v1/toolsets", Empty: "There are no toolsets yet. Make one: sluice add SPEC",
	Name: func(t view.Toolset) string { return t.Slug },
	Columns: []terminal.Column[view.Toolset]{
		{Header: "name", Value: func(t view.Toolset) string { return t.Slug }},
		{Header: "status", Value: func(t view.Toolset) string {
			status := t.Status
			if t.Paused != nil {
				status = "paused"
			}
			if t.Status == "live" && t.Changed {
				status += ", changed"
			}
			return status
		}},
		{Header: "tools", Value: func(t view.Toolset) string {
			if t.EnabledTools >= t.ToolCount { // workflows and scripts are tools, too
				return terminal.Thousands(t.EnabledTools)
			}
			return terminal.Thousands(t.EnabledTools) + " of " + terminal.Thousands(t.ToolCount)
		}},
		{Header: "auth", Value: func(t view.Toolset) string { return AuthText(&t) }},
		{Header: "revision", Value: func(t view.Toolset) string { return strconv.FormatUint(t.Revision, 10) }, Wide: true},
		{Header: "profile", Value: func(t view.Toolset) string { return t.Profile }, Wide: true},
		{Header: "updated", Value: func(t view.Toolset) string { return terminal.Since(t.UpdatedAt) }},
		{Header: "url", Value: func(t view.Toolset) string { return t.URL }},
		{Header: "base url", Value: func(t view.Toolset) string { return t.BaseURL }, Wide: true},
		{Header: "id", Value: func(t view.Toolset) string { return t.ID }, Wide: true},
	},
}

func getCommand(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "get TOOLSET", Aliases: []string{"show"}, Short: "Show one toolset", Args: command.Exactly(1, "one toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			if e.Format == "name" {
				return e.WriteResult([]byte(e.t.Slug + "\n"))
			}
			var bound binding.ToolsetPlugins
			if err := e.Client().Get(cmd.Context(), e.path("plugins"), &bound); err != nil {
				return err
			}
			return e.Object(e.t, func(w io.Writer) {
				printToolset(w, e.t)
				for i := range bound.Bindings {
					for _, l := range bound.Bindings[i].LeftOut {
						fmt.Fprintf(w, "! plugin %s, binding %d of %s: %s\n", bound.Bindings[i].Plugin, i+1, e.t.Slug, describe.LeftOut(&l))
					}
				}
			})
		}),
	}
}

func printToolset(w io.Writer, t *view.ToolsetDetail) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-15s %s\n", name, terminal.Printable(value))
		}
	}
	row("Name", t.Name)
	row("Slug", t.Slug)
	row("Description", terminal.FirstSentence(t.Description))
	row("Status", t.Status)
	if t.Paused != nil {
		row("Paused", pauseText(t.Paused))
	}
	row("Toolset URL", t.URL)
	if t.Revision > 0 {
		row("Revision", strconv.FormatUint(t.Revision, 10)+"  "+terminal.ShortDigest(t.LiveDigest))
	}
	if t.Changed {
		row("Draft", terminal.ShortDigest(t.Digest)+" differs from the live revision")
	}
	row("Tools", fmt.Sprintf("%s of %s enabled", terminal.Thousands(t.EnabledTools), terminal.Thousands(t.ToolCount)))
	row("Profile", t.Profile)
	if len(t.Connectors) > 1 {
		for i := range t.Connectors {
			c := &t.Connectors[i]
			row("Connector", fmt.Sprintf("%s   %s %s   %s   %s   %s", c.Name, SourceKind(&c.Source), c.Source.Spec, terminal.Plural(c.ToolCount, "tool"), AuthText(OfConnector(c)), c.BaseURL))
			row("Catalog entry", entryText(c, t.Slug))
		}
		printFindings(w, t)
		return
	}
	row("Base URL", t.BaseURL)
	auth := AuthText(&t.Toolset)
	if t.Authentication != nil && t.Authentication.Preview != "" {
		auth += "   " + t.Authentication.Preview
	}
	row("Authentication", auth)
	row("Source", strings.TrimSpace(t.Source.Title+" "+t.Source.Version+"   "+SourceKind(&t.Source)+" "+t.Source.Spec+"   "+t.Source.URL))
	if len(t.Connectors) > 0 {
		row("Catalog entry", entryText(&t.Connectors[0], t.Slug))
	}
	row("Connector", t.Connector.Name+"@"+t.Connector.Version+"   "+terminal.ShortDigest(t.Connector.Digest))
	if t.Test != nil {
		state := "not possible: " + t.Test.Reason
		if t.Test.Passed {
			state = t.Test.Tool + " passed   " + terminal.TokenLine(t.Test.Tokens.Received, t.Test.Tokens.Result)
		} else if t.Test.Possible {
			state = t.Test.Tool + " failed: " + t.Test.Reason
		}
		row("Test", state)
	}
	printFindings(w, t)
}

// SourceKind names what a source is written in.
func SourceKind(s *view.Source) string {
	if s.Kind == "mcp" {
		return "MCP"
	}
	return "OpenAPI"
}

// printFindings prints what the compiler left out or repaired.
func printFindings(w io.Writer, t *view.ToolsetDetail) {
	for _, u := range t.Unsupported {
		fmt.Fprintf(w, "! %s %s is not a tool: %s\n", u.Method, terminal.Printable(u.Path), terminal.Printable(u.Reason))
	}
	// What is said of many places is said once, with the first of them.
	more := map[string]int{}
	for _, d := range t.Warnings {
		more[d.Detail]++
	}
	for _, d := range t.Warnings {
		n := more[d.Detail]
		if n == 0 {
			continue
		}
		delete(more, d.Detail)
		fmt.Fprintf(w, "! %s", describe.Diagnostic(d.Line, d.Column, d.Pointer, d.Detail))
		if n > 1 {
			fmt.Fprintf(w, " (and in %s: -o json)", terminal.Plural(n-1, "other place"))
		}
		fmt.Fprintln(w)
	}
}

func urlCommand(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "url TOOLSET", Short: "Print the toolset URL", Args: command.Exactly(1, "one toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := cli.ToolsetURL(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return cli.Object(map[string]string{"url": u}, func(w io.Writer) { fmt.Fprintln(w, u) })
		},
	}
}

func deployCommand(cli *command.Session) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "deploy TOOLSET", Short: "Deploy the draft", Args: command.Exactly(1, "one toolset"),
		Long: "Make the draft live. A draft that has no passed test needs --reason, which is recorded in the audit log.",
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			var out json.RawMessage
			if err := e.Client().Post(cmd.Context(), e.path("deploy"), admin.DeployRequest{Reason: reason}, &out, client.IfMatch(e.etag), client.Wait); err != nil {
				return err
			}
			live, _, err := e.Client().Toolset(cmd.Context(), e.t.ID)
			if err != nil {
				return err
			}
			return e.Object(out, func(w io.Writer) {
				printLive(w, &live.Toolset)
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it is deployed without a passed test")
	return cmd
}

func printLive(w io.Writer, t *view.Toolset) {
	fmt.Fprintf(w, "✓ %s revision %d is live: %s\n", t.Slug, t.Revision, t.URL)
}

func deleteCommand(cli *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "delete TOOLSET", Aliases: []string{"rm"}, Short: "Delete a toolset; its URL stops answering", Args: command.Exactly(1, "one toolset"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			if err := e.Confirm(cmd.Context(), fmt.Sprintf("Delete %s with its %s? %s will answer 404.", e.t.Slug, terminal.Plural(e.t.ToolCount, "tool"), e.t.URL)); err != nil {
				return err
			}
			if err := e.Client().Delete(cmd.Context(), e.path(), nil, client.IfMatch(e.etag), client.Wait); err != nil {
				return err
			}
			e.Say("✓ %s is deleted", e.t.Slug)
			return nil
		}),
	}
}
