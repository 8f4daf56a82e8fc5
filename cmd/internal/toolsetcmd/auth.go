package toolsetcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/upstreamauth"
	"github.com/sluicegate/sluice/internal/problem"
)

func authCommand(cli *command.Session) *cobra.Command {
	var f upstreamauth.Flags
	connector := ""
	cmd := &cobra.Command{
		Use:   "auth TOOLSET [status | set | rotate | login | users | revoke USER | remove]",
		Short: "Show or set the upstream authentication",
		Example: `  sluice toolset auth petstore
  sluice toolset auth petstore set --auth header:X-Api-Key --api-key-file key.txt
  sluice toolset auth petstore set --auth header:Authorization:Bearer --api-key-env PET_TOKEN
  sluice toolset auth maps set --auth query:key --api-key-file key.txt
  sluice toolset auth shop set --auth header:X-App --api-key-file app.txt --auth basic:me --api-key-file password.txt
  sluice toolset auth crm set --auth oauth2:my-client --token-url https://id.example.com/token --api-key-file secret.txt
  sluice toolset auth crm set --auth oidc:my-client --issuer https://id.example.com   and then   sluice toolset auth crm login
  sluice toolset auth notes set --auth oauth --per-user   and then   sluice toolset auth notes login
  sluice toolset auth notes users
  sluice toolset auth bank set --auth mtls --client-cert client.pem --client-key client.key
  sluice toolset auth petstore rotate --api-key-file new.txt`,
		Args: command.Between(1, 3, "a toolset and what to do"),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb := "status"
			if len(args) >= 2 {
				verb = args[1]
			}
			if (len(args) == 3) != (verb == "revoke") {
				return exit.Usagef("revoke takes the name or id of a caller, nothing else takes one: sluice toolset auth %s users", args[0])
			}
			e, err := open(cmd.Context(), cli, args[0])
			if err != nil {
				return err
			}
			if connector == "" && verb == "status" && len(e.t.Connectors) > 1 {
				return e.authOfAll()
			}
			if err := aim(e.t, connector); err != nil {
				return err
			}
			path := e.authPath()
			switch verb {
			case "status":
				return e.authStatus()
			case "set", "rotate":
				return e.authSet(cmd.Context(), &f, verb == "rotate")
			case "login":
				return e.authLogin(cmd.Context(), &f)
			case "users":
				return e.authUsers(cmd.Context())
			case "revoke":
				return e.authRevoke(cmd.Context(), args[2])
			case "remove":
				etag, err := e.Client().GetTag(cmd.Context(), path, nil)
				if err != nil {
					return err
				}
				if err := e.Client().Delete(cmd.Context(), path, nil, client.IfMatch(etag)); err != nil {
					return err
				}
				e.Say("✓ %s sends no credential any more", e.t.Slug)
				return nil
			}
			return command.UnknownAction(cmd, []string{verb})
		},
	}
	f.Register(cmd)
	ConnectorFlag(cmd, &connector)
	return cmd
}

// authSet sets a configuration, or only a new secret of the one that is there.
func (e *edit) authSet(ctx context.Context, f *upstreamauth.Flags, rotate bool) error {
	path := e.authPath()
	var in upstreamauth.Request
	var now, out credential.Authentication
	var err error
	if !rotate {
		if in, err = f.Request(ctx, e.Session); err != nil {
			return err
		}
	}
	etag, err := e.Client().GetTag(ctx, path, &now)
	if err != nil {
		return err
	}
	if rotate {
		if len(f.Specs) > 0 {
			return exit.Usagef("rotate keeps what is configured; to change it: sluice toolset auth %s set", e.t.Slug)
		}
		if in, err = rotated(&now); err != nil {
			return err
		}
		if err := f.NewSecret(ctx, e.Session, &in); err != nil {
			return err
		}
	}
	if err := e.Client().Put(ctx, path, in, &out, client.IfMatch(etag)); err != nil {
		return err
	}
	next := "sluice toolset test " + e.t.Slug
	if t, _, err := e.Client().Toolset(ctx, e.t.ID); err == nil && t.Status == "live" && t.Changed { // calls do not have it yet
		next = "the draft has changed; make it live: " + next
	}
	for _, it := range append(out.Items, out.AuthenticationItem) {
		if it.State == "login_required" {
			next = "sluice toolset auth " + e.t.Slug + " login"
		}
	}
	e.Say("  next   %s", next)
	return e.Object(out, func(w io.Writer) {
		fmt.Fprintf(w, "✓ %s sends %s\n", e.t.Slug, cmp.Or(out.Preview, out.AuthType))
		for _, to := range upstreamauth.SentTo(&out) {
			fmt.Fprintf(w, "  to %s and nowhere else\n", to)
		}
	})
}

func (e *edit) authStatus() error {
	v := struct {
		Authentication *credential.Authentication `json:"authentication"`
		Methods        []credential.AuthMethod    `json:"authenticationMethods"`
	}{e.t.Authentication, e.t.Methods}
	return e.Object(v, func(w io.Writer) {
		fmt.Fprintf(w, "Configured   %s\n", AuthText(&e.t.Toolset))
		if e.t.Authentication != nil && e.t.Authentication.Preview != "" {
			fmt.Fprintf(w, "Sent         %s\n", e.t.Authentication.Preview)
		}
		fmt.Fprintf(w, "Specified    %s\n", describe.Methods(e.t.Methods))
		upstreamauth.Advise(w, &e.t.Toolset)
	})
}

// aim makes what is shown of a toolset that of the named connector: the first of
// Connectors is then the one that a command is about. Of several one must be named.
func aim(t *view.ToolsetDetail, name string) error {
	if name == "" && len(t.Connectors) == 1 {
		return nil
	}
	for _, c := range t.Connectors {
		if c.Name == name {
			t.Methods, t.Authentication, t.Connectors = c.Methods, c.Authentication, []view.ToolsetConnector{c}
			return nil
		}
	}
	names := make([]string, len(t.Connectors))
	for i := range names {
		names[i] = t.Connectors[i].Name
	}
	if name != "" {
		return problem.New(problem.NotFound, "toolset %s has no connector %s", t.Slug, name).Fix("it has %s", strings.Join(names, ", "))
	}
	return exit.Usagef("toolset %s has several connectors, %s: name one with --connector", t.Slug, strings.Join(names, ", "))
}

// authPath is the authentication of the connector that [aim] chose.
func (e *edit) authPath() string {
	return e.path("connectors", e.t.Connectors[0].Name, "authentication")
}

// authOfAll shows the authentication of every connector.
func (e *edit) authOfAll() error {
	return terminal.List(&e.Terminal, e.t.Connectors, nil, []terminal.Column[view.ToolsetConnector]{
		{Header: "connector", Value: func(c view.ToolsetConnector) string { return c.Name }},
		{Header: "configured", Value: func(c view.ToolsetConnector) string { return AuthText(OfConnector(&c)) }},
		{Header: "specified", Value: func(c view.ToolsetConnector) string { return describe.Methods(c.Methods) }},
	}, func(c view.ToolsetConnector) string { return c.Name })
}

// matchesAny says whether name matches one of the globs; * stands for anything.
func matchesAny(globs []string, name string) (bool, error) {
	for _, g := range globs {
		if g == "" {
			return false, exit.Usagef("an empty name matches nothing")
		}
		if globMatch(g, name) {
			return true, nil
		}
	}
	return false, nil
}

// globMatch matches * (any run) and ? (any one byte), without backtracking more
// than to the last star.
func globMatch(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
