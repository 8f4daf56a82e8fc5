package clientcmd

import (
	"bytes"
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

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/registry"
)

// document is a document with one entry in it, as people paste it.
func document(e entry) string {
	var value any = e.value
	for _, name := range slices.Backward(e.path[1:]) {
		value = ordered{{name, value}}
	}
	root := ordered{{e.path[0], value}}
	if e.input != nil {
		root = append(root, member{inputs, []ordered{e.input}})
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact(root), "", "  "); err != nil {
		panic("BUG: " + err.Error()) // it was written a moment ago
	}
	return out.String()
}

func applicationNames() []string {
	var names []string
	for _, c := range applications() {
		names = append(names, c.name)
	}
	return names
}

// curlLine is a request that works when it is pasted into a shell.
func curlLine(target, method string, params any) string {
	m := ordered{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}}
	if params != nil {
		m = append(m, member{"params", params})
	}
	return "curl -s " + terminal.ShellWord(target) + " -H 'Content-Type: application/json' -d " + terminal.ShellWord(string(compact(m)))
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
	i := slices.IndexFunc(applications(), func(c application) bool { return c.name == f.name })
	if f.name != "" && i < 0 {
		return exit.Usagef("--for %s is not known; there are: %s", terminal.Printable(f.name), strings.Join(applicationNames(), ", "))
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
		return exit.Usagef("%s has no configuration file; do this:\n%s", c.title, c.snippet(s))
	}
	change := change{clients: a, app: c, at: s, toolset: t, ttl: ttl}
	switch {
	case f.install:
		return change.install(cmd.Context())
	case f.uninstall:
		return change.uninstall(cmd.Context())
	}
	if c.note != "" {
		a.Say("%s", c.note)
	}
	if err := a.WriteResult([]byte(c.snippet(s) + "\n")); err != nil {
		return err
	}
	change.sayWhatIsMissing()
	return nil
}

// endpoint resolves a toolset for the configuration of applications. The toolset is nil
// for a URL, and for one that is gone when its configuration is to be removed.
func (a clients) endpoint(cmd *cobra.Command, toolset string, f *clientFlags) (endpoint, *admin.ToolsetDetail, error) {
	exe, err := executable()
	if err != nil {
		return endpoint{}, nil, err
	}
	s := endpoint{executable: exe}
	var t *admin.ToolsetDetail
	if command.IsURL(toolset) {
		u, err := url.Parse(toolset)
		if err != nil || u.Host == "" {
			return s, nil, problem.New(problem.InvalidArgument, "%q is not a URL", safehttp.Redact(toolset))
		}
		s.name, s.url = filepath.Base(u.Path), toolset
		if f.variable != "" {
			s.mode = registry.AccessToken
		}
	} else if t, _, err = a.Client().Toolset(cmd.Context(), toolset); err == nil {
		s.name, s.url, s.mode = t.Slug, t.URL, t.Access.Mode
		if t.Revision == 0 && !f.uninstall {
			a.Say("! %s is a draft: its URL answers after sluice toolset test %s", t.Slug, t.Slug)
		}
		if s.mode == registry.AccessJWT {
			var shown access.ToolsetAccess
			if err := a.Client().Get(cmd.Context(), client.ToolsetPath(t, "access"), &shown); err != nil {
				return s, nil, err
			}
			if shown.JWT != nil {
				s.issuer = shown.JWT.Issuer
			}
		}
	} else if f.uninstall && (problem.Is(err, problem.NotFound) || exit.AsUnreachable(err) != nil) {
		t, s.name = nil, toolset
	} else {
		return s, nil, err
	}
	s.variable = cmp.Or(f.variable, variableOf(s.name))
	if !validVariable(s.variable) {
		return s, nil, exit.Usagef("--token-env %s is not the name of an environment variable", terminal.Printable(s.variable))
	}
	s.headers = filepath.Join(a.Env.XDG, "sluice", "clients", s.name+"-"+f.name+".headers")
	return s, t, nil
}

// variableOf is the environment variable that has the access token of a toolset.
func variableOf(toolset string) string {
	return "SLUICE_" + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, toolset) + "_TOKEN"
}

func validVariable(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func (a clients) printAll(s endpoint) error {
	type printed struct {
		Client string `json:"client"`
		Config string `json:"config"`
		File   string `json:"file,omitempty"`
	}
	var out []printed
	for _, c := range applications() {
		p := printed{Client: c.name, Config: c.snippet(s)}
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
		fmt.Fprintf(&b, "%s\n", c.title)
		for line := range strings.Lines(out[i].Config) {
			b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	if err := a.WriteResult([]byte(b.String())); err != nil {
		return err
	}
	if s.needsToken() {
		a.Say("! %s needs an access token: sluice client %s --for NAME says how each application gets it", s.name, s.name)
	}
	return nil
}

// UseFrom writes how the common applications are pointed at a new toolset, and a request
// to paste into a shell.
func UseFrom(w io.Writer, t *admin.CreatedToolset) {
	exe, err := executable()
	if err != nil {
		exe = "sluice"
	}
	s := endpoint{name: t.Slug, url: t.URL, executable: exe, mode: t.Access.Mode, variable: "SLUICE_ACCESS_TOKEN"}
	fmt.Fprintln(w, "Use it from:")
	for _, c := range applications() {
		switch {
		case c.name == "claude-desktop", c.name == "vscode" && s.needsToken():
			fmt.Fprintf(w, "  %-14s sluice client %s --for %s --install\n", c.title, t.Slug, c.name)
		case c.name == "claude-code", c.name == "cursor", c.name == "vscode":
			fmt.Fprintf(w, "  %-14s %s\n", c.title, c.snippet(s))
		}
	}
	line := curlLine(t.URL, "tools/list", nil)
	if t.Test != nil && t.Test.Passed {
		arguments := t.Test.Arguments
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		line = curlLine(t.URL, "tools/call", ordered{{"name", t.Test.Tool}, {"arguments", arguments}})
	}
	fmt.Fprintf(w, "  %-14s %s\n", "curl", s.shell(line, ` -H "Authorization: Bearer $SLUICE_ACCESS_TOKEN"`))
}

// errFileTooLarge is returned for a configuration file that is no configuration.
var errFileTooLarge = errors.New("it is too large for a configuration file")
