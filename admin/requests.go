package admin

import (
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/registry"
)

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

// DeployRequest deploys the draft as it is.
type DeployRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Needed when this digest has no passed test; recorded in the audit log."`
}
