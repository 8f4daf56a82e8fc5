package change

import (
	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/access"
)

// CreateToolset asks for a toolset. The same slug with the same source refreshes
// that toolset and keeps its edits; with another source it is a conflict.
type CreateToolset struct {
	Name         string               `json:"name,omitempty" maxLength:"200" doc:"Default: the title of the specification or the server."`
	Slug         string               `json:"slug,omitempty" maxLength:"63" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" doc:"Default: made of the name."`
	Description  string               `json:"description,omitempty" maxLength:"16384"`
	Instructions string               `json:"instructions,omitempty" maxLength:"32768"`
	Source       CreateSource         `json:"source"`
	BaseURL      string               `json:"baseUrl,omitempty" maxLength:"2048" doc:"Default: the specification's first server, or the MCP server."`
	Tools        []string             `json:"tools,omitempty" maxItems:"256" doc:"Names or globs of the tools to enable; a leading ! leaves out. Default: all."`
	Profile      string               `json:"profile,omitempty" enum:"off,lossless,concise" doc:"Default: lossless."`
	Cache        *view.CachePolicy    `json:"cache,omitempty"`
	UseCase      string               `json:"useCase,omitempty" maxLength:"4096" doc:"What the toolset is for."`
	Selection    string               `json:"selection,omitempty" enum:"all,use-case,search,code" doc:"Which tools clients list. Default: all."`
	Auth         *credential.SetAuth  `json:"authentication,omitempty"`
	Login        string               `json:"login,omitempty" maxLength:"64" doc:"A finished login at the MCP server (POST /v1/mcp/logins), whose configuration and tokens the toolset takes over. Of authentication only perUser counts then."`
	Policy       string               `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow" doc:"What happens when the MCP server changes its tools. pin: the change waits until it is accepted; warn: what is added is deployed, everything else waits; follow: it is deployed, unless it has new text that is written for a model. Default: pin."`
	Stateless    bool                 `json:"stateless,omitempty" doc:"The operator declares that the MCP server keeps no state of a caller between calls: all callers of the toolset share one session, unauthenticated ones included. Default: a session for each caller, unless the server has no sessions."`
	Access       string               `json:"access,omitempty" enum:"none,token" doc:"Who may open the URL of a new toolset. none: everybody who reaches it; token: who has the access token that the answer shows once. Default: token where others than this machine reach the gateway, and on a control plane without one; else none."`
	Test         *rollout.TestRequest `json:"test,omitempty" doc:"Which tool to test with. Default: the first safe one."`
	Deploy       *CreateDeploy        `json:"deploy,omitempty"`
}

// CreateSource is exactly one kind of source.
type CreateSource struct {
	OpenAPI *source.OpenAPISource `json:"openapi,omitempty"`
	MCP     *MCPSource            `json:"mcp,omitempty"`
	Catalog *catalog.EntryChoice  `json:"catalog,omitempty"`
}

// MCPSource is an MCP server.
type MCPSource struct {
	URL     string         `json:"url,omitempty" maxLength:"2048" doc:"Its endpoint, Streamable HTTP or SSE; which is found out."`
	Command *local.Command `json:"command,omitempty" doc:"Instead of url: a program that the node starts. For the operator, on a node that permits it (--allow-commands)."`
}

// RefreshRequest reads a toolset's specification again.
type RefreshRequest struct {
	Connector      string               `json:"connector,omitempty" maxLength:"63" doc:"Which one, of a toolset with several."`
	DryRun         bool                 `json:"dryRun,omitempty" doc:"Say what would change, and change nothing."`
	Force          bool                 `json:"force,omitempty" doc:"Read it even when the server reports it as unchanged."`
	Hold           bool                 `json:"hold,omitempty" doc:"As on a schedule: what breaks something waits outside of the draft until it is accepted, and so does everything while the draft has changes that are not live."`
	Accept         bool                 `json:"accept,omitempty" doc:"Take over what an MCP server changed though the policy is pin; breaking changes too."`
	AcceptBreaking bool                 `json:"acceptBreaking,omitempty" doc:"Test and deploy breaking changes too; without it they wait in the draft."`
	Test           *rollout.TestRequest `json:"test,omitempty" doc:"Which tool to test with. Default: the first safe one."`
	Deploy         *CreateDeploy        `json:"deploy,omitempty"`

	approve string // id of the change that is accepted; "": none is
	// follows says that no operator asks but the policy, which takes over every change
	// without having read it.
	follows bool
}

// CreateDeploy says what happens after the creation.
type CreateDeploy struct {
	Skip           bool   `json:"skip,omitempty" doc:"Neither test nor deploy: stay a draft."`
	UntestedReason string `json:"untestedReason,omitempty" maxLength:"500" doc:"Deploy with this recorded reason when nothing can be tested."`
}

// AddConnector asks for another connector in a toolset. The same source again, under
// the same name, refreshes it and keeps its edits.
type AddConnector struct {
	Name      string               `json:"name,omitempty" maxLength:"63" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" doc:"Of the connector in the toolset; tools whose names are taken get it in front. Default: made of the title."`
	Source    CreateSource         `json:"source"`
	BaseURL   string               `json:"baseUrl,omitempty" maxLength:"2048" doc:"Default: the specification's first server, or the MCP server."`
	Tools     []string             `json:"tools,omitempty" maxItems:"256" doc:"Names or globs of its tools to enable; a leading ! leaves out. Default: all."`
	Profile   string               `json:"profile,omitempty" enum:"off,lossless,concise" doc:"Of its tools' answers. Default: the toolset's."`
	Auth      *credential.SetAuth  `json:"authentication,omitempty"`
	Policy    string               `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow" doc:"What happens when the MCP server changes its tools. Default: pin."`
	Test      *rollout.TestRequest `json:"test,omitempty" doc:"Which tool to test with. Default: the first safe one of this connector."`
	Stateless bool                 `json:"stateless,omitempty" doc:"The operator declares that the MCP server keeps no state of a caller between calls: all callers of the toolset share one session, unauthenticated ones included. Default: a session for each caller, unless the server has no sessions."`
	Deploy    *CreateDeploy        `json:"deploy,omitempty"`
}

// CreatedToolset answers the creation of a toolset.
type CreatedToolset struct {
	view.ToolsetDetail
	Created bool                    `json:"created" doc:"false: the toolset was there with the same source and was refreshed."`
	Tools   []toolset.Tool          `json:"tools"`
	Tokens  int                     `json:"definitionTokens" doc:"What a client pays for the list of tools as it gets it, in tokens."`
	Advice  *advice.SelectionAdvice `json:"advice,omitempty" doc:"With more than 40 tools: what each selection would cost."`
	Granted []string                `json:"granted,omitempty" doc:"Private addresses the toolset may now call from this node, because the operator named them on this machine."`
	Changes *difference.Changes     `json:"changes,omitempty" doc:"What a refresh changed; absent: nothing, or the toolset is new."`
	// Token is in no stored job.
	Token *access.CreatedAccessToken `json:"accessToken,omitempty" doc:"What opens the URL of the new toolset, shown once. Absent: everybody may open it, or the toolset was there before, or the creation ended as a job; then make one."`
}

// AddedConnector answers the addition of a connector.
type AddedConnector struct {
	Connector view.ToolsetConnectorDetail `json:"connector"`
	Created   bool                        `json:"created" doc:"false: the toolset had it, and it was refreshed."`
	Tools     []toolset.Tool              `json:"tools" doc:"Of this connector."`
	Renamed   []draft.KeptName            `json:"renamed" doc:"Tools whose generated names other tools of the toolset have."`
	Test      *rollout.TestRun            `json:"test,omitempty"`
	Granted   []string                    `json:"granted,omitempty" doc:"Private addresses the toolset may now call from this node, because the operator named them on this machine."`
	Changes   *difference.Changes         `json:"changes,omitempty" doc:"What a refresh changed."`
	Toolset   view.Toolset                `json:"toolset"`
}

// Refreshed answers a refresh.
type Refreshed struct {
	Changed  bool                `json:"changed" doc:"The specification made another connector."`
	DryRun   bool                `json:"dryRun,omitempty"`
	Deployed bool                `json:"deployed" doc:"The new version was tested and is live now."`
	Waiting  string              `json:"waiting,omitempty" doc:"Why the new version stays a draft."`
	Changes  *difference.Changes `json:"changes,omitempty"`
	Test     *rollout.TestRun    `json:"test,omitempty"`
	Toolset  view.Toolset        `json:"toolset"`
}
