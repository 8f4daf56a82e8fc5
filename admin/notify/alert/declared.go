package alert

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// DeclaredRule is a rule as a document says it: an own rule, or what people set of a preset.
type DeclaredRule struct {
	Name    string `json:"name" minLength:"1" maxLength:"63" doc:"Of an own rule, or a preset."`
	Toolset string `json:"toolset,omitempty" maxLength:"63" doc:"Slug. Absent: of all toolsets."`
	rule.Settings
}

// Key tells a rule from others: an own rule is the same one by its name, whatever it is of.
func (d *DeclaredRule) Key() string {
	if rule.IsPreset(d.Name) {
		return d.Name + " " + d.Toolset
	}
	return d.Name
}

// Check finds what is wrong with a rule of a document, and completes an own one with what is
// not said.
func (d *DeclaredRule) Check() error {
	if rule.IsPreset(d.Name) {
		_, err := rule.Preset(d.Name, d.Toolset, &d.Settings)
		return err
	}
	made, err := rule.New(d.Name, d.Toolset, &d.Settings)
	if err == nil {
		d.Settings = made.Settings()
	}
	return err
}

// Declared are the own rules of a workspace and what people set of presets, by name and
// toolset. Rules of toolsets that are gone are not in it.
func (r *Room) Declared(ctx context.Context, ws *store.Workspace) ([]DeclaredRule, error) {
	rows, err := ws.AlertRules(ctx)
	if err != nil {
		return nil, err
	}
	var out []DeclaredRule
	for i := range rows {
		d := DeclaredRule{Name: rows[i].Name}
		if err := json.Unmarshal([]byte(rows[i].Document), &d.Settings); err != nil {
			return nil, fmt.Errorf("reading alert rule %s: %w", d.Name, err)
		}
		if rows[i].ToolsetID != "" {
			ts, err := ws.Toolset(ctx, rows[i].ToolsetID)
			if problem.Is(err, problem.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			d.Toolset = ts.Slug
		}
		if err := d.Check(); err != nil && !problem.Is(err, problem.InvalidArgument) {
			return nil, err
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b DeclaredRule) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Toolset, b.Toolset))
	})
	return out, nil
}

// Put makes a rule what a document says. Its alerts go on.
func (r *Room) Put(ctx context.Context, ws *store.Workspace, d *DeclaredRule) error {
	toolset := ""
	if d.Toolset != "" {
		ts, err := ws.ToolsetBySlug(ctx, d.Toolset)
		if err != nil {
			return err
		}
		toolset = ts.ID
	}
	err := ws.Update(ctx, func(tx *store.Tx) error {
		had, workspace, err := rowsOf(ctx, tx, d.Name, toolset)
		if err != nil && !problem.Is(err, problem.NotFound) {
			return err
		}
		row := &store.AlertRule{Name: d.Name}
		var before *store.AlertRule
		if err == nil && had != nil {
			copied := *had
			row, before = had, &copied
		}
		row.ToolsetID, row.Document = toolset, store.JSON(d.Settings)
		made, err := madeOf(row, workspace)
		if err != nil {
			return err
		}
		if err := callerRoom(ctx, tx, made, row.ID); err != nil {
			return err
		}
		if before != nil {
			if err := tx.SaveAlertRule(ctx, row); err != nil {
				return err
			}
			return auditRule(ctx, tx, "alert.rule.update", before, row)
		}
		if err := room(ctx, tx); err != nil {
			return err
		}
		if err := tx.AddAlertRule(ctx, row); err != nil {
			return err
		}
		return auditRule(ctx, tx, "alert.rule.create", nil, row)
	})
	r.Wake()
	return err
}

// Drop removes a rule that a document does not have.
func (r *Room) Drop(ctx context.Context, ws *store.Workspace, d *DeclaredRule) error {
	toolset := ""
	if d.Toolset != "" {
		ts, err := ws.ToolsetBySlug(ctx, d.Toolset)
		if problem.Is(err, problem.NotFound) {
			return nil // it went with its toolset
		}
		if err != nil {
			return err
		}
		toolset = ts.ID
	}
	return r.RemoveRule(ctx, ws, d.Name, toolset, &request.MatchInput{})
}
