package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// edgeStale is how long an edge that says nothing counts as connected: three of
// the reports it sends.
const edgeStale = 90 * time.Second

// Edge is a node that follows this control plane.
type Edge struct {
	ID            string            `json:"id"`
	Name          string            `json:"name"`
	Labels        map[string]string `json:"labels"`
	AllWorkspaces bool              `json:"allWorkspaces" doc:"It serves the toolsets of every workspace."`
	Group         string            `json:"group" doc:"Edges of one group follow the same releases."`
	State         string            `json:"state" enum:"connected,lagging,failing,silent,revoked" doc:"lagging: an older release than the newest; failing: it says what keeps it; silent: it has not reported for a while."`
	Version       string            `json:"version,omitempty"`
	Ready         bool              `json:"ready"`
	Epoch         uint64            `json:"epoch"`
	Revision      uint64            `json:"revision" doc:"Release it serves."`
	Newest        uint64            `json:"newest" doc:"Newest release of its group."`
	Lag           uint64            `json:"lag" doc:"Releases it is behind."`
	Toolsets      int               `json:"toolsets"`
	Saved         bool              `json:"saved" doc:"It could restart without this control plane."`
	Errors        []string          `json:"errors" doc:"What it says is wrong."`
	LastSeen      time.Time         `json:"lastSeen,omitzero"`
	TokenExpires  time.Time         `json:"tokenExpires"`
	EnrolledAt    time.Time         `json:"enrolledAt"`
	RevokedAt     time.Time         `json:"revokedAt,omitzero"`
}

// JoinToken lets nodes enrol as edges.
type JoinToken struct {
	ID            string            `json:"id"`
	Name          string            `json:"name,omitempty"`
	Token         string            `json:"token,omitempty" doc:"Shown once, in the answer that makes it."`
	Labels        map[string]string `json:"labels"`
	AllWorkspaces bool              `json:"allWorkspaces"`
	MaxUses       uint64            `json:"maxUses" doc:"0: any number."`
	Uses          uint64            `json:"uses"`
	CreatedAt     time.Time         `json:"createdAt"`
	ExpiresAt     time.Time         `json:"expiresAt,omitzero"`
	RevokedAt     time.Time         `json:"revokedAt,omitzero"`
}

// CreateJoinToken asks for a join token.
type CreateJoinToken struct {
	Name          string            `json:"name,omitempty" maxLength:"200"`
	Labels        map[string]string `json:"labels,omitempty" doc:"Labels of the edges that join with it; a toolset goes where all of its labels are."`
	AllWorkspaces bool              `json:"allWorkspaces,omitempty" doc:"The edges serve every workspace. Operator only."`
	MaxUses       uint64            `json:"maxUses,omitempty" doc:"Default: 1."`
	TTLSeconds    int64             `json:"ttlSeconds,omitempty" minimum:"60" maximum:"31536000" doc:"Default: one day."`
}

// joinTokenLife is how long a join token is good when nothing is said.
const joinTokenLife = 24 * time.Hour

// LabelsBody is a set of labels.
type LabelsBody struct {
	Labels map[string]string `json:"labels"`
}

// Show is an edge as the API shows it.
func (r *Room) Show(row *store.Edge) (Edge, error) {
	labels, err := row.Labels()
	if err != nil {
		return Edge{}, err
	}
	e := Edge{
		ID: row.ID, Name: row.Name, Labels: labels, AllWorkspaces: row.AllWorkspaces, Group: row.Group, LastSeen: row.SeenAt.Time,
		TokenExpires: row.TokenExpires.Time, EnrolledAt: row.CreatedAt.Time, RevokedAt: row.RevokedAt.Time, Errors: []string{},
	}
	var st registry.EdgeStatus
	if row.Status != "" {
		if err := json.Unmarshal([]byte(row.Status), &st); err != nil {
			return Edge{}, err
		}
	}
	e.Version, e.Ready, e.Epoch, e.Revision, e.Toolsets, e.Saved = st.Version, st.Ready, st.Epoch, st.Revision, st.Toolsets, st.Saved
	if off, _ := st.ClockOff(row.SeenAt.Time); off.Abs() > registry.EdgeClockSkew {
		e.Errors = append(e.Errors, "its clock is "+registry.Ahead(off)+" that of the control plane")
	}
	e.Errors = append(e.Errors, st.Faults()...)
	if rel := r.o.Publisher.Newest(row.Group); rel != nil {
		e.Newest = rel.Release().Revision
		if e.Newest > e.Revision {
			e.Lag = e.Newest - e.Revision
		}
	}
	switch {
	case !row.RevokedAt.IsZero():
		e.State = "revoked"
	case r.o.Store.Now().Sub(row.SeenAt.Time) > edgeStale:
		e.State = "silent"
	case len(e.Errors) > 0 || !e.Ready:
		e.State = "failing"
	case e.Lag > 0:
		e.State = "lagging"
	default:
		e.State = "connected"
	}
	return e, nil
}

// ShowJoinToken is a join token as the API shows it, without the token itself.
func ShowJoinToken(row *store.JoinToken) (JoinToken, error) {
	labels, err := row.Labels()
	return JoinToken{
		ID: row.ID, Name: row.Name, Labels: labels, AllWorkspaces: row.AllWorkspaces, MaxUses: row.MaxUses, Uses: row.Uses,
		CreatedAt: row.CreatedAt.Time, ExpiresAt: row.ExpiresAt.Time, RevokedAt: row.RevokedAt.Time,
	}, err
}

// ByState counts the edges of all workspaces.
func (r *Room) ByState(ctx context.Context) (map[string]int, error) {
	count := map[string]int{}
	ids, err := r.o.Store.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		rows, err := store.All(ctx, r.o.Store.Workspace(id).Edges)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			e, err := r.Show(&rows[i])
			if err != nil {
				return nil, err
			}
			count[e.State]++
		}
	}
	return count, nil
}

// Revoke revokes an edge, by id or name: it gets no more releases, contents or
// credentials.
func (r *Room) Revoke(ctx context.Context, ws *store.Workspace, edge string) error {
	err := ws.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.Edge(ctx, edge)
		if err != nil {
			return err
		}
		if !row.RevokedAt.IsZero() {
			return problem.New(problem.Conflict, "edge %s is revoked already", row.Name)
		}
		row.RevokedAt = store.Time{Time: tx.Now()}
		if err := tx.SaveEdge(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "edge.revoke", row.ID)
		rec.Before = store.JSON(map[string]any{"name": row.Name})
		return tx.Audit(ctx, rec)
	})
	r.Ring()
	return err
}

// CreateJoinToken makes a join token, which is in this answer only.
func (r *Room) CreateJoinToken(ctx context.Context, ws *store.Workspace, in *CreateJoinToken) (JoinToken, error) {
	if err := store.CheckLabels(in.Labels); err != nil {
		return JoinToken{}, err
	}
	if in.AllWorkspaces {
		if err := request.RequireOperator(ctx); err != nil {
			return JoinToken{}, err
		}
	}
	token := access.NewTokenFor(access.JoinPrefix)
	ttl := cmp.Or(time.Duration(in.TTLSeconds)*time.Second, joinTokenLife)
	row := &store.JoinToken{
		Name: in.Name, Hash: access.HashToken(token), AllWorkspaces: in.AllWorkspaces, MaxUses: max(in.MaxUses, 1), ExpiresAt: store.Time{Time: ws.Now().Add(ttl)},
	}
	row.SetLabels(in.Labels)
	err := ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.AddJoinToken(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "edge.join_token.create", row.ID)
		rec.After = store.JSON(map[string]any{"labels": in.Labels, "maxUses": row.MaxUses, "allWorkspaces": in.AllWorkspaces})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return JoinToken{}, err
	}
	out, err := ShowJoinToken(row)
	out.Token = token.Reveal()
	return out, err
}

// RevokeJoinToken revokes a join token. Edges that joined with it stay.
func (r *Room) RevokeJoinToken(ctx context.Context, ws *store.Workspace, id string) error {
	return ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.RevokeJoinToken(ctx, id); err != nil {
			return err
		}
		return tx.Audit(ctx, request.Audit(ctx, "edge.join_token.revoke", id))
	})
}

// SetLabels chooses the edges of a toolset by their labels.
func (r *Room) SetLabels(ctx context.Context, ws *store.Workspace, toolset string, match *request.MatchInput, labels map[string]string) (LabelsBody, error) {
	if err := store.CheckLabels(labels); err != nil {
		return LabelsBody{}, err
	}
	ts, err := ws.FindToolset(ctx, toolset)
	if err != nil {
		return LabelsBody{}, err
	}
	if err := match.Check(ts.Version, false); err != nil {
		return LabelsBody{}, err
	}
	before, err := ts.Labels()
	if err != nil {
		return LabelsBody{}, err
	}
	ts.SetLabels(labels)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SaveToolset(ctx, ts); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.labels", ts.ID)
		rec.Before, rec.After = store.JSON(before), store.JSON(labels)
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return LabelsBody{}, err
	}
	if ts.LiveRevision > 0 {
		if _, err := r.o.Publisher.Release(ctx); err != nil {
			return LabelsBody{}, err
		}
	}
	return LabelsOf(ts)
}

// LabelsOf are the labels of a toolset.
func LabelsOf(ts *store.Toolset) (LabelsBody, error) {
	l, err := ts.Labels()
	return LabelsBody{l}, err
}
