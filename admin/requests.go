package admin

import (
	"encoding/json"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/local"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// CreateToolset asks for a toolset. The same slug with the same source refreshes
// that toolset and keeps its edits; with another source it is a conflict.
type CreateToolset struct {
	Name         string        `json:"name,omitempty" maxLength:"200" doc:"Default: the title of the specification or the server."`
	Slug         string        `json:"slug,omitempty" maxLength:"63" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" doc:"Default: made of the name."`
	Description  string        `json:"description,omitempty" maxLength:"16384"`
	Instructions string        `json:"instructions,omitempty" maxLength:"32768"`
	Source       CreateSource  `json:"source"`
	BaseURL      string        `json:"baseUrl,omitempty" maxLength:"2048" doc:"Default: the specification's first server, or the MCP server."`
	Tools        []string      `json:"tools,omitempty" maxItems:"256" doc:"Names or globs of the tools to enable; a leading ! leaves out. Default: all."`
	Profile      string        `json:"profile,omitempty" enum:"off,lossless,concise" doc:"Default: lossless."`
	Cache        *CachePolicy  `json:"cache,omitempty"`
	UseCase      string        `json:"useCase,omitempty" maxLength:"4096" doc:"What the toolset is for."`
	Selection    string        `json:"selection,omitempty" enum:"all,use-case,search,code" doc:"Which tools clients list. Default: all."`
	Auth         *SetAuth      `json:"authentication,omitempty"`
	Login        string        `json:"login,omitempty" maxLength:"64" doc:"A finished login at the MCP server (POST /v1/mcp/logins), whose configuration and tokens the toolset takes over. Of authentication only perUser counts then."`
	Policy       string        `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow" doc:"What happens when the MCP server changes its tools. pin: the change waits until it is accepted; warn: what is added is deployed, everything else waits; follow: it is deployed, unless it has new text that is written for a model. Default: pin."`
	Stateless    bool          `json:"stateless,omitempty" doc:"The operator's word that the MCP server keeps nothing of a caller between calls: all callers of the toolset share one session, those whom nobody knows, too. Default: a session for each caller, unless the server gives none."`
	Access       string        `json:"access,omitempty" enum:"none,token" doc:"Who may open the URL of a new toolset. none: everybody who reaches it; token: who has the access token that the answer shows once. Default: token where others than this machine reach the gateway, and on a control plane without one; else none."`
	Test         *TestRequest  `json:"test,omitempty" doc:"Which tool to test with. Default: the first safe one."`
	Deploy       *CreateDeploy `json:"deploy,omitempty"`
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
	Connector      string        `json:"connector,omitempty" maxLength:"63" doc:"Which one, of a toolset with several."`
	DryRun         bool          `json:"dryRun,omitempty" doc:"Say what would change, and change nothing."`
	Force          bool          `json:"force,omitempty" doc:"Read it even when the server says that it is as it was."`
	Hold           bool          `json:"hold,omitempty" doc:"As on a schedule: what breaks something waits outside of the draft until it is accepted, and so does everything while the draft has changes that are not live."`
	Accept         bool          `json:"accept,omitempty" doc:"Take over what an MCP server changed though the policy is pin; breaking changes too."`
	AcceptBreaking bool          `json:"acceptBreaking,omitempty" doc:"Test and deploy breaking changes too; without it they wait in the draft."`
	Test           *TestRequest  `json:"test,omitempty" doc:"Which tool to test with. Default: the first safe one."`
	Deploy         *CreateDeploy `json:"deploy,omitempty"`

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

// PatchToolset changes the fields that are there (RFC 7396); null and "" restore
// the default.
type PatchToolset struct {
	Name         *string                `json:"name,omitempty" maxLength:"200"`
	Description  *string                `json:"description,omitempty" maxLength:"16384"`
	Instructions *string                `json:"instructions,omitempty" maxLength:"32768"`
	BaseURL      *string                `json:"baseUrl,omitempty" maxLength:"2048"`
	Profile      *string                `json:"profile,omitempty" enum:"off,lossless,concise"`
	Cache        *PatchedTTL            `json:"cache,omitempty" doc:"ttlSeconds 0 turns the cache off."`
	UseCase      *string                `json:"useCase,omitempty" maxLength:"4096" doc:"What the toolset is for. Setting it chooses tools anew."`
	Selection    *string                `json:"selection,omitempty" enum:"all,use-case,search,code" doc:"Which tools clients list; use-case needs useCase."`
	Batch        *bool                  `json:"batch,omitempty" doc:"Offer the tool batch, which makes many calls at once."`
	Destructive  *bool                  `json:"scriptsMayDestroy,omitempty" doc:"Scripts and batches may call tools that may destroy data. Only with the selection code or batch."`
	ScriptLimits *registry.ScriptLimits `json:"scriptLimits,omitempty" doc:"What each script may use, all of it; {} restores the defaults."`
	Learn        *bool                  `json:"learn,omitempty" doc:"Keep the searches of agents, redacted, that a successful call of a tool they found follows, as examples of that tool. Only with the selection search."`
	Policy       *string                `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow" doc:"What happens when the MCP server changes its tools."`
	Stateless    *bool                  `json:"stateless,omitempty" doc:"The operator's word that the MCP server keeps nothing of a caller between calls: all callers of the toolset share one session, those whom nobody knows, too. Default: a session for each caller, unless the server gives none."`

	Answers *toolset.PatchAnswers `json:"answers,omitempty" doc:"What is made of answers."`
}

// PatchedTTL is a cache policy that can be turned off.
type PatchedTTL struct {
	TTLSeconds int `json:"ttlSeconds" minimum:"0" maximum:"86400"`
}

// PatchTool changes one tool; absent fields stay, "" restores what was generated.
type PatchTool struct {
	Name        *string `json:"name,omitempty" maxLength:"64"`
	Title       *string `json:"title,omitempty" maxLength:"200"`
	Description *string `json:"description,omitempty" maxLength:"16384"`
	Enabled     *bool   `json:"enabled,omitempty"`

	Answers *toolset.PatchAnswers `json:"answers,omitempty" doc:"What is made of its answers."`

	Annotations *registry.AnnotationEdit `json:"annotations,omitempty" doc:"What the tool does, where what was generated is wrong. Absent members stay; {} restores what was generated."`

	Fixed map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments that the model does not see, by the argument's name, over those of the connector; body.member is a member of the argument body. null gives an argument back. No place for secrets."`

	Arguments *[]string `json:"arguments,omitempty" maxItems:"256" doc:"The arguments that clients list besides the required ones, so that definitions cost fewer tokens; body.member is a member of the argument body. What is not listed is not refused. [] lists all."`
}

// BatchUpdate changes many tools at once: all changes or none.
type BatchUpdate struct {
	Updates []ToolUpdate `json:"updates,omitempty" maxItems:"4096"`
	Enable  []string     `json:"enable,omitempty" maxItems:"256" doc:"Names or globs; exactly these are enabled afterwards, before updates are applied."`
}

// ToolUpdate is one change of a batch.
type ToolUpdate struct {
	Tool string `json:"tool" doc:"Name as it is now." minLength:"1" maxLength:"64"`
	PatchTool
}

// SetAuth sets an authentication configuration: one credential, or several as
// the items of a list.
type SetAuth struct {
	AuthItem
	Items []AuthItem `json:"items,omitempty" maxItems:"16" doc:"list: the credentials, each of another type than list and none."`

	adopted *adopted // nil: no login comes with it
}

// AuthItem is one credential. Which fields belong to a type: header: headerName,
// headerPrefix, apiKey; query: parameterName, apiKey; cookie: cookieName, apiKey;
// body: memberName, apiKey;
// bearer: token; basic: username, password; oauth2: grant, clientId, clientSecret,
// authorizationUrl, tokenUrl, scopes, audience; oidc: the same with issuer; mtls:
// certificate, privateKey; none: nothing.
type AuthItem struct {
	AuthType         string         `json:"authType" enum:"header,query,cookie,body,basic,bearer,oauth2,oidc,mtls,list,none"`
	Scheme           string         `json:"scheme,omitempty" maxLength:"256" doc:"Security scheme of the specification that it fulfils. Default: it is sent with every operation that needs authentication; in a list, the scheme that it fits."`
	HeaderName       string         `json:"headerName,omitempty" maxLength:"128"`
	HeaderPrefix     string         `json:"headerPrefix,omitempty" maxLength:"64" doc:"Put directly before the key, with its own space."`
	ParameterName    string         `json:"parameterName,omitempty" maxLength:"128"`
	CookieName       string         `json:"cookieName,omitempty" maxLength:"128"`
	MemberName       string         `json:"memberName,omitempty" maxLength:"128" doc:"Of the JSON object or form that is the body."`
	APIKey           secrets.Secret `json:"apiKey,omitzero" writeOnly:"true"`
	Token            secrets.Secret `json:"token,omitzero" writeOnly:"true"`
	Username         string         `json:"username,omitempty" maxLength:"512"`
	Password         secrets.Secret `json:"password,omitzero" writeOnly:"true"`
	Grant            string         `json:"grant,omitempty" enum:"client_credentials,authorization_code"`
	Issuer           string         `json:"issuer,omitempty" maxLength:"2048" doc:"Its metadata names the endpoints that are not set here."`
	ClientID         string         `json:"clientId,omitempty" maxLength:"512"`
	ClientSecret     secrets.Secret `json:"clientSecret,omitzero" writeOnly:"true"`
	TokenAuth        string         `json:"tokenAuthMethod,omitempty" enum:"client_secret_basic,client_secret_post" doc:"Default: what the server's metadata says, else basic, then post."`
	AuthorizationURL string         `json:"authorizationUrl,omitempty" maxLength:"2048"`
	TokenURL         string         `json:"tokenUrl,omitempty" maxLength:"2048"`
	Scopes           []string       `json:"scopes,omitempty" maxItems:"200"`
	Audience         string         `json:"audience,omitempty" maxLength:"2048"`
	PerUser          bool           `json:"perUser,omitempty" doc:"oauth2, oidc with the grant authorization_code: each caller of the toolset logs in, through a link that their first call is answered with, and calls with their own token. The toolset's access must be token or jwt. A login of the operator is used for tests and for the list of tools."`
	Resource         string         `json:"resource,omitempty" maxLength:"2048" doc:"What tokens are asked for (RFC 8707). Without issuer and tokenUrl, its metadata (RFC 9728) names the authorization server, and without clientId a client is registered there. Default for MCP servers, when nothing else says where to log in: their URL."`
	Certificate      string         `json:"certificate,omitempty" maxLength:"65536" doc:"PEM chain."`
	PrivateKey       secrets.Secret `json:"privateKey,omitzero" writeOnly:"true" doc:"PEM, unencrypted."`
}

// TestRequest names the tool to test. Without one: the first safe operation that
// needs no arguments, else one whose required arguments have examples.
type TestRequest struct {
	Connector string         `json:"connector,omitempty" maxLength:"63" doc:"Test a tool of this connector. Default: of any."`
	Tool      string         `json:"tool,omitempty" maxLength:"64"`
	Arguments map[string]any `json:"arguments,omitempty"`
	KeepDraft bool           `json:"keepDraft,omitempty" doc:"Do not deploy when it passes."`
	Inspect   bool           `json:"inspect,omitempty" doc:"Answer with what was sent and received too, credentials masked."`
}

// DeployRequest deploys the draft as it is.
type DeployRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Needed when this digest has no passed test; recorded in the audit log."`
}
