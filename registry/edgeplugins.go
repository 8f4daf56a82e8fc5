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

// PluginKey names one version of a plugin in a workspace.
type PluginKey struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	Version   string `json:"version"`
}

func (k *PluginKey) valid() bool {
	_, err := ParseVersion(k.Version)
	return ValidSlug(k.Workspace) && ValidSlug(k.Name) && err == nil
}

// PluginCounts are sums over the calls of one version of a plugin.
type PluginCounts struct {
	Calls     uint64 `json:"calls"`
	Errors    uint64 `json:"errors,omitempty"` // the plugin said so, or its output could not be used
	Traps     uint64 `json:"traps,omitempty"`
	Deadlines uint64 `json:"deadlines,omitempty"`
	Unbound   uint64 `json:"unbound,omitempty"` // times it was taken out of calls
	Micros    uint64 `json:"micros"`            // of all calls together
	BytesIn   uint64 `json:"bytesIn"`
	BytesOut  uint64 `json:"bytesOut"`
}

// Add adds other counts.
func (c *PluginCounts) Add(o *PluginCounts) {
	c.Calls += o.Calls
	c.Errors += o.Errors
	c.Traps += o.Traps
	c.Deadlines += o.Deadlines
	c.Unbound += o.Unbound
	c.Micros += o.Micros
	c.BytesIn += o.BytesIn
	c.BytesOut += o.BytesOut
}

// PluginCalls are counts of the calls of one version of a plugin in a workspace.
type PluginCalls struct {
	PluginKey
	PluginCounts
}

// PluginUnbound says that a node took a plugin out of calls by itself.
type PluginUnbound struct {
	PluginKey
	Reason string `json:"reason"` // for people
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
	for i := range p.Calls {
		c := &p.Calls[i]
		if !c.valid() || max(c.Calls, c.Errors, c.Traps, c.Deadlines, c.Unbound, c.Micros, c.BytesIn, c.BytesOut) > maxCount {
			return problem.New(problem.InvalidArgument, "count %d of the report is not one of a plugin", i)
		}
	}
	for i := range p.Unbound {
		u := &p.Unbound[i]
		if !u.valid() || u.Toolset != "" && !ValidSlug(u.Toolset) {
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
