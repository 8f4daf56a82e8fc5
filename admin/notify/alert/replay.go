package alert

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

const (
	// MaxReplay is how far back a rule is tried: a day of minutes.
	MaxReplay = 24 * time.Hour
	// maxFirings of one try are shown; a rule that fires more often is of no use.
	maxFirings = 500
)

// TestRule evaluates a rule over the usage of the past, with changes that are not kept, and
// says what it would have reported. A preset is tried with the others on, because one cause is
// reported once.
func (r *Room) TestRule(ctx context.Context, ws *store.Workspace, name, toolset string, back time.Duration, changes *rule.Settings) (*RuleTest, error) {
	if back < time.Minute || back > MaxReplay {
		return nil, request.FieldFault("/range", "a rule is tried on the last minute to %s", rule.Text(MaxReplay))
	}
	row, workspace, err := rowsOf(ctx, ws, name, toolset)
	if err != nil {
		return nil, err
	}
	given := &store.AlertRule{Name: name, ToolsetID: toolset, Document: "{}"}
	if row != nil {
		given.Document = row.Document
	}
	var s rule.Settings
	if err := json.Unmarshal([]byte(given.Document), &s); err != nil {
		return nil, err
	}
	given.Document = store.JSON(s.Merge(changes))
	tried, err := madeOf(given, workspace)
	if err != nil {
		return nil, err
	}
	rows, err := ws.AlertRules(ctx)
	if err != nil {
		return nil, err
	}
	presets := rows[:0]
	for i := range rows {
		if rule.IsPreset(rows[i].Name) {
			presets = append(presets, rows[i])
		}
	}
	set, err := setOf(presets)
	if err != nil {
		return nil, err
	}
	set.Put(tried)
	shown, err := showRule(ctx, ws, tried, row)
	if err != nil {
		return nil, err
	}
	p := &replay{l: newLedger(), ws: ws, tried: tried, open: map[string]*played{}}
	p.l.set = set
	now := ws.Now()
	out := &RuleTest{From: now.Add(-back), To: now, Rule: *shown, Firings: []RuleFiring{}}
	for at := out.From; ; at = at.Add(time.Minute) {
		at = at.Truncate(time.Minute).Add(59 * time.Second)
		if at.After(now) {
			at = now
		}
		if err := p.minute(ctx, at); err != nil {
			return nil, err
		}
		if at.Equal(now) {
			break
		}
	}
	for i := range p.told {
		if i == maxFirings {
			break
		}
		out.Firings = append(out.Firings, *p.told[i])
	}
	return out, nil
}

// replay is a rule that is evaluated minute by minute.
type replay struct {
	l     *ledger
	ws    *store.Workspace
	tried *rule.Rule
	open  map[string]*played // by key
	told  []*RuleFiring      // of the rule that is tried
}

// played is an alert as it would have been.
type played struct {
	rule.Open

	since, absent time.Time
	stage         string
	firing        *RuleFiring // nil: of another rule, or pending
}

// minute evaluates one minute.
func (p *replay) minute(ctx context.Context, at time.Time) error {
	if err := p.l.read(ctx, p.ws, at); err != nil {
		return err
	}
	in := &rule.Input{Now: at, Book: p.l.book, Set: p.l.set, Open: map[string]rule.Open{}, Places: &places{ctx, p.ws, p.l, p.ws.Now()}, Refused: func(string) bool { return false }}
	p.l.hourly(ctx, p.ws, at, in)
	for key, o := range p.open {
		in.Open[key] = o.Open
	}
	found, err := rule.Evaluate(in)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range found {
		f := &found[i]
		seen[f.Key] = true
		if err := p.there(ctx, f, at); err != nil {
			return err
		}
	}
	for key, o := range p.open {
		switch {
		case seen[key]:
			continue
		case o.absent.IsZero():
			o.absent = at
		}
		if o.Pending || at.Sub(o.absent) >= time.Minute {
			if o.firing != nil {
				o.firing.Until = at
			}
			delete(p.open, key)
		}
	}
	return nil
}

func (p *replay) there(ctx context.Context, f *rule.Finding, at time.Time) error {
	o := p.open[f.Key]
	if o == nil {
		o = &played{since: at}
		o.Pending = true
		p.open[f.Key] = o
	}
	o.absent = time.Time{}
	if !f.Kept {
		o.Kind, o.Stage, o.LastCall, o.Toolsets, o.Tools, o.Value = f.Kind, f.Stage, at, f.Toolsets, f.Tools, f.Value
	}
	if o.firing != nil {
		o.firing.Value = max(o.firing.Value, f.Value)
	}
	if o.Pending && at.Sub(o.since) < f.Rule.For || !o.Pending && o.stage == f.Stage {
		return nil
	}
	o.Pending, o.stage = false, f.Stage
	if f.Rule.Name != p.tried.Name || p.tried.Toolset != "" && f.Rule.Toolset != p.tried.Toolset {
		return nil
	}
	names, err := slugs(ctx, p.ws, f.Toolsets)
	if err != nil {
		return err
	}
	caller, err := callerOf(ctx, p.ws, f)
	if err != nil {
		return err
	}
	o.firing = &RuleFiring{At: at, Kind: f.Kind, Severity: f.Severity, Title: usageTitle(f, names), Caller: caller, Value: f.Value}
	p.told = append(p.told, o.firing)
	return nil
}
