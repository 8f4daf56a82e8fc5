package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// maxTokenLife is the longest an API token that expires may live.
const maxTokenLife = 10 * 365 * 24 * time.Hour

// APIToken is an API token as it is listed.
type APIToken struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Role      string    `json:"role" enum:"viewer,editor,publisher,admin"`
	Member    string    `json:"member,omitempty" doc:"Id of the member it belongs to: it may do no more than they may, and ends with them."`
	Token     string    `json:"token,omitempty" doc:"Shown once, in the answer that makes it."`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero" doc:"Absent: never."`
	RevokedAt time.Time `json:"revokedAt,omitzero"`
}

// CreateAPIToken asks for an API token.
type CreateAPIToken struct {
	Name       string `json:"name" minLength:"1" maxLength:"200"`
	Role       string `json:"role" enum:"viewer,editor,publisher,admin" doc:"Each may do what those before it may: read; change, test and deploy toolsets; publish connectors and plugins; everything."`
	Member     string `json:"member,omitempty" maxLength:"254" doc:"Id or address of the member it belongs to. Default: the member whose token makes it; of a token without one, nobody's."`
	TTLSeconds int64  `json:"ttlSeconds,omitempty" minimum:"60" maximum:"315360000" doc:"Default: it does not expire."`
}

// WorkspaceInfo is a workspace.
type WorkspaceInfo struct {
	ID string `json:"id" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" maxLength:"63"`
}

// CreateWorkspace asks for a workspace and the token of its first administrator.
type CreateWorkspace struct {
	ID   string `json:"id" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" minLength:"1" maxLength:"63" doc:"A slug; it begins the names of the workspace's repositories."`
	Name string `json:"name,omitempty" maxLength:"200"`
}

// CreatedWorkspace answers the creation of a workspace.
type CreatedWorkspace struct {
	WorkspaceInfo

	Administrator APIToken `json:"administrator"`
}

type createTokenInput struct{ Body CreateAPIToken }

type createWorkspaceInput struct{ Body CreateWorkspace }

// TokenInput is the path of an API token.
type TokenInput struct {
	ID string `path:"id" maxLength:"64"`
}

func showAPIToken(row *store.Token) APIToken {
	return APIToken{ID: row.ID, Name: row.Name, Role: row.Role, Member: row.MemberID, CreatedAt: row.CreatedAt.Time, ExpiresAt: row.ExpiresAt.Time, RevokedAt: row.RevokedAt.Time}
}

func (s *Server) registerTokens() {
	tags := []string{"access"}
	register(s, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Path: "/v1/tokens", Summary: "List the API tokens of the workspace, newest first", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[APIToken], error) {
		p, err := in.page("/v1/tokens")
		if err != nil {
			return nil, err
		}
		rows, next, err := s.workspace(ctx).Tokens(ctx, p)
		if err != nil {
			return nil, err
		}
		return list(in, "/v1/tokens", rows, next, showAPIToken), nil
	})
	register(s, huma.Operation{
		OperationID: "create-token", Method: http.MethodPost, Path: "/v1/tokens", Summary: "Make an API token", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "The token is in this answer only.",
	}, func(ctx context.Context, in *createTokenInput) (*bodyOutput[APIToken], error) {
		t, err := s.addToken(ctx, s.workspace(ctx), &in.Body)
		return &bodyOutput[APIToken]{t}, err
	})
	register(s, huma.Operation{
		OperationID: "revoke-token", Method: http.MethodDelete, Path: "/v1/tokens/{id}", Summary: "Revoke an API token", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "It ends with the next request. The last token of an administrator cannot be revoked.",
	}, s.revokeToken)
	register(s, huma.Operation{
		OperationID: "list-workspaces", Method: http.MethodGet, Path: "/v1/workspaces", Summary: "List workspaces (operator)", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[WorkspaceInfo], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		p, err := in.page("/v1/workspaces")
		if err != nil {
			return nil, err
		}
		ids, next, err := s.o.Store.WorkspacesPage(ctx, p)
		if err != nil {
			return nil, err
		}
		return list(in, "/v1/workspaces", ids, next, func(id *string) WorkspaceInfo { return WorkspaceInfo{*id} }), nil
	})
	register(s, huma.Operation{
		OperationID: "create-workspace", Method: http.MethodPost, Path: "/v1/workspaces", Summary: "Make a workspace (operator)", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "The answer holds the API token of its first administrator, which is shown once.",
	}, func(ctx context.Context, in *createWorkspaceInput) (*bodyOutput[CreatedWorkspace], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		if in.Body.ID == "releases" || !registry.ValidSlug(in.Body.ID) { // its repositories would be those of releases
			return nil, problem.New(problem.InvalidArgument, "a workspace cannot be named %q", in.Body.ID).Fix("choose another name")
		}
		ids, err := s.o.Store.Workspaces(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id == in.Body.ID {
				return nil, problem.New(problem.Conflict, "there is a workspace %q already", id)
			}
		}
		if err := s.o.Store.EnsureWorkspace(ctx, in.Body.ID, in.Body.Name); err != nil {
			return nil, err
		}
		err = s.workspace(ctx).Update(ctx, func(tx *store.Tx) error {
			return tx.Audit(ctx, request.Audit(ctx, "workspace.create", in.Body.ID))
		})
		if err != nil {
			return nil, err
		}
		t, err := s.addToken(ctx, s.o.Store.Workspace(in.Body.ID), &CreateAPIToken{Name: "first administrator", Role: store.RoleAdmin})
		return &bodyOutput[CreatedWorkspace]{CreatedWorkspace{WorkspaceInfo{in.Body.ID}, t}}, err
	})
}

// addToken makes a token of a workspace; the answer is the only place it is in.
func (s *Server) addToken(ctx context.Context, ws *store.Workspace, in *CreateAPIToken) (APIToken, error) {
	token := access.NewToken()
	row := &store.Token{Name: in.Name, Role: in.Role, Hash: access.HashToken(token)}
	if !store.ValidRole(in.Role) {
		return APIToken{}, problem.New(problem.InvalidArgument, "there is no role %.40q", in.Role)
	}
	if in.TTLSeconds > 0 {
		row.ExpiresAt = store.Time{Time: ws.Now().Add(min(time.Duration(in.TTLSeconds)*time.Second, maxTokenLife))}
	}
	err := ws.Update(ctx, func(tx *store.Tx) error {
		owner, err := s.tokenOwner(ctx, tx, in)
		if err != nil {
			return err
		}
		if owner != nil {
			row.MemberID = owner.ID
		}
		if err := tx.AddToken(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "token.create", row.ID)
		rec.After = store.JSON(map[string]any{"name": row.Name, "role": row.Role, "member": row.MemberID})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return APIToken{}, err
	}
	out := showAPIToken(row)
	out.Token = token.Reveal()
	return out, nil
}

func (s *Server) revokeToken(ctx context.Context, in *TokenInput) (*struct{}, error) {
	return nil, s.workspace(ctx).Update(ctx, func(tx *store.Tx) error {
		if err := tx.RevokeToken(ctx, in.ID); err != nil {
			return err
		}
		n, err := tx.Administrators(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			return problem.New(problem.Conflict, "this is the last token of an administrator").Fix("make another one first")
		}
		return tx.Audit(ctx, request.Audit(ctx, "token.revoke", in.ID))
	})
}

// EnsureToken stores the token of the local administrator, which the caller
// keeps in a file, and makes a new one when t is absent or not known (the
// database was replaced). It returns the token that is valid now.
func EnsureToken(ctx context.Context, st *store.Store, workspace, name string, t secrets.Secret) (secrets.Secret, error) {
	if access.ValidToken(t) {
		if _, err := st.TokenByHash(ctx, access.HashToken(t)); err == nil {
			return t, nil
		}
	}
	t = access.NewToken()
	err := st.Workspace(workspace).Update(ctx, func(tx *store.Tx) error {
		row := &store.Token{Name: name, Role: store.RoleAdmin, Hash: access.HashToken(t)}
		if err := tx.AddToken(ctx, row); err != nil {
			return err
		}
		return tx.Audit(ctx, &store.Audit{ActorType: "system", ActorID: "start", Action: "token.create", Resource: row.ID, Outcome: request.OutcomeOK})
	})
	if err != nil {
		return secrets.Secret{}, err
	}
	return t, nil
}
