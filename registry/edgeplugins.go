package registry

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/problem"
)

// EdgePluginsPath takes an EdgePlugins; 204.
const EdgePluginsPath = "/edge/v1/plugins"

const (
	// MaxPluginCounts of one report: every plugin a release may list, in one version.
	MaxPluginCounts = MaxReleasePlugins
	// MaxUnbindings of one report: more at once say nothing that fewer do not.
	MaxUnbindings = 64
	// MaxEdgePluginsBytes of a report: 300 bytes for each count.
	MaxEdgePluginsBytes = 4 << 20
	// maxReason of an unbinding.
	maxReason = 500
)

// EdgePlugins is what third-party plugins did on a node since its last report. It is a
// measure and no account: a report whose receipt was lost is counted twice, and one
// that a node could not send before it ended is lost.
type EdgePlugins struct {
	Calls   []PluginCalls   `json:"calls,omitempty"`
	Unbound []PluginUnbound `json:"unbound,omitempty"`
}

// PluginCalls are counts of the calls of one version of a plugin in a workspace.
type PluginCalls struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	Calls     uint64 `json:"calls"`
	Errors    uint64 `json:"errors,omitempty"`
	Traps     uint64 `json:"traps,omitempty"`
	Deadlines uint64 `json:"deadlines,omitempty"`
	Unbound   uint64 `json:"unbound,omitempty"` // times it was taken out of calls
	Micros    uint64 `json:"micros"`
	BytesIn   uint64 `json:"bytesIn"`
	BytesOut  uint64 `json:"bytesOut"`
}

// PluginUnbound says that a node took a plugin out of calls by itself.
type PluginUnbound struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	Reason    string `json:"reason"` // for people
	// Toolset is the slug of the toolset whose calls it is left out of, Until the end of
	// that in seconds since 1970. An edge from before they were told sends neither.
	Toolset string `json:"toolset,omitempty"`
	Until   int64  `json:"until,omitempty"`
}

// MaxLeftOut is the longest time for which a node leaves a plugin out, with an hour for
// clocks that differ.
const MaxLeftOut = 2 * time.Hour

// End is when the plugin is used again, as far as it can be believed at a time.
func (u *PluginUnbound) End(now time.Time) time.Time {
	end := time.Unix(u.Until, 0)
	if end.After(now.Add(MaxLeftOut)) {
		return now.Add(MaxLeftOut)
	}
	return end
}

// maxCount of one number: far beyond what a node counts between two reports, and far
// from what overflows when many are added.
const maxCount = 1 << 50

// Validate checks the bounds of a report and cuts reasons; refusals are
// *problem.Error of kind invalid_argument.
func (p *EdgePlugins) Validate() error {
	if len(p.Calls) > MaxPluginCounts || len(p.Unbound) > MaxUnbindings {
		return problem.New(problem.InvalidArgument, "the report has %d counts and %d unbindings; %d and %d are the limits", len(p.Calls), len(p.Unbound), MaxPluginCounts, MaxUnbindings)
	}
	named := func(workspace, name, version string) bool {
		_, err := ParseVersion(version)
		return ValidSlug(workspace) && ValidSlug(name) && err == nil
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		if !named(c.Workspace, c.Name, c.Version) || max(c.Calls, c.Errors, c.Traps, c.Deadlines, c.Unbound, c.Micros, c.BytesIn, c.BytesOut) > maxCount {
			return problem.New(problem.InvalidArgument, "count %d of the report is not one of a plugin", i)
		}
	}
	for i := range p.Unbound {
		u := &p.Unbound[i]
		if !named(u.Workspace, u.Name, u.Version) || u.Toolset != "" && !ValidSlug(u.Toolset) {
			return problem.New(problem.InvalidArgument, "unbinding %d of the report is not one of a plugin", i)
		}
		u.Reason = u.Reason[:min(len(u.Reason), maxReason)]
		for len(u.Reason) > 0 && !utf8.ValidString(u.Reason) {
			u.Reason = u.Reason[:len(u.Reason)-1]
		}
		u.Reason = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, u.Reason)
	}
	return nil
}
