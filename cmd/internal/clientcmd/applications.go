package clientcmd

import (
	"path/filepath"
	"runtime"

	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/internal/clientconfig"
)

// application is one that this machine may have.
type application struct {
	clientconfig.Application
	file func(config.Environment) string // of its configuration; nil: it has none
}

// files are where the applications read their configuration.
var files = map[string]func(config.Environment) string{
	"claude-code":    here(".mcp.json"),
	"claude-desktop": claudeDesktopFile,
	"cursor":         inHome(".cursor", "mcp.json"),
	"vscode":         here(".vscode", "mcp.json"),
	"windsurf":       inHome(".codeium", "windsurf", "mcp_config.json"),
	"zed":            zedFile,
	"goose":          gooseFile,
	"cline":          clineFile,
	"codex":          codexFile,
	"gemini":         inHome(".gemini", "settings.json"),
	"opencode":       here("opencode.json"),
}

// applications are the known ones, in the order they are listed.
func applications() []application {
	var list []application
	for _, c := range clientconfig.Applications() {
		list = append(list, application{c, files[c.Name]})
	}
	return list
}

func inHome(path ...string) func(config.Environment) string {
	return func(e config.Environment) string { return below(e.Home, path...) }
}

// below is a path below a base directory, or "" when the machine does not say which that
// is: never a path in the current directory.
func below(base string, path ...string) string {
	if base == "" {
		return ""
	}
	return filepath.Join(append([]string{base}, path...)...)
}

func here(path ...string) func(config.Environment) string {
	return func(config.Environment) string { return filepath.Join(path...) }
}

func claudeDesktopFile(e config.Environment) string {
	const file = "claude_desktop_config.json"
	switch runtime.GOOS {
	case "darwin":
		return below(e.Home, "Library", "Application Support", "Claude", file)
	case "windows":
		return below(e.AppData, "Claude", file)
	default:
		return below(e.XDG, "Claude", file)
	}
}

func zedFile(e config.Environment) string {
	switch runtime.GOOS {
	case "darwin":
		return below(e.Home, ".config", "zed", "settings.json")
	case "windows":
		return below(e.AppData, "Zed", "settings.json")
	default:
		return below(e.XDG, "zed", "settings.json")
	}
}

func gooseFile(e config.Environment) string {
	if runtime.GOOS == "windows" {
		return below(e.AppData, "Block", "goose", "config", "config.yaml")
	}
	return below(e.XDG, "goose", "config.yaml")
}

func clineFile(e config.Environment) string {
	if file := e.Getenv("CLINE_MCP_SETTINGS_PATH"); file != "" {
		return file
	}
	return below(e.Home, ".cline", "data", "settings", "cline_mcp_settings.json")
}

func codexFile(e config.Environment) string {
	if home := e.Getenv("CODEX_HOME"); home != "" {
		return filepath.Join(home, "config.toml")
	}
	return below(e.Home, ".codex", "config.toml")
}
