package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// EdgeInput is the path of an edge.
type EdgeInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id or name."`
}

type createJoinTokenInput struct{ Body fleet.CreateJoinToken }

// JoinTokenInput is the path of a join token.
type JoinTokenInput struct {
	ID string `path:"id" maxLength:"64"`
}

type toolsetLabelsInput struct {
	ToolsetInput
	request.MatchInput
	Body fleet.LabelsBody
}

type resumeInput struct{ Body fleet.ResumeRequest }

// openFleet opens the room of edges, behind those that it gives them something of.
func (s *Server) openFleet() {
	s.fleet = fleet.New(fleet.Options{
		Store: s.o.Store, Publisher: s.o.Publisher, Keyring: s.o.Keyring, Log: s.log, Secrets: edgeSecrets{s.logins.Secrets}, UserWait: login.RenewTimeout + mcpserver.ListTimeout,
		Domains: s.domains, Plugins: s.plugins, Usage: s.usage, ReadBody: front.ReadBody, Stopping: s.stopping,
	})
}

// edgeSecrets opens credentials as edges get them.
type edgeSecrets struct{ open *login.Secrets }

// Credential implements [fleet.Secrets].
func (e edgeSecrets) Credential(ctx context.Context, id string) (registry.EdgeCredential, error) {
	v, err := e.open.Open(ctx, id)
	if err != nil {
		return registry.EdgeCredential{}, err
	}
	return ofEdge(id, &v), nil
}

// UserCredential implements [fleet.Secrets].
func (e edgeSecrets) UserCredential(ctx context.Context, in *registry.EdgeUserRequest) (*registry.EdgeCredential, error) {
	v, err := e.open.OpenUser(ctx, in.Credential, in.User, in.Rejected, in.Scopes)
	if err != nil {
		return nil, err
	}
	c := ofEdge(in.Credential, &v)
	if !v.Renew.IsZero() {
		c.Renew = v.Renew.Unix()
	}
	return &c, nil
}

// Users implements [fleet.Secrets].
func (e edgeSecrets) Users() uint64 { return e.open.Epoch() }

// ofEdge is the secret of a credential as an edge gets it.
func ofEdge(id string, v *login.Opened) registry.EdgeCredential {
	c := registry.EdgeCredential{ID: id, Version: v.Version, Value: secrets.Wire{Secret: v.Value}, Origins: v.Origins}
	if !v.Expires.IsZero() {
		c.Expires = v.Expires.Unix()
	}
	return c
}

// serveEdge serves the edge protocol, see [registry.EdgeEnrolPath].
func (s *Server) serveEdge(w http.ResponseWriter, r *http.Request) {
	method, known := fleet.Method(r.URL.Path)
	switch {
	case !known:
		s.front.WriteProblem(w, r, front.NotHere(r))
	case r.Method != method:
		w.Header().Set("Allow", method)
		s.front.WriteProblem(w, r, front.NotAllowed(r))
	default:
		if err := s.fleet.Serve(w, r); err != nil {
			s.front.WriteProblem(w, r, err)
		}
	}
}

func registerEdges(s *Server) {
	tags := []string{"edges"}
	register(s, huma.Operation{
		OperationID: "list-edges", Method: http.MethodGet, Path: "/v1/edges", Summary: "List edges, newest first", Tags: tags,
	}, paged(s, "/v1/edges", (*store.Workspace).Edges, s.fleet.Show))
	register(s, huma.Operation{
		OperationID: "get-edge", Method: http.MethodGet, Path: "/v1/edges/{id}", Summary: "Read an edge", Tags: tags,
	}, func(ctx context.Context, in *EdgeInput) (*bodyOutput[fleet.Edge], error) {
		row, err := s.workspace(ctx).Edge(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return answer(s.fleet.Show(row))
	})
	register(s, huma.Operation{
		OperationID: "revoke-edge", Method: http.MethodDelete, Path: "/v1/edges/{id}", Summary: "Revoke an edge", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "It gets no more releases, contents or credentials. It serves what it has while it runs; rotate the credentials it had if the machine is lost.",
	}, func(ctx context.Context, in *EdgeInput) (*struct{}, error) {
		return nil, s.fleet.Revoke(ctx, s.workspace(ctx), in.ID)
	})
	const tokensPath = "/v1/edges/join-tokens" //nolint:gosec // a path
	register(s, huma.Operation{
		OperationID: "list-join-tokens", Method: http.MethodGet, Path: tokensPath, Summary: "List join tokens, newest first", Tags: tags,
	}, paged(s, tokensPath, (*store.Workspace).JoinTokens, fleet.ShowJoinToken))
	register(s, huma.Operation{
		OperationID: "create-join-token", Method: http.MethodPost, Path: tokensPath, Summary: "Make a join token", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "The token is in this answer only.",
	}, func(ctx context.Context, in *createJoinTokenInput) (*bodyOutput[fleet.JoinToken], error) {
		return answer(s.fleet.CreateJoinToken(ctx, s.workspace(ctx), &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "revoke-join-token", Method: http.MethodDelete, Path: tokensPath + "/{id}", Summary: "Revoke a join token", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "Edges that joined with it stay.",
	}, func(ctx context.Context, in *JoinTokenInput) (*struct{}, error) {
		return nil, s.fleet.RevokeJoinToken(ctx, s.workspace(ctx), in.ID)
	})
	const labelsPath = "/v1/toolsets/{id}/labels"
	register(s, huma.Operation{
		OperationID: "set-toolset-labels", Method: http.MethodPut, Path: labelsPath, Summary: "Choose the edges of a toolset", Tags: tags,
		Description: "The toolset goes to the edges that have all of these labels. It changes no revision. Without labels it goes to every edge. If-Match: the toolset's ETag.",
	}, func(ctx context.Context, in *toolsetLabelsInput) (*bodyOutput[fleet.LabelsBody], error) {
		return answer(s.fleet.SetLabels(ctx, s.workspace(ctx), in.ID, &in.MatchInput, in.Body.Labels))
	})
	register(s, huma.Operation{
		OperationID: "get-toolset-labels", Method: http.MethodGet, Path: labelsPath, Summary: "Read the labels of a toolset", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[fleet.LabelsBody], error) {
		ts, err := s.workspace(ctx).FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return answer(fleet.LabelsOf(ts))
	})
}

func registerReleases(s *Server) {
	tags := []string{"releases"}
	register(s, huma.Operation{
		OperationID: "list-releases", Method: http.MethodGet, Path: "/v1/releases", Summary: "List the newest release of each group of edges", Tags: tags,
		Description: "Operator only. It says why publishing is stopped, if it is.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[List[fleet.Release]], error) {
		out, err := s.fleet.Releases(ctx)
		return answer(List[fleet.Release]{Items: out}, err)
	})
	register(s, huma.Operation{
		OperationID: "resume-releases", Method: http.MethodPost, Path: "/v1/releases/resume", Summary: "Publish the records as they are, in a new epoch", Tags: tags,
		Description: "Operator only. For a control plane that stopped publishing because its records are older than its newest release: " +
			"what was published after these records were written is given up, and edges follow the records again.",
	}, func(ctx context.Context, in *resumeInput) (*bodyOutput[List[fleet.Release]], error) {
		out, err := s.fleet.Resume(ctx, s.workspace(ctx), &in.Body)
		return answer(List[fleet.Release]{Items: out}, err)
	})
}
