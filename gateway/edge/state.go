package edge

import (
	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// State is everything one release makes live: verified and opened. Immutable.
type State struct {
	Release  *registry.Release
	Digest   registry.Digest // of the release's envelope
	Toolsets []*Toolset      // in the order of Release.Toolsets
}

// Toolset is one live toolset, opened. A toolset that did not change between two
// releases is the same pointer in both states. Immutable.
type Toolset struct {
	registry.ReleaseToolset                                 // as the release lists it
	Bundle                  *registry.Toolset               // what the bundle says
	Programs                [][]byte                        // the toolset's own response programs
	Index                   []byte                          // of its tools; nil: it has none
	Connectors              map[string]*connector.Connector // by registry.ConnectorRef.Name
	Access                  *registry.AccessDocument        // nil: the bundle says who may enter
	Plugins                 []*guest.Package                // in the order of Bundle.Plugins
	Candidate               *Toolset                        // on trial beside it; nil: none
}

// WithoutCommands is the state as an edge serves it: without the toolsets that have a
// command of the node which made the release. Their slugs are in leftOut.
func (s *State) WithoutCommands() (served *State, leftOut []string) {
	out := *s
	out.Toolsets = make([]*Toolset, 0, len(s.Toolsets))
	for _, t := range s.Toolsets {
		if t.Bundle.Local() || t.Candidate != nil && t.Candidate.Bundle.Local() {
			leftOut = append(leftOut, t.Slug)
			continue
		}
		out.Toolsets = append(out.Toolsets, t)
	}
	if leftOut == nil {
		return s, nil
	}
	return &out, leftOut
}

// Compile makes the state a snapshot, with the toolsets of prev (nil: none) that did not
// change. meter counts the calls of its tools, keys open the toolsets that tokens of an
// authorization server open, counter counts requests for all nodes of a pool; each may be nil. It fails as [snapshot.Compile] does.
func (s *State) Compile(prev *snapshot.Snapshot, meter *metering.Meter, keys *access.Keys, counter access.Counter) (*snapshot.Snapshot, error) {
	in := snapshot.Input{Release: s.Release, Toolsets: make([]snapshot.ToolsetInput, len(s.Toolsets)), Meter: meter, Keys: keys, Counter: counter}
	for i, t := range s.Toolsets {
		in.Toolsets[i] = t.input()
		if t.Candidate != nil {
			candidate := t.Candidate.input()
			in.Toolsets[i].Trial = &snapshot.TrialInput{Release: t.Trial, Candidate: &candidate}
		}
	}
	return snapshot.Compile(in, prev)
}

func (t *Toolset) input() snapshot.ToolsetInput {
	return snapshot.ToolsetInput{
		ID: t.ID, Slug: t.Slug, Revision: t.Revision, Digest: t.ReleaseToolset.Bundle, Bundle: t.Bundle, Programs: t.Programs, Connectors: t.Connectors,
		Plugins: t.Plugins, Access: t.Access, AccessDigest: t.ReleaseToolset.Access, Index: t.Index,
	}
}
