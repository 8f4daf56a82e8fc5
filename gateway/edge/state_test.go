package edge_test

import (
	"slices"
	"testing"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/registry"
)

// TestWithoutCommands: an edge serves no toolset that has a command of another machine.
func TestWithoutCommands(t *testing.T) {
	toolset := func(slug string, local ...bool) *edge.Toolset {
		out := &edge.Toolset{ReleaseToolset: registry.ReleaseToolset{Slug: slug}, Bundle: &registry.Toolset{}}
		for _, l := range local {
			out.Bundle.Connectors = append(out.Bundle.Connectors, registry.ConnectorRef{Local: l})
		}
		return out
	}
	all := &edge.State{Release: &registry.Release{}, Toolsets: []*edge.Toolset{toolset("a", false), toolset("b", true), toolset("c", false, true), toolset("d", false, false)}}
	served, left := all.WithoutCommands()
	if !slices.Equal(left, []string{"b", "c"}) || len(served.Toolsets) != 2 || served.Toolsets[0] != all.Toolsets[0] || served.Toolsets[1] != all.Toolsets[3] || len(all.Toolsets) != 4 {
		t.Errorf("left out %q, %d served of %d", left, len(served.Toolsets), len(all.Toolsets))
	}
	if same, none := served.WithoutCommands(); same != served || none != nil {
		t.Errorf("left out %q of what an edge serves", none)
	}
}

// TestCompileWithTrials: a candidate stands beside its own toolset, and nothing beside others.
func TestCompileWithTrials(t *testing.T) {
	toolset := func(slug string) *edge.Toolset {
		return &edge.Toolset{ReleaseToolset: registry.ReleaseToolset{ID: slug, Slug: slug, Workspace: "acme"}, Bundle: &registry.Toolset{ID: slug, Slug: slug, Name: slug, Workspace: "acme", Access: registry.Access{Mode: registry.AccessNone}, Profile: registry.ProfileConcise}}
	}
	one, two := toolset("one"), toolset("two")
	one.Trial = registry.ReleaseTrial{ID: "try", Mode: registry.TrialShadow}
	one.Candidate = toolset("one")
	s, err := (&edge.State{Release: &registry.Release{}, Toolsets: []*edge.Toolset{one, two}}).Compile(nil, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if trial := s.Slug("one").Shadow(); trial == nil || trial.ID != "try" || trial.Candidate == nil {
		t.Errorf("beside the first: %+v", trial)
	}
	if trial := s.Slug("two").Shadow(); trial != nil {
		t.Errorf("beside the second: %+v", trial)
	}
}
