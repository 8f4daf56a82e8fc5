package clientcmd

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
)

// clientConfig is how one AI application is told of a toolset.
type clientConfig struct {
	name  string // value of --for
	title string
	// snippet is what to run or paste; note is what to know about it.
	snippet func(endpoint) string
	note    string
	// file is the application's configuration file and entry what it gets there;
	// nil: there is nothing to install.
	file  func(config.Environment) string
	entry func(endpoint) (path []string, value ordered)
}

// endpoint is a toolset as a client's configuration names it.
type endpoint struct {
	name, url  string
	executable string // of this program, for clients that start one
}

func (s endpoint) remote() ordered { return ordered{{"type", "http"}, {"url", s.url}} }

func (s endpoint) bridge() ordered {
	return ordered{{"command", s.executable}, {"args", []string{"connect", s.url}}}
}

// underRoot is a document with one server in it, as people paste it.
func underRoot(path []string, value ordered) string {
	for _, name := range slices.Backward(path) {
		value = ordered{{name, value}}
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact(value), "", "  "); err != nil {
		panic("BUG: " + err.Error()) // it was written a moment ago
	}
	return out.String()
}

// compact writes strings, numbers and objects of them as JSON.
func compact(value ordered) []byte {
	b, err := terminal.EncodeJSON(value)
	if err != nil {
		panic("BUG: " + err.Error()) // these always marshal
	}
	return b
}

// clientConfigs are the known applications, in the order they are listed. The
// forms are those of the applications' own documentation; see docs/clients.md.
func clientConfigs() []clientConfig {
	list := []clientConfig{
		{
			name: "claude-code", title: "Claude Code",
			snippet: func(s endpoint) string {
				return "claude mcp add --transport http " + terminal.ShellWord(s.name) + " " + terminal.ShellWord(s.url)
			},
			file:  func(config.Environment) string { return ".mcp.json" },
			entry: func(s endpoint) ([]string, ordered) { return []string{"mcpServers", s.name}, s.remote() },
		},
		{
			name: "claude-desktop", title: "Claude Desktop", note: "the application starts this program, which bridges to the toolset URL",
			file:  claudeDesktopFile,
			entry: func(s endpoint) ([]string, ordered) { return []string{"mcpServers", s.name}, s.bridge() },
		},
		{
			name: "cursor", title: "Cursor",
			snippet: func(s endpoint) string { return cursorLink(s) },
			file:    func(e config.Environment) string { return filepath.Join(e.Home, ".cursor", "mcp.json") },
			entry:   func(s endpoint) ([]string, ordered) { return []string{"mcpServers", s.name}, ordered{{"url", s.url}} },
		},
		{
			name: "vscode", title: "VS Code",
			snippet: func(s endpoint) string {
				return "code --add-mcp " + terminal.ShellWord(string(compact(ordered{{"name", s.name}, {"type", "http"}, {"url", s.url}})))
			},
			file:  func(config.Environment) string { return filepath.Join(".vscode", "mcp.json") },
			entry: func(s endpoint) ([]string, ordered) { return []string{"servers", s.name}, s.remote() },
		},
		{
			name: "codex", title: "Codex",
			snippet: func(s endpoint) string {
				return "codex mcp add " + terminal.ShellWord(s.name) + " --url " + terminal.ShellWord(s.url)
			},
			file:  func(e config.Environment) string { return filepath.Join(e.Home, ".codex", "config.toml") },
			entry: func(s endpoint) ([]string, ordered) { return []string{"mcp_servers", s.name}, ordered{{"url", s.url}} },
		},
		{
			name: "gemini", title: "Gemini CLI",
			snippet: func(s endpoint) string {
				return "gemini mcp add --transport http " + terminal.ShellWord(s.name) + " " + terminal.ShellWord(s.url)
			},
			file: func(e config.Environment) string { return filepath.Join(e.Home, ".gemini", "settings.json") },
			entry: func(s endpoint) ([]string, ordered) {
				return []string{"mcpServers", s.name}, ordered{{"httpUrl", s.url}}
			},
		},
		{
			name: "chatgpt", title: "ChatGPT", note: "ChatGPT connects from the vendor's cloud: it needs a public https URL (sluice serve --public-url)",
			snippet: func(s endpoint) string {
				return "Settings > Connectors > Developer mode > Create: " + s.url + "  (authentication: none)"
			},
		},
		{
			name: "opencode", title: "opencode",
			file: func(config.Environment) string { return "opencode.json" },
			entry: func(s endpoint) ([]string, ordered) {
				return []string{"mcp", s.name}, ordered{{"type", "remote"}, {"url", s.url}, {"enabled", true}}
			},
		},
		{name: "curl", title: "curl", snippet: func(s endpoint) string { return curlLine(s.url, "tools/list", nil) }},
	}
	for i := range list {
		c := &list[i]
		if c.snippet == nil {
			c.snippet = func(s endpoint) string { path, value := c.entry(s); return underRoot(path, value) }
		}
	}
	return list
}

func clientNames() []string {
	var names []string
	for _, c := range clientConfigs() {
		names = append(names, c.name)
	}
	return names
}

func claudeDesktopFile(e config.Environment) string {
	const file = "claude_desktop_config.json"
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(e.Home, "Library", "Application Support", "Claude", file)
	case "windows":
		return filepath.Join(e.AppData, "Claude", file)
	default:
		return filepath.Join(e.XDG, "Claude", file)
	}
}

// cursorLink is Cursor's install link: config is base64 of the inner object, then
// URL-encoded. (Encoding the JSON before base64 is a known mistake of generators.)
func cursorLink(s endpoint) string {
	b := compact(ordered{{"url", s.url}})
	return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + url.QueryEscape(s.name) + "&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString(b))
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

// Command is client.
func Command(s *command.Session) *cobra.Command {
	a := clients{s}

	var name string
	var install bool
	cmd := &cobra.Command{
		Use:     "client TOOLSET",
		Short:   "Print or install the configuration of an AI application",
		Long:    "Print how an AI application is pointed at a toolset, or write it into the\napplication's configuration file: the change is shown first, and the old file is\nkept beside it as .bak.",
		Example: "  sluice client petstore\n  sluice client petstore --for claude-code\n  sluice client petstore --for cursor --install",
		Args:    command.Exactly(1, "one toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.clientEndpoint(cmd, args[0])
			if err != nil {
				return err
			}
			if name == "" {
				if install {
					return exit.Usagef("--install needs --for: %s", strings.Join(clientNames(), ", "))
				}
				return a.printClients(s)
			}
			for _, c := range clientConfigs() {
				if c.name != name {
					continue
				}
				if install {
					return a.install(c, s)
				}
				if c.note != "" {
					a.Say("%s", c.note)
				}
				return a.WriteResult([]byte(c.snippet(s) + "\n"))
			}
			return exit.Usagef("--for %s is not known; there are: %s", terminal.Printable(name), strings.Join(clientNames(), ", "))
		},
	}
	cmd.Flags().StringVar(&name, "for", "", "application: "+strings.Join(clientNames(), ", "))
	cmd.Flags().BoolVar(&install, "install", false, "write the application's configuration file")
	command.MustComplete(cmd, "for", clientNames())
	return cmd
}

// clientEndpoint resolves a toolset for the configuration of clients.
func (a clients) clientEndpoint(cmd *cobra.Command, toolset string) (endpoint, error) {
	exe, err := executable()
	if err != nil {
		return endpoint{}, err
	}
	if command.IsURL(toolset) {
		u, err := url.Parse(toolset)
		if err != nil || u.Host == "" {
			return endpoint{}, problem.New(problem.InvalidArgument, "%q is not a URL", safehttp.Redact(toolset))
		}
		return endpoint{name: filepath.Base(u.Path), url: toolset, executable: exe}, nil
	}
	t, _, err := a.Client().Toolset(cmd.Context(), toolset)
	if err != nil {
		return endpoint{}, err
	}
	if t.Revision == 0 {
		a.Say("! %s is a draft: its URL answers after sluice toolset test %s", t.Slug, t.Slug)
	}
	return endpoint{name: t.Slug, url: t.URL, executable: exe}, nil
}

func (a clients) printClients(s endpoint) error {
	type printed struct {
		Client string `json:"client"`
		Config string `json:"config"`
		File   string `json:"file,omitempty"`
	}
	var out []printed
	for _, c := range clientConfigs() {
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
	for i, c := range clientConfigs() {
		fmt.Fprintf(&b, "%s\n", c.title)
		for line := range strings.Lines(out[i].Config) {
			b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	return a.WriteResult([]byte(b.String()))
}

// UseFrom writes how the common applications are pointed at a new toolset, and a request
// to paste into a shell.
func UseFrom(w io.Writer, t *admin.CreatedToolset) {
	exe, err := executable()
	if err != nil {
		exe = "sluice"
	}
	s := endpoint{name: t.Slug, url: t.URL, executable: exe}
	fmt.Fprintln(w, "Use it from:")
	for _, c := range clientConfigs() {
		switch c.name {
		case "claude-code", "cursor", "vscode":
			fmt.Fprintf(w, "  %-14s %s\n", c.title, c.snippet(s))
		case "claude-desktop":
			fmt.Fprintf(w, "  %-14s sluice client %s --for claude-desktop --install\n", c.title, t.Slug)
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
	if t.Token != nil {
		line += ` -H "Authorization: Bearer $SLUICE_ACCESS_TOKEN"`
	}
	fmt.Fprintf(w, "  %-14s %s\n", "curl", line)
}
