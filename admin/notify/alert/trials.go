package alert

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
)

// rolledBackFor is how long it is told that a roll-out was rolled back by itself, unless
// another one begins or the toolset is deployed.
const rolledBackFor = 24 * time.Hour

// rollbacks are roll-outs that ended because their candidate was worse. They are looked at in
// each round: callers were hit, and somebody waits for how the roll-out goes.
func (r *Room) rollbacks(ctx context.Context, ws *store.Workspace, have open) (*finding, error) {
	f := &finding{covers: only(KindRolledBack)}
	rows, err := ws.RolledBackTrials(ctx, ws.Now().Add(-rolledBackFor))
	if err != nil {
		return nil, err
	}
	for i := range rows {
		row := &rows[i]
		ts, err := ws.Toolset(ctx, row.ToolsetID)
		if err != nil {
			return nil, err
		}
		if ts.LiveRevision != row.LiveRevision {
			continue // somebody went on
		}
		f.conditions = append(f.conditions, condition{
			key: KindRolledBack + "/" + row.ID, kind: KindRolledBack, severity: notify.Warning, toolset: ts.ID, since: row.EndedAt.Time,
			title: "the roll-out of toolset " + ts.Slug + " was rolled back",
			details: Details{
				Toolset: ts.Slug, Cause: row.Reason, Remedy: "look at the calls of the candidate, fix the draft, and roll it out again; all callers have what was live before",
				Command: "sluice toolset rollout show " + ts.Slug,
			},
		})
	}
	if !f.concerns(have) {
		return nil, nil //nolint:nilnil // nil: nothing to write
	}
	return f, nil
}
