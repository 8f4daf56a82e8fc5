package plugin

import (
	"encoding/json"
	"time"
)

// Plugin is a third-party plugin with its versions.
type Plugin struct {
	Name        string          `json:"name"`
	Kind        string          `json:"kind" enum:"filter,projection,workflow,auth"`
	Description string          `json:"description,omitempty"`
	Latest      string          `json:"latest,omitempty" doc:"Newest release that is not yanked; absent: all are."`
	Versions    []PluginVersion `json:"versions" doc:"Newest first. In a list of plugins: the latest alone."`
}

// PluginVersion is one published version of a plugin. It never changes, but for
// its yanking and what is counted of it.
type PluginVersion struct {
	Name         string              `json:"name"`
	Version      string              `json:"version"`
	Kind         string              `json:"kind" enum:"filter,projection,workflow,auth"`
	Description  string              `json:"description,omitempty"`
	Digest       string              `json:"digest" doc:"Of the WebAssembly module."`
	Repository   string              `json:"repository" doc:"In the OCI registry."`
	Tag          string              `json:"tag"`
	Manifest     string              `json:"manifest" doc:"Digest of the OCI manifest."`
	SizeBytes    int64               `json:"sizeBytes"`
	ABI          string              `json:"abi" example:"extism/1"`
	Effect       string              `json:"effect,omitempty" enum:"subset,replace,text" doc:"What a filter or projection does to answers."`
	Capabilities *PluginCapabilities `json:"capabilities,omitempty" doc:"Absent: it asks for nothing."`
	Asks         *PluginGrants       `json:"asks,omitempty" doc:"What an operator has to grant or refuse when it is bound. Absent: nothing."`
	Limits       PluginLimits        `json:"limits"`
	Config       json.RawMessage     `json:"config,omitempty" doc:"JSON Schema of its configuration; absent: it has none."`
	Tool         *PluginTool         `json:"tool,omitempty" doc:"The tool that a workflow offers."`
	Signature    PluginSignature     `json:"signature"`
	Measured     PluginMeasured      `json:"measured" doc:"By its golden cases, when it was published or tested last."`
	Live         PluginLive          `json:"live" doc:"What its calls did on all nodes."`
	Status       string              `json:"status" enum:"published,yanked"`
	YankedAt     time.Time           `json:"yankedAt,omitzero"`
	YankReason   string              `json:"yankReason,omitempty"`
	PublishedBy  string              `json:"publishedBy" doc:"API token that published it."`
	PublishedAt  time.Time           `json:"publishedAt"`
	UsedBy       []string            `json:"usedBy,omitempty" doc:"Slugs of the toolsets that bind it. Only where one version is read."`
}

// PluginCapabilities is what a plugin asks for beyond its input and output.
type PluginCapabilities struct {
	Clock  bool     `json:"clock,omitempty"`
	Random bool     `json:"random,omitempty"`
	Hosts  []string `json:"hosts,omitempty"`
	// Tools is of workflows.
	Tools []string `json:"tools,omitempty" doc:"Tools that it calls, by its own names."`
	// Signing is of auth plugins.
	Signing *PluginSigning `json:"signing,omitempty" doc:"It signs requests with the toolset's credentials, which it never sees."`
}

// PluginTool is the tool that a workflow offers.
type PluginTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	Annotations  Annotations     `json:"annotations"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// Annotations are MCP's tool annotations.
type Annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// PluginSigning is how an auth plugin signs.
type PluginSigning struct {
	Algorithm   string `json:"algorithm"`
	Derivations int    `json:"derivations" doc:"Keys derived from the credential before it signs."`
}

// PluginLimits are what a plugin runs within.
type PluginLimits struct {
	MemoryBytes int `json:"memoryBytes"`
	DeadlineMs  int `json:"deadlineMs"`
	Calls       int `json:"calls,omitempty" doc:"Of a workflow: calls of tools in one call of it."`
}

// PluginSignature says who published a version.
type PluginSignature struct {
	KeyID     string `json:"keyId"`
	Publisher string `json:"publisher" doc:"Name of the key."`
	Revoked   bool   `json:"revoked,omitempty" doc:"The key was revoked since."`
}

// PluginMeasured is what the golden cases measured in the sandbox.
type PluginMeasured struct {
	Cases        []PluginCaseResult `json:"cases"`
	TokensBefore int                `json:"tokensBefore" doc:"o200k_base tokens of all inputs, minified."`
	TokensAfter  int                `json:"tokensAfter" doc:"And of all outputs."`
	P50Us        float64            `json:"p50us" doc:"Median of a call, microseconds."`
	Metered      bool               `json:"metered" doc:"false: it runs interrupted, slower in loops."`
	At           time.Time          `json:"at"`
}

// PluginCaseResult is one golden case.
type PluginCaseResult struct {
	Name         string  `json:"name"`
	OK           bool    `json:"ok"`
	TokensBefore int     `json:"tokensBefore"`
	TokensAfter  int     `json:"tokensAfter"`
	Us           float64 `json:"us" doc:"Microseconds of a warm call."`
	Diff         string  `json:"diff,omitempty" doc:"What differs from the case, for people."`
}

// PluginLive counts the calls of a version.
type PluginLive struct {
	Calls     uint64  `json:"calls"`
	Errors    uint64  `json:"errors" doc:"The plugin said so, or its output could not be used."`
	Traps     uint64  `json:"traps"`
	Deadlines uint64  `json:"deadlines"`
	Unbound   uint64  `json:"unbound" doc:"Times it was taken out of calls by itself."`
	MeanUs    float64 `json:"meanUs"`
	BytesIn   uint64  `json:"bytesIn"`
	BytesOut  uint64  `json:"bytesOut"`
}

// PublishPlugin publishes a version: an uploaded module, or one that was pushed to
// the registry.
type PublishPlugin struct {
	Module    []byte       `json:"module,omitempty" doc:"The WebAssembly module, base64."`
	OCI       string       `json:"oci,omitempty" maxLength:"512" doc:"Instead of module: NAME:TAG or NAME@DIGEST of an artifact in <workspace>/plugins/NAME, or HOST/REPOSITORY:TAG (or @DIGEST) of a registry that the operator lets plugins come from." example:"mask:1.0.0"`
	Signature []byte       `json:"signature,omitempty" doc:"DSSE envelope that sluice plugin sign wrote, base64. Absent: what cosign stored beside the pushed artifact."`
	Cases     []PluginCase `json:"cases,omitempty" maxItems:"1000" doc:"Golden cases; at least one. They are run in the sandbox and kept."`
}

// PluginCase is one golden case: what testdata/NAME.json holds.
type PluginCase struct {
	Name string          `json:"name" minLength:"1" maxLength:"128"`
	Case json.RawMessage `json:"case" doc:"See docs/plugins/testing.md."`
}

// YankRequest takes a version out of what toolsets can newly bind.
type YankRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"For whoever uses it; needed unless undo."`
	Undo   bool   `json:"undo,omitempty" doc:"Put it back."`
}

// PublisherKey is a public key that signs plugins of the workspace.
type PublisherKey struct {
	ID        string    `json:"id" doc:"SHA-256 of the key's DER form."`
	Name      string    `json:"name"`
	Algorithm string    `json:"algorithm" enum:"ed25519,ecdsa-p256"`
	PublicKey string    `json:"publicKey" doc:"PEM."`
	Status    string    `json:"status" enum:"valid,revoked"`
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
	RevokedAt time.Time `json:"revokedAt,omitzero"`
	Reason    string    `json:"reason,omitempty" doc:"Of the revocation."`
}

// NewPublisherKey adds a key.
type NewPublisherKey struct {
	Name      string `json:"name" minLength:"1" maxLength:"200" doc:"Whose it is."`
	PublicKey string `json:"publicKey" minLength:"1" maxLength:"4096" doc:"PEM; ed25519, or ECDSA on P-256 as cosign makes."`
}

// RevokeKey ends a publisher key.
type RevokeKey struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500"`
}

// RevokedKey says what a revocation did.
type RevokedKey struct {
	PublisherKey
	Yanked   int      `json:"yanked" doc:"Versions it had signed."`
	Toolsets []string `json:"toolsets" doc:"Slugs of the toolsets that bind one of them. What is live stays live until it is deployed again."`
}

// PluginUnbinding says when a binding is taken out of calls by itself.
type PluginUnbinding struct {
	ErrorPercent int `json:"errorPercent,omitempty" minimum:"0" maximum:"100" doc:"More failed calls of the last 20 than this. Default: 50; 100: never."`
	MeanMs       int `json:"meanMs,omitempty" minimum:"0" maximum:"60000" doc:"Longer mean of the last 20 calls than this. Default: half of the plugin's deadline."`
}
