package people

import (
	"context"
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
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
	Member     string `json:"member,omitempty" maxLength:"254" doc:"Id or address of the member it belongs to. Default: the member of the token that creates it; none where that token has no member."`
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

// ShowToken shows an API token.
func ShowToken(row *store.Token) APIToken {
	return APIToken{ID: row.ID, Name: row.Name, Role: row.Role, Member: row.MemberID, CreatedAt: row.CreatedAt.Time, ExpiresAt: row.ExpiresAt.Time, RevokedAt: row.RevokedAt.Time}
}

// Create makes a workspace and the API token of its first administrator.
func Create(ctx context.Context, st *store.Store, in *CreateWorkspace) (*CreatedWorkspace, error) {
	if in.ID == "releases" || !registry.ValidSlug(in.ID) { // its repositories would be those of releases
		return nil, problem.New(problem.InvalidArgument, "a workspace cannot be named %q", in.ID).Fix("choose another name")
	}
	ids, err := st.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	if slices.Contains(ids, in.ID) {
		return nil, problem.New(problem.Conflict, "there is a workspace %q already", in.ID)
	}
	if err := st.EnsureWorkspace(ctx, in.ID, in.Name); err != nil {
		return nil, err
	}
	err = request.Workspace(ctx, st).Update(ctx, func(tx *store.Tx) error {
		return tx.Audit(ctx, request.Audit(ctx, "workspace.create", in.ID))
	})
	if err != nil {
		return nil, err
	}
	t, err := AddToken(ctx, st.Workspace(in.ID), &CreateAPIToken{Name: "first administrator", Role: store.RoleAdmin})
	return &CreatedWorkspace{WorkspaceInfo{in.ID}, t}, err
}

// AddToken makes a token of a workspace; the answer is the only place it is in.
func AddToken(ctx context.Context, ws *store.Workspace, in *CreateAPIToken) (APIToken, error) {
	token := access.NewToken()
	row := &store.Token{Name: in.Name, Role: in.Role, Hash: access.HashToken(token)}
	if !store.ValidRole(in.Role) {
		return APIToken{}, problem.New(problem.InvalidArgument, "there is no role %.40q", in.Role)
	}
	if in.TTLSeconds > 0 {
		life := time.Duration(min(in.TTLSeconds, int64(maxTokenLife/time.Second))) * time.Second // many seconds are not a duration
		row.ExpiresAt = store.Time{Time: ws.Now().Add(life)}
	}
	err := ws.Update(ctx, func(tx *store.Tx) error {
		owner, err := tokenOwner(ctx, tx, in)
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
	out := ShowToken(row)
	out.Token = token.Reveal()
	return out, nil
}

// RevokeToken revokes an API token, unless it is the last of an administrator.
func RevokeToken(ctx context.Context, ws *store.Workspace, id string) error {
	return ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.RevokeToken(ctx, id); err != nil {
			return err
		}
		n, err := tx.Administrators(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			return problem.New(problem.Conflict, "this is the last token of an administrator").Fix("make another one first")
		}
		return tx.Audit(ctx, request.Audit(ctx, "token.revoke", id))
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
