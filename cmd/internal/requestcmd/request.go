package requestcmd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

var requests = command.Resource[connectorrequest.Request]{
	Path: "/v1/connector-requests", Empty: "Nobody asks for a connector. Ask for one: sluice request create NAME --website URL --docs URL --use-case TEXT --volume TEXT",
	Name: func(r connectorrequest.Request) string { return r.ID },
	Columns: []terminal.Column[connectorrequest.Request]{
		{Header: "id", Value: func(r connectorrequest.Request) string { return r.ID }},
		{Header: "service", Value: func(r connectorrequest.Request) string { return r.ServiceName }},
		{Header: "votes", Value: func(r connectorrequest.Request) string {
			if r.Voted {
				return strconv.FormatInt(r.Votes, 10) + " (yours)"
			}
			return strconv.FormatInt(r.Votes, 10)
		}},
		{Header: "state", Value: func(r connectorrequest.Request) string { return r.State }},
		{Header: "asked", Value: func(r connectorrequest.Request) string { return terminal.Since(r.CreatedAt) }},
		{Header: "website", Value: func(r connectorrequest.Request) string { return r.Website }, Wide: true},
		{Header: "use case", Value: func(r connectorrequest.Request) string { return r.UseCase }, Wide: true},
	},
}

// Command is "sluice request".
func Command(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "request", Aliases: []string{"requests"}, Short: "Ask for connectors and vote for those that others ask for",
		Long: `Ask for a connector that the catalog does not have, vote for what others ask for, and set
the state of a request. Channels get a notice when a connector is published
("sluice notify").`,
	}
	cmd.AddCommand(list(s), create(s), show(s), vote(s, true), vote(s, false), change(s))
	return cmd
}

func list(s *command.Session) *cobra.Command {
	var state []string
	var filter *command.Filter
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List requests by votes and age", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := requests.Path
			if len(state) > 0 {
				path += "?" + url.Values{"state": {strings.Join(state, ",")}}.Encode()
			}
			return requests.ShowFiltered(cmd.Context(), s, path, filter)
		},
	}
	filter = command.FilterOf(cmd, "state:open votes:>1 crm", "-votes,createdAt")
	cmd.Flags().StringSliceVar(&state, "state", nil, "only in these states: "+strings.Join(connectorrequest.States, ", "))
	command.MustComplete(cmd, "state", connectorrequest.States)
	return cmd
}

func create(s *command.Session) *cobra.Command {
	var in connectorrequest.NewRequest
	var force bool
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Ask for a connector", Args: command.Exactly(1, "the name of one service"),
		Long: `Ask for a connector, with your vote. Requests and entries of the catalog that are similar
are shown first; where one has the same name or website, nothing is sent without
--even-if-similar.`,
		Example: `  sluice request create "Acme CRM" --website https://acme.example --docs https://acme.example/developers \
    --use-case "find customers and add notes" --volume "1,000 calls a day"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.ServiceName = args[0]
			for name, value := range map[string]string{"website": in.Website, "docs": in.APIDocsURL, "use-case": in.UseCase, "volume": in.ExpectedVolume} {
				if value == "" {
					return exit.Usagef("--%s is missing: a request has --website, --docs, --use-case and --volume", name)
				}
			}
			if err := similar(cmd.Context(), s, &in); err != nil {
				return err
			}
			path := requests.Path
			if force {
				path += "?evenIfSimilar=true"
			}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPost, Path: path, In: in}, write)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.Website, "website", "", "of the service")
	f.StringVar(&in.APIDocsURL, "docs", "", "documentation of its API")
	f.StringVar(&in.UseCase, "use-case", "", "what agents shall do with it")
	f.StringVar(&in.ExpectedVolume, "volume", "", "how much it would be used, such as \"1,000 calls a day\"")
	f.BoolVar(&force, "even-if-similar", false, "also when one of this name or website is there")
	return cmd
}

// similar tells what is like a request that is about to be sent.
func similar(ctx context.Context, s *command.Session, in *connectorrequest.NewRequest) error {
	q := url.Values{"serviceName": {in.ServiceName}, "website": {in.Website}, "useCase": {in.UseCase}}
	var found admin.SimilarConnectors
	if err := s.Client().Get(ctx, requests.Path+"/similar?"+q.Encode(), &found); err != nil {
		return err
	}
	for i := range found.Entries {
		s.Say("! the catalog has %s: sluice catalog show %s", found.Entries[i].Name, found.Entries[i].ID)
	}
	for i := range found.Requests {
		l := &found.Requests[i]
		s.Say("! similar (%s): %s, %s, %s: sluice request vote %s", strings.Join(l.Because, ", "), l.Request.ServiceName, l.Request.State, terminal.Plural(int(l.Request.Votes), "vote"), l.Request.ID)
	}
	return nil
}

func requestPath(id string) string { return requests.Path + "/" + url.PathEscape(id) }

func show(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show a request with its comments", Args: command.Exactly(1, "one request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return command.Get(cmd.Context(), s, requestPath(args[0]), write)
		},
	}
}

func write(w io.Writer, r *connectorrequest.Request) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-14s %s\n", name, terminal.Printable(value))
		}
	}
	fmt.Fprintf(w, "%s (%s)\n", terminal.Printable(r.ServiceName), r.ID)
	line("state", r.State)
	line("connector", r.Entry)
	line("reason", r.Reason)
	votes := terminal.Plural(int(r.Votes), "vote")
	if r.Voted {
		votes += ", yours too"
	}
	line("votes", votes)
	line("website", r.Website)
	line("documentation", r.APIDocsURL)
	line("use case", r.UseCase)
	line("volume", r.ExpectedVolume)
	line("asked", "by "+r.RequestedBy+" at "+r.CreatedAt.Format(time.RFC3339))
	for _, c := range r.Comments {
		line("comment", c.At.Format(time.DateOnly)+" "+c.By+": "+c.Text)
	}
}

func vote(s *command.Session, give bool) *cobra.Command {
	use, short, method := "vote ID", "Vote for a request", http.MethodPut
	if !give {
		use, short, method = "unvote ID", "Withdraw your vote", http.MethodDelete
	}
	return &cobra.Command{
		Use: use, Short: short, Args: command.Exactly(1, "one request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return command.Show(cmd.Context(), s, client.Call{Method: method, Path: requestPath(args[0]) + "/vote"}, func(w io.Writer, r *connectorrequest.Request) {
				fmt.Fprintf(w, "%s has %s\n", terminal.Printable(r.ServiceName), terminal.Plural(int(r.Votes), "vote"))
			})
		},
	}
}

func change(s *command.Session) *cobra.Command {
	var state, entry, reason, comment string
	cmd := &cobra.Command{
		Use: "set ID", Aliases: []string{"close"}, Short: "Set the state of a request, or comment on it", Args: command.Exactly(1, "one request"),
		Example: "  sluice request set ID --state published --entry acme\n  sluice request set ID --state declined --reason \"it has no API\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := connectorrequest.ChangeRequest{Comment: comment}
			for name, f := range map[string]struct {
				to   **string
				from *string
			}{"state": {&in.State, &state}, "entry": {&in.Entry, &entry}, "reason": {&in.Reason, &reason}} {
				if cmd.Flags().Changed(name) {
					*f.to = f.from
				}
			}
			if in == (connectorrequest.ChangeRequest{}) {
				return exit.Usagef("nothing to set: --state, --entry, --reason or --comment")
			}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPatch, Path: requestPath(args[0]), In: in}, write)
		},
	}
	f := cmd.Flags()
	f.StringVar(&state, "state", "", strings.Join(connectorrequest.States, ", "))
	f.StringVar(&entry, "entry", "", "of a published one: entry of the catalog, or toolset")
	f.StringVar(&reason, "reason", "", "of a declined one: why")
	f.StringVar(&comment, "comment", "", "add a comment")
	command.MustComplete(cmd, "state", connectorrequest.States)
	return cmd
}
