package rule

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"
)

// leastBook is what is remembered of usage when no rule asks for more.
const leastBook = 15 * time.Minute

// Set is the rules of a workspace.
type Set struct {
	plain  map[string]*Rule            // presets of the workspace, by name
	varied map[string]map[string]*Rule // and those with settings of a toolset, by it
	Own    []*Rule
	far    int // what Minutes returns; 0: not known yet
}

// NewSet makes the set of the presets as they are from the start.
func NewSet() *Set {
	s := &Set{plain: map[string]*Rule{}, varied: map[string]map[string]*Rule{}}
	for _, p := range Presets() {
		r, err := Preset(p, "")
		if err != nil {
			panic("BUG: preset " + p + ": " + err.Error())
		}
		s.plain[p] = r
	}
	return s
}

// Put puts a preset with its settings, or an own rule, into the set.
func (s *Set) Put(r *Rule) {
	s.far = 0
	switch {
	case !r.Preset:
		s.Own = append(s.Own, r)
	case r.Toolset == "":
		s.plain[r.Name] = r
	default:
		if s.varied[r.Toolset] == nil {
			s.varied[r.Toolset] = map[string]*Rule{}
		}
		s.varied[r.Toolset][r.Name] = r
	}
}

// preset is the preset that counts for a toolset; nil when there is none of the name.
func (s *Set) preset(called, toolset string) *Rule {
	if r := s.varied[toolset][called]; r != nil {
		return r
	}
	return s.plain[called]
}

// CallerMinutes is how far back the rules look at single callers minute by minute; 0: none
// does.
func (s *Set) CallerMinutes() int {
	var most time.Duration
	for _, r := range s.Own {
		if r.Enabled && r.ByCaller() && !r.Long() {
			most = max(most, r.Window)
		}
	}
	return int(most / time.Minute)
}

// Minutes is how far back the rules look minute by minute.
func (s *Set) Minutes() int {
	if s.far > 0 {
		return s.far
	}
	most := leastBook
	see := func(r *Rule) {
		if r.Enabled && !r.Long() {
			most = max(most, r.Window)
		}
	}
	for _, r := range s.plain {
		see(r)
	}
	for _, of := range s.varied {
		for _, r := range of {
			see(r)
		}
	}
	for _, r := range s.Own {
		see(r)
	}
	s.far = int(most / time.Minute)
	return s.far
}

// group is what one alert of an own rule is of.
type group struct {
	cell     Cell
	parts    []*Cell // of a latency: what has the histograms
	toolsets []string
	tools    []string
	caller   Caller
}

// own evaluates the own rules.
func (e *evaluation) own() error {
	for _, r := range e.Set.Own {
		if !r.Enabled {
			continue
		}
		groups, err := e.groups(r)
		if err != nil {
			return err
		}
		if groups == nil { // hours are not looked at now
			e.keepOwn(r)
			continue
		}
		for scope, g := range groups {
			e.ownGroup(r, scope, g)
		}
	}
	return nil
}

// keyOf is the key of the alert of an own rule. It does not name the caller.
func keyOf(r *Rule, scope Scope) string {
	key := "rule/" + r.Name + "/" + scope.Toolset + "/" + scope.Tool
	if scope.Caller != (Caller{}) {
		sum := sha256.Sum256([]byte(scope.Caller.Kind + " " + scope.Caller.ID))
		key += "/" + hex.EncodeToString(sum[:16])
	}
	return key
}

// keepOwn keeps the alerts of a rule that is not evaluated this time.
func (e *evaluation) keepOwn(r *Rule) {
	for key, o := range e.Open {
		if len(key) > len("rule/"+r.Name) && key[:len("rule/"+r.Name)+1] == "rule/"+r.Name+"/" {
			e.found[key] = &Finding{Key: key, Kind: o.Kind, Rule: r, Severity: r.Severity, Stage: o.Stage, Toolsets: o.Toolsets, Kept: true}
		}
	}
}

// groups adds up what a rule looks at. nil: not now.
func (e *evaluation) groups(r *Rule) (map[Scope]*group, error) {
	if r.ByCaller() {
		return e.callerGroups(r)
	}
	out := map[Scope]*group{}
	at := func(toolset, tool string) *group {
		var k Scope
		switch r.Each {
		case EachTool:
			k = Scope{Toolset: toolset, Tool: tool}
		case EachToolset:
			k = Scope{Toolset: toolset}
		}
		g := out[k]
		if g == nil {
			g = new(group)
			out[k] = g
		}
		if k.Toolset != "" && len(g.toolsets) == 0 {
			g.toolsets = []string{toolset}
		}
		if r.Each == EachTool {
			g.tools = []string{tool}
		}
		return g
	}
	if r.Long() {
		if e.Hours == nil {
			return nil, nil //nolint:nilnil // nil: not now
		}
		sums, err := e.Hours(r.from(e.Now))
		if err != nil {
			return nil, err
		}
		for s, t := range sums {
			if r.Toolset != "" && s.Toolset != r.Toolset || r.Tool != "" && s.Tool != r.Tool {
				continue
			}
			g := at(s.Toolset, s.Tool)
			g.cell.Calls, g.cell.Errors, g.cell.Tokens = g.cell.Calls+t.Calls, g.cell.Errors+t.Errors, g.cell.Tokens+t.Tokens
		}
		return out, nil
	}
	n := int(r.Window / time.Minute)
	if r.Toolset != "" {
		return out, e.count(r, r.Toolset, e.minutes(r.Toolset)[:n], at)
	}
	seen := map[string]bool{}
	for minute := r.from(e.Now).Unix(); minute <= e.Now.Unix(); minute += 60 {
		for ts := range e.Book[minute] {
			if seen[ts] {
				continue
			}
			seen[ts] = true
			if err := e.count(r, ts, e.minutes(ts)[:n], at); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// count adds the usage of a toolset to the groups of a rule.
func (e *evaluation) count(r *Rule, ts string, minutes []map[string]*Cell, at func(toolset, tool string) *group) error {
	serves := func(string) bool { return true }
	if r.Connector != "" {
		place, ok, err := e.Places.Of(ts)
		if err != nil || !ok {
			return err
		}
		serves = func(tool string) bool { return place(tool).Connector == r.Connector }
	}
	var g *group
	for _, tools := range minutes {
		for tool, c := range tools {
			if r.Tool != "" && tool != r.Tool || !serves(tool) {
				continue
			}
			if g == nil || r.Each == EachTool {
				g = at(ts, tool)
			}
			g.cell.Calls, g.cell.Errors, g.cell.Tokens = g.cell.Calls+c.Calls, g.cell.Errors+c.Errors, g.cell.Tokens+c.Tokens
			if r.histograms() {
				g.cell.Waited, g.cell.Took = g.cell.Waited+c.Waited, g.cell.Took+c.Took
				g.parts = append(g.parts, c)
			}
		}
	}
	return nil
}

func (r *Rule) histograms() bool {
	return r.Metric != Calls && r.Metric != Errors && r.Metric != Tokens && r.Metric != ErrorRate
}

// value of what a rule measures.
func (r *Rule) value(g *group) float64 {
	c := &g.cell
	switch r.Metric {
	case Calls:
		return float64(c.Calls)
	case Errors:
		return float64(c.Errors)
	case Tokens:
		return float64(c.Tokens)
	case ErrorRate:
		return percent(c.Errors, c.Calls)
	}
	q, sum := map[string]float64{"50": 0.5, "95": 0.95, "99": 0.99}[r.Metric[len(r.Metric)-2:]], c.Took
	if r.Metric[0] == 'u' {
		sum = c.Waited
	}
	if !maybeSlow(r.Threshold, q, sum, c.Calls) {
		return 0
	}
	var encoded [][]byte
	for _, p := range g.parts {
		if r.Metric[0] == 'u' {
			encoded = append(encoded, p.upstream...)
		} else {
			encoded = append(encoded, p.latency...)
		}
	}
	return quantile(encoded, q)
}

// ownGroup compares a group of an own rule with its threshold.
func (e *evaluation) ownGroup(r *Rule, scope Scope, g *group) {
	key := keyOf(r, scope)
	f := &Finding{
		Key: key, Kind: KindRule, Rule: r, Severity: r.Severity, Toolsets: g.toolsets, Tools: g.tools, Calls: g.cell.Calls, Failed: g.cell.Errors, Place: Place{Connector: r.Connector}, Caller: g.caller,
		Value: r.value(g), Linger: linger,
	}
	if r.Budget() {
		f.Kind, f.Linger = KindBudget, 0
		f.Stage = "spent"
		if f.Value < r.Threshold {
			f.Stage, f.Severity = "80 %", "info"
		}
		if f.Value >= r.Threshold*budgetWarning/100 {
			e.found[key] = f
		}
		return
	}
	if g.cell.Calls < r.MinCalls {
		// Too few calls say nothing: what was told stays while there are some, or usage is late.
		if o, ok := e.Open[key]; ok && !o.Pending && (e.Late || e.Now.Sub(o.LastCall) <= Quiet) && r.rate() {
			f.Kept = true
			e.found[key] = f
		}
		return
	}
	if f.Value >= e.level(r, key) {
		e.found[key] = f
	}
}

func (r *Rule) rate() bool { return r.Metric == ErrorRate || r.histograms() }

// Scopes are the toolsets that rules of a set are of.
func (s *Set) Scopes() []string {
	seen := map[string]bool{}
	for ts := range s.varied {
		seen[ts] = true
	}
	for _, r := range s.Own {
		if r.Toolset != "" {
			seen[r.Toolset] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
