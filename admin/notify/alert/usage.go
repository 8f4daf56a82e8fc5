package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// usageEvery is how often usage is compared with the rules, at most.
const usageEvery = 5 * time.Second

// placesAge is how long it is remembered what serves the tools of a toolset, at least; at
// most twice as long, so that not all are read again at once.
const placesAge = 5 * time.Minute

// kinds of alerts that are made of usage.
var usageKinds = func() map[string]bool {
	kinds := map[string]bool{rule.KindRule: true, rule.KindBudget: true}
	for _, p := range rule.Presets() {
		kinds[p] = true
	}
	return kinds
}()

// ledger is what a room remembers of the usage and rules of a workspace. Everything in it is
// in the records, too, and is read again after a restart.
type ledger struct {
	at     time.Time // when it was evaluated
	mark   string    // of the rules
	set    *rule.Set
	book   rule.Book
	marks  map[int64]uint64 // of the minutes of book
	places map[string]placed
	hours  map[time.Time]summed // by beginning

	callers     rule.Callers // for rules over single callers, when there are any
	callerMarks map[int64]uint64
	callerHours map[time.Time]summedCallers
}

type placed struct {
	until time.Time
	known bool
	of    func(tool string) rule.Place
}

type summed struct {
	at   time.Time
	sums map[rule.Scope]rule.Totals
}

func newLedger() *ledger {
	return &ledger{
		set: rule.NewSet(), book: rule.Book{}, marks: map[int64]uint64{}, places: map[string]placed{}, hours: map[time.Time]summed{},
		callers: rule.Callers{}, callerMarks: map[int64]uint64{}, callerHours: map[time.Time]summedCallers{},
	}
}

// usage compares what nodes reported with the rules.
func (r *Room) usage(ctx context.Context, ws *store.Workspace, _ open) (*finding, error) {
	l := r.ledgers[ws.ID()]
	if l == nil {
		l = newLedger()
		r.ledgers[ws.ID()] = l
	}
	now := ws.Now()
	if now.Sub(l.at) < usageEvery {
		return nil, nil //nolint:nilnil // nil: nothing to write
	}
	if err := l.refresh(ctx, ws, now); err != nil {
		return nil, err
	}
	rows, err := ws.OpenAlerts(ctx) // also what this round found before
	if err != nil {
		return nil, err
	}
	have := openOf(rows)
	in, err := l.input(ctx, ws, now, have)
	if err != nil {
		return nil, err
	}
	in.Late = in.Late || r.late[ws.ID()] // a late edge may have another fault, which is what is reported
	found, err := rule.Evaluate(in)
	if err != nil {
		return nil, err
	}
	f := &finding{covers: func(kind string) bool { return usageKinds[kind] }}
	for i := range found {
		c, err := r.usageCondition(ctx, ws, &found[i], have[found[i].Key])
		if err != nil {
			return nil, err
		}
		f.conditions = append(f.conditions, *c)
	}
	l.at = now
	if !f.concerns(have) {
		return nil, nil //nolint:nilnil // nil: nothing to write
	}
	return f, nil
}

// refresh reads the rules and the minutes that changed since it did.
func (l *ledger) refresh(ctx context.Context, ws *store.Workspace, now time.Time) error {
	mark, err := ws.AlertRulesMark(ctx)
	if err != nil {
		return err
	}
	if mark != l.mark {
		rows, err := ws.AlertRules(ctx)
		if err != nil {
			return err
		}
		if l.set, err = setOf(rows); err != nil {
			return err
		}
		l.mark, l.at = mark, time.Time{}
	}
	return l.read(ctx, ws, now)
}

// read brings the minutes up to a time to what the records say.
func (l *ledger) read(ctx context.Context, ws *store.Workspace, now time.Time) error {
	from := now.Truncate(time.Minute).Add(-time.Duration(l.set.Minutes()-1) * time.Minute)
	marks, err := ws.UsageMarks(ctx, from)
	if err != nil {
		return err
	}
	for at := range l.book {
		if at < from.Unix() {
			delete(l.book, at)
			delete(l.marks, at)
		}
	}
	for at, n := range marks {
		if l.marks[at] == n || at > now.Unix() {
			continue
		}
		m := rule.Minute{}
		err := ws.MinuteUsage(ctx, at, func(s *store.MinuteSeries) {
			m.Cell(s.Toolset, s.Tool).Outcome(s.Calls, s.Cached, s.TokensAfter, s.Duration, s.Upstream, s.Outcome == "ok", s.Latency, s.UpstreamLatency)
		})
		if err != nil {
			return err
		}
		causes, err := ws.MinuteCauses(ctx, at)
		if err != nil {
			return err
		}
		for i := range causes {
			c := &causes[i]
			m.Cell(c.ToolsetID, c.Tool).Cause(c.Cause, c.Calls)
		}
		l.book[at], l.marks[at] = m, n
	}
	return l.readCallers(ctx, ws, now, marks)
}

// setOf makes the set of what people changed. What an older version wrote and this one
// cannot read counts as not there, and is said where it is shown.
func setOf(rows []store.AlertRule) (*rule.Set, error) {
	s := rule.NewSet()
	workspace := map[string]*rule.Settings{}
	for i := range rows {
		row := &rows[i]
		var given rule.Settings
		if err := json.Unmarshal([]byte(row.Document), &given); err != nil {
			return nil, fmt.Errorf("reading alert rule %s: %w", row.Name, err)
		}
		var r *rule.Rule
		var err error
		if rule.IsPreset(row.Name) {
			if row.ToolsetID == "" { // sorted before those of toolsets
				workspace[row.Name] = &given
				r, err = rule.Preset(row.Name, "", &given)
			} else {
				r, err = rule.Preset(row.Name, row.ToolsetID, workspace[row.Name], &given)
			}
		} else {
			r, err = rule.New(row.Name, row.ToolsetID, &given)
		}
		if problem.Is(err, problem.InvalidArgument) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.Put(r)
	}
	return s, nil
}

// input is what is evaluated now.
func (l *ledger) input(ctx context.Context, ws *store.Workspace, now time.Time, have open) (*rule.Input, error) {
	in := &rule.Input{Now: now, Book: l.book, Set: l.set, Open: map[string]rule.Open{}}
	refused := map[string]bool{}
	for key, row := range have {
		switch {
		case row.Kind == KindEdgeSilent || row.Kind == KindUsageLate:
			in.Late = true
		case row.Kind == KindAuthFailed || row.Kind == KindLogin:
			refused[row.ToolsetID] = true
		case usageKinds[row.Kind]:
			d, err := detailsOf(row)
			if err != nil {
				return nil, err
			}
			last := d.LastAt
			if last.IsZero() {
				last = row.Since.Time
			}
			in.Open[key] = rule.Open{Kind: row.Kind, Pending: row.State == Pending, Stage: row.Stage, LastCall: last, Toolsets: d.ToolsetIDs, Tools: d.Tools, Value: d.Value}
		}
	}
	in.Refused = func(toolset string) bool { return refused[toolset] }
	in.Places = &places{ctx, ws, l, now}
	l.hourly(ctx, ws, now, in)
	return in, nil
}

// hourly gives an evaluation what has the hours, and single callers.
func (l *ledger) hourly(ctx context.Context, ws *store.Workspace, now time.Time, in *rule.Input) {
	in.Hours = func(from time.Time) (map[rule.Scope]rule.Totals, error) { return l.totals(ctx, ws, from, now) }
	in.Callers = l.callers
	in.CallerHours = func(from time.Time) ([]rule.CallerCell, error) { return l.callerTotals(ctx, ws, from, now) }
}

// hourAge is how old a sum of the hours from one on may be.
func hourAge(from, now time.Time) time.Duration {
	if now.Sub(from) > 24*time.Hour {
		return 5 * time.Minute
	}
	return time.Minute
}

// totals adds up the hours from one on, a minute old at most; five when they are more than a
// day.
func (l *ledger) totals(ctx context.Context, ws *store.Workspace, from, now time.Time) (map[rule.Scope]rule.Totals, error) {
	age := hourAge(from, now)
	for at, s := range l.hours {
		if now.Sub(s.at) > time.Hour {
			delete(l.hours, at)
		}
	}
	if s, ok := l.hours[from]; ok && now.Sub(s.at) < age {
		return s.sums, nil
	}
	rows, err := ws.UsageTotals(ctx, from, now)
	if err != nil {
		return nil, err
	}
	sums := make(map[rule.Scope]rule.Totals, len(rows))
	for _, t := range rows {
		sums[rule.Scope{Toolset: t.ToolsetID, Tool: t.Tool}] = rule.Totals{Calls: t.Calls, Errors: t.Errors, Tokens: t.Tokens}
	}
	l.hours[from] = summed{now, sums}
	return sums, nil
}

// places finds what serves the tools of toolsets, in the records.
type places struct {
	ctx    context.Context //nolint:containedctx // of one evaluation
	ws     *store.Workspace
	ledger *ledger
	now    time.Time
}

// Of implements [rule.Places].
func (p *places) Of(toolset string) (func(tool string) rule.Place, bool, error) {
	if have, ok := p.ledger.places[toolset]; ok && p.now.Before(have.until) {
		return have.of, have.known, nil
	}
	of, known, err := placesOf(p.ctx, p.ws, toolset, p.now)
	if err == nil {
		p.ledger.places[toolset] = placed{p.now.Add(placesAge + rand.N(placesAge)), known, of} //nolint:gosec // spreads work, guards nothing
	}
	return of, known, err
}

func placesOf(ctx context.Context, ws *store.Workspace, toolset string, now time.Time) (func(tool string) rule.Place, bool, error) {
	ts, err := ws.Toolset(ctx, toolset)
	if problem.Is(err, problem.NotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	connectors, err := ws.ToolsetConnectors(ctx, ts)
	if err != nil {
		return nil, false, err
	}
	all := make(map[string]rule.Place, len(connectors))
	for i := range connectors {
		name := connectors[i].Name
		creds, err := ws.CredentialsOf(ctx, toolset, name)
		if err != nil {
			return nil, false, err
		}
		host, err := upstreamOf(ctx, ws, ts, name, creds)
		if err != nil {
			return nil, false, err
		}
		all[name] = rule.Place{Connector: name, Upstream: host}
	}
	first := all[connectors[0].Name]
	if len(connectors) == 1 {
		return func(string) rule.Place { return first }, true, nil
	}
	serves, err := ws.ToolConnectors(ctx, toolset, now.Add(-time.Hour))
	if err != nil {
		return nil, false, err
	}
	return func(tool string) rule.Place {
		if at, ok := all[serves[tool]]; ok {
			return at
		}
		return first
	}, true, nil
}

// slugs are the names of toolsets; of one that is gone its identifier.
func slugs(ctx context.Context, ws *store.Workspace, ids []string) ([]string, error) {
	out := make([]string, len(ids))
	for i, id := range ids {
		ts, err := ws.Toolset(ctx, id)
		if out[i] = id; err == nil {
			out[i] = ts.Slug
		} else if !problem.Is(err, problem.NotFound) {
			return nil, err
		}
	}
	return out, nil
}

// list names a few things: a, b and 3 more.
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
