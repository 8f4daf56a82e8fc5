package clientcmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/clientconfig"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/registry"
)

func applicationNames() []string {
	var names []string
	for _, c := range applications() {
		names = append(names, c.Name)
	}
	return names
}

// clients has the command that configures AI applications.
type clients struct{ *command.Session }

// clientFlags are the flags of the command.
type clientFlags struct {
	name               string
	install, uninstall bool
	variable, ttl      string
}

// Command is client.
func Command(s *command.Session) *cobra.Command {
	a := clients{s}
	var f clientFlags
	cmd := &cobra.Command{
		Use:   "client TOOLSET",
		Short: "Print or install the configuration of an MCP client",
		Long: `Print how an AI application is pointed at a toolset, or write it into the
application's configuration file: the change is shown first, and the old file is
kept beside it as .bak. --uninstall takes it out again.

Where the toolset needs an access token, the configuration refers to an environment
variable, to a prompt of the application, or to a file that only you can read; it
never holds the token. --install makes a token when there is none to refer to, and
--uninstall revokes it.`,
		Example: "  sluice client petstore\n  sluice client petstore --for claude-code\n  sluice client petstore --for cursor --install\n  sluice client petstore --for cursor --uninstall",
		Args:    command.Exactly(1, "one toolset"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.run(cmd, args[0], &f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.name, "for", "", "application: "+strings.Join(applicationNames(), ", "))
	fs.BoolVar(&f.install, "install", false, "write the application's configuration file")
	fs.BoolVar(&f.uninstall, "uninstall", false, "undo --install")
	fs.StringVar(&f.variable, "token-env", "", "environment variable with the access token (default SLUICE_<TOOLSET>_TOKEN)")
	fs.StringVar(&f.ttl, "token-ttl", "90d", "how long a token that --install makes is valid, such as 12h or 90d; 0: forever")
	cmd.MarkFlagsMutuallyExclusive("install", "uninstall")
	command.MustComplete(cmd, "for", applicationNames())
	return cmd
}

func (a clients) run(cmd *cobra.Command, toolset string, f *clientFlags) error {
	if f.name == "" && (f.install || f.uninstall) {
		return exit.Usagef("--install and --uninstall need --for: %s", strings.Join(applicationNames(), ", "))
	}
	i := slices.IndexFunc(applications(), func(c application) bool { return c.Name == f.name })
	if f.name != "" && i < 0 {
		meant := ""
		if near := nearest.Name(f.name, slices.Values(applicationNames())); near != "" {
			meant = "did you mean " + near + "? "
		}
		return exit.Usagef("--for %s is not known; %sthere are: %s", terminal.Printable(f.name), meant, strings.Join(applicationNames(), ", "))
	}
	ttl, err := command.Lifetime("--token-ttl", f.ttl)
	if err != nil {
		return err
	}
	s, t, err := a.endpoint(cmd, toolset, f)
	if err != nil {
		return err
	}
	if f.name == "" {
		return a.printAll(s)
	}
	c := applications()[i]
	if c.file == nil && (f.install || f.uninstall) {
		return exit.Usagef("%s has no configuration file; do this:\n%s", c.Title, c.Snippet(s))
	}
	if (f.install || f.uninstall) && c.file(a.Env) == "" {
		return exit.Usagef("the configuration of %s is in your home directory, and HOME is not set", c.Title)
	}
	install := installation{clients: a, app: c, at: s, toolset: t, ttl: ttl}
	switch {
	case f.install:
		return install.install(cmd.Context())
	case f.uninstall:
		return install.uninstall(cmd.Context())
	}
	if c.Note != "" {
		a.Say("%s", c.Note)
	}
	if err := a.WriteResult([]byte(c.Snippet(s) + "\n")); err != nil {
		return err
	}
	install.sayWhatIsMissing()
	return nil
}

// endpoint resolves a toolset for the configuration of applications. The toolset is nil
// for a URL, and for one that is gone when its configuration is to be removed.
func (a clients) endpoint(cmd *cobra.Command, toolset string, f *clientFlags) (clientconfig.Endpoint, *view.ToolsetDetail, error) {
	exe, err := executable()
	if err != nil {
		return clientconfig.Endpoint{}, nil, err
	}
	s := clientconfig.Endpoint{Executable: exe}
	var t *view.ToolsetDetail
	if command.IsURL(toolset) {
		u, err := url.Parse(toolset)
		if err != nil || u.Host == "" {
			return s, nil, problem.New(problem.InvalidArgument, "%q is not a URL", safehttp.Redact(toolset))
		}
		s.Name, s.URL = filepath.Base(u.Path), toolset
		if f.variable != "" {
			s.Token = true
		}
	} else if t, _, err = a.Client().Toolset(cmd.Context(), toolset); err == nil {
		s.Name, s.URL = t.Slug, t.URL
		s.Token, s.Login = t.Access.Mode == registry.AccessToken, t.Access.Mode == registry.AccessJWT
		if t.Revision == 0 && !f.uninstall {
			a.Say("! %s is a draft: its URL answers after sluice toolset test %s", t.Slug, t.Slug)
		}
		if s.Login {
			var shown access.ToolsetAccess
			if err := a.Client().Get(cmd.Context(), client.ToolsetPath(t, "access"), &shown); err != nil {
				return s, nil, err
			}
			if shown.JWT != nil {
				s.Issuer = shown.JWT.Issuer
			}
		}
	} else if f.uninstall && (problem.Is(err, problem.NotFound) || exit.AsUnreachable(err) != nil) {
		t, s.Name = nil, toolset
	} else {
		return s, nil, err
	}
	s.Variable = cmp.Or(f.variable, clientconfig.VariableOf(s.Name))
	if !validVariable(s.Variable) {
		return s, nil, exit.Usagef("--token-env %s is not the name of an environment variable", terminal.Printable(s.Variable))
	}
	s.Headers = filepath.Join(a.Env.XDG, "sluice", "clients", s.Name+"-"+f.name+".headers")
	return s, t, nil
}

func validVariable(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func (a clients) printAll(s clientconfig.Endpoint) error {
	type printed struct {
		Client string `json:"client"`
		Config string `json:"config"`
		File   string `json:"file,omitempty"`
	}
	var out []printed
	for _, c := range applications() {
		p := printed{Client: c.Name, Config: c.Snippet(s)}
		if c.file != nil {
			p.File = c.file(a.Env)
		}
		out = append(out, p)
	}
	if a.Format != "table" && a.Format != "wide" {
		return terminal.List(&a.Terminal, out, nil, []terminal.Column[printed]{}, func(p printed) string { return p.Client })
	}
	var b strings.Builder
	for i, c := range applications() {
		fmt.Fprintf(&b, "%s\n", c.Title)
		for line := range strings.Lines(out[i].Config) {
			b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	if err := a.WriteResult([]byte(b.String())); err != nil {
		return err
	}
	if s.Token {
		a.Say("! %s needs an access token: sluice client %s --for NAME says how each application gets it", s.Name, s.Name)
	}
	return nil
}

// UseFrom writes how the common applications are pointed at a new toolset, and a request
// to paste into a shell.
func UseFrom(w io.Writer, t *change.CreatedToolset) {
	exe, err := executable()
	if err != nil {
		exe = "sluice"
	}
	s := clientconfig.Endpoint{Name: t.Slug, URL: t.URL, Executable: exe, Token: t.Access.Mode == registry.AccessToken, Variable: "SLUICE_ACCESS_TOKEN"}
	fmt.Fprintln(w, "Use it from:")
	for _, c := range applications() {
		switch {
		case c.Name == "claude-desktop", c.Name == "vscode" && s.Token:
			fmt.Fprintf(w, "  %-14s sluice client %s --for %s --install\n", c.Title, t.Slug, c.Name)
		case c.Name == "claude-code", c.Name == "cursor", c.Name == "vscode":
			fmt.Fprintf(w, "  %-14s %s\n", c.Title, c.Snippet(s))
		}
	}
	line := clientconfig.CurlLine(t.URL, "tools/list", nil)
	if t.Test != nil && t.Test.Passed {
		arguments := t.Test.Arguments
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		line = clientconfig.CurlLine(t.URL, "tools/call", clientconfig.Object{{Key: "name", Value: t.Test.Tool}, {Key: "arguments", Value: arguments}})
	}
	fmt.Fprintf(w, "  %-14s %s\n", "curl", s.Shell(line, ` -H "Authorization: Bearer $SLUICE_ACCESS_TOKEN"`))
}

// errFileTooLarge is returned for a configuration file that is not a configuration.
var errFileTooLarge = errors.New("it is too large for a configuration file")
