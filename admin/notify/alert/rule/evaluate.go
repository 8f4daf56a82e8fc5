package rule

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// Quiet is how long after the last call an alert stays when no call says whether its
	// cause is gone.
	Quiet = 30 * time.Minute
	// linger is how long the cause of an alert must be gone before it is resolved.
	linger = time.Minute
	// maxNamed tools and toolsets are named in an alert.
	maxNamed = 20
	// fewest calls that say something of an upstream.
	fewest = 5
	// fewFaults is the percent of faults below which an upstream serves.
	fewFaults = 12.5
	// budgetWarning is the percent of a budget from which it is reported.
	budgetWarning = 80
)

// Open is an alert that is open.
type Open struct {
	Kind     string
	Pending  bool      // nobody was notified of it yet
	Stage    string    // of a budget
	LastCall time.Time // when the last call was seen that said something of it
	Toolsets []string  // identifiers
	Tools    []string
	Value    float64 // that was measured last
}

// Place is what serves the tools of a toolset.
type Place struct {
	Connector string
	Upstream  string // host; empty: not known
}

// Places finds what serves tools. It is asked of toolsets that have trouble only.
type Places interface {
	// Of is the place of each tool of a toolset, and false when there is no such toolset.
	Of(toolset string) (place func(tool string) Place, ok bool, err error)
}

// Totals are sums over hours.
type Totals struct{ Calls, Errors, Tokens uint64 }

// Scope is what a total is of.
type Scope struct {
	Toolset, Tool string
	Caller        Caller
}

// Input is what is evaluated.
type Input struct {
	Now    time.Time
	Book   Book
	Set    *Set
	Open   map[string]Open // by key
	Late   bool            // usage of a node is missing: that there are no calls says nothing
	Places Places
	// Refused reports whether an alert says that the credential of a toolset is refused:
	// calls that fail of it are not reported again.
	Refused func(toolset string) bool
	// Hours adds usage up from a whole hour on. nil: rules over hours are not evaluated, and
	// their alerts stay.
	Hours func(from time.Time) (map[Scope]Totals, error)
	// Callers and CallerHours are the same of single callers, for the rules over them.
	Callers     Callers
	CallerHours func(from time.Time) ([]CallerCell, error)
}

// Finding is what is wrong now.
type Finding struct {
	Key, Kind string
	Rule      *Rule
	Severity  string
	Stage     string   // of a budget: what was reported
	Toolsets  []string // identifiers; empty: of the workspace
	Place     Place
	Tools     []string
	Caller    Caller // of a rule over single callers
	Calls     uint64 // in the window, or those that say something of it
	Failed    uint64 // of them, for the reason that is told
	Cause     string // the most frequent one, as usage names it; empty: no call failed
	Value     float64
	Kept      bool // no call says anything new: what was said stays
	Linger    time.Duration
}

// Evaluate says what is wrong now, sorted by key. What is not in it any more is over.
func Evaluate(in *Input) ([]Finding, error) {
	e := &evaluation{Input: in, found: map[string]*Finding{}, open: map[string][]string{}, judged: map[judgement]bool{}, read: map[string][]map[string]*Cell{}}
	for key, o := range in.Open {
		for _, ts := range o.Toolsets {
			e.open[ts] = append(e.open[ts], key)
		}
	}
	for ts := range e.candidates() {
		if err := e.presets(ts); err != nil {
			return nil, err
		}
	}
	if err := e.own(); err != nil {
		return nil, err
	}
	out := make([]Finding, 0, len(e.found))
	for _, f := range e.found {
		slices.Sort(f.Tools)
		f.Tools = slices.Compact(f.Tools)
		f.Tools = f.Tools[:min(len(f.Tools), maxNamed)]
		slices.Sort(f.Toolsets)
		f.Toolsets = slices.Compact(f.Toolsets)
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b Finding) int { return cmp.Compare(a.Key, b.Key) })
	return out, nil
}

type evaluation struct {
	*Input
	found  map[string]*Finding
	open   map[string][]string // keys of open alerts by toolset
	judged map[judgement]bool
	read   map[string][]map[string]*Cell // what minutes returned, by toolset
}

// minutes is the usage of a toolset as far back as rules look, the newest minute first.
func (e *evaluation) minutes(toolset string) []map[string]*Cell {
	m, ok := e.read[toolset]
	if !ok {
		m = e.Book.minutes(e.Now, e.Set.Minutes(), toolset)
		e.read[toolset] = m
	}
	return m
}

// judgement is what enough calls say of an open alert: that its cause is gone. tool is of
// alerts that name the tools that fail.
type judgement struct{ toolset, key, tool string }

// candidates are the toolsets that may have trouble: a call failed, the upstream is slow, or
// an alert is open.
func (e *evaluation) candidates() map[string]bool {
	out := map[string]bool{}
	for ts := range e.open {
		out[ts] = true
	}
	type sums struct{ asked, waited uint64 }
	slow := map[string]*sums{}
	at := e.Now.Truncate(time.Minute).Unix()
	for i := range int64(e.Set.Minutes()) {
		for ts, tools := range e.Book[at-i*60] {
			if out[ts] {
				continue
			}
			s := slow[ts]
			if s == nil {
				s = new(sums)
				slow[ts] = s
			}
			enough := s.asked >= max(e.Set.preset(KindSlow, ts).MinCalls, 1)
			for _, c := range tools {
				if c.failed() > 0 {
					out[ts] = true
					break
				}
				if !enough {
					s.asked, s.waited = s.asked+c.asked(), s.waited+c.Waited
				}
			}
		}
	}
	for ts, s := range slow {
		if r := e.Set.preset(KindSlow, ts); r.Enabled && maybeSlow(r.Threshold, 0.95, s.waited, s.asked) {
			out[ts] = true
		}
	}
	return out
}

// maybeSlow reports whether a quantile may be near a threshold of milliseconds: of calls of
// which a share 1-q took as long, the mean is that share of it, or more.
func maybeSlow(threshold, q float64, micros, calls uint64) bool {
	const near = 0.7 // below clear, and below what a bucket of the histogram is wide
	return calls > 0 && float64(micros)/1000/float64(calls) >= threshold*(1-q)*near
}

// part is what one upstream serves of a toolset.
type part struct {
	place  Place
	tools  []string
	series series
	told   bool // that calls of it fail is reported already
}

func (p *part) key(toolset string) string {
	if p.place.Upstream != "" {
		return p.place.Upstream
	}
	return toolset + "/" + p.place.Connector
}

// presets evaluates the presets of a toolset.
func (e *evaluation) presets(ts string) error {
	place, ok, err := e.Places.Of(ts)
	if err != nil || !ok {
		return err
	}
	minutes := e.minutes(ts)
	parts, places := map[Place]*part{}, map[string]*part{}
	for _, tools := range minutes {
		for tool := range tools {
			if places[tool] != nil {
				continue
			}
			at := place(tool)
			p := parts[at]
			if p == nil {
				p = &part{place: at}
				parts[at] = p
			}
			p.tools, places[tool] = append(p.tools, tool), p
		}
	}
	told := map[string]bool{} // tools
	for _, p := range parts {
		p.series = series{minutes: minutes}
		if len(parts) > 1 {
			p.series.keep = func(tool string) bool { return places[tool] == p }
		}
		e.upstream(ts, p)
	}
	for tool, p := range places {
		of := &series{minutes: minutes, only: tool}
		told[tool] = e.plugin(ts, tool, of) || p.told || e.failing(ts, tool, p, of)
	}
	if len(places) > 0 {
		e.errors(ts, &series{minutes: minutes, keep: func(tool string) bool { return !told[tool] }})
	}
	e.keep(ts)
	return nil
}

// keep keeps the open alerts of a toolset of which no call says anything.
func (e *evaluation) keep(ts string) {
	for _, key := range e.open[ts] {
		o := e.Open[key]
		if e.found[key] != nil || o.Pending {
			continue
		}
		r := e.Set.preset(o.Kind, ts)
		if r == nil || !r.Enabled || e.isOver(ts, key, &o) || !e.Late && e.Now.Sub(o.LastCall) > Quiet {
			continue
		}
		e.found[key] = &Finding{Key: key, Kind: o.Kind, Rule: r, Severity: r.Severity, Toolsets: o.Toolsets, Kept: true, Linger: linger}
	}
}

// isOver reports whether enough calls were seen to say that the cause of an alert is gone.
func (e *evaluation) isOver(ts, key string, o *Open) bool {
	if o.Kind != KindPlugin && o.Kind != KindToolFailing {
		return e.judged[judgement{ts, key, ""}]
	}
	for _, tool := range o.Tools {
		if !e.judged[judgement{ts, key, tool}] {
			return false
		}
	}
	return true
}

// level is the value from which a rule finds something: an alert that was reported is over
// well below the threshold only.
func (e *evaluation) level(r *Rule, key string) float64 {
	if o, ok := e.Open[key]; ok && !o.Pending {
		return r.Threshold * r.clear()
	}
	return r.Threshold
}

// look compares the newest calls with a preset. value is in its unit. tool is of presets
// that look at each tool. sum has causes and histograms when something was found.
func (e *evaluation) look(r *Rule, ts, key, tool string, s *series, value func(sum *Cell, minutes int) float64) (sum Cell, v float64, found bool) {
	if !r.Enabled {
		return sum, 0, false
	}
	open, was := e.Open[key]
	if was && !open.Pending && open.Kind == r.Name && r.percent() {
		if sum, n, ok := s.newest(r.Window, min(r.MinCalls, tells(open.Value))); ok && value(&sum, n) < e.level(r, key) {
			e.judged[judgement{ts, key, tool}] = true
			return sum, 0, false
		}
	}
	sum, n, ok := s.newest(r.Window, r.MinCalls)
	if !ok {
		return sum, 0, false
	}
	if v = value(&sum, n); v >= e.level(r, key) {
		return s.whole(n), v, true
	}
	if open.Kind == r.Name {
		e.judged[judgement{ts, key, tool}] = true
	}
	return sum, v, false
}

// tells is how many calls tell that fewer fail than a percentage of before: if it were the
// same, they would all work once in a hundred times.
func tells(was float64) uint64 {
	if was >= 99 {
		return fewest
	}
	return max(fewest, uint64(math.Ceil(math.Log(0.01)/math.Log(1-max(was, 1)/100))))
}

func percent(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

var classOfKind = map[string]Class{KindUnreachable: Unreachable, KindTimeout: TimedOut, KindErrors: Broken, KindCircuitOpen: Turned}

// upstream evaluates what is said of one upstream: it is not there, fails, turns away or is
// slow. The first that fits is reported.
func (e *evaluation) upstream(ts string, p *part) {
	key := "upstream/" + p.key(ts)
	kinds := []string{KindUnreachable, KindTimeout, KindErrors, KindCircuitOpen}
	if o, ok := e.Open[key]; ok { // what was told stays, while it fits
		kinds = slices.Insert(kinds, 0, o.Kind)
	}
	finding := func(r *Rule, key string, sum *Cell, failed uint64, v float64) *Finding {
		return &Finding{
			Key: key, Kind: r.Name, Rule: r, Severity: r.Severity, Toolsets: []string{ts}, Place: p.place, Tools: p.failingTools(), Calls: sum.asked(), Failed: failed, Value: v, Linger: linger,
		}
	}
	recent, _, _ := p.series.newest(leastBook, fewest)
	for _, kind := range kinds {
		r := e.Set.preset(kind, ts)
		// What the newest calls do not fail of any more is not a new cause: a rule that needs many
		// calls looks back into what another alert reported.
		if r == nil || e.Open[key].Kind != kind && percent(e.failedBy(kind, key, &recent), recent.asked()) < r.Threshold*r.clear() {
			continue
		}
		sum, v, found := e.look(r, ts, key, "", &p.series, func(c *Cell, _ int) float64 { return percent(e.failedBy(kind, key, c), c.asked()) })
		if !found {
			continue
		}
		p.told = true
		f := finding(r, key, &sum, e.failedBy(kind, key, &sum), v)
		if kind == KindErrors {
			f.Kind, f.Severity = e.mostly(ts, key, &sum, r)
			kind = f.Kind
		}
		if f.Cause = sum.top(classOfKind[kind]); f.Cause == "" {
			f.Cause = sum.top(classes)
		}
		e.add(f)
		return
	}
	limited, slow := KindLimited+"/"+p.key(ts), KindSlow+"/"+p.key(ts)
	r := e.Set.preset(KindLimited, ts)
	sum, v, found := e.look(r, ts, limited, "", &p.series, func(c *Cell, _ int) float64 { return percent(c.By[Limited], c.asked()) })
	if found {
		p.told = true
		f := finding(r, limited, &sum, sum.By[Limited], v)
		f.Cause = sum.top(Limited)
		e.add(f)
	}
	r = e.Set.preset(KindSlow, ts)
	sum, v, found = e.look(r, ts, slow, "", &p.series, func(c *Cell, n int) float64 {
		if !maybeSlow(r.Threshold, 0.95, c.Waited, c.asked()) {
			return 0
		}
		all := p.series.whole(n)
		return quantile(all.upstream, 0.95)
	})
	if found {
		f := finding(r, slow, &sum, 0, v)
		f.Tools = slices.Clone(p.tools)
		e.add(f)
	}
}

// failedBy is how many calls failed for what a kind reports. Calls that were turned away
// failed for what the others failed of: the gateway stops asking an upstream that is gone.
func (e *evaluation) failedBy(kind, key string, c *Cell) uint64 {
	u, t, b, turned := c.By[Unreachable], c.By[TimedOut], c.By[Broken], c.By[Turned]
	switch {
	case turned == 0:
	case u+t+b == 0:
		switch e.Open[key].Kind {
		case KindUnreachable:
			u += turned
		case KindTimeout:
			t += turned
		case KindErrors:
			b += turned
		}
	case u >= t && u >= b:
		u += turned
	case t >= b:
		t += turned
	default:
		b += turned
	}
	switch kind {
	case KindUnreachable:
		return u
	case KindTimeout:
		return t
	case KindErrors:
		return u + t + b
	}
	return turned
}

// mostly is what nine of ten faults of an upstream are, if they are of one kind.
func (e *evaluation) mostly(ts, key string, sum *Cell, r *Rule) (kind, severity string) {
	for _, kind := range []string{KindUnreachable, KindTimeout} {
		if p := e.Set.preset(kind, ts); p.Enabled && percent(e.failedBy(kind, key, sum), e.failedBy(KindErrors, key, sum)) >= 90 {
			return kind, p.Severity
		}
	}
	return KindErrors, r.Severity
}

// failingTools are the tools of a part of which a call failed.
func (p *part) failingTools() (out []string) {
	for _, tool := range p.tools {
		for _, m := range p.series.minutes {
			if c := m[tool]; c != nil && c.failed() > 0 {
				out = append(out, tool)
				break
			}
		}
	}
	return out
}

// add notes a finding. Findings of one cause, of several tools or toolsets, are one.
func (e *evaluation) add(f *Finding) {
	have := e.found[f.Key]
	if have == nil || have.Kept {
		e.found[f.Key] = f
		return
	}
	have.Toolsets, have.Tools = append(have.Toolsets, f.Toolsets...), append(have.Tools, f.Tools...)
	have.Calls, have.Failed, have.Value = have.Calls+f.Calls, have.Failed+f.Failed, max(have.Value, f.Value)
}

// plugin evaluates whether a plugin makes calls of a tool fail.
func (e *evaluation) plugin(ts, tool string, s *series) bool {
	r, key := e.Set.preset(KindPlugin, ts), KindPlugin+"/"+ts
	sum, v, found := e.look(r, ts, key, tool, s, func(c *Cell, _ int) float64 { return percent(c.By[PluginFault], c.asked()) })
	if found {
		e.add(&Finding{
			Key: key, Kind: KindPlugin, Rule: r, Severity: r.Severity, Toolsets: []string{ts}, Tools: []string{tool}, Calls: sum.asked(), Failed: sum.By[PluginFault],
			Cause: sum.top(PluginFault), Value: v, Linger: linger,
		})
	}
	return found
}

// faults of the upstream among the failed calls, of which the rules of upstreams tell.
func (c *Cell) faults() uint64 {
	return c.By[Unreachable] + c.By[TimedOut] + c.By[Broken] + c.By[Turned] + c.By[Limited]
}

// reasons is how many calls failed of what is not reported elsewhere.
func (e *evaluation) reasons(ts string, c *Cell) uint64 {
	n := sub(c.failed(), c.faults())
	if e.Refused(ts) {
		return sub(n, c.By[Refused])
	}
	return n
}

// alone reports whether the upstream failed at one tool while it served the others.
func (p *part) alone(tool string, minutes int) bool {
	others := series{minutes: p.series.minutes, keep: func(t string) bool { return t != tool && (p.series.keep == nil || p.series.keep(t)) }}
	var sum Cell
	for i := range minutes {
		others.each(i, sum.count)
	}
	return sum.asked() >= fewest && percent(sum.faults(), sum.asked()) < fewFaults
}

// failing evaluates whether every call of a tool fails. Tools that fail of the same cause
// are one alert.
func (e *evaluation) failing(ts, tool string, p *part, s *series) bool {
	r := e.Set.preset(KindToolFailing, ts)
	if !r.Enabled {
		return false
	}
	sum, n, ok := s.newest(r.Window, r.MinCalls)
	if !ok {
		return false
	}
	failed := e.reasons(ts, &sum)
	if sum.faults() > 0 && p.alone(tool, n) {
		failed += sum.faults()
	}
	v := percent(failed, sum.asked())
	for _, key := range e.open[ts] { // of whatever cause it failed
		if e.Open[key].Kind == KindToolFailing && v < e.level(r, key) {
			e.judged[judgement{ts, key, tool}] = true
		}
	}
	if v < r.Threshold*r.clear() {
		return false
	}
	sum = s.whole(n)
	cause := sum.top(classes)
	key := KindToolFailing + "/" + ts + "/" + cause
	if v < e.level(r, key) {
		return false
	}
	e.add(&Finding{
		Key: key, Kind: KindToolFailing, Rule: r, Severity: r.Severity, Toolsets: []string{ts}, Place: p.place, Tools: []string{tool}, Calls: sum.asked(), Failed: failed,
		Cause: cause, Value: v, Linger: linger,
	})
	return true
}

// errors evaluates how many calls of a toolset fail of what no other alert reports.
func (e *evaluation) errors(ts string, s *series) {
	r, key := e.Set.preset(KindErrorRate, ts), KindErrorRate+"/"+ts
	sum, v, found := e.look(r, ts, key, "", s, func(c *Cell, _ int) float64 { return percent(e.reasons(ts, c), c.asked()) })
	if found {
		e.add(&Finding{
			Key: key, Kind: KindErrorRate, Rule: r, Severity: r.Severity, Toolsets: []string{ts}, Calls: sum.asked(), Failed: e.reasons(ts, &sum), Cause: sum.top(classes), Value: v,
			Linger: linger,
		})
	}
}
