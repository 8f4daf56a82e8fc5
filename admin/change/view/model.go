package view

import (
	"encoding/json"
	"time"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/registry"
)

// Toolset is a toolset as the API shows it. The CLI prints the same object.
type Toolset struct {
	ID           string              `json:"id" doc:"Stable identifier." example:"ts_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Slug         string              `json:"slug" doc:"Last part of the toolset URL." example:"petstore"`
	Name         string              `json:"name"`
	Description  string              `json:"description,omitempty"`
	Instructions string              `json:"instructions,omitempty" doc:"Text for the model, sent at initialize."`
	Status       string              `json:"status" enum:"draft,live" doc:"draft: nothing is live yet; live: the URL answers."`
	URL          string              `json:"url" doc:"The toolset URL, for the MCP configuration of an AI application."`
	Source       Source              `json:"source"`
	Upstream     *UpstreamState      `json:"upstream,omitempty" doc:"Last known state of the MCP server; absent for another source."`
	Connector    ConnectorRef        `json:"connector"`
	BaseURL      string              `json:"baseUrl" doc:"Where calls are sent: what was set, or the specification's first server."`
	Servers      []toolset.APIServer `json:"servers" doc:"Servers of the specification."`

	Connectors []ToolsetConnector `json:"connectors" doc:"All connectors, in their order. source, upstream, connector, baseUrl, servers and the authentication beside it are those of the first."`

	Profile        string                     `json:"profile" enum:"off,lossless,concise"`
	Cache          *CachePolicy               `json:"cache,omitempty" doc:"Absent: answers are not cached."`
	Answers        *toolset.Answers           `json:"answers,omitempty" doc:"Settings of answers; absent: the profile alone."`
	UseCase        string                     `json:"useCase,omitempty" doc:"What the toolset is for, in words; the selection use-case chooses tools by it."`
	Batch          bool                       `json:"batch,omitempty" doc:"Clients list a tool that makes many calls at once."`
	Destructive    bool                       `json:"scriptsMayDestroy,omitempty" doc:"With the selection code or batch: scripts and batches may call tools that may destroy data."`
	ScriptLimits   *registry.ScriptLimits     `json:"scriptLimits,omitempty" doc:"What each script may use. Absent: the defaults."`
	Learn          bool                       `json:"learn,omitempty" doc:"Searches that a successful call follows become examples of its tool."`
	Selection      string                     `json:"selection" enum:"all,use-case,search,code" doc:"Which tools clients list."`
	Access         Access                     `json:"access"`
	Paused         *access.Paused             `json:"paused,omitempty" doc:"Every caller is refused; absent: it serves."`
	ToolCount      int                        `json:"toolCount" doc:"Tools of all connectors."`
	EnabledTools   int                        `json:"enabledTools" doc:"Tools that agents see."`
	Methods        []credential.AuthMethod    `json:"authenticationMethods" doc:"Detected in the specification's security schemes."`
	Authentication *credential.Authentication `json:"authentication,omitempty" doc:"What is configured; absent: nothing."`
	Digest         string                     `json:"digest" doc:"Digest of the current draft."`
	LiveDigest     string                     `json:"liveDigest,omitempty" doc:"Digest of the live revision."`
	Revision       uint64                     `json:"revision" doc:"Live revision, 0: none."`
	Changed        bool                       `json:"changed" doc:"The draft differs from the live revision."`
	Test           *rollout.TestRun           `json:"test,omitempty" doc:"Last test of the current draft."`
	CreatedAt      time.Time                  `json:"createdAt"`
	UpdatedAt      time.Time                  `json:"updatedAt"`
}

// ToolsetDetail is a toolset with what the compiler said about its source.
type ToolsetDetail struct {
	Toolset
	Operations  int                   `json:"operations" doc:"Operations in the specifications."`
	Unsupported []toolset.Unsupported `json:"unsupported" doc:"Operations that are not tools, with the reason."`
	Warnings    []toolset.Diagnostic  `json:"warnings"`
}

// UpstreamState is how an MCP server follows what was pinned of it.
type UpstreamState struct {
	Policy      string     `json:"policy" enum:"pin,warn,follow"`
	Quarantined bool       `json:"quarantined" doc:"It changed its tools, and the change waits to be accepted."`
	Listening   bool       `json:"listening" doc:"It tells this node of changes, which looks at once."`
	CheckedAt   *time.Time `json:"checkedAt,omitempty" doc:"When this node looked last; absent: not since it started."`
	Stateless   bool       `json:"stateless" doc:"The operator's word that it keeps nothing of a caller: all callers share one session."`
	Fault       string     `json:"fault,omitempty" doc:"Why it could not be reached then. Its tools stay listed."`
}

// ToolsetConnector is one connector of a toolset.
type ToolsetConnector struct {
	Name      string              `json:"name" doc:"In the toolset. It never changes, and tools that need a prefix get it."`
	Source    Source              `json:"source"`
	Connector ConnectorRef        `json:"connector"`
	BaseURL   string              `json:"baseUrl"`
	Servers   []toolset.APIServer `json:"servers" doc:"Servers of the specification."`
	Answers   *toolset.Answers    `json:"answers,omitempty" doc:"Settings of its tools' answers; absent: those of the toolset."`

	Fixed          map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments of its tools that the model does not see."`
	ToolCount      int                        `json:"toolCount"`
	Methods        []credential.AuthMethod    `json:"authenticationMethods"`
	Authentication *credential.Authentication `json:"authentication,omitempty" doc:"What is configured; absent: nothing."`
	Upstream       *UpstreamState             `json:"upstream,omitempty" doc:"Last known state of the MCP server; absent for another source."`
	Entry          *catalog.Followed          `json:"entry,omitempty" doc:"The entry of the catalog that it was made of; absent: of none."`
}

// ToolsetConnectorDetail is a connector with what the compiler said about its source.
type ToolsetConnectorDetail struct {
	ToolsetConnector
	Operations  int                   `json:"operations" doc:"Operations in the specification."`
	Unsupported []toolset.Unsupported `json:"unsupported" doc:"Operations that are not tools, with the reason."`
	Warnings    []toolset.Diagnostic  `json:"warnings"`
}

// Source is where a connector of a toolset comes from.
type Source struct {
	Kind       string `json:"kind" enum:"openapi,mcp"`
	URL        string `json:"url,omitempty" doc:"Absent: a document was uploaded."`
	Title      string `json:"title" doc:"info.title"`
	Version    string `json:"version" doc:"info.version"`
	SpecDigest string `json:"specDigest"`
	Format     string `json:"format" enum:"json,yaml,mcp"`
	Spec       string `json:"specVersion" doc:"Version of the specification format, or revision of MCP that is spoken." example:"3.1.0"`
	SizeBytes  int64  `json:"sizeBytes"`
}

// ConnectorRef names one version of a connector.
type ConnectorRef struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Tag        string `json:"tag"`
	Digest     string `json:"digest" doc:"Digest of the WebAssembly module."`
	Repository string `json:"repository"`
	Manifest   string `json:"manifest" doc:"Digest of the OCI manifest."`
}

// CachePolicy keeps answers of safe methods.
type CachePolicy struct {
	TTLSeconds int `json:"ttlSeconds" minimum:"1" maximum:"86400"`
}

// Access says who may open the toolset URL.
type Access struct {
	Public bool   `json:"public,omitempty" doc:"Mode none where others than this machine reach the gateway: whoever does may call the tools."`
	Mode   string `json:"mode" enum:"none,token,jwt" doc:"none: everybody who reaches it; token: access tokens; jwt: tokens of an authorization server."`
}

// Connector is a connector as the API shows it.
type Connector struct {
	Name      string       `json:"name"`
	Title     string       `json:"title"`
	Kind      string       `json:"kind" enum:"custom"`
	Source    string       `json:"source" enum:"openapi,mcp"`
	Latest    ConnectorRef `json:"latest"`
	Tools     int          `json:"tools" doc:"Tools of the latest version."`
	CreatedAt time.Time    `json:"createdAt"`
	UpdatedAt time.Time    `json:"updatedAt"`
}

// ConnectorDetail is a connector with the report of its latest version.
type ConnectorDetail struct {
	Connector
	Report draft.Report `json:"report"`
}

// Published is a revision of one of several toolsets.
type Published struct {
	ToolsetID string `json:"toolsetId"`
	Slug      string `json:"slug" doc:"Last part of its toolset URL." example:"petstore"`
	Revision
}

// Revision is one published state of a toolset.
type Revision struct {
	N         uint64    `json:"n"`
	Digest    string    `json:"digest"`
	Live      bool      `json:"live"`
	State     string    `json:"state" enum:"published,superseded,rolled_back,archived"`
	Restores  uint64    `json:"restores,omitempty" doc:"Revision that this rollback brought back."`
	Author    string    `json:"author" doc:"Id of the actor that deployed it."`
	By        string    `json:"authorName,omitempty" doc:"What they are called now: the e-mail address of a member, the name of an API token. Absent once they are gone." example:"ada@example.com"`
	Reason    string    `json:"reason,omitempty" doc:"Why it was deployed without a test."`
	TestRunID string    `json:"testRunId,omitempty"`
	At        time.Time `json:"at"`
}
