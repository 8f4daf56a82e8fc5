package clientconfig

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// Application is how one AI application connects to a toolset.
type Application struct {
	Name  string // value of --for
	Title string
	// Snippet is what to run or paste. nil: what its file gets.
	Snippet func(Endpoint) string
	Note    string // what to know about it
	// Entry is what its configuration file gets; nil: it has none.
	Entry func(Endpoint) Entry
	// Where is its configuration file, in words: on Linux, or wherever it differs least.
	Where string
	// Secret is how the application gets an access token that is not to be in its file.
	Secret SecretForm
	// Login is what starts its login at an authorization server, %s being the toolset; "":
	// it cannot log in.
	Login string
	Cloud bool // it connects from its vendor's cloud
}

// SecretForm is how an application gets an access token.
type SecretForm int

// The forms.
const (
	NoSecret     SecretForm = iota // it sends no headers of its user
	FromVariable                   // of the environment that it is started in
	FromPrompt                     // it asks, and keeps the answer itself
	FromBridge                     // it starts sluice connect, which reads a file
)

// Endpoint is a toolset as an application's configuration names it.
type Endpoint struct {
	Name, URL  string
	Executable string // of this program, for applications that start one
	Token      bool   // the URL asks for an access token
	Login      bool   // it asks for a login at an authorization server
	Variable   string // of the environment, with an access token
	Headers    string // file with the header that sluice connect sends
	Issuer     string // the authorization server of a login
}

// withToken adds a member to an entry when the URL asks for an access token.
func (s Endpoint) withToken(value Object, more ...Member) Object {
	if s.Token {
		return append(value, more...)
	}
	return value
}

// bearer is the header of an access token that the application puts in for reference.
func bearer(reference string) Member {
	return Member{"headers", Object{{"Authorization", "Bearer " + reference}}}
}

func (s Endpoint) remote() Object { return Object{{"type", "http"}, {"url", s.URL}} }

// bridge is an entry that starts sluice connect.
func (s Endpoint) bridge() Object {
	args := []string{"connect", s.URL}
	if s.Token {
		args = append(args, "--header-file", s.Headers)
	}
	return Object{{"command", s.Executable}, {"args", args}}
}

// at is the entry at a path of two names, the second of which is the toolset's.
func (s Endpoint) at(group string, value Object) Entry {
	return Entry{Path: []string{group, s.Name}, Value: value}
}

// Shell is a command line, with an access token in it as given.
func (s Endpoint) Shell(line, token string) string {
	if s.Token {
		line += token
	}
	return line
}

// Applications are the known ones, in the order they are listed. Where their own
// documentation says so is in docs/clients.md.
func Applications() []Application {
	list := []Application{
		{
			Name: "claude-code", Title: "Claude Code", Secret: FromVariable, Login: "claude, then type /mcp",
			Where: ".mcp.json",
			Snippet: func(s Endpoint) string {
				return s.Shell("claude mcp add --transport http "+ShellWord(s.Name)+" "+ShellWord(s.URL),
					" --header 'Authorization: Bearer ${"+s.Variable+"}'")
			},
			Entry: func(s Endpoint) Entry {
				return s.at("mcpServers", s.withToken(s.remote(), bearer("${"+s.Variable+"}")))
			},
		},
		{
			Name: "claude-desktop", Title: "Claude Desktop", Secret: FromBridge,
			Where: "claude_desktop_config.json",
			Note:  "the application starts this program, which bridges to the toolset URL",
			Entry: func(s Endpoint) Entry { return s.at("mcpServers", s.bridge()) },
		},
		{
			Name: "cursor", Title: "Cursor", Secret: FromVariable, Login: "Cursor, which opens a browser",
			Where:   "~/.cursor/mcp.json",
			Snippet: cursorLink,
			Entry:   func(s Endpoint) Entry { return s.at("mcpServers", cursorServer(s)) },
		},
		{
			Name: "vscode", Title: "VS Code", Secret: FromPrompt, Login: "VS Code, which opens a browser",
			Where: ".vscode/mcp.json",
			Snippet: func(s Endpoint) string {
				if s.Token {
					return Document(vscodeEntry(s)) // --add-mcp takes no inputs
				}
				return "code --add-mcp " + ShellWord(string(Compact(append(Object{{"name", s.Name}}, s.remote()...))))
			},
			Entry: vscodeEntry,
		},
		{
			Name: "windsurf", Title: "Windsurf", Secret: FromVariable, Login: "Windsurf, which opens a browser",
			Where: "~/.codeium/windsurf/mcp_config.json",
			Entry: func(s Endpoint) Entry {
				return s.at("mcpServers", s.withToken(Object{{"serverUrl", s.URL}}, bearer("${env:"+s.Variable+"}")))
			},
		},
		{
			Name: "zed", Title: "Zed", Secret: FromBridge, Login: "Zed, which opens a browser",
			Where: "~/.config/zed/settings.json",
			Entry: func(s Endpoint) Entry {
				if s.Token { // headers are sent as they are written
					return s.at("context_servers", s.bridge())
				}
				return s.at("context_servers", Object{{"url", s.URL}})
			},
		},
		{
			Name: "goose", Title: "Goose", Secret: FromVariable, Login: "goose, which opens a browser",
			Where: "~/.config/goose/config.yaml",
			Entry: gooseEntry,
			Snippet: func(s Endpoint) string {
				return "extensions:\n" + YAML(s.Name, gooseEntry(s).Value, "  ")
			},
		},
		{
			Name: "cline", Title: "Cline", Secret: FromBridge, Login: "Cline, which opens a browser",
			Where: "cline_mcp_settings.json",
			Entry: func(s Endpoint) Entry {
				if s.Token {
					return s.at("mcpServers", s.bridge())
				}
				return s.at("mcpServers", Object{{"type", "streamableHttp"}, {"url", s.URL}})
			},
		},
		{
			Name: "codex", Title: "Codex", Secret: FromVariable, Login: "codex mcp login %s",
			Where: "~/.codex/config.toml",
			Snippet: func(s Endpoint) string {
				return s.Shell("codex mcp add "+ShellWord(s.Name)+" --url "+ShellWord(s.URL), " --bearer-token-env-var "+s.Variable)
			},
			Entry: func(s Endpoint) Entry {
				return s.at("mcp_servers", s.withToken(Object{{"url", s.URL}}, Member{"bearer_token_env_var", s.Variable}))
			},
		},
		{
			Name: "gemini", Title: "Gemini CLI", Secret: FromVariable, Login: "gemini, then type /mcp auth %s",
			Where: "~/.gemini/settings.json",
			Snippet: func(s Endpoint) string {
				return s.Shell("gemini mcp add --transport http "+ShellWord(s.Name)+" "+ShellWord(s.URL),
					" --header 'Authorization: Bearer ${"+s.Variable+"}'")
			},
			Entry: func(s Endpoint) Entry {
				return s.at("mcpServers", s.withToken(Object{{"httpUrl", s.URL}}, bearer("${"+s.Variable+"}")))
			},
		},
		{
			Name: "opencode", Title: "opencode", Secret: FromVariable, Login: "opencode mcp auth %s",
			Where: "opencode.json",
			Entry: func(s Endpoint) Entry {
				return s.at("mcp", s.withToken(Object{{"type", "remote"}, {"url", s.URL}, {"enabled", true}},
					Member{"oauth", false}, bearer("{env:"+s.Variable+"}")))
			},
		},
		{
			Name: "chatgpt", Title: "ChatGPT", Cloud: true, Login: "ChatGPT, when the app is connected",
			Snippet: func(s Endpoint) string {
				authentication := "no authentication"
				if s.Login || s.Token {
					authentication = "OAuth"
				}
				return "Settings > Apps & Connectors > Advanced settings > Developer mode, then Create: " + s.URL + "  (" + authentication + ")"
			},
		},
		{
			Name: "curl", Title: "curl", Secret: FromVariable,
			Snippet: func(s Endpoint) string {
				return s.Shell(CurlLine(s.URL, "tools/list", nil), ` -H "Authorization: Bearer $`+s.Variable+`"`)
			},
		},
	}
	for i := range list {
		c := &list[i]
		if c.Snippet == nil {
			c.Snippet = func(s Endpoint) string { return Document(c.Entry(s)) }
		}
	}
	return list
}

func cursorServer(s Endpoint) Object {
	return s.withToken(Object{{"url", s.URL}}, bearer("${env:"+s.Variable+"}"))
}

// cursorLink is Cursor's install link: config is base64 of the inner object, then
// URL-encoded. (Encoding the JSON before base64 is a known mistake of generators.)
func cursorLink(s Endpoint) string {
	return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + url.QueryEscape(s.Name) +
		"&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString(Compact(cursorServer(s))))
}

// vscodeEntry asks for an access token by an input, which VS Code keeps encrypted.
func vscodeEntry(s Endpoint) Entry {
	id := "sluice-" + s.Name
	e := s.at("servers", s.withToken(s.remote(), bearer("${input:"+id+"}")))
	if s.Token {
		e.Input = Object{{"id", id}, {"type", "promptString"}, {"description", "Access token of " + s.Name}, {"password", true}}
	}
	return e
}

// gooseEntry names the variable in env_keys too: Goose replaces no others in headers.
func gooseEntry(s Endpoint) Entry {
	return s.at("extensions", s.withToken(Object{{"type", "streamable_http"}, {"name", s.Name}, {"enabled", true}, {"uri", s.URL}},
		Member{"env_keys", []string{s.Variable}}, bearer("${"+s.Variable+"}")))
}

// VariableOf is the environment variable that has the access token of a toolset.
func VariableOf(toolset string) string {
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
