package access

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Paused is why a toolset serves nobody for now.
type Paused struct {
	Reason string    `json:"reason,omitempty" doc:"What callers are told." example:"the API is being moved"`
	By     string    `json:"by" doc:"Who paused it: an API token or a member."`
	Since  time.Time `json:"since" doc:"When it was paused first."`
}

// PauseRequest pauses a toolset.
type PauseRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"200" doc:"What callers are told, after they showed who they are." example:"the API is being moved"`
}

// PausedOf is the pause of a toolset, by its record; nil: it serves.
func PausedOf(row *store.ToolsetAccess) (*Paused, error) {
	if row == nil || row.Paused == "" {
		return nil, nil //nolint:nilnil // nil: it serves
	}
	p := new(Paused)
	if err := json.Unmarshal([]byte(row.Paused), p); err != nil {
		return nil, fmt.Errorf("reading the pause of %s: %w", row.ToolsetID, err)
	}
	return p, nil
}

// Pause makes gateways refuse every caller of a live toolset, and end its open streams. What
// was changed or published meanwhile is served once the toolset is resumed. Pausing again
// replaces the reason.
func (r *Room) Pause(ctx context.Context, ws *store.Workspace, ts *store.Toolset, in PauseRequest) error {
	if ts.LiveRevision == 0 {
		return problem.New(problem.Conflict, "toolset %.80q is a draft: nobody can call it", ts.Slug)
	}
	before, err := r.paused(ctx, ws, ts)
	if err != nil || before != nil && before.Reason == in.Reason {
		return err
	}
	after := Paused{Reason: in.Reason, By: request.Of(ctx).ActorID(), Since: ws.Now()}
	if before != nil {
		after.Since = before.Since
	}
	text := store.JSON(after)
	return r.change(ctx, ws, ts, &accessChange{action: "toolset.pause", paused: &text, before: before, after: after})
}

// Resume lets callers in again, as before the pause.
func (r *Room) Resume(ctx context.Context, ws *store.Workspace, ts *store.Toolset) error {
	before, err := r.paused(ctx, ws, ts)
	if err != nil || before == nil {
		return err
	}
	return r.change(ctx, ws, ts, &accessChange{action: "toolset.resume", paused: new(string), before: before})
}

func (r *Room) paused(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (*Paused, error) {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return nil, err
	}
	return PausedOf(row)
}
