package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
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

func (s *Server) showEdge(row *store.Edge) (Edge, error) {
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
	for _, text := range []string{st.Following, st.Cache, st.Secrets, st.Usage} {
		if text != "" {
			e.Errors = append(e.Errors, text)
		}
	}
	if st.Expired {
		e.Errors = append(e.Errors, "serving a release past its expiry")
	}
	if rel := s.o.Publisher.Newest(row.Group); rel != nil {
		e.Newest = rel.Release().Revision
		if e.Newest > e.Revision {
			e.Lag = e.Newest - e.Revision
		}
	}
	switch {
	case !row.RevokedAt.IsZero():
		e.State = "revoked"
	case s.o.Store.Now().Sub(row.SeenAt.Time) > edgeStale:
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

func showJoinToken(row *store.JoinToken) (JoinToken, error) {
	labels, err := row.Labels()
	return JoinToken{
		ID: row.ID, Name: row.Name, Labels: labels, AllWorkspaces: row.AllWorkspaces, MaxUses: row.MaxUses, Uses: row.Uses,
		CreatedAt: row.CreatedAt.Time, ExpiresAt: row.ExpiresAt.Time, RevokedAt: row.RevokedAt.Time,
	}, err
}

// EdgeInput is the path of an edge.
type EdgeInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id or name."`
}

type createJoinTokenInput struct{ Body CreateJoinToken }

// JoinTokenInput is the path of a join token.
type JoinTokenInput struct {
	ID string `path:"id" maxLength:"64"`
}

type toolsetLabelsInput struct {
	ToolsetInput
	request.MatchInput
	Body LabelsBody
}

func (s *Server) registerEdges() {
	tags := []string{"edges"}
	register(s, huma.Operation{
		OperationID: "list-edges", Method: http.MethodGet, Path: "/v1/edges", Summary: "List edges, newest first", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[Edge], error) {
		p, err := in.page("/v1/edges")
		if err != nil {
			return nil, err
		}
		rows, next, err := s.workspace(ctx).Edges(ctx, p)
		if err != nil {
			return nil, err
		}
		shown := make([]Edge, len(rows))
		for i := range rows {
			if shown[i], err = s.showEdge(&rows[i]); err != nil {
				return nil, err
			}
		}
		return list(in, "/v1/edges", shown, next, func(e *Edge) Edge { return *e }), nil
	})
	register(s, huma.Operation{
		OperationID: "get-edge", Method: http.MethodGet, Path: "/v1/edges/{id}", Summary: "Read an edge", Tags: tags,
	}, func(ctx context.Context, in *EdgeInput) (*bodyOutput[Edge], error) {
		row, err := s.workspace(ctx).Edge(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		e, err := s.showEdge(row)
		return &bodyOutput[Edge]{e}, err
	})
	register(s, huma.Operation{
		OperationID: "revoke-edge", Method: http.MethodDelete, Path: "/v1/edges/{id}", Summary: "Revoke an edge", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "It gets no more releases, contents or credentials. It serves what it has while it runs; rotate the credentials it had if the machine is lost.",
	}, s.revokeEdge)
	register(s, huma.Operation{
		OperationID: "list-join-tokens", Method: http.MethodGet, Path: "/v1/edges/join-tokens", Summary: "List join tokens, newest first", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[JoinToken], error) {
		const path = "/v1/edges/join-tokens"
		p, err := in.page(path)
		if err != nil {
			return nil, err
		}
		rows, next, err := s.workspace(ctx).JoinTokens(ctx, p)
		if err != nil {
			return nil, err
		}
		shown := make([]JoinToken, len(rows))
		for i := range rows {
			if shown[i], err = showJoinToken(&rows[i]); err != nil {
				return nil, err
			}
		}
		return list(in, path, shown, next, func(t *JoinToken) JoinToken { return *t }), nil
	})
	register(s, huma.Operation{
		OperationID: "create-join-token", Method: http.MethodPost, Path: "/v1/edges/join-tokens", Summary: "Make a join token", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "The token is in this answer only.",
	}, s.createJoinToken)
	register(s, huma.Operation{
		OperationID: "revoke-join-token", Method: http.MethodDelete, Path: "/v1/edges/join-tokens/{id}", Summary: "Revoke a join token", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "Edges that joined with it stay.",
	}, func(ctx context.Context, in *JoinTokenInput) (*struct{}, error) {
		return nil, s.workspace(ctx).Update(ctx, func(tx *store.Tx) error {
			if err := tx.RevokeJoinToken(ctx, in.ID); err != nil {
				return err
			}
			return tx.Audit(ctx, request.Audit(ctx, "edge.join_token.revoke", in.ID))
		})
	})
	register(s, huma.Operation{
		OperationID: "set-toolset-labels", Method: http.MethodPut, Path: "/v1/toolsets/{id}/labels", Summary: "Choose the edges of a toolset", Tags: tags,
		Description: "The toolset goes to the edges that have all of these labels. It changes no revision. Without labels it goes to every edge. If-Match: the toolset's ETag.",
	}, s.setToolsetLabels)
	register(s, huma.Operation{
		OperationID: "get-toolset-labels", Method: http.MethodGet, Path: "/v1/toolsets/{id}/labels", Summary: "Read the labels of a toolset", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[LabelsBody], error) {
		ts, err := s.workspace(ctx).FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		l, err := ts.Labels()
		return &bodyOutput[LabelsBody]{LabelsBody{l}}, err
	})
}

func (s *Server) revokeEdge(ctx context.Context, in *EdgeInput) (*struct{}, error) {
	err := s.workspace(ctx).Update(ctx, func(tx *store.Tx) error {
		row, err := tx.Edge(ctx, in.ID)
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
	s.edgeBell.Ring()
	return nil, err
}

func (s *Server) createJoinToken(ctx context.Context, in *createJoinTokenInput) (*bodyOutput[JoinToken], error) {
	b := &in.Body
	if err := store.CheckLabels(b.Labels); err != nil {
		return nil, err
	}
	if b.AllWorkspaces {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
	}
	ws, token := s.workspace(ctx), access.NewTokenFor(access.JoinPrefix)
	ttl := time.Duration(b.TTLSeconds) * time.Second
	if ttl == 0 {
		ttl = joinTokenLife
	}
	row := &store.JoinToken{
		Name: b.Name, Hash: access.HashToken(token), AllWorkspaces: b.AllWorkspaces, MaxUses: max(b.MaxUses, 1), ExpiresAt: store.Time{Time: ws.Now().Add(ttl)},
	}
	row.SetLabels(b.Labels)
	err := ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.AddJoinToken(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "edge.join_token.create", row.ID)
		rec.After = store.JSON(map[string]any{"labels": b.Labels, "maxUses": row.MaxUses, "allWorkspaces": b.AllWorkspaces})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	out, err := showJoinToken(row)
	out.Token = token.Reveal()
	return &bodyOutput[JoinToken]{out}, err
}

func (s *Server) setToolsetLabels(ctx context.Context, in *toolsetLabelsInput) (*bodyOutput[LabelsBody], error) {
	if err := store.CheckLabels(in.Body.Labels); err != nil {
		return nil, err
	}
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := in.Check(ts.Version, false); err != nil {
		return nil, err
	}
	before, err := ts.Labels()
	if err != nil {
		return nil, err
	}
	ts.SetLabels(in.Body.Labels)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SaveToolset(ctx, ts); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.labels", ts.ID)
		rec.Before, rec.After = store.JSON(before), store.JSON(in.Body.Labels)
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	if ts.LiveRevision > 0 {
		if _, err := s.o.Publisher.Release(ctx); err != nil {
			return nil, err
		}
	}
	l, err := ts.Labels()
	return &bodyOutput[LabelsBody]{LabelsBody{l}}, err
}
