package plugin

import (
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// PluginGrants are what a binding lets a plugin do of what it asks for.
type PluginGrants struct {
	Hosts      []string `json:"hosts,omitempty" maxItems:"32" doc:"Hosts that the gateway calls for it: a name, *.example.com for all names below, each with a port when it is not that of the scheme." example:"[\"api.example.com\"]"`
	Clock      bool     `json:"clock,omitempty" doc:"The real time."`
	Random     bool     `json:"random,omitempty" doc:"Real random numbers."`
	DeadlineMs int      `json:"deadlineMs,omitempty" minimum:"0" maximum:"60000" doc:"Processor time of one call. Default: what it asks for, at most 1000."`
}

// Record is how bindings hold grants. A nil g is nil.
func (g *PluginGrants) Record() *manifest.Grants {
	if g == nil {
		return nil
	}
	return &manifest.Grants{Hosts: g.Hosts, Clock: g.Clock, Random: g.Random, DeadlineMS: g.DeadlineMs}
}

// ShowGrants is the reverse of [PluginGrants.Record].
func ShowGrants(g *manifest.Grants) *PluginGrants {
	if g == nil {
		return nil
	}
	return &PluginGrants{Hosts: g.Hosts, Clock: g.Clock, Random: g.Random, DeadlineMs: g.DeadlineMS}
}

// ShowAsks is what a plugin asks an operator for; nil: nothing.
func ShowAsks(m *manifest.Manifest) *PluginGrants {
	asks := m.Asks()
	if asks.Empty() {
		return nil
	}
	return ShowGrants(&asks)
}

// Decided checks what a binding grants a plugin and returns what is recorded of it: nil for
// a plugin that asks for nothing. What a plugin asks for has to be decided: nil grants fail
// with a [problem.Forbidden] that says what it asks for.
func Decided(g *guest.Package, given *manifest.Grants, toolset string) (*manifest.Grants, error) {
	asks := g.Manifest.Asks()
	if given == nil && !asks.Empty() {
		return nil, problem.New(problem.Forbidden, "plugin %s %s asks for %s, and nothing of it is granted or refused", g.Manifest.Name, g.Manifest.Version, asks.String()).
			Fix("grant it: sluice plugin bind %s %s --grant %s (or a part of it, or none)", toolset, g.Manifest.Name, asks.String())
	}
	if err := g.CheckGrants(given); err != nil {
		return nil, err
	}
	if asks.Empty() {
		return nil, nil //nolint:nilnil // nothing is granted
	}
	return given, nil
}

// Waits is what a version asks for beyond what the one bound asked for and what its
// binding grants: what somebody has to decide before the binding moves there.
func Waits(bound, next *manifest.Manifest, given *manifest.Grants) manifest.Grants {
	asked, asks := bound.Asks(), next.Asks()
	left := asks.Beyond(&asked)
	return left.Beyond(given)
}

// Widens reports whether grants let a plugin do more than before: that takes an
// administrator.
func Widens(before, after *manifest.Grants) bool {
	more := after.Beyond(before)
	return !more.Empty()
}
