package declare

import (
	"encoding/json"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/registry"
)

// DeclarationFormat is the version of the document that export writes and import reads.
const DeclarationFormat = 1

// Declaration is a workspace as a document: what its toolsets are, without what
// happened to them. The same toolsets give the same bytes on every server.
type Declaration struct {
	FormatVersion int                      `json:"formatVersion" minimum:"1" maximum:"1"`
	PublisherKeys []plugin.NewPublisherKey `json:"publisherKeys,omitempty" maxItems:"200" doc:"Whose plugins are accepted. Import adds keys and never revokes one."`
	AlertRules    []alert.DeclaredRule     `json:"alertRules,omitzero" maxItems:"10000" doc:"Own rules over usage and what was set of presets. Absent: they stay as they are."`
	Channels      []notify.DeclaredChannel `json:"channels,omitzero" maxItems:"50" doc:"Ways to tell people and programs. Absent: they stay as they are. Changes need the role admin."`
	Toolsets      []DeclaredToolset        `json:"toolsets" maxItems:"2000" doc:"By slug."`
}

// DeclaredToolset is one toolset.
type DeclaredToolset struct {
	Slug           string                 `json:"slug" minLength:"1" maxLength:"63" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"`
	Name           string                 `json:"name" minLength:"1" maxLength:"200"`
	Description    string                 `json:"description,omitempty" maxLength:"16384"`
	Instructions   string                 `json:"instructions,omitempty" maxLength:"32768"`
	Live           bool                   `json:"live" doc:"true: this state of the toolset is published; false: it is a draft, and the live revision stays."`
	Source         *DeclaredSource        `json:"source,omitempty" doc:"Absent with connectors."`
	BaseURL        string                 `json:"baseUrl,omitempty" maxLength:"2048"`
	Profile        string                 `json:"profile" enum:"off,lossless,concise"`
	CacheSeconds   int64                  `json:"cacheSeconds,omitempty" minimum:"0" maximum:"86400"`
	UpstreamPolicy string                 `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow"`
	Stateless      bool                   `json:"stateless,omitempty" doc:"The MCP server keeps nothing of a caller between calls: all callers share one session."`
	CatalogEntry   json.RawMessage        `json:"catalogEntry,omitempty" doc:"The entry of the catalog that it was made of and follows, as an export writes it. Absent: it follows none."`
	Answers        *toolset.Answers       `json:"answers,omitempty"`
	Selection      *DeclaredSelection     `json:"selection,omitempty"`
	Tools          []DeclaredTool         `json:"tools,omitempty" maxItems:"20000" doc:"Edits of tools, by path and method."`
	Plugins        []DeclaredPlugin       `json:"plugins,omitempty" maxItems:"64" doc:"In the order they run."`
	Workflows      []registry.Workflow    `json:"workflows,omitempty" maxItems:"64" doc:"Documents and scripts that are tools; calls say which operation each of their steps or calls is. Edits of their tools are among tools, as WORKFLOW /workflows/NAME."`
	Authentication []DeclaredAuth         `json:"authentication,omitempty" maxItems:"16"`
	Access         *access.AccessSettings `json:"access,omitempty" doc:"Absent: everybody who reaches the URL. Access tokens are no part of it."`
	Capture        string                 `json:"capture,omitempty" enum:"errors,all" doc:"What the call log keeps."`
	Labels         map[string]string      `json:"labels,omitempty" doc:"Of the edges it goes to."`
	// Connectors are instead of source, baseUrl, upstreamPolicy, stateless, catalogEntry and authentication.
	Connectors []DeclaredConnector `json:"connectors,omitempty" maxItems:"64" doc:"Instead of source, baseUrl, upstreamPolicy and authentication: several, in their order. Operations then name the connector they are of; without a name it is the first."`
}

// DeclaredSource is what a toolset is made of, with its content: import reads nothing
// from the network.
type DeclaredSource struct {
	Kind     string                 `json:"kind" enum:"openapi,mcp"`
	URL      string                 `json:"url,omitempty" maxLength:"2048" doc:"Where a refresh reads it again. Absent: it was uploaded."`
	FileName string                 `json:"fileName,omitempty" maxLength:"2048" doc:"Name for messages."`
	Digest   string                 `json:"digest,omitempty" maxLength:"80" doc:"Of the content; import checks it when it is there."`
	Document string                 `json:"document,omitempty" doc:"The specification, unchanged; of an MCP server its description of itself and of its tools."`
	Files    map[string]string      `json:"files,omitempty" doc:"Instead of document: a specification in several files, by path or address."`
	Main     string                 `json:"main,omitempty" maxLength:"2048" doc:"The main one of files."`
	Overlays []source.OverlaySource `json:"overlays,omitempty" maxItems:"16"`
	Command  *local.Command         `json:"command,omitempty" doc:"Of an MCP server that is a command of the node. Import needs the operator, and a node that permits commands."`
}

// DeclaredSelection is which tools clients list.
type DeclaredSelection struct {
	Mode     string             `json:"mode" enum:"all,use-case,search,code"`
	UseCase  string             `json:"useCase,omitempty" maxLength:"4096"`
	Tools    []DeclaredChoice   `json:"tools,omitempty" maxItems:"2000" doc:"use-case: the chosen ones, in order. Absent: they are chosen again."`
	Examples []DeclaredExamples `json:"examples,omitempty" maxItems:"20000" doc:"Requests that the operator wrote; learned ones are no part of it."`
	Learn    bool               `json:"learn,omitempty" doc:"search: learn examples from calls."`
	Batch    bool               `json:"batch,omitempty" doc:"Clients list a tool that makes many calls at once."`
	// Destructive is for scripts and batches.
	Destructive bool `json:"scriptsMayDestroy,omitempty" doc:"code, or with batch: scripts and batches may call tools that may destroy data."`
	// Limits are for scripts.
	Limits *registry.ScriptLimits `json:"scriptLimits,omitempty" doc:"What each script may use. Absent: the defaults."`
}

// DeclaredExamples are requests that a tool answers.
type DeclaredExamples struct {
	Operation toolset.Operation `json:"operation"`
	Operator  []string          `json:"operator" maxItems:"100"`
}

// DeclaredChoice is a tool that was chosen for a use case.
type DeclaredChoice struct {
	toolset.Operation
	Score  float32            `json:"score,omitempty"`
	Clause string             `json:"clause,omitempty" doc:"Part of the use case it serves."`
	For    *toolset.Operation `json:"for,omitempty" doc:"Tool that needs what this one gives."`
	Gives  string             `json:"gives,omitempty" doc:"Parameter of that tool."`
}

// DeclaredTool edits one tool. Absent: as generated.
type DeclaredTool struct {
	toolset.Operation
	Name        *string          `json:"name,omitempty" maxLength:"64"`
	Title       *string          `json:"title,omitempty" maxLength:"200"`
	Description *string          `json:"description,omitempty" maxLength:"16384"`
	Disabled    bool             `json:"disabled,omitempty"`
	Answers     *toolset.Answers `json:"answers,omitempty"`

	Annotations *registry.AnnotationEdit `json:"annotations,omitempty" doc:"Description of the tool, instead of the generated one."`

	Fixed map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments that the model does not see."`

	Arguments []string `json:"arguments,omitempty" maxItems:"256" doc:"The arguments that clients list besides the required ones; absent: all."`
	// Texts are descriptions of arguments instead of the generated ones.
	Texts map[string]string `json:"argumentTexts,omitempty" doc:"Descriptions of arguments instead of the generated ones, by name as in arguments; \"\": the argument has none."`
}

// DeclaredPlugin binds one version of a plugin, which must have been published in the
// workspace.
type DeclaredPlugin struct {
	Plugin    string                  `json:"plugin" minLength:"1" maxLength:"63"`
	Range     string                  `json:"range" minLength:"1" maxLength:"64" doc:"Versions it may move to."`
	Version   string                  `json:"version" minLength:"1" maxLength:"64"`
	Digest    string                  `json:"digest" maxLength:"80" doc:"Of its module."`
	Connector string                  `json:"connector,omitempty" maxLength:"63" doc:"Every tool of this connector. Absent: of all."`
	Operation *toolset.Operation      `json:"operation,omitempty" doc:"Absent: every tool."`
	Grants    *plugin.PluginGrants    `json:"grants,omitempty" doc:"Permissions granted, of those it requests; {}: none. Granting more than before needs the role admin."`
	OnError   string                  `json:"onError,omitempty" maxLength:"16"`
	Unbind    *plugin.PluginUnbinding `json:"unbind,omitempty"`
	Config    json.RawMessage         `json:"config,omitempty"`
	// Calls is of a workflow.
	Calls map[string]toolset.Operation `json:"calls,omitempty" doc:"Of a workflow: for each name that it calls, the operation. Default: the tool of that name."`
}

// DeclaredAuth is one credential. Its secret is sealed, given (by a client that opened
// it), or left out: then the one that is stored stays.
type DeclaredAuth struct {
	credential.AuthItem
	Sealed string `json:"sealed,omitempty" maxLength:"200000" doc:"The secret fields as JSON, encrypted with age for the recipient of the export. Import takes no notice of it: the client opens it."`
}

// ImportPlan is what an import changes, or has changed.
type ImportPlan struct {
	DryRun        bool             `json:"dryRun,omitempty" doc:"Nothing was changed."`
	Changes       int              `json:"changes" doc:"Toolsets, rules and channels that are created, updated or deleted, and keys that are added."`
	Toolsets      []PlannedToolset `json:"toolsets" doc:"By slug."`
	AlertRules    []PlannedSetting `json:"alertRules,omitempty" doc:"Where the document has rules: by name."`
	Channels      []PlannedSetting `json:"channels,omitempty" doc:"Where the document has channels: by name."`
	PublisherKeys []string         `json:"publisherKeys,omitempty" doc:"Names of the keys that are added."`
}

// PlannedSetting is what becomes of a rule or a channel.
type PlannedSetting struct {
	Name    string          `json:"name"`
	Toolset string          `json:"toolset,omitempty" doc:"Of a rule: the slug of its toolset."`
	Action  string          `json:"action" enum:"create,update,none,extra,delete" doc:"extra: it is not in the document and stays; delete: the same with prune."`
	Changes []PlannedChange `json:"changes,omitempty"`
	Missing []string        `json:"missing,omitempty" doc:"Secret members of a channel that are neither given nor stored: the channel is not changed."`
}

// PlannedToolset is what becomes of one toolset.
type PlannedToolset struct {
	Slug     string                    `json:"slug"`
	Action   string                    `json:"action" enum:"create,update,none,extra,delete" doc:"extra: it is not in the document and stays; delete: the same with prune."`
	Changes  []PlannedChange           `json:"changes,omitempty"`
	Missing  []string                  `json:"missing,omitempty" doc:"JSON pointers in the toolset of secrets that are neither given nor stored: these credentials are left out, and the toolset is not published."`
	Origins  []credential.OriginChange `json:"origins,omitempty" doc:"New addresses of calls that the stored credential is not for: the toolset is not published until they are confirmed."`
	Warnings []PlannedWarning          `json:"warnings,omitempty" doc:"Bindings that let through what their plugins are to take out."`
	Revision uint64                    `json:"revision,omitempty" doc:"That was published."`
}

// PlannedWarning is something in a toolset of a document that is allowed and that somebody
// should look at.
type PlannedWarning struct {
	Pointer string `json:"pointer" doc:"JSON pointer in the toolset." example:"/plugins/0/onError"`
	Plugin  string `json:"plugin"`
	Detail  string `json:"detail"`
}

// PlannedChange is one difference between what is there and what the document says.
type PlannedChange struct {
	Pointer string `json:"pointer" doc:"JSON pointer in the toolset." example:"/tools/3/description"`
	From    string `json:"from,omitempty" doc:"As JSON, cut; absent: it is not there."`
	To      string `json:"to,omitempty" doc:"As JSON, cut; absent: it goes."`
}
