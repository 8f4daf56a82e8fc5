package toolsetcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// accessFlags are those of "toolset access".
type accessFlags struct {
	issuer, jwks        string
	servers, scopes     []string
	tools               []string
	ttl                 string
	perMinute, parallel int
	burst               int
}

func accessCommand(cli *command.Session) *cobra.Command {
	var f accessFlags
	cmd := &cobra.Command{
		Use:   "access TOOLSET [show | set [none|token|jwt] | token create NAME | token list | token revoke ID]",
		Short: "Show or set access to the toolset URL, and its access tokens",
		Long: `Show or set who may open the toolset URL. A change is in force at once.

  none    everybody who reaches it
  token   who shows one of the toolset's access tokens: Authorization: Bearer slt_…
  jwt     who shows a JSON Web Token of an authorization server whose audience is
          exactly the toolset URL; AI applications log in there by themselves

Limits that no flag is about stay as they are; 0 takes one away. set without a mode
changes only them. An access token is printed once, when it is created.`,
		Example: `  sluice toolset access petstore
  sluice toolset access petstore token create ci --ttl 90d --tools 'list_*,get_*'
  sluice toolset access petstore set token
  sluice toolset access petstore set --rate 600 --burst 60
  sluice toolset access petstore token revoke act_01JQ8Z6J5X2V4T7N9B3C1D0E8F
  sluice toolset access petstore set jwt --issuer https://id.example --scope 'read=list_*,get_*' --scope 'write=*'`,
		Args: command.Between(1, 4, "a toolset and what to do"),
		RunE: on(cli, func(cmd *cobra.Command, e *edit, args []string) error {
			a := &accessEdit{e, &f, cmd.Flags()}
			switch verb := strings.Join(args[1:min(len(args), 3)], " "); {
			case len(args) == 1, verb == "show" && len(args) == 2:
				return a.show(cmd.Context())
			case len(args) == 2 && args[1] == "set":
				return a.set(cmd.Context(), "")
			case len(args) == 3 && args[1] == "set":
				return a.set(cmd.Context(), args[2])
			case verb == "token create" && len(args) == 4:
				return a.create(cmd.Context(), args[3])
			case verb == "token list" && len(args) == 3:
				return a.list(cmd.Context())
			case verb == "token revoke" && len(args) == 4:
				return a.revoke(cmd.Context(), args[3])
			}
			return command.UnknownAction(cmd, args[1:])
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.issuer, "issuer", "", "set jwt: the authorization server")
	fs.StringVar(&f.jwks, "jwks-url", "", "set jwt: where its keys are (default: as its metadata says)")
	fs.StringSliceVar(&f.servers, "authorization-server", nil, "set jwt: where clients are sent (default: the issuer)")
	fs.StringArrayVar(&f.scopes, "scope", nil, "set jwt: SCOPE=GLOB,… the tools that a scope opens; may be repeated")
	fs.StringSliceVar(&f.tools, "tools", nil, "token create: names and globs of the tools it opens (default: all)")
	fs.StringVar(&f.ttl, "ttl", "90d", "token create: how long it is valid, such as 12h or 90d; 0: forever")
	fs.IntVar(&f.perMinute, "rate", 0, "set: requests per minute of all callers; token create: of the token")
	fs.IntVar(&f.burst, "burst", 0, "set, token create: how many of a minute's requests may come at once (default: a tenth)")
	fs.IntVar(&f.parallel, "concurrent", 0, "set: requests at the same time of all callers; token create: of the token")
	return cmd
}

// accessEdit changes who may open one toolset.
type accessEdit struct {
	*edit
	flags *accessFlags
	given *pflag.FlagSet
}

// limits are those of before, which may be nil, with what the flags say; nil: there are none.
func (e *accessEdit) limits(before *access.Limits) *access.Limits {
	var l access.Limits
	if before != nil {
		l = *before
	}
	for _, f := range []struct {
		name string
		to   *int
		v    int
	}{{"rate", &l.RequestsPerMinute, e.flags.perMinute}, {"burst", &l.Burst, e.flags.burst}, {"concurrent", &l.Concurrent, e.flags.parallel}} {
		if e.given.Changed(f.name) {
			*f.to = f.v
		}
	}
	if l == (access.Limits{}) {
		return nil
	}
	return &l
}

// jwt makes the settings of mode jwt.
func (f *accessFlags) jwt() (*access.AccessJWT, error) {
	if f.issuer == "" {
		return nil, exit.Usagef("set jwt needs the authorization server: --issuer https://id.example")
	}
	out := &access.AccessJWT{Issuer: f.issuer, JWKSURL: f.jwks, AuthorizationServers: f.servers}
	for _, s := range f.scopes {
		name, globs, ok := strings.Cut(s, "=")
		if !ok || name == "" || globs == "" {
			return nil, exit.Usagef("--scope %s is not SCOPE=GLOB,…", terminal.Printable(s))
		}
		out.Scopes = append(out.Scopes, access.AccessScope{Scope: name, Tools: strings.Split(globs, ",")})
	}
	return out, nil
}

func (e *accessEdit) show(ctx context.Context) error {
	return command.Get(ctx, e.Session, e.path("access"), func(w io.Writer, out *access.ToolsetAccess) { printAccess(w, e.t.Slug, out) })
}

func printAccess(w io.Writer, slug string, v *access.ToolsetAccess) {
	who := "everybody who can reach it"
	switch v.Mode {
	case "token":
		who = "callers with one of its access tokens"
	case "jwt":
		who = "callers with a token of its authorization server"
	}
	fmt.Fprintf(w, "Access        %s: %s\nToolset URL   %s\n", v.Mode, who, v.URL)
	if v.JWT != nil {
		fmt.Fprintf(w, "Issuer        %s\n", terminal.Printable(v.JWT.Issuer))
		for _, s := range v.JWT.Scopes {
			fmt.Fprintf(w, "Scope         %s opens %s\n", terminal.Printable(s.Scope), terminal.Printable(strings.Join(s.Tools, ", ")))
		}
		fmt.Fprintf(w, "Metadata      %s\n", v.MetadataURL)
	}
	if v.Mode == "token" || v.Tokens > 0 {
		fmt.Fprintf(w, "Tokens        %d valid\n", v.Tokens)
	}
	if v.Limits != nil {
		fmt.Fprintf(w, "Limits        %s\n", rateText(v.Limits))
	}
	switch {
	case v.Mode == "token" && v.Tokens == 0:
		fmt.Fprintf(w, "! it has no valid token, so nobody can call it: sluice toolset access %s token create NAME\n", slug)
	case v.Mode == "none" && v.Tokens > 0:
		fmt.Fprintf(w, "! its tokens are not checked: sluice toolset access %s set token\n", slug)
	}
}

func rateText(l *access.Limits) string {
	if l == nil {
		return ""
	}
	var parts []string
	if l.RequestsPerMinute > 0 {
		parts = append(parts, terminal.Thousands(l.RequestsPerMinute)+" a minute")
	}
	if l.Burst > 0 {
		parts = append(parts, terminal.Thousands(l.Burst)+" at once")
	}
	if l.Concurrent > 0 {
		parts = append(parts, terminal.Thousands(l.Concurrent)+" at a time")
	}
	if l.MaxRequestBytes > 0 {
		parts = append(parts, terminal.Thousands(l.MaxRequestBytes)+" bytes each")
	}
	return strings.Join(parts, ", ")
}

func (e *accessEdit) set(ctx context.Context, mode string) error {
	only := mode == ""
	if only && !slices.ContainsFunc([]string{"rate", "burst", "concurrent"}, e.given.Changed) {
		return exit.Usagef("say what to set: a mode (none, token or jwt), or --rate, --burst, --concurrent")
	}
	var before access.ToolsetAccess
	etag, err := e.Client().Do(ctx, client.Call{Method: http.MethodGet, Path: e.path("access"), Out: &before})
	if err != nil {
		return err
	}
	mode = cmp.Or(mode, before.Mode)
	in := access.AccessSettings{Mode: mode, Limits: e.limits(before.Limits)}
	switch {
	case mode == "none", mode == "token":
	case mode == "jwt" && only:
		in.JWT = before.JWT
	case mode == "jwt":
		if in.JWT, err = e.flags.jwt(); err != nil {
			return err
		}
		if before.JWT != nil {
			in.JWT.Limits = before.JWT.Limits
		}
	default:
		return exit.Usagef("access %s is not known; use none, token or jwt", terminal.Printable(mode))
	}
	return command.Show(ctx, e.Session, client.Call{Method: http.MethodPut, Path: e.path("access"), In: in, IfMatch: etag}, func(w io.Writer, out *access.ToolsetAccess) { printAccess(w, e.t.Slug, out) })
}

func (e *accessEdit) create(ctx context.Context, name string) error {
	ttl, err := command.Lifetime("--ttl", e.flags.ttl)
	if err != nil {
		return err
	}
	in := access.NewAccessToken{Name: name, Tools: e.flags.tools, Limits: e.limits(nil)}
	if ttl > 0 {
		in.ExpiresAt = time.Now().Add(ttl).UTC().Truncate(time.Second)
	}
	var out access.CreatedAccessToken
	if err := e.Client().Post(ctx, e.path("access-tokens"), in, &out); err != nil {
		return err
	}
	e.Say("! this is the only time the token is shown: Authorization: Bearer …")
	if out.Mode != "token" {
		e.Say("! %s does not ask for tokens yet: sluice toolset access %s set token", e.t.Slug, e.t.Slug)
	}
	return e.Object(out, func(w io.Writer) { fmt.Fprintln(w, out.Token) })
}

func (e *accessEdit) list(ctx context.Context) error {
	none := fmt.Sprintf("%[1]s has no access tokens. Make one: sluice toolset access %[1]s token create NAME", e.t.Slug)
	r := command.Resource[access.AccessToken]{Empty: none, Columns: []terminal.Column[access.AccessToken]{
		{Header: "id", Value: func(t access.AccessToken) string { return t.ID }},
		{Header: "name", Value: func(t access.AccessToken) string { return t.Name }},
		{Header: "ends in", Value: func(t access.AccessToken) string { return t.Last4 }},
		{Header: "status", Value: func(t access.AccessToken) string { return t.Status }},
		{Header: "tools", Value: func(t access.AccessToken) string { return cmp.Or(strings.Join(t.Tools, ", "), "all") }},
		{Header: "limits", Value: func(t access.AccessToken) string { return rateText(t.Limits) }},
		{Header: "expires", Value: func(t access.AccessToken) string {
			if t.ExpiresAt.IsZero() {
				return "never"
			}
			return t.ExpiresAt.Format(time.DateOnly)
		}},
		{Header: "created", Value: func(t access.AccessToken) string { return terminal.Since(t.CreatedAt) }},
	}, Name: func(t access.AccessToken) string { return t.ID }}
	return r.Show(ctx, e.Session, e.path("access-tokens"))
}

// revoke ends a token, by id or by the name of a valid one.
func (e *accessEdit) revoke(ctx context.Context, id string) error {
	items, _, err := client.All[access.AccessToken](ctx, e.Client(), e.path("access-tokens"))
	if err != nil {
		return err
	}
	for _, t := range items {
		if t.Status == "valid" && (t.ID == id || t.Name == id) {
			path := e.path("access-tokens") + "/" + url.PathEscape(t.ID)
			if err := e.Client().Delete(ctx, path, nil); err != nil {
				return err
			}
			e.Say("✓ %s opens %s no more", terminal.Printable(t.Name), e.t.Slug)
			return nil
		}
	}
	return problem.New(problem.NotFound, "%s has no valid access token %q", e.t.Slug, id).
		Fix("see: sluice toolset access %s token list", e.t.Slug)
}
