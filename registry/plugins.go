package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
)

const (
	// MaxPlugins of one toolset. Each that a tool has runs on every answer.
	MaxPlugins = 64
	// MaxPluginConfig is the size of one configuration in bytes.
	MaxPluginConfig = 64 << 10
)

// What happens to an answer when a plugin fails on it.
const (
	OnErrorPass = "pass" // it goes on as the plugin got it
	OnErrorFail = "fail" // the agent gets an error instead: for plugins that take out what must not be seen
)

// EffectiveOnError is what happens when a plugin fails whose binding says onError: what
// the binding says, else that a plugin which redacts fails closed.
func EffectiveOnError(onError string, redacts bool) string {
	switch {
	case onError != "":
		return onError
	case redacts:
		return OnErrorFail
	}
	return OnErrorPass
}

// PluginRef binds one third-party plugin, by content, to tools of a toolset. The
// plugins of a tool run in the order of the list, each on what the one before made.
type PluginRef struct {
	Name       string `json:"name"`                // of the plugin: a slug
	Version    string `json:"version"`             // of the plugin, for people
	Repository string `json:"repository"`          // OCI repository, <workspace>/plugins/<name>
	Manifest   Digest `json:"manifest"`            // digest of the OCI manifest
	Digest     Digest `json:"digest"`              // digest of the module (the manifest's layer)
	Connector  string `json:"connector,omitempty"` // only tools of this connector. Default: of all
	Method     string `json:"method,omitempty"`    // only this operation: with Path and Connector
	Path       string `json:"path,omitempty"`      // path template as in the specification
	// Config is the plugin's configuration, a JSON object; nil for none.
	Config json.RawMessage `json:"config,omitempty"`
	// Grants are what the operator lets the plugin do of what it asks for; nil: nothing.
	Grants *manifest.Grants `json:"grants,omitempty"`
	// OnError is OnErrorPass or OnErrorFail. Default: OnErrorFail for a plugin that
	// redacts, else OnErrorPass; see [EffectiveOnError].
	OnError string `json:"onError,omitempty"`
	// Calls are the tools that a workflow calls; other plugins have none. A workflow
	// belongs to the whole toolset: it has no Connector and Path.
	Calls []CalledTool `json:"calls,omitempty"`
	// Tool changes the tool that a workflow offers; nil: it is as its manifest says.
	Tool *OfferedTool `json:"tool,omitempty"`
	// Unbind says when gateways take it out of calls by themselves. Default: see
	// [UnbindLimits].
	Unbind *UnbindLimits `json:"unbind,omitempty"`
}

// CalledTool says which tool of the toolset a workflow calls by a name of its own.
type CalledTool struct {
	Name      string `json:"name"`      // as the workflow calls it
	Connector string `json:"connector"` // ConnectorRef.Name
	Method    string `json:"method"`
	Path      string `json:"path"` // path template as in the specification
}

// Operation is the tool that c calls.
func (c *CalledTool) Operation() SelectedTool { return SelectedTool{c.Connector, c.Method, c.Path} }

// OfferedTool changes what agents see of a workflow's tool, as a ToolEdit does of an
// operation's. A name that another tool of the toolset has gets the plugin's name in
// front, as the manifest's would. Of a tool that is disabled the plugin is not bound.
type OfferedTool struct {
	Name        *string `json:"name,omitempty"`
	Title       *string `json:"title,omitempty"`
	Description *string `json:"description,omitempty"`
}

// UnbindLimits are judged over the last 20 calls of a plugin with one
// configuration. Zero fields are the defaults.
type UnbindLimits struct {
	// ErrorPercent: more failed calls than this; 100 never. Default: 50.
	ErrorPercent int `json:"errorPercent,omitempty"`
	// MeanMilliseconds: a longer mean than this. Default: half of the plugin's deadline.
	MeanMilliseconds int `json:"meanMs,omitempty"`
}

// Applies reports whether the plugin is bound to an operation of a connector.
func (p *PluginRef) Applies(connector, method, path string) bool {
	return (p.Connector == "" || p.Connector == connector) && (p.Path == "" || p.Method == method && p.Path == path)
}

func (t *Toolset) validatePlugins(f *faults, connectors map[string]bool) {
	f.check(len(t.Plugins) <= MaxPlugins, "/plugins", "%d plugins are more than %d", len(t.Plugins), MaxPlugins)
	for i := range t.Plugins {
		if f.full() {
			return
		}
		p, at := &t.Plugins[i], fmt.Sprintf("/plugins/%d", i)
		f.check(ValidSlug(p.Name), at+"/name", "plugin name %.80q is not a slug", p.Name)
		f.text(at+"/version", p.Version, 1, manifest.MaxText)
		f.check(ValidRepository(p.Repository), at+"/repository", "%.80q is not a repository name", p.Repository)
		f.check(p.Manifest.Valid(), at+"/manifest", "%.80q is not a sha256 digest", string(p.Manifest))
		f.check(p.Digest.Valid(), at+"/digest", "%.80q is not a sha256 digest", string(p.Digest))
		f.check(p.Connector == "" || connectors[p.Connector], at+"/connector", "the toolset has no connector %.80q", p.Connector)
		f.check((p.Method == "") == (p.Path == "") && (p.Path == "" || p.Connector != ""), at+"/path", "an operation is a connector, a method and a path")
		f.check(p.Method == "" || methodPattern.MatchString(p.Method), at+"/method", "%.80q is not an upper-case method", p.Method)
		f.check(p.Path == "" || strings.HasPrefix(p.Path, "/") && len(p.Path) <= manifest.MaxPath && utf8.ValidString(p.Path), at+"/path", "%.80q is not a path", p.Path)
		f.check(len(p.Config) <= MaxPluginConfig, at+"/config", "%d bytes of configuration are more than %d", len(p.Config), MaxPluginConfig)
		f.check(len(p.Config) == 0 || strings.HasPrefix(strings.TrimSpace(string(p.Config)), "{") && json.Valid(p.Config), at+"/config", "the configuration is not a JSON object")
		if err := p.Grants.Check(); err != nil {
			f.check(false, at+"/grants", "%v", err)
		}
		p.validateCalls(f, at, connectors)
		p.Tool.validate(f, at+"/tool", len(p.Calls) > 0)
		if u := p.Unbind; u != nil {
			f.check(u.ErrorPercent >= 0 && u.ErrorPercent <= 100, at+"/unbind/errorPercent", "%d is not a percentage", u.ErrorPercent)
			f.check(u.MeanMilliseconds >= 0 && u.MeanMilliseconds <= manifest.MaxDeadline, at+"/unbind/meanMs", "%d ms is not between 0 and %d", u.MeanMilliseconds, manifest.MaxDeadline)
		}
		f.check(p.OnError == "" || p.OnError == OnErrorPass || p.OnError == OnErrorFail, at+"/onError", "%.80q is neither pass nor fail", p.OnError)
	}
}

func (o *OfferedTool) validate(f *faults, at string, workflow bool) {
	if o == nil {
		return
	}
	f.check(workflow, at, "the plugin is not a workflow and offers no tool")
	if o.Name != nil {
		f.check(toolNamePattern.MatchString(*o.Name), at+"/name", "tool name %.80q must start with a letter or _ and have at most 64 letters, digits, _ and -", *o.Name)
	}
	if o.Title != nil {
		f.text(at+"/title", *o.Title, 0, MaxNameRunes)
	}
	if o.Description != nil {
		f.text(at+"/description", *o.Description, 0, MaxDescriptionRunes)
	}
}

func (p *PluginRef) validateCalls(f *faults, at string, connectors map[string]bool) {
	if len(p.Calls) == 0 {
		return
	}
	f.check(p.Connector == "" && p.Path == "", at+"/connector", "a workflow is bound to the toolset as a whole")
	f.check(len(p.Calls) <= manifest.MaxCalledTools, at+"/calls", "%d tools are more than %d", len(p.Calls), manifest.MaxCalledTools)
	seen := make(map[string]bool, len(p.Calls))
	for i := range p.Calls {
		c, at := &p.Calls[i], fmt.Sprintf("%s/calls/%d", at, i)
		f.check(toolNamePattern.MatchString(c.Name), at+"/name", "%.80q is not the name of a tool", c.Name)
		f.check(!seen[c.Name], at+"/name", "%.80q is named twice", c.Name)
		seen[c.Name] = true
		f.check(connectors[c.Connector], at+"/connector", "the toolset has no connector %.80q", c.Connector)
		f.check(methodPattern.MatchString(c.Method), at+"/method", "%.80q is not an upper-case method", c.Method)
		f.check(strings.HasPrefix(c.Path, "/") && len(c.Path) <= manifest.MaxPath && utf8.ValidString(c.Path), at+"/path", "%.80q is not a path", c.Path)
	}
}

// WorkflowAnnotations are what is true of a workflow's tool: what its author says of
// it, as far as the tools that it calls allow. It only reads when all of them do, and
// may destroy when one may.
func WorkflowAnnotations(said manifest.Annotations, called []operation.Annotations) operation.Annotations {
	a := operation.Annotations(said)
	for _, c := range called {
		a.ReadOnly = a.ReadOnly && c.ReadOnly
		a.Destructive = a.Destructive || c.Destructive
		a.Idempotent = a.Idempotent && c.Idempotent
		a.OpenWorld = a.OpenWorld || c.OpenWorld
	}
	return a
}
