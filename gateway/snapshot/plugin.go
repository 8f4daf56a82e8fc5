package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// Plugin is a third-party plugin as a toolset binds it. Its fields are not changed.
type Plugin struct {
	Ref       *registry.PluginRef
	Package   *guest.Package
	Workspace string
	// Key is equal for bindings that may share instances: one plugin with one
	// configuration and the same limits in one workspace.
	Key string
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
		h := sha256.New()
		limits := ""
		if u := refs[i].Unbind; u != nil {
			limits = strconv.Itoa(u.ErrorPercent) + "/" + strconv.Itoa(u.MeanMilliseconds)
		}
		for _, part := range []string{in.Bundle.Workspace, p.Digest, string(refs[i].Config), limits} {
			_, _ = h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
		}
		out[i] = &Plugin{Ref: &refs[i], Package: p, Workspace: in.Bundle.Workspace, Key: hex.EncodeToString(h.Sum(nil))}
	}
	return out, nil
}

// pluginsOf returns the plugins that run on a tool's answers, in their order.
func (ts *Toolset) pluginsOf(connector, method, path string) []*Plugin {
	var out []*Plugin
	for _, p := range ts.plugins {
		if p.Ref.Applies(connector, method, path) {
			out = append(out, p)
		}
	}
	return out
}
