package rule

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Metrics of own rules.
const (
	Calls       = "calls"
	Errors      = "errors"
	Tokens      = "tokens"       // that agents got, estimated
	ErrorRate   = "error_rate"   // percent of the calls
	LatencyP50  = "latency_p50"  // of whole calls, in milliseconds
	LatencyP95  = "latency_p95"  // …
	LatencyP99  = "latency_p99"  // …
	UpstreamP50 = "upstream_p50" // of waiting for the upstream, in milliseconds
	UpstreamP95 = "upstream_p95" // …
	UpstreamP99 = "upstream_p99" // …
)

// Metrics are those that own rules can have.
var Metrics = []string{Calls, Errors, ErrorRate, Tokens, LatencyP50, LatencyP95, LatencyP99, UpstreamP50, UpstreamP95, UpstreamP99}

// What a rule has one alert for.
const (
	EachWorkspace = "workspace"
	EachToolset   = "toolset"
	EachTool      = "tool"
	EachCaller    = "caller"
)

// Eaches are what rules can have one alert for.
var Eaches = []string{EachWorkspace, EachToolset, EachTool, EachCaller}

// Windows that begin with the calendar, in UTC.
const (
	Day   = "day"
	Month = "month"
)

const (
	// MaxRules that people set in a workspace: three for each of 2,000 toolsets, with room.
	MaxRules = 10_000
	// MaxCallerRules of a workspace count single callers: each looks at every caller in each
	// round.
	MaxCallerRules = 50
	// MaxCaller of the name of a caller, as calls are reported.
	MaxCaller = registry.MaxUsageCaller
	// MaxMinutes is the longest window that is looked at minute by minute; a longer one is
	// whole hours.
	MaxMinutes = time.Hour
	// MaxWindow is the longest window: a month.
	MaxWindow = 31 * 24 * time.Hour
	// MaxFor is the longest time that a threshold must be passed before it is reported.
	MaxFor = 24 * time.Hour
	// MaxMinCalls is the highest minimum traffic: above it a rule of an hour is dead letter.
	MaxMinCalls = 1_000_000
	// MaxThreshold is below what counters can hold exactly as a number of JSON.
	MaxThreshold = 1e15
)

// Settings are a rule as people write it, and as the records keep it. What is absent is as
// the preset has it, or as [Settings.defaults] says.
type Settings struct {
	Metric    string   `json:"metric,omitempty" enum:"calls,errors,error_rate,tokens,latency_p50,latency_p95,latency_p99,upstream_p50,upstream_p95,upstream_p99" doc:"Of an own rule: what is measured."`
	Threshold *float64 `json:"threshold,omitempty" minimum:"0" maximum:"1000000000000000" doc:"It is reported from this value on: a count, percent, milliseconds or days, as the metric is."`
	Window    string   `json:"window,omitempty" maxLength:"20" doc:"How far back: 1m to 60m, 2h to 31d, or day and month (which begin at midnight UTC)."`
	For       string   `json:"for,omitempty" maxLength:"20" doc:"How long the threshold must be passed before it is reported: 0s to 24h."`
	MinCalls  *uint64  `json:"minCalls,omitempty" maximum:"1000000" doc:"Fewer calls than this say nothing: of rates and latencies."`
	Severity  string   `json:"severity,omitempty" enum:"info,warning,critical"`
	Enabled   *bool    `json:"enabled,omitempty"`
	Each      string   `json:"each,omitempty" enum:"workspace,toolset,tool,caller" doc:"Of an own rule: what each alert is about. Default: toolset."`
	Tool      string   `json:"tool,omitempty" maxLength:"256" doc:"Of an own rule: only calls of tools of this name."`
	Connector string   `json:"connector,omitempty" maxLength:"63" doc:"Of an own rule: only calls that this connector of a toolset served."`
	Caller    string   `json:"caller,omitempty" maxLength:"255" doc:"Of an own rule: only calls of this caller: the id of an access token, or the subject of a JSON Web Token."`
}

// Merge is s with what o sets.
func (s Settings) Merge(o *Settings) Settings {
	for _, f := range []struct{ to, from *string }{
		{&s.Metric, &o.Metric},
		{&s.Window, &o.Window},
		{&s.For, &o.For},
		{&s.Severity, &o.Severity},
		{&s.Each, &o.Each},
		{&s.Tool, &o.Tool},
		{&s.Connector, &o.Connector},
		{&s.Caller, &o.Caller},
	} {
		if *f.from != "" {
			*f.to = *f.from
		}
	}
	if o.Threshold != nil {
		s.Threshold = o.Threshold
	}
	if o.MinCalls != nil {
		s.MinCalls = o.MinCalls
	}
	if o.Enabled != nil {
		s.Enabled = o.Enabled
	}
	return s
}

// Without is s without some members, by their names: they are as they are from the start.
func (s Settings) Without(names []string) (Settings, error) {
	if len(names) == 0 {
		return s, nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return s, err
	}
	for _, name := range names {
		delete(members, name)
	}
	if b, err = json.Marshal(members); err != nil {
		return s, err
	}
	var out Settings
	return out, json.Unmarshal(b, &out)
}

// Rule is a rule that can be evaluated.
type Rule struct {
	Name      string
	Preset    bool
	Toolset   string // identifier; empty: of all
	Tool      string // empty: of all
	Connector string // empty: of all
	Caller    string // empty: of all
	Each      string
	Metric    string // of an own rule
	Threshold float64
	Window    time.Duration
	Calendar  string // Day or Month instead of Window
	For       time.Duration
	MinCalls  uint64
	Severity  string
	Enabled   bool
}

// name is what own rules are called.
var name = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// New makes an own rule. toolset is an identifier; empty: of all toolsets. It fails with
// [problem.InvalidArgument].
func New(called, toolset string, s *Settings) (*Rule, error) {
	if !name.MatchString(called) {
		return nil, fault("/name", "%.80q is not the name of a rule", called).Fix("use at most 63 lower-case letters, digits and hyphens")
	}
	if !slices.Contains(Metrics, s.Metric) {
		return nil, fault("/metric", "there is no metric %.40q", s.Metric).Fix("use one of %s", strings.Join(Metrics, ", "))
	}
	if s.Threshold == nil {
		return nil, fault("/threshold", "a rule needs a threshold")
	}
	yes, few := true, uint64(20)
	if !slices.Contains([]string{ErrorRate, LatencyP50, LatencyP95, LatencyP99, UpstreamP50, UpstreamP95, UpstreamP99}, s.Metric) {
		few = 0
	}
	all := Settings{Window: "10m", For: "0s", MinCalls: &few, Severity: "warning", Enabled: &yes, Each: EachToolset}.Merge(s)
	r := &Rule{Name: called, Toolset: toolset, Tool: all.Tool, Connector: all.Connector, Caller: all.Caller, Each: all.Each, Metric: all.Metric}
	return r, r.take(&all)
}

// take sets what presets and own rules have alike.
func (r *Rule) take(s *Settings) error {
	r.Threshold, r.MinCalls, r.Severity, r.Enabled = *s.Threshold, *s.MinCalls, s.Severity, *s.Enabled
	if r.Threshold <= 0 || r.Threshold > MaxThreshold || math.IsNaN(r.Threshold) {
		return fault("/threshold", "a threshold is above 0 and at most %g", float64(MaxThreshold))
	}
	if r.percent() && r.Threshold > 100 {
		return fault("/threshold", "%g %% is more than all calls", r.Threshold)
	}
	if r.MinCalls > MaxMinCalls {
		return fault("/minCalls", "a minimum of more than %d calls is never met", MaxMinCalls)
	}
	if !slices.Contains([]string{"info", "warning", "critical"}, r.Severity) {
		return fault("/severity", "there is no severity %.40q", r.Severity)
	}
	if !r.Preset && !slices.Contains(Eaches, r.Each) {
		return fault("/each", "alerts are of the workspace, a toolset, a tool or a caller, not of %.40q", r.Each)
	}
	if len(r.Caller) > MaxCaller {
		return fault("/caller", "the name of a caller has at most %d bytes", MaxCaller)
	}
	var err error
	if r.For, err = span(s.For); err != nil || r.For < 0 || r.For > MaxFor {
		return fault("/for", "%.20q is not a time between 0s and %s", s.For, MaxFor)
	}
	return r.takeWindow(s.Window)
}

func (r *Rule) takeWindow(text string) error {
	r.Window, r.Calendar = 0, ""
	if text == Day || text == Month {
		r.Calendar = text
	} else {
		var err error
		if r.Window, err = span(text); err != nil || r.Window < time.Minute || r.Window > MaxWindow || r.Window%time.Minute != 0 || r.Window > MaxMinutes && r.Window%time.Hour != 0 {
			return fault("/window", "%.20q is not a window", text).Fix("write 1m to 60m, 2h to 744h or 1d to 31d, day or month")
		}
	}
	if !r.Long() {
		return nil
	}
	if r.Preset || strings.Contains(r.Metric, "_p") {
		return fault("/window", "latencies and presets are looked at over an hour at most")
	}
	if r.ByCaller() && (r.Tool != "" || r.Each == EachTool) {
		return fault("/window", "usage of callers by tool is looked at over an hour at most").Fix("leave the tool out")
	}
	if r.Connector != "" {
		return fault("/window", "usage by connector is looked at over an hour at most").Fix("name the toolset instead")
	}
	return nil
}

// ByCaller reports whether a rule counts single callers.
func (r *Rule) ByCaller() bool { return !r.Preset && (r.Each == EachCaller || r.Caller != "") }

// Long reports whether a rule is evaluated from the hours of usage.
func (r *Rule) Long() bool { return r.Calendar != "" || r.Window > MaxMinutes }

// Budget reports whether a rule is a budget: what may be spent of a day or a month.
func (r *Rule) Budget() bool { return r.Calendar != "" }

func (r *Rule) percent() bool {
	return r.Metric == ErrorRate || r.Preset && strings.HasPrefix(unitOf(r.Name), "%")
}

// Unit of the threshold of a rule, for people.
func (r *Rule) Unit() string {
	switch {
	case r.Preset:
		return unitOf(r.Name)
	case r.Metric == ErrorRate:
		return "%"
	case strings.Contains(r.Metric, "_p"):
		return "ms"
	}
	return r.Metric
}

// clearLatency is clear of latencies and of what is counted.
const clearLatency = 0.8

// clear is the share of the threshold below which an alert is over: what is around the
// threshold must not come and go.
func (r *Rule) clear() float64 {
	switch {
	case r.percent():
		return 0.5
	case r.Calendar != "":
		return 1 // it is over with its day or month
	}
	return clearLatency
}

// from is when the window of a rule begins.
func (r *Rule) from(now time.Time) time.Time {
	now = now.UTC()
	switch {
	case r.Calendar == Day:
		return now.Truncate(24 * time.Hour)
	case r.Calendar == Month:
		return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	case r.Long():
		return now.Add(-r.Window).Truncate(time.Hour).Add(time.Hour)
	}
	return now.Truncate(time.Minute).Add(time.Minute - r.Window)
}

// Settings shows a rule as people write it.
func (r *Rule) Settings() Settings {
	s := Settings{Metric: r.Metric, Threshold: &r.Threshold, Window: r.Calendar, For: Text(r.For), MinCalls: &r.MinCalls, Severity: r.Severity, Enabled: &r.Enabled, Each: r.Each, Tool: r.Tool, Connector: r.Connector, Caller: r.Caller}
	if s.Window == "" && r.Window > 0 {
		s.Window = Text(r.Window)
	}
	return s
}

// Text writes a time as short as it can be written: 90s, 10m, 24h, 7d.
func Text(d time.Duration) string {
	switch {
	case d > 0 && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d > 0 && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d > 0 && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// span reads a time such as 90s, 10m, 24h or 7d.
func span(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		text = days + "h"
		d, err := time.ParseDuration(text)
		if d > MaxWindow {
			return 0, fmt.Errorf("%s is too long", text)
		}
		return d * 24, err
	}
	return time.ParseDuration(text)
}

func fault(pointer, format string, args ...any) *problem.Error {
	return problem.New(problem.InvalidArgument, format, args...).At("", 0, 0, pointer)
}
