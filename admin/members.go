package admin

import (
	"context"
	"net/http"
	"net/mail"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

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
	Role *string `json:"role,omitempty" enum:"viewer,editor,publisher,admin"`
}

// MemberInput is the path of a member.
type MemberInput struct {
	ID string `path:"id" maxLength:"254" doc:"Id or address."`
}

type addMemberInput struct{ Body AddMember }

type patchMemberInput struct {
	MemberInput
	request.MatchInput
	Body PatchMember `contentType:"application/merge-patch+json"`
}

type removeMemberInput struct {
	MemberInput
	request.MatchInput
}

type memberOutput struct {
	ETag string `header:"ETag"`
	Body Member
}

func showMember(row *store.Member) Member {
	return Member{ID: row.ID, Email: row.Email, Name: row.Name, Role: row.Role, CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time}
}

func memberAnswer(row *store.Member) *memberOutput {
	return &memberOutput{ETag: request.ETag(row.Version), Body: showMember(row)}
}

// memberFields is what the audit log says of a member.
func memberFields(row *store.Member) string {
	return store.JSON(map[string]any{"email": row.Email, "name": row.Name, "role": row.Role})
}

func (s *Server) registerMembers() {
	tags := []string{"access"}
	register(s, huma.Operation{
		OperationID: "list-members", Method: http.MethodGet, Path: "/v1/members", Summary: "List the members of the workspace, newest first", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[Member], error) {
		p, err := in.page("/v1/members")
		if err != nil {
			return nil, err
		}
		rows, next, err := s.workspace(ctx).Members(ctx, p)
		if err != nil {
			return nil, err
		}
		return list(in, "/v1/members", rows, next, showMember), nil
	})
	register(s, huma.Operation{
		OperationID: "get-member", Method: http.MethodGet, Path: "/v1/members/{id}", Summary: "Read a member", Tags: tags,
	}, func(ctx context.Context, in *MemberInput) (*memberOutput, error) {
		row, err := s.workspace(ctx).Member(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return memberAnswer(row), nil
	})
	register(s, huma.Operation{
		OperationID: "add-member", Method: http.MethodPost, Path: "/v1/members", Summary: "Add a member", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "A member works with API tokens of their own: make one with the id as its member.",
	}, func(ctx context.Context, in *addMemberInput) (*memberOutput, error) {
		if a, err := mail.ParseAddress(in.Body.Email); err != nil || a.Address != in.Body.Email {
			return nil, request.FieldFault("/email", "%.254q is not an e-mail address", in.Body.Email)
		}
		row := &store.Member{Email: in.Body.Email, Name: strings.TrimSpace(in.Body.Name), Role: in.Body.Role}
		err := s.workspace(ctx).Update(ctx, func(tx *store.Tx) error {
			if err := tx.AddMember(ctx, row); err != nil {
				return err
			}
			rec := request.Audit(ctx, "member.add", row.ID)
			rec.After = memberFields(row)
			return tx.Audit(ctx, rec)
		})
		if err != nil {
			return nil, err
		}
		return memberAnswer(row), nil
	})
	register(s, huma.Operation{
		OperationID: "patch-member", Method: http.MethodPatch, Path: "/v1/members/{id}", Summary: "Change the role or name of a member", Tags: tags,
		Description: "Tokens of the member may do no more than the new role with their next request. The last administrator stays one. Needs If-Match.",
	}, s.patchMember)
	register(s, huma.Operation{
		OperationID: "remove-member", Method: http.MethodDelete, Path: "/v1/members/{id}", Summary: "Remove a member", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "Their tokens are revoked. The last administrator cannot be removed. Needs If-Match.",
	}, func(ctx context.Context, in *removeMemberInput) (*struct{}, error) {
		return nil, s.workspace(ctx).Update(ctx, func(tx *store.Tx) error {
			row, err := tx.Member(ctx, in.ID)
			if err != nil {
				return err
			}
			if err := in.Check(row.Version, true); err != nil {
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
	})
}

func (s *Server) patchMember(ctx context.Context, in *patchMemberInput) (*memberOutput, error) {
	var row *store.Member
	err := s.workspace(ctx).Update(ctx, func(tx *store.Tx) (err error) {
		if row, err = tx.Member(ctx, in.ID); err != nil {
			return err
		}
		if err := in.Check(row.Version, true); err != nil {
			return err
		}
		before := memberFields(row)
		if in.Body.Name != nil {
			row.Name = strings.TrimSpace(*in.Body.Name)
		}
		if in.Body.Role != nil {
			row.Role = *in.Body.Role
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
	if err != nil {
		return nil, err
	}
	return memberAnswer(row), nil
}

// tokenOwner finds whose a new token is: the member that the request names, or the
// one whose token makes it; nil: the workspace's.
func (s *Server) tokenOwner(ctx context.Context, tx *store.Tx, in *CreateAPIToken) (*store.Member, error) {
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
