package people

import (
	"context"
	"net/mail"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Member is a person who works in the workspace.
type Member struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Name      string    `json:"name,omitempty"`
	Role      string    `json:"role" enum:"viewer,editor,publisher,admin"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// AddMember asks for a member.
type AddMember struct {
	Email string `json:"email" minLength:"3" maxLength:"254" doc:"Names the member; nothing is sent to it."`
	Name  string `json:"name,omitempty" maxLength:"200"`
	Role  string `json:"role" enum:"viewer,editor,publisher,admin" doc:"Each may do what those before it may: read; change, test and deploy toolsets; publish connectors and plugins; everything."`
}

// PatchMember changes a member. What is absent stays.
type PatchMember struct {
	Name *string `json:"name,omitempty" maxLength:"200"`
	Role *string `json:"role,omitempty" enum:"viewer,editor,publisher,admin" null:"-"`
}

// UnmarshalJSON decodes a merge patch.
func (p *PatchMember) UnmarshalJSON(b []byte) error {
	type plain PatchMember
	return request.UnmarshalPatch(b, (*plain)(p))
}

// ShowMember shows a member.
func ShowMember(row *store.Member) Member {
	return Member{ID: row.ID, Email: row.Email, Name: row.Name, Role: row.Role, CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time}
}

// memberFields is what the audit log says of a member.
func memberFields(row *store.Member) string {
	return store.JSON(map[string]any{"email": row.Email, "name": row.Name, "role": row.Role})
}

// TypeAdded is the type of the notice that there is a new member.
const TypeAdded = "member.added"

// Add adds a member and tells the channels.
func Add(ctx context.Context, ws *store.Workspace, in *AddMember) (*store.Member, error) {
	if a, err := mail.ParseAddress(in.Email); err != nil || a.Address != in.Email {
		return nil, request.FieldFault("/email", "%.254q is not an e-mail address", in.Email)
	}
	row := &store.Member{Email: in.Email, Name: strings.TrimSpace(in.Name), Role: in.Role}
	return row, ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.AddMember(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "member.add", row.ID)
		rec.After = memberFields(row)
		if err := tx.Audit(ctx, rec); err != nil {
			return err
		}
		return notify.Add(ctx, tx, &notify.Notice{
			Type: TypeAdded, Severity: notify.Info, Title: row.Email + " is a member now",
			Lines: []notify.Line{{Name: "Role", Value: row.Role}, {Name: "Added by", Value: rec.ActorID}}, Command: "sluice member list",
			Data: map[string]any{"workspace": tx.ID(), "member": ShowMember(row)},
		})
	})
}

// Remove removes a member and revokes their tokens.
func Remove(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput) error {
	return ws.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.Member(ctx, id)
		if err != nil {
			return err
		}
		if err := match.Check(row.Version, true); err != nil {
			return err
		}
		revoked, err := tx.RemoveMember(ctx, row.ID, row.Version)
		if err != nil {
			return err
		}
		rec := request.Audit(ctx, "member.remove", row.ID)
		rec.Before, rec.After = memberFields(row), store.JSON(map[string]any{"revokedTokens": revoked})
		return tx.Audit(ctx, rec)
	})
}

// Patch changes a member.
func Patch(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, in *PatchMember) (row *store.Member, err error) {
	err = ws.Update(ctx, func(tx *store.Tx) (err error) {
		if row, err = tx.Member(ctx, id); err != nil {
			return err
		}
		if err := match.Check(row.Version, true); err != nil {
			return err
		}
		before := memberFields(row)
		if in.Name != nil {
			row.Name = strings.TrimSpace(*in.Name)
		}
		if in.Role != nil {
			row.Role = *in.Role
		}
		if memberFields(row) == before {
			return nil
		}
		if err := tx.SaveMember(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "member.update", row.ID)
		rec.Before, rec.After = before, memberFields(row)
		return tx.Audit(ctx, rec)
	})
	return row, err
}

// tokenOwner finds whose a new token is: the member that the request names, or the
// one whose token makes it; nil: the workspace's.
func tokenOwner(ctx context.Context, tx *store.Tx, in *CreateAPIToken) (*store.Member, error) {
	id := in.Member
	if by := request.Of(ctx).Token; id == "" && by != nil && by.WorkspaceID == tx.ID() {
		id = by.MemberID
	}
	if id == "" {
		return nil, nil //nolint:nilnil // it belongs to nobody
	}
	m, err := tx.Member(ctx, id)
	if problem.Is(err, problem.NotFound) {
		return nil, request.FieldFault("/member", "the workspace has no member %.80q", id)
	}
	if err != nil {
		return nil, err
	}
	if !store.RoleAllows(m.Role, in.Role) {
		return nil, request.FieldFault("/role", "member %s has the role %s, so their token cannot be one of %s", m.Email, m.Role, in.Role)
	}
	return m, nil
}
