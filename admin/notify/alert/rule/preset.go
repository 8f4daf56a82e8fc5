package rule

import (
	"github.com/sluicegate/sluice/internal/problem"
)

// Kinds of the alerts of presets; they are the names of the presets, too.
const (
	KindUnreachable = "upstream.unreachable"  // an upstream does not answer
	KindTimeout     = "upstream.timeout"      // an upstream takes too long
	KindErrors      = "upstream.errors"       // an upstream answers with errors of its own
	KindCircuitOpen = "upstream.circuit_open" // calls are turned away before the upstream is asked
	KindLimited     = "upstream.rate_limited" // an upstream answers 429
	KindSlow        = "upstream.slow"         // an upstream is slow
	KindToolFailing = "tool.failing"          // every call of a tool fails
	KindErrorRate   = "toolset.errors"        // many calls of a toolset fail
	KindPlugin      = "plugin.failing"        // a plugin fails
	KindRule        = "rule.fired"            // usage passed the threshold of an own rule
	KindBudget      = "budget.spent"          // what may be used of a day or a month is used
)

// preset is a rule that is there from the start.
type preset struct {
	name     string
	about    string // what is reported, for people
	unit     string // of the threshold; "%" is of calls; empty: it has none
	settings Settings
}

func set(threshold float64, window, hold string, calls uint64, severity string) Settings {
	yes := true
	return Settings{Threshold: &threshold, Window: window, For: hold, MinCalls: &calls, Severity: severity, Enabled: &yes}
}

// presets in the order in which they are shown. A random error in fifty calls reaches none
// of them in a million of windows.
var presets = []preset{
	{KindUnreachable, "calls that the upstream did not answer: no address, refused, reset, TLS", "%", set(80, "10m", "30s", 5, "critical")},
	{KindTimeout, "calls that the upstream did not answer in time", "%", set(50, "10m", "1m", 10, "critical")},
	{KindErrors, "calls that the upstream answered with 500 to 599 or with what cannot be read, or did not answer", "%", set(25, "10m", "1m", 20, "warning")},
	{KindCircuitOpen, "calls that were turned away before the upstream was asked", "%", set(50, "10m", "30s", 5, "critical")},
	{KindLimited, "calls that the upstream answered with 429", "%", set(20, "10m", "1m", 10, "warning")},
	{KindSlow, "95th percentile of waiting for the upstream", "ms", set(10_000, "10m", "2m", 20, "warning")},
	{KindToolFailing, "calls of one tool that failed", "%", set(100, "15m", "1m", 10, "warning")},
	{KindErrorRate, "calls of the toolset that failed, also by fault of the agent", "%", set(50, "10m", "2m", 50, "warning")},
	{KindPlugin, "calls of one tool that a plugin made fail", "%", set(20, "10m", "1m", 10, "critical")},
}

func presetOf(called string) *preset {
	for i := range presets {
		if presets[i].name == called {
			return &presets[i]
		}
	}
	return nil
}

func unitOf(called string) string {
	if p := presetOf(called); p != nil {
		return p.unit
	}
	return ""
}

// Presets are the names of the presets, in the order in which they are shown.
func Presets() []string {
	out := make([]string, len(presets))
	for i := range presets {
		out[i] = presets[i].name
	}
	return out
}

// IsPreset reports whether a rule is there from the start.
func IsPreset(called string) bool { return presetOf(called) != nil }

// About says what a preset looks at, for people.
func About(called string) string {
	if p := presetOf(called); p != nil {
		return p.about
	}
	return ""
}

// Preset is a preset with what people changed: first for the workspace, then for a toolset.
// It fails with [problem.NotFound] and [problem.InvalidArgument].
func Preset(called, toolset string, changes ...*Settings) (*Rule, error) {
	p := presetOf(called)
	if p == nil {
		return nil, problem.New(problem.NotFound, "there is no preset %.80q", called)
	}
	s := p.settings
	for _, c := range changes {
		if c == nil {
			continue
		}
		if c.Metric+c.Each+c.Tool+c.Connector+c.Caller != "" {
			return nil, fault("/metric", "what a preset looks at cannot be changed").Fix("add a rule of your own")
		}
		s = s.Merge(c)
	}
	r := &Rule{Name: called, Preset: true, Toolset: toolset}
	return r, r.take(&s)
}
