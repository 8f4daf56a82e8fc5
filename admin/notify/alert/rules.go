package alert

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Rule is a rule over usage as the API shows it.
type Rule struct {
	Name      string `json:"name" doc:"Of a preset also the kind of its alerts."`
	Preset    bool   `json:"preset" doc:"It is there from the start, and can be changed and switched off, not removed."`
	About     string `json:"about,omitempty" doc:"Of a preset: what it looks at."`
	ToolsetID string `json:"toolsetId,omitempty" doc:"Absent: of all toolsets."`
	Toolset   string `json:"toolset,omitempty" doc:"Slug."`
	Unit      string `json:"unit" doc:"Of the threshold: %, ms, calls, errors, tokens."`
	Changed   bool   `json:"changed" doc:"Of a preset: it does not have its default settings."`
	rule.Settings

	Version   uint64    `json:"version" doc:"Of what people set; 0: they set nothing."`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
}

// NewRule asks for an own rule.
type NewRule struct {
	Name    string `json:"name" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" minLength:"1" maxLength:"63"`
	Toolset string `json:"toolset,omitempty" maxLength:"128" doc:"Only calls of this toolset, by id. Default: of all."`
	rule.Settings
}

// RuleFiring is when a rule would have been reported.
type RuleFiring struct {
	At       time.Time `json:"at" doc:"When it would have been reported, to the minute."`
	Until    time.Time `json:"until,omitzero" doc:"When it would have been over; absent: it still is."`
	Kind     string    `json:"kind"`
	Severity string    `json:"severity"`
	Title    string    `json:"title"`
	Caller   *Caller   `json:"caller,omitempty" doc:"Of a rule over single callers."`
	Value    float64   `json:"value" doc:"The highest that was measured."`
}

// RuleTest is what a rule would have reported in the past.
type RuleTest struct {
	From    time.Time    `json:"from"`
	To      time.Time    `json:"to"`
	Rule    Rule         `json:"rule"`
	Firings []RuleFiring `json:"firings"`
}

// showRule shows a rule; row is what people set of it, nil: nothing.
func showRule(ctx context.Context, ws *store.Workspace, r *rule.Rule, row *store.AlertRule) (*Rule, error) {
	return named(ctx, ws, r, row, map[string]string{})
}

// named is showRule with the slugs that are known, by the toolsets' ids.
func named(ctx context.Context, ws *store.Workspace, r *rule.Rule, row *store.AlertRule, known map[string]string) (*Rule, error) {
	out := &Rule{Name: r.Name, Preset: r.Preset, About: rule.About(r.Name), ToolsetID: r.Toolset, Unit: r.Unit(), Settings: r.Settings()}
	if row != nil {
		out.Version, out.UpdatedAt, out.Changed = row.Version, row.UpdatedAt.Time, r.Preset
	}
	if r.Toolset != "" && known[r.Toolset] == "" {
		names, err := slugs(ctx, ws, []string{r.Toolset})
		if err != nil {
			return nil, err
		}
		known[r.Toolset] = names[0]
	}
	out.Toolset = known[r.Toolset]
	return out, nil
}

// madeOf makes a rule of what people set. workspace is what they set of its preset for the
// workspace, when row is of a toolset.
func madeOf(row, workspace *store.AlertRule) (*rule.Rule, error) {
	given := make([]*rule.Settings, 2)
	for i, from := range []*store.AlertRule{workspace, row} {
		if from == nil {
			continue
		}
		given[i] = new(rule.Settings)
		if err := json.Unmarshal([]byte(from.Document), given[i]); err != nil {
			return nil, fmt.Errorf("reading alert rule %s: %w", from.Name, err)
		}
	}
	if rule.IsPreset(row.Name) {
		return rule.Preset(row.Name, row.ToolsetID, given...)
	}
	return rule.New(row.Name, row.ToolsetID, given[1])
}

// Rules lists the rules of a workspace: presets first, in their order, then own ones by name.
// toolset, an identifier, restricts them to those that count for it.
func (r *Room) Rules(ctx context.Context, ws *store.Workspace, toolset string) ([]Rule, error) {
	rows, err := ws.AlertRules(ctx)
	if err != nil {
		return nil, err
	}
	set := map[string]*store.AlertRule{} // of the workspace, by name
	for i := range rows {
		if rows[i].ToolsetID == "" {
			set[rows[i].Name] = &rows[i]
		}
	}
	out, slugs := []Rule{}, map[string]string{}
	add := func(row, workspace *store.AlertRule, known bool) error {
		made, err := madeOf(row, workspace)
		if err != nil {
			return err
		}
		if !known {
			row = nil
		}
		shown, err := named(ctx, ws, made, row, slugs)
		if err == nil {
			out = append(out, *shown)
		}
		return err
	}
	for _, p := range rule.Presets() {
		row := set[p]
		if row == nil {
			row = &store.AlertRule{Name: p, Document: "{}"}
		}
		if err := add(row, nil, set[p] != nil); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		row := &rows[i]
		if row.ToolsetID == "" && rule.IsPreset(row.Name) || toolset != "" && row.ToolsetID != "" && row.ToolsetID != toolset {
			continue
		}
		if err := add(row, set[row.Name], true); err != nil {
			return nil, err
		}
	}
	order := map[string]int{}
	for i, p := range rule.Presets() {
		order[p] = i - len(rule.Presets())
	}
	slices.SortStableFunc(out, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(order[a.Name], order[b.Name]), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Toolset, b.Toolset))
	})
	return out, nil
}

// readsRules is what reads rules: a workspace or a transaction.
type readsRules interface {
	AlertRule(ctx context.Context, name, toolset string) (*store.AlertRule, error)
	NamedAlertRule(ctx context.Context, name string) (*store.AlertRule, error)
}

// rowsOf reads what people set: an own rule by its name, or a preset for a toolset ("": for
// all) and for the workspace, when that is another one; nil: nothing. It fails with
// [problem.NotFound] when there is no such rule.
func rowsOf(ctx context.Context, from readsRules, name, toolset string) (row, workspace *store.AlertRule, err error) {
	if !rule.IsPreset(name) {
		row, err = from.NamedAlertRule(ctx, name)
		return row, nil, err
	}
	read := func(toolset string) (*store.AlertRule, error) {
		row, err := from.AlertRule(ctx, name, toolset)
		if problem.Is(err, problem.NotFound) {
			return nil, nil //nolint:nilnil // nil: it is as it was from the start
		}
		return row, err
	}
	if row, err = read(toolset); err != nil || toolset == "" {
		return row, nil, err
	}
	workspace, err = read("")
	return row, workspace, err
}

// ShowRule reads a rule. toolset is an identifier: an own rule of it, or a preset as it counts
// for it.
func (r *Room) ShowRule(ctx context.Context, ws *store.Workspace, name, toolset string) (*Rule, error) {
	row, workspace, err := rowsOf(ctx, ws, name, toolset)
	if err != nil {
		return nil, err
	}
	given := row
	if given == nil {
		given = &store.AlertRule{Name: name, ToolsetID: toolset, Document: "{}"}
	}
	made, err := madeOf(given, workspace)
	if err != nil {
		return nil, err
	}
	return showRule(ctx, ws, made, row)
}

// AddRule adds an own rule.
func (r *Room) AddRule(ctx context.Context, ws *store.Workspace, in *NewRule) (*Rule, error) {
	if rule.IsPreset(in.Name) {
		return nil, problem.New(problem.Conflict, "%s is there from the start", in.Name).Fix("change it: sluice alert rule set %s", in.Name)
	}
	made, err := rule.New(in.Name, in.Toolset, &in.Settings)
	if err != nil {
		return nil, err
	}
	if in.Toolset != "" {
		if _, err := ws.Toolset(ctx, in.Toolset); err != nil {
			return nil, err
		}
	}
	row := &store.AlertRule{Name: in.Name, ToolsetID: in.Toolset, Document: store.JSON(made.Settings())}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := room(ctx, tx); err != nil {
			return err
		}
		if err := callerRoom(ctx, tx, made, ""); err != nil {
			return err
		}
		if _, err := tx.NamedAlertRule(ctx, in.Name); err == nil {
			return problem.New(problem.Conflict, "there is a rule %s already", in.Name).Fix("choose another name, or change that one")
		} else if !problem.Is(err, problem.NotFound) {
			return err
		}
		if err := tx.AddAlertRule(ctx, row); err != nil {
			return err
		}
		return auditRule(ctx, tx, "alert.rule.create", nil, row)
	})
	if err != nil {
		return nil, err
	}
	r.Wake()
	return showRule(ctx, ws, made, row)
}

// room reports whether there may be one more rule.
func room(ctx context.Context, tx *store.Tx) error {
	rows, err := tx.AlertRules(ctx)
	if err == nil && len(rows) >= rule.MaxRules {
		err = problem.New(problem.Conflict, "a workspace has at most %d rules", rule.MaxRules).Fix("remove one first")
	}
	return err
}

func auditRule(ctx context.Context, tx *store.Tx, action string, before, after *store.AlertRule) error {
	row := after
	if row == nil {
		row = before
	}
	rec := request.Audit(ctx, action, row.ToolsetID)
	if row.ToolsetID == "" {
		rec.Resource = row.ID
	}
	text := func(row *store.AlertRule) string {
		return store.JSON(map[string]any{"name": row.Name, "settings": json.RawMessage(row.Document)})
	}
	if before != nil {
		rec.Before = text(before)
	}
	if after != nil {
		rec.After = text(after)
	}
	return tx.Audit(ctx, rec)
}

// ChangeRule changes a preset, for all toolsets or for one, or an own rule. What is absent of
// in stays; what is cleared, by its name, is as it is from the start.
func (r *Room) ChangeRule(ctx context.Context, ws *store.Workspace, name, toolset string, match *request.MatchInput, in *rule.Settings, cleared ...string) (*Rule, error) {
	if toolset != "" {
		if _, err := ws.Toolset(ctx, toolset); err != nil {
			return nil, err
		}
	}
	var made *rule.Rule
	var row *store.AlertRule
	err := ws.Update(ctx, func(tx *store.Tx) error {
		had, workspace, err := rowsOf(ctx, tx, name, toolset)
		if err != nil {
			return err
		}
		var given rule.Settings
		if row = had; row == nil {
			row = &store.AlertRule{Name: name, ToolsetID: toolset}
		} else if err := json.Unmarshal([]byte(row.Document), &given); err != nil {
			return fmt.Errorf("reading alert rule %s: %w", name, err)
		}
		if err := match.Check(row.Version, false); err != nil {
			return err
		}
		var before *store.AlertRule
		if had != nil {
			before = &store.AlertRule{ID: had.ID, Name: had.Name, ToolsetID: had.ToolsetID, Document: had.Document}
		}
		next, err := given.Merge(in).Without(cleared)
		if err != nil {
			return err
		}
		row.Document = store.JSON(next)
		if made, err = madeOf(row, workspace); err != nil {
			return err
		}
		if err := callerRoom(ctx, tx, made, row.ID); err != nil {
			return err
		}
		if had == nil {
			if err := room(ctx, tx); err != nil {
				return err
			}
			err = tx.AddAlertRule(ctx, row)
		} else {
			err = tx.SaveAlertRule(ctx, row)
		}
		if err != nil {
			return err
		}
		return auditRule(ctx, tx, "alert.rule.update", before, row)
	})
	if err != nil {
		return nil, err
	}
	r.Wake()
	return showRule(ctx, ws, made, row)
}

// RemoveRule removes an own rule, or what people set of a preset: it is as before then. Alerts
// of it are resolved.
func (r *Room) RemoveRule(ctx context.Context, ws *store.Workspace, name, toolset string, match *request.MatchInput) error {
	err := ws.Update(ctx, func(tx *store.Tx) error {
		row, _, err := rowsOf(ctx, tx, name, toolset)
		if err != nil {
			return err
		}
		if row == nil {
			return nil // a preset that is as it was from the start
		}
		if err := match.Check(row.Version, false); err != nil {
			return err
		}
		if err := tx.DeleteAlertRule(ctx, row.ID); err != nil {
			return err
		}
		return auditRule(ctx, tx, "alert.rule.delete", row, nil)
	})
	r.Wake()
	return err
}
