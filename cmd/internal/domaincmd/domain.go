// Package domaincmd has the commands for domains: "sluice domain" of the workspace, and
// "sluice toolset domain" of one toolset.
package domaincmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/fleet/domain"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/retry"
)

// pollInterval is how often a domain is looked at while a command waits for it.
const pollInterval = time.Second

var domains = command.Resource[domain.Domain]{
	Filter: "state:pending,failed", Sort: "host",
	Path: "/v1/domains", Empty: "There are no domains. Add one: sluice toolset domain TOOLSET add HOST",
	Name: func(d domain.Domain) string { return d.Host },
	Columns: []terminal.Column[domain.Domain]{
		{Header: "host", Value: func(d domain.Domain) string { return d.Host }},
		{Header: "serves", Value: serves},
		{Header: "state", Value: func(d domain.Domain) string { return d.State }},
		{Header: "certificate", Value: certificate},
		{Header: "cause", Value: func(d domain.Domain) string { return d.Cause }},
		{Header: "checked", Value: func(d domain.Domain) string { return since(d.CheckedAt) }, Wide: true},
		{Header: "created", Value: func(d domain.Domain) string { return terminal.Since(d.CreatedAt) }, Wide: true},
		{Header: "id", Value: func(d domain.Domain) string { return d.ID }, Wide: true},
	},
}

func serves(d domain.Domain) string {
	return cmp.Or(d.Toolset, d.ToolsetID, "workspace")
}

func certificate(d domain.Domain) string {
	if d.Certificate == nil {
		return ""
	}
	return "until " + d.Certificate.NotAfter.Local().Format("2006-01-02 15:04")
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return terminal.Since(t)
}

// Command is "sluice domain".
func Command(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "domain", Aliases: []string{"domains"}, Short: "Add, list, verify and remove domains of the workspace",
		Long: `Manage the domains of the workspace: host names of yours at which its toolsets are
reached, https://HOST/t/SLUG. A domain of one toolset, whose URL is then https://HOST/,
is added with: sluice toolset domain TOOLSET add HOST

A domain serves nothing until DNS proves that it is yours. list shows both kinds.`,
	}
	var wait time.Duration
	verify := &cobra.Command{
		Use: "verify HOST", Short: "Ask DNS about a domain now", Args: command.Exactly(1, "one domain"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return change{s, domains.Path}.verify(cmd.Context(), args[0], wait)
		},
	}
	waitFlag(verify, &wait)
	cmd.AddCommand(
		&cobra.Command{
			Use: "add HOST", Short: "Add a domain at which the toolsets of the workspace are", Args: command.Exactly(1, "one domain"),
			Example: "  sluice domain add tools.example.com",
			RunE: func(cmd *cobra.Command, args []string) error {
				return change{s, domains.Path}.add(cmd.Context(), args[0], "sluice domain verify ")
			},
		},
		domains.List(s, "List the domains of the workspace and of its toolsets"),
		verify,
		&cobra.Command{
			Use: "remove HOST", Aliases: []string{"rm"}, Short: "Remove a domain and revoke its certificate", Args: command.Exactly(1, "one domain"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return change{s, domains.Path}.remove(cmd.Context(), args[0])
			},
		},
	)
	return cmd
}

// ToolsetCommand is "sluice toolset domain".
func ToolsetCommand(s *command.Session) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "domain TOOLSET [list | add HOST | verify HOST | remove HOST]",
		Short: "Add, list, verify and remove domains of a toolset",
		Long: `Manage the domains of a toolset: host names of yours that are its URL, https://HOST/.
add prints the DNS records to make. When DNS shows them the domain is verified, by itself
or at once with verify, and gets a certificate. It is then the URL that is printed.`,
		Example: `  sluice toolset domain petstore add tools.example.com
  sluice toolset domain petstore verify tools.example.com --wait 5m
  sluice toolset domain petstore
  sluice toolset domain petstore remove tools.example.com`,
		Args: command.Between(1, 3, "a toolset and what to do"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, c := cmd.Context(), change{s, "/v1/toolsets/" + url.PathEscape(args[0]) + "/domains"}
			switch {
			case len(args) == 1, len(args) == 2 && (args[1] == "list" || args[1] == "ls"):
				of := domains
				of.Empty = "The toolset has no domains. Add one: sluice toolset domain " + terminal.Printable(args[0]) + " add HOST"
				return of.Show(ctx, s, c.path)
			case len(args) == 3 && args[1] == "add":
				return c.add(ctx, args[2], "sluice toolset domain "+terminal.Printable(args[0])+" verify ")
			case len(args) == 3 && args[1] == "verify":
				return c.verify(ctx, args[2], wait)
			case len(args) == 3 && (args[1] == "remove" || args[1] == "rm"):
				return c.remove(ctx, args[2])
			}
			return command.UnknownAction(cmd, args[1:])
		},
	}
	waitFlag(cmd, &wait)
	return cmd
}

func waitFlag(cmd *cobra.Command, wait *time.Duration) {
	cmd.Flags().DurationVar(wait, "wait", 0, "verify: wait so long until the domain is live, such as 5m")
}

// change changes the domains at a path.
type change struct {
	*command.Session
	path string
}

func (c change) at(host string) string { return c.path + "/" + url.PathEscape(host) }

func (c change) add(ctx context.Context, host, next string) error {
	return command.Show(ctx, c.Session, client.Call{Method: http.MethodPost, Path: c.path, In: domain.New{Host: host}}, func(w io.Writer, d *domain.Domain) {
		fmt.Fprintf(w, "%s serves nothing until DNS records prove that you own it. Create these records:\n\n", d.Host)
		records(w, d)
		fmt.Fprintf(w, "\nThey are looked for from time to time for a week. Look now: %s%s\n", next, d.Host)
	})
}

// records prints the DNS records to make.
func records(w io.Writer, d *domain.Domain) {
	address := false
	for _, r := range d.DNS {
		address = address || r.For == "address"
		fmt.Fprintf(w, "  %-5s  %s  %s\n", r.Type, r.Name, r.Value)
	}
	if !address {
		fmt.Fprintf(w, "  A, AAAA or CNAME  %s  the address of your gateways\n", d.Host)
	}
}

func (c change) verify(ctx context.Context, host string, wait time.Duration) error {
	var d domain.Domain
	if _, err := c.Client().Do(ctx, client.Call{Method: http.MethodPost, Path: c.at(host) + "/verify", Out: &d}); err != nil {
		return err
	}
	for end := time.Now().Add(wait); d.State != domain.Live && d.State != domain.Failed && time.Now().Before(end); {
		if err := retry.Sleep(ctx, pollInterval); err != nil {
			return err
		}
		if err := c.Client().Get(ctx, c.at(host), &d); err != nil {
			return err
		}
	}
	err := c.Object(d, func(w io.Writer) {
		switch d.State {
		case domain.Live:
			fmt.Fprintf(w, "%s is live: %s\n", d.Host, reached(&d))
		case domain.Pending:
			fmt.Fprintf(w, "%s is not verified: %s\n\n", d.Host, terminal.Printable(d.Cause))
			records(w, &d)
		case domain.Failed:
			fmt.Fprintf(w, "%s is verified and has no certificate: %s\n", d.Host, terminal.Printable(d.Cause))
		default:
			fmt.Fprintf(w, "%s is verified. ", d.Host)
			if d.Cause != "" {
				fmt.Fprintln(w, terminal.Printable(d.Cause))
			} else {
				fmt.Fprintln(w, "Its certificate is being obtained, once a toolset that it serves is live.")
			}
		}
	})
	if err == nil && (d.State == domain.Pending || d.State == domain.Failed || wait > 0 && d.State != domain.Live) {
		return exit.SilentError(1)
	}
	return err
}

// reached is where clients reach what a domain serves.
func reached(d *domain.Domain) string {
	if d.ToolsetID == "" {
		return d.URL + "SLUG"
	}
	return d.URL
}

func (c change) remove(ctx context.Context, host string) error {
	if err := c.Client().Delete(ctx, c.at(host), nil); err != nil {
		return err
	}
	c.Say("%s is removed.", terminal.Printable(host))
	return nil
}
