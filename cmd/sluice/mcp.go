package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/toolsetcmd"
	"github.com/sluicegate/sluice/cmd/internal/upstreamauth"
	"github.com/sluicegate/sluice/internal/clientconfig"
	"github.com/sluicegate/sluice/internal/problem"
)

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "Test an MCP server before creating a toolset from it"}
	cmd.AddCommand(a.mcpTest())
	return cmd
}

func (a *app) mcpTest() *cobra.Command {
	var auth upstreamauth.Flags
	cmd := &cobra.Command{
		Use: "test URL", Short: "Connect to an MCP server and list its tools", Args: command.Exactly(1, "the URL of one MCP server"),
		Long: `Let the node connect to an MCP server: which transport and revision of the protocol it
speaks, what it is, and its tools with their hashes. Nothing is stored. When it cannot
be connected to, the cause and what to do about it.`,
		Example: `  sluice mcp test https://mcp.example.com/mcp
  sluice mcp test https://mcp.example.com/mcp --auth oauth
  sluice mcp test https://mcp.example.com/mcp --auth bearer --api-key-file token.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			got, err := a.connection(cmd.Context(), c, args[0], &auth)
			if err != nil {
				return err
			}
			return a.Object(got, func(w io.Writer) { printConnection(w, got) })
		},
	}
	auth.Register(cmd)
	return cmd
}

// connection asks the node what an MCP server is.
func (a *app) connection(ctx context.Context, c *client.Client, url string, auth *upstreamauth.Flags) (*change.Connection, error) {
	in := struct {
		URL   string                `json:"url"`
		Auth  *upstreamauth.Request `json:"authentication,omitempty"`
		Login string                `json:"login,omitempty"`
	}{URL: url}
	switch {
	case auth.LogsIn():
		login, err := upstreamauth.LogIn(ctx, &a.Session, c, url, auth)
		if err != nil {
			return nil, err
		}
		in.Login = login
	case auth.Given():
		request, err := auth.Request(ctx, &a.Session)
		if err != nil {
			return nil, err
		}
		in.Auth = &request
	}
	got := new(change.Connection)
	if err := c.Post(ctx, "/v1/mcp/test-connection", in, got); err != nil {
		return nil, err
	}
	return got, nil
}

func printConnection(w io.Writer, c *change.Connection) {
	transport := map[string]string{"streamable": "Streamable HTTP", "sse": "HTTP with SSE"}[c.Transport]
	title := strings.TrimSpace(terminal.Printable(c.Title))
	if title == "" {
		title = terminal.Printable(c.Name)
	}
	fmt.Fprintf(w, "✓ %s %s: MCP %s over %s, %s, %s\n", title, terminal.Printable(c.Version), c.Protocol, transport, terminal.Plural(len(c.Tools), "tool")+describe.Items(c.Items), terminal.Seconds(c.Seconds))
	for _, t := range c.Tools {
		if t.Unsupported != "" {
			fmt.Fprintf(w, "! %s cannot be served: %s\n", terminal.Printable(t.Name), terminal.Printable(t.Unsupported))
			continue
		}
		says := "may change something"
		if t.Annotations.ReadOnly {
			says = "only reads, it says"
		}
		text, _, _ := strings.Cut(t.Description, "\n")
		fmt.Fprintf(w, "  %-32s %5s tokens   %s   %s\n", terminal.Printable(t.Name), terminal.Thousands(t.Tokens), says, terminal.Printable(clipLine(text)))
	}
	for _, d := range c.Warnings {
		fmt.Fprintf(w, "! %s\n", describe.Diagnostic(d.Line, d.Column, d.Pointer, d.Detail))
	}
	fmt.Fprintf(w, "  next   sluice add %s\n", clientconfig.ShellWord(c.URL))
}

// clipLine keeps a line of a list short.
func clipLine(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// looksLikeMCP reports whether a URL ends the way MCP servers' do.
func looksLikeMCP(source string) bool {
	u, err := url.Parse(source)
	if err != nil || !command.IsURL(source) {
		return false
	}
	path := strings.TrimSuffix(u.Path, "/")
	return strings.HasSuffix(path, "/mcp") || strings.HasSuffix(path, "/sse") || strings.HasPrefix(u.Hostname(), "mcp.")
}

// isServer reports whether an MCP server answers at a URL that is not a specification.
func (a *app) isServer(ctx context.Context, c *client.Client, source string, f *addFlags) bool {
	_, err := a.connection(ctx, c, source, &f.auth)
	return err == nil
}

// openServer names an MCP server as the source of a toolset, and logs in where the flags
// want it.
func (a *app) openServer(ctx context.Context, c *client.Client, source string, f *addFlags) (specification.Document, error) {
	if !command.IsURL(source) {
		return specification.Document{}, exit.Usagef("--mcp needs the URL of an MCP server")
	}
	spec, err := specification.Open(&a.Session, source, "")
	if err == nil && f.auth.LogsIn() {
		f.login, err = upstreamauth.LogIn(ctx, &a.Session, c, spec.URL, &f.auth)
	}
	return spec, err
}

// addServer makes a toolset of an MCP server.
func (a *app) addServer(ctx context.Context, c *client.Client, source string, f *addFlags) error {
	f.mcp = true
	spec, err := a.openServer(ctx, c, source, f)
	if err != nil {
		return err
	}
	if f.to != "" {
		return a.addTo(ctx, c, spec, f)
	}
	made, err := a.fromSource(ctx, c, spec, f)
	if err != nil || made == nil {
		return err
	}
	return a.showMade(made, f)
}

func (a *app) toolsetUpstream() *cobra.Command {
	var name string
	var stateless bool
	cmd := &cobra.Command{
		Use: "upstream TOOLSET [pin|warn|follow]", Short: "Show or set the policy for changes of an MCP server",
		Long: `Show how the MCP server of a toolset was seen last, and set what happens when it changes
a description, a schema or its list: pin lets the change wait until it is accepted
(sluice toolset accept TOOLSET), warn deploys additions and lets everything else wait,
follow deploys it. Each change is recorded: sluice toolset diff TOOLSET.

--stateless is your word that the server keeps nothing of a caller between calls, so
that all callers share one session; --stateless=false takes it back. It is a change of
the draft.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, tag, err := a.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			servers, err := serversOf(t, name)
			if err != nil {
				return err
			}
			if words := cmd.Flags().Changed("stateless"); len(args) == 2 || words {
				if len(servers) > 1 {
					return exit.Usagef("toolset %s has several MCP servers: name one with --connector", t.Slug)
				}
				var out view.ToolsetConnectorDetail
				var in draft.PatchConnector
				if len(args) == 2 {
					in.Policy = &args[1]
				}
				if words {
					in.Stateless = &stateless
				}
				if err := c.Patch(cmd.Context(), client.ToolsetPath(t, "connectors", servers[0].Name), in, &out, client.IfMatch(tag)); err != nil {
					return err
				}
				servers[0] = &out.ToolsetConnector
				if words && t.Status == "live" {
					a.Say("  next   the draft has changed; make it live: sluice toolset test %s --connector %s", t.Slug, servers[0].Name)
				}
			}
			if len(servers) == 1 {
				return a.Object(servers[0].Upstream, func(w io.Writer) { printUpstream(w, t, servers[0]) })
			}
			return a.Object(servers, func(w io.Writer) {
				for _, s := range servers {
					printUpstream(w, t, s)
				}
			})
		},
	}
	toolsetcmd.ConnectorFlag(cmd, &name)
	cmd.Flags().BoolVar(&stateless, "stateless", false, "the server keeps nothing of a caller between calls: all callers share one session")
	return cmd
}

// serversOf are the MCP servers of a toolset, or the one that is named.
func serversOf(t *view.ToolsetDetail, name string) ([]*view.ToolsetConnector, error) {
	var out []*view.ToolsetConnector
	for i := range t.Connectors {
		if c := &t.Connectors[i]; c.Upstream != nil && (name == "" || name == c.Name) {
			out = append(out, c)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case name != "":
		return nil, problem.New(problem.Conflict, "toolset %s has no MCP server %s", t.Slug, name).Fix("see: sluice toolset connector %s", t.Slug)
	}
	return nil, problem.New(problem.Conflict, "toolset %s was not created from an MCP server", t.Slug)
}

func printUpstream(w io.Writer, t *view.ToolsetDetail, c *view.ToolsetConnector) {
	u, name, of := c.Upstream, t.Slug, ""
	if len(t.Connectors) > 1 {
		name, of = t.Slug+" "+c.Name, " --connector "+c.Name
	}
	seen := "not looked at since the node started"
	if u.CheckedAt != nil {
		seen = "seen " + terminal.Ago(*u.CheckedAt, time.Now())
	}
	fmt.Fprintf(w, "%s: policy %s, %s\n", name, u.Policy, seen)
	if u.Stateless {
		fmt.Fprintln(w, "  all callers share one session, because you say that it is stateless")
	}
	if u.Listening {
		fmt.Fprintln(w, "  it reports changes, and is looked at when it does")
	}
	if u.Fault != "" {
		fmt.Fprintf(w, "! it could not be reached then: %s\n", terminal.Printable(u.Fault))
	}
	if u.Quarantined {
		fmt.Fprintf(w, "! it changed its tools, and the change is pending\n  next   sluice toolset diff %s%s   then: sluice toolset accept %s%s\n", t.Slug, of, t.Slug, of)
	}
}
