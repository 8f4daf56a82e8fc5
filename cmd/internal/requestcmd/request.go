package requestcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

var requests = command.Resource[connectorrequest.Request]{
	Path: "/v1/connector-requests", Empty: "There is no request for a connector. Create one: sluice request create NAME --website URL --docs URL --use-case TEXT --volume TEXT",
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
the state of a request, which is named by its service or its id. Channels get a notice when
a connector is published ("sluice notify").`,
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
			for _, f := range [...][2]string{{"website", in.Website}, {"docs", in.APIDocsURL}, {"use-case", in.UseCase}, {"volume", in.ExpectedVolume}} {
				if f[1] == "" {
					return exit.Usagef("--%s is missing: a request has --website, --docs, --use-case and --volume", f[0])
				}
			}
			// What is wrong with a field is said of the request, by all its fields.
			if err := similar(cmd.Context(), s, &in); err != nil && !problem.Is(err, exit.InvalidRequest) {
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

// requestPath is the path of a request, which is named by its id or by its service.
func requestPath(ctx context.Context, s *command.Session, ref string) (string, error) {
	id := ref
	if !strings.HasPrefix(ref, "creq_") {
		all, _, err := client.All[connectorrequest.Request](ctx, s.Client(), requests.Path)
		if err != nil {
			return "", err
		}
		var ids, services []string
		for _, r := range all {
			services = append(services, r.ServiceName)
			if strings.EqualFold(r.ServiceName, ref) {
				ids = append(ids, r.ID)
			}
		}
		switch len(ids) {
		case 0:
			p := problem.New(problem.NotFound, "there is no request for a connector %q", ref).Fix("see: sluice request list")
			if best := nearest.Name(ref, slices.Values(services)); best != "" {
				p.Remedy = "did you mean " + best + "?"
			}
			return "", p
		case 1:
			id = ids[0]
		default:
			return "", exit.Usagef("%d requests are for %s: name one by its id, %s", len(ids), ref, strings.Join(ids, ", "))
		}
	}
	return requests.Path + "/" + url.PathEscape(id), nil
}

func show(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show REQUEST", Aliases: []string{"get"}, Short: "Show a request with its comments", Args: command.Exactly(1, "one request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := requestPath(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			return command.Get(cmd.Context(), s, path, write)
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
	line("asked", "by "+by(r.RequestedBy, r.ByName)+" at "+r.CreatedAt.Format(time.RFC3339))
	for _, c := range r.Comments {
		line("comment", c.At.Format(time.DateOnly)+" "+by(c.By, c.ByName)+": "+c.Text)
	}
}

// by is whoever asked or wrote, as people call them.
func by(id, name string) string {
	if strings.HasPrefix(id, store.RequestPersonPrefix) {
		return "somebody on the public page"
	}
	return cmp.Or(name, id)
}

func vote(s *command.Session, give bool) *cobra.Command {
	use, short, method := "vote REQUEST", "Vote for a request", http.MethodPut
	if !give {
		use, short, method = "unvote REQUEST", "Withdraw your vote", http.MethodDelete
	}
	return &cobra.Command{
		Use: use, Short: short, Args: command.Exactly(1, "one request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := requestPath(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			return command.Show(cmd.Context(), s, client.Call{Method: method, Path: path + "/vote"}, func(w io.Writer, r *connectorrequest.Request) {
				fmt.Fprintf(w, "%s has %s\n", terminal.Printable(r.ServiceName), terminal.Plural(int(r.Votes), "vote"))
			})
		},
	}
}

func change(s *command.Session) *cobra.Command {
	var state, entry, reason, comment string
	cmd := &cobra.Command{
		Use: "set REQUEST", Aliases: []string{"close"}, Short: "Set the state of a request, or comment on it", Args: command.Exactly(1, "one request"),
		Example: "  sluice request set \"Acme CRM\" --state published --entry acme\n  sluice request set \"Acme CRM\" --state declined --reason \"it has no API\"",
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
			path, err := requestPath(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			return command.Show(cmd.Context(), s, client.Call{Method: http.MethodPatch, Path: path, In: in}, write)
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
