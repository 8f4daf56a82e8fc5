package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Plugin is a third-party plugin as a toolset binds it. Its fields are not changed.
type Plugin struct {
	Ref       *registry.PluginRef
	Package   *guest.Package
	Workspace string
	Toolset   string // its id
	Slug      string // of the toolset, for people
	// Key is equal for bindings that may share instances: the same binding of one toolset
	// in two of its revisions, with the same plugin, configuration and limits.
	Key string
	// Redacts says that the plugin has to see every byte that an agent reads: its
	// manifest says that it redacts, or its binding fails closed.
	Redacts bool
	// Closed says that what the plugin cannot run on is withheld.
	Closed bool
}

// newPlugins makes the bindings of a toolset.
func newPlugins(in *ToolsetInput) ([]*Plugin, error) {
	refs := in.Bundle.Plugins
	if len(in.Plugins) != len(refs) {
		return nil, fmt.Errorf("it binds %d plugins and the release has %d", len(refs), len(in.Plugins))
	}
	out := make([]*Plugin, len(refs))
	for i := range refs {
		p := in.Plugins[i]
		if p == nil || p.Digest != string(refs[i].Digest) {
			return nil, fmt.Errorf("plugin %s is not the module it names", refs[i].Name)
		}
		if err := checkCalls(p, refs[i].Calls); err != nil {
			return nil, err
		}
		h := sha256.New()
		limits := ""
		at := strings.Join([]string{refs[i].Connector, refs[i].Method, refs[i].Path}, "\x00")
		same := 0 // bindings before it that bind at the same place
		for _, before := range refs[:i] {
			if before.Connector == refs[i].Connector && before.Method == refs[i].Method && before.Path == refs[i].Path {
				same++
			}
		}
		if u := refs[i].Unbind; u != nil {
			limits = strconv.Itoa(u.ErrorPercent) + "/" + strconv.Itoa(u.MeanMilliseconds)
		}
		for _, part := range []string{in.Bundle.Workspace, in.ID, at, strconv.Itoa(same), p.Digest, string(refs[i].Config), limits, refs[i].Grants.String()} {
			_, _ = h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
		}
		out[i] = &Plugin{Ref: &refs[i], Package: p, Workspace: in.Bundle.Workspace, Toolset: in.ID, Slug: in.Slug, Key: hex.EncodeToString(h.Sum(nil))}
		redacts := p.Manifest.Redacts()
		out[i].Closed = registry.EffectiveOnError(refs[i].OnError, redacts) == registry.OnErrorFail
		out[i].Redacts = redacts || out[i].Closed
	}
	return out, nil
}

// pluginsOf returns the plugins that run on a tool's answers, in their order.
func (ts *Toolset) pluginsOf(connector, method, path string) []*Plugin {
	var out []*Plugin
	for _, p := range ts.plugins {
		if k := p.Package.Manifest.Kind; k != manifest.Auth && k != manifest.Workflow && (!p.Package.NoAnswers || p.Package.Errors) && p.Ref.Applies(connector, method, path) {
			out = append(out, p)
		}
	}
	return out
}

// argumentsOf returns the plugins that run on a tool's arguments, in their order.
func (ts *Toolset) argumentsOf(connector, method, path string) []*Plugin {
	var out []*Plugin
	for _, p := range ts.plugins {
		if p.Package.Arguments && p.Ref.Applies(connector, method, path) {
			out = append(out, p)
		}
	}
	return out
}

// redactors returns those of the plugins that have to see every byte.
func redactors(all []*Plugin) []*Plugin {
	var out []*Plugin
	for _, p := range all {
		if p.Redacts {
			out = append(out, p)
		}
	}
	return out
}

// authOf returns the plugin that signs a tool's requests: the one that is bound to
// the tool, else to its connector, else to the toolset, and of equals the last; nil
// when there is none.
func (ts *Toolset) authOf(connector, method, path string) *Plugin {
	var out *Plugin
	best := -1
	for _, p := range ts.plugins {
		if p.Package.Manifest.Kind != manifest.Auth || !p.Ref.Applies(connector, method, path) {
			continue
		}
		specific := 0
		if p.Ref.Connector != "" {
			specific = 1
		}
		if p.Ref.Path != "" {
			specific = 2
		}
		if specific >= best {
			out, best = p, specific
		}
	}
	return out
}
