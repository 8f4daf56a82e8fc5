package binding

import (
	"encoding/json"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
)

// PluginBinding binds a plugin to tools of a toolset.
type PluginBinding struct {
	Plugin  string `json:"plugin" maxLength:"64" minLength:"1"`
	Version string `json:"version,omitempty" maxLength:"80" doc:"Range: ^1.2.3, ~1.2.3, 1.2, 1.2.3 or *. Default: ^ of the newest version." example:"^1.0.0"`
	// Of all tools; of a connector's; of one.
	Connector string                  `json:"connector,omitempty" maxLength:"64" doc:"Only tools of this connector. A workflow calls no others then."`
	Tool      string                  `json:"tool,omitempty" maxLength:"64" doc:"Only this tool; kept by its operation, so that it may be renamed."`
	Operation *toolset.Operation      `json:"operation,omitempty" doc:"Instead of tool; it need not be in the present specification."`
	Config    json.RawMessage         `json:"config,omitempty" doc:"Validated against the plugin's schema."`
	Grants    *plugin.PluginGrants    `json:"grants,omitempty" doc:"Permissions granted, of those it requests. Absent: undecided, which is refused for a plugin that requests some; {}: none. Granting more than before needs the role admin."`
	OnError   string                  `json:"onError,omitempty" enum:"pass,fail" doc:"pass: the answer goes on as the plugin got it; fail: the agent gets an error instead. Default: fail for a plugin that redacts (a filter, unless its manifest says otherwise), else pass."`
	Unbind    *plugin.PluginUnbinding `json:"unbind,omitempty" doc:"When it is taken out of calls by itself."`
	// Calls is of a workflow.
	Calls map[string]string `json:"calls,omitempty" doc:"Of a workflow: for each name that it calls, the tool of the toolset. Default: the tool of that name, of its connector where it is bound to one."`
	// Update and Decided are of requests.
	Update  bool `json:"update,omitempty" doc:"Move this binding to the newest version of its range. One that asks for more than the version that is bound waits, unless grants has it or decided is true."`
	Decided bool `json:"decided,omitempty" doc:"The grants are a new decision, about all that the version asks for which is moved to."`
}

// SetPlugins is all that a toolset binds, in the order in which plugins run.
type SetPlugins struct {
	Bindings []PluginBinding `json:"bindings" maxItems:"64"`
	Update   bool            `json:"update,omitempty" doc:"Move to the newest version of each range. Default: what is bound already keeps its version."`
}

// BoundPlugin is a binding as it is.
type BoundPlugin struct {
	PluginBinding
	Kind    string                 `json:"kind"`
	Pinned  string                 `json:"pinned" doc:"The version that runs."`
	Digest  string                 `json:"digest"`
	Status  string                 `json:"status" enum:"ok,yanked,revoked,waiting,disabled" doc:"waiting: the present specification has no such operation, or a tool that a workflow calls is disabled. disabled: the tool that a workflow offers is."`
	Redacts bool                   `json:"redacts,omitempty" doc:"The plugin takes out what must not be seen: it runs on every byte that agents read, or what it does not read is withheld."`
	Warning string                 `json:"warning,omitempty" doc:"What may reach agents that should not."`
	LeftOut []plugin.PluginLeftOut `json:"leftOut,omitempty" doc:"Where this version is left out of the calls of this toolset now, as nodes told since the control plane started."`
	Newer   string                 `json:"newer,omitempty" doc:"Newer version in the range."`
	Asks    *plugin.PluginGrants   `json:"asks,omitempty" doc:"What the pinned version asks for."`
	Waits   *plugin.PluginGrants   `json:"waits,omitempty" doc:"What the newer version asks for beyond the pinned one and what is granted: an update waits until it is granted or refused."`
	Offers  string                 `json:"offers,omitempty" doc:"Of a workflow: name of its tool."`
	Live    string                 `json:"live,omitempty" doc:"The version that is bound at this place in what serves now, where the bindings are read. Absent: none." example:"1.0.0"`
}

// ToolsetPlugins are the bindings of a toolset: of its draft, and of what serves now.
type ToolsetPlugins struct {
	Bindings     []BoundPlugin `json:"bindings" doc:"Of the draft, in the order they run."`
	LiveRevision uint64        `json:"liveRevision,omitempty" doc:"The revision that serves now. Absent: the toolset is not live, or the bindings were just set." example:"7"`
	Live         []LivePlugin  `json:"live,omitempty" doc:"What serves now, in the order they run; where the bindings are read."`
	Changed      bool          `json:"changed,omitempty" doc:"A deploy would change the bindings that serve now."`
}

// LivePlugin is a binding of what serves now.
type LivePlugin struct {
	Plugin     string               `json:"plugin" example:"mask"`
	Version    string               `json:"version" doc:"The version that runs." example:"1.0.0"`
	Digest     string               `json:"digest"`
	Status     string               `json:"status" enum:"ok,yanked,revoked,gone" doc:"gone: the workspace no longer has this version." example:"ok"`
	YankReason string               `json:"yankReason,omitempty" example:"misses addresses in lists"`
	Connector  string               `json:"connector,omitempty" doc:"Only tools of this connector."`
	Tool       string               `json:"tool,omitempty" doc:"Only this tool, by its name in the draft." example:"list_orders"`
	Operation  *toolset.Operation   `json:"operation,omitempty" doc:"The operation of that tool."`
	OnError    string               `json:"onError" enum:"pass,fail" example:"fail"`
	Grants     *plugin.PluginGrants `json:"grants,omitempty" doc:"Permissions granted, of those it requests."`
}
