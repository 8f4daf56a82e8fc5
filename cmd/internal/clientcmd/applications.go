package clientcmd

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"runtime"

	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/registry"
)

// application is how one AI application is told of a toolset.
type application struct {
	name  string // value of --for
	title string
	// snippet is what to run or paste. nil: what its file gets.
	snippet func(endpoint) string
	note    string // what to know about it
	// file is the application's configuration file and entry what it gets there; nil:
	// there is nothing to install.
	file  func(config.Environment) string
	entry func(endpoint) entry
	// secret is how the application gets an access token that is not to be in its file.
	secret secretForm
	// login is what starts its login at an authorization server, %s being the toolset; "":
	// it cannot log in.
	login string
	cloud bool // it connects from its vendor's cloud
}

// secretForm is how an application gets an access token.
type secretForm int

const (
	noSecret     secretForm = iota // it sends no headers of its user
	fromVariable                   // of the environment that it is started in
	fromPrompt                     // it asks, and keeps the answer itself
	fromBridge                     // it starts sluice connect, which reads a file
)

// endpoint is a toolset as an application's configuration names it.
type endpoint struct {
	name, url  string
	executable string // of this program, for applications that start one
	mode       string // how the URL is opened
	variable   string // of the environment, with an access token
	headers    string // file with the header that sluice connect sends
	issuer     string // mode jwt: the authorization server
}

func (s endpoint) needsToken() bool { return s.mode == registry.AccessToken }

// withToken adds a member to an entry when the URL asks for an access token.
func (s endpoint) withToken(value ordered, more ...member) ordered {
	if s.needsToken() {
		return append(value, more...)
	}
	return value
}

// bearer is the header of an access token that the application puts in for reference.
func bearer(reference string) member {
	return member{"headers", ordered{{"Authorization", "Bearer " + reference}}}
}

func (s endpoint) remote() ordered { return ordered{{"type", "http"}, {"url", s.url}} }

// bridge is an entry that starts sluice connect.
func (s endpoint) bridge() ordered {
	args := []string{"connect", s.url}
	if s.needsToken() {
		args = append(args, "--header-file", s.headers)
	}
	return ordered{{"command", s.executable}, {"args", args}}
}

// at is the entry at a path of two names, the second of which is the toolset's.
func (s endpoint) at(group string, value ordered) entry {
	return entry{path: []string{group, s.name}, value: value}
}

// shell is a command line, with an access token in it as given.
func (s endpoint) shell(line, token string) string {
	if s.needsToken() {
		line += token
	}
	return line
}

func inHome(path ...string) func(config.Environment) string {
	return func(e config.Environment) string { return filepath.Join(append([]string{e.Home}, path...)...) }
}

func here(path ...string) func(config.Environment) string {
	return func(config.Environment) string { return filepath.Join(path...) }
}

// applications are the known ones, in the order they are listed. Where their own
// documentation says so is in docs/clients.md.
func applications() []application {
	list := []application{
		{
			name: "claude-code", title: "Claude Code", secret: fromVariable, login: "claude, then type /mcp",
			snippet: func(s endpoint) string {
				return s.shell("claude mcp add --transport http "+terminal.ShellWord(s.name)+" "+terminal.ShellWord(s.url),
					" --header 'Authorization: Bearer ${"+s.variable+"}'")
			},
			file: here(".mcp.json"),
			entry: func(s endpoint) entry {
				return s.at("mcpServers", s.withToken(s.remote(), bearer("${"+s.variable+"}")))
			},
		},
		{
			name: "claude-desktop", title: "Claude Desktop", secret: fromBridge,
			note:  "the application starts this program, which bridges to the toolset URL",
			file:  claudeDesktopFile,
			entry: func(s endpoint) entry { return s.at("mcpServers", s.bridge()) },
		},
		{
			name: "cursor", title: "Cursor", secret: fromVariable, login: "Cursor, which opens a browser",
			snippet: cursorLink,
			file:    inHome(".cursor", "mcp.json"),
			entry:   func(s endpoint) entry { return s.at("mcpServers", cursorServer(s)) },
		},
		{
			name: "vscode", title: "VS Code", secret: fromPrompt, login: "VS Code, which opens a browser",
			snippet: func(s endpoint) string {
				if s.needsToken() {
					return document(vscodeEntry(s)) // --add-mcp takes no inputs
				}
				return "code --add-mcp " + terminal.ShellWord(string(compact(append(ordered{{"name", s.name}}, s.remote()...))))
			},
			file:  here(".vscode", "mcp.json"),
			entry: vscodeEntry,
		},
		{
			name: "windsurf", title: "Windsurf", secret: fromVariable, login: "Windsurf, which opens a browser",
			file: inHome(".codeium", "windsurf", "mcp_config.json"),
			entry: func(s endpoint) entry {
				return s.at("mcpServers", s.withToken(ordered{{"serverUrl", s.url}}, bearer("${env:"+s.variable+"}")))
			},
		},
		{
			name: "zed", title: "Zed", secret: fromBridge, login: "Zed, which opens a browser",
			file: zedFile,
			entry: func(s endpoint) entry {
				if s.needsToken() { // headers are sent as they are written
					return s.at("context_servers", s.bridge())
				}
				return s.at("context_servers", ordered{{"url", s.url}})
			},
		},
		{
			name: "goose", title: "Goose", secret: fromVariable, login: "goose, which opens a browser",
			file:  gooseFile,
			entry: gooseEntry,
			snippet: func(s endpoint) string {
				return "extensions:\n" + yamlMember(s.name, gooseEntry(s).value, "  ")
			},
		},
		{
			name: "cline", title: "Cline", secret: fromBridge, login: "Cline, which opens a browser",
			file: clineFile,
			entry: func(s endpoint) entry {
				if s.needsToken() {
					return s.at("mcpServers", s.bridge())
				}
				return s.at("mcpServers", ordered{{"type", "streamableHttp"}, {"url", s.url}})
			},
		},
		{
			name: "codex", title: "Codex", secret: fromVariable, login: "codex mcp login %s",
			snippet: func(s endpoint) string {
				return s.shell("codex mcp add "+terminal.ShellWord(s.name)+" --url "+terminal.ShellWord(s.url), " --bearer-token-env-var "+s.variable)
			},
			file: codexFile,
			entry: func(s endpoint) entry {
				return s.at("mcp_servers", s.withToken(ordered{{"url", s.url}}, member{"bearer_token_env_var", s.variable}))
			},
		},
		{
			name: "gemini", title: "Gemini CLI", secret: fromVariable, login: "gemini, then type /mcp auth %s",
			snippet: func(s endpoint) string {
				return s.shell("gemini mcp add --transport http "+terminal.ShellWord(s.name)+" "+terminal.ShellWord(s.url),
					" --header 'Authorization: Bearer ${"+s.variable+"}'")
			},
			file: inHome(".gemini", "settings.json"),
			entry: func(s endpoint) entry {
				return s.at("mcpServers", s.withToken(ordered{{"httpUrl", s.url}}, bearer("${"+s.variable+"}")))
			},
		},
		{
			name: "opencode", title: "opencode", secret: fromVariable, login: "opencode mcp auth %s",
			file: here("opencode.json"),
			entry: func(s endpoint) entry {
				return s.at("mcp", s.withToken(ordered{{"type", "remote"}, {"url", s.url}, {"enabled", true}},
					member{"oauth", false}, bearer("{env:"+s.variable+"}")))
			},
		},
		{
			name: "chatgpt", title: "ChatGPT", cloud: true, login: "ChatGPT, when the app is connected",
			snippet: func(s endpoint) string {
				authentication := "no authentication"
				if s.mode == registry.AccessJWT || s.needsToken() {
					authentication = "OAuth"
				}
				return "Settings > Apps & Connectors > Advanced settings > Developer mode, then Create: " + s.url + "  (" + authentication + ")"
			},
		},
		{
			name: "curl", title: "curl", secret: fromVariable,
			snippet: func(s endpoint) string {
				return s.shell(curlLine(s.url, "tools/list", nil), ` -H "Authorization: Bearer $`+s.variable+`"`)
			},
		},
	}
	for i := range list {
		c := &list[i]
		if c.snippet == nil {
			c.snippet = func(s endpoint) string { return document(c.entry(s)) }
		}
	}
	return list
}

func cursorServer(s endpoint) ordered {
	return s.withToken(ordered{{"url", s.url}}, bearer("${env:"+s.variable+"}"))
}

// cursorLink is Cursor's install link: config is base64 of the inner object, then
// URL-encoded. (Encoding the JSON before base64 is a known mistake of generators.)
func cursorLink(s endpoint) string {
	return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + url.QueryEscape(s.name) +
		"&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString(compact(cursorServer(s))))
}

// vscodeEntry asks for an access token by an input, which VS Code keeps encrypted.
func vscodeEntry(s endpoint) entry {
	id := "sluice-" + s.name
	e := s.at("servers", s.withToken(s.remote(), bearer("${input:"+id+"}")))
	if s.needsToken() {
		e.input = ordered{{"id", id}, {"type", "promptString"}, {"description", "Access token of " + s.name}, {"password", true}}
	}
	return e
}

// gooseEntry names the variable in env_keys too: Goose replaces no others in headers.
func gooseEntry(s endpoint) entry {
	return s.at("extensions", s.withToken(ordered{{"type", "streamable_http"}, {"name", s.name}, {"enabled", true}, {"uri", s.url}},
		member{"env_keys", []string{s.variable}}, bearer("${"+s.variable+"}")))
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

func zedFile(e config.Environment) string {
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(e.Home, ".config", "zed", "settings.json")
	case "windows":
		return filepath.Join(e.AppData, "Zed", "settings.json")
	default:
		return filepath.Join(e.XDG, "zed", "settings.json")
	}
}

func gooseFile(e config.Environment) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(e.AppData, "Block", "goose", "config", "config.yaml")
	}
	return filepath.Join(e.XDG, "goose", "config.yaml")
}

func clineFile(e config.Environment) string {
	if file := e.Getenv("CLINE_MCP_SETTINGS_PATH"); file != "" {
		return file
	}
	return filepath.Join(e.Home, ".cline", "data", "settings", "cline_mcp_settings.json")
}

func codexFile(e config.Environment) string {
	if home := e.Getenv("CODEX_HOME"); home != "" {
		return filepath.Join(home, "config.toml")
	}
	return filepath.Join(e.Home, ".codex", "config.toml")
}
