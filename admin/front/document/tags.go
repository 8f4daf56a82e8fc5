package document

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// tags group the operations by the first or, below a toolset, the third part of their
// paths.
var tags = []struct {
	name, about string
	parts       []string
}{
	{"Toolsets", "Toolsets: create, read, change and delete them; their drafts and labels.", []string{"toolsets", "toolsets/drafts", "toolsets/labels", "export", "import"}},
	{"Tools", "Tools of a toolset: names, descriptions, arguments, answers, and how clients find them.", []string{"toolsets/tools", "toolsets/added-tools", "toolsets/items", "toolsets/suggestions", "toolsets/learned", "toolsets/selection", "toolsets/search", "toolsets/workflows", "toolsets/scripts"}},
	{"Releases", "Test, preview, deploy and roll back.", []string{"toolsets/test", "toolsets/preview", "toolsets/deploy", "toolsets/rollback", "toolsets/rollouts", "toolsets/revisions", "revisions", "releases"}},
	{"Sources", "Specifications and MCP servers that change: refresh, schedule, accept.", []string{"toolsets/refresh", "toolsets/schedule", "toolsets/changes", "mcp"}},
	{"Authentication", "Credentials for upstreams, logins, and where they may be sent.", []string{"toolsets/authentication", "toolsets/origins"}},
	{"Access", "Who may open a toolset URL, and pauses.", []string{"toolsets/access", "toolsets/access-tokens", "toolsets/pause", "toolsets/resume", "grants"}},
	{"Domains", "Host names of toolsets and workspaces, and their certificates.", []string{"toolsets/domains", "domains"}},
	{"Connectors", "Connectors, the catalog, and requests for new ones.", []string{"toolsets/connectors", "toolsets/catalog-update", "connectors", "catalog", "connector-requests"}},
	{"Plugins", "Third-party plugins and the keys of their publishers.", []string{"toolsets/plugins", "plugins", "publisher-keys"}},
	{"Usage", "Figures and the call log.", []string{"usage", "calls", "toolsets/capture"}},
	{"Alerts", "What is wrong, and who is notified of it.", []string{"alerts", "alert-rules", "channels", "deliveries"}},
	{"People", "Members, their roles, tokens and sessions.", []string{"members", "tokens", "me", "session", "sessions", "passkeys", "login-link", "sign-in", "openid-connect", "workspaces"}},
	{"Operation", "Control planes, edges, keys, jobs, changes, the audit log and the registry.", []string{"control-planes", "edges", "keys", "jobs", "changes", "audit", "registry"}},
}

// tagOperations puts each operation into its group.
func tagOperations(api *huma.OpenAPI) {
	byPart := map[string]string{}
	for _, t := range tags {
		api.Tags = append(api.Tags, &huma.Tag{Name: t.name, Description: t.about})
		for _, part := range t.parts {
			byPart[part] = t.name
		}
	}
	for path, item := range api.Paths {
		parts := strings.Split(strings.TrimPrefix(path, "/v1/"), "/")
		part := parts[0]
		if part == "toolsets" && len(parts) > 2 {
			part += "/" + parts[2]
		}
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil && byPart[part] != "" {
				op.Tags = []string{byPart[part]}
			}
		}
	}
}
