package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
)

// Member is a person who works in a workspace.
type Member struct {
	bun.BaseModel `bun:"table:members"`
	InWorkspace
	ID        string `bun:"id,pk"`   // mem_…
	Version   uint64 `bun:"version"` // raised by every write; the ETag
	Email     string `bun:"email"`   // lower case, unique in the workspace
	Name      string `bun:"name"`
	Role      string `bun:"role"` // RoleViewer …
	CreatedAt Time   `bun:"created_at"`
	UpdatedAt Time   `bun:"updated_at"`
}

// Member reads a member by id or by address. It fails with [problem.NotFound].
func (c *scope) Member(ctx context.Context, id string) (*Member, error) {
	row := new(Member)
	column := "id"
	if strings.Contains(id, "@") {
		column, id = "email", strings.ToLower(id)
	}
	return row, c.found(ctx, c.from(row).Where("? = ?", bun.Ident(column), id).Scan(ctx), (*Member)(nil), "email", "member", id)
}

// Members lists the members, newest first.
func (c *scope) Members(ctx context.Context, p Page) ([]Member, string, error) {
	var rows []Member
	return table.Read(ctx, c.db, c.from(&rows), &rows, MemberList, p, "members")
}

// AddMember writes a new member. It fails with [problem.Conflict] when the address is
// that of a member already.
func (t *Tx) AddMember(ctx context.Context, row *Member) error {
	if !ValidRole(row.Role) {
		return problem.New(problem.InvalidArgument, "there is no role %.40q", row.Role)
	}
	row.ID, row.Version, row.Email = t.NewID("mem"), 1, strings.ToLower(row.Email)
	row.CreatedAt, row.UpdatedAt = Time{Time: t.Now()}, Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); isUnique(err) {
		return problem.New(problem.Conflict, "%.200s is a member already", row.Email).Fix("change the role of that member")
	} else if err != nil {
		return fmt.Errorf("writing member %s: %w", row.ID, err)
	}
	return nil
}

// SaveMember writes name and role of the version that row has, and raises it. It fails
// with [problem.Precondition] when it is not the stored one ([ErrStale]), and with
// [problem.Conflict] when no administrator would be left.
func (t *Tx) SaveMember(ctx context.Context, row *Member) error {
	if !ValidRole(row.Role) {
		return problem.New(problem.InvalidArgument, "there is no role %.40q", row.Role)
	}
	return t.keepAdministrators(ctx, func() error {
		row.UpdatedAt = Time{Time: t.Now()}
		n, err := affected(t.updateOf(row).Column("name", "role", "updated_at").Set("version = version + 1").
			Where("id = ?", row.ID).Where("version = ?", row.Version).Exec(ctx))
		if err != nil {
			return fmt.Errorf("writing member %s: %w", row.ID, err)
		}
		if n == 0 {
			return t.staleMember(ctx, row.ID)
		}
		row.Version++
		return nil
	})
}

// RemoveMember removes a member of a version, ends their sessions, takes their votes back and
// revokes their tokens, whose number it returns. It fails as SaveMember does.
func (t *Tx) RemoveMember(ctx context.Context, id string, version uint64) (revoked int64, err error) {
	return revoked, t.keepAdministrators(ctx, func() error {
		n, err := affected(t.deleteOf((*Member)(nil)).Where("id = ?", id).Where("version = ?", version).Exec(ctx))
		if err != nil {
			return fmt.Errorf("removing member %s: %w", id, err)
		}
		if n == 0 {
			return t.staleMember(ctx, id)
		}
		revoked, err = affected(t.updateOf((*Token)(nil)).Set("revoked_at = ?", Time{Time: t.Now()}).
			Where("member_id = ?", id).Where("revoked_at = 0").Exec(ctx))
		if err != nil {
			return fmt.Errorf("revoking the tokens of member %s: %w", id, err)
		}
		if _, err = t.EndSessions(ctx, id, ""); err != nil {
			return err
		}
		return t.takeVotes(ctx, id)
	})
}

// staleMember says why a write of a member met no row.
func (t *Tx) staleMember(ctx context.Context, id string) error {
	if _, err := t.Member(ctx, id); err != nil {
		return err
	}
	return problem.New(problem.Precondition, "the member was changed meanwhile").Fix("read it again and repeat the change").Because(ErrStale)
}

// keepAdministrators makes a change and refuses it when it takes the last
// administrator: among the members, or among the tokens that are valid.
func (t *Tx) keepAdministrators(ctx context.Context, change func() error) error {
	members, err := t.administrators(ctx)
	if err != nil {
		return err
	}
	tokens, err := t.Administrators(ctx)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := t.administrators(ctx)
	if err != nil {
		return err
	}
	if members > 0 && after == 0 {
		return problem.New(problem.Conflict, "this is the last administrator of the workspace").Fix("make another member an administrator first")
	}
	left, err := t.Administrators(ctx)
	if err != nil {
		return err
	}
	if tokens > 0 && left == 0 {
		return problem.New(problem.Conflict, "the workspace would be left without an administrator: this member has its last administrator token").
			Fix("make a token of another administrator first")
	}
	return nil
}

// administrators counts the members who are.
func (t *Tx) administrators(ctx context.Context) (n int, err error) {
	if err = t.from((*Member)(nil)).ColumnExpr("COUNT(*)").Where("role = ?", RoleAdmin).Scan(ctx, &n); err != nil {
		return 0, fmt.Errorf("counting administrators: %w", err)
	}
	return n, nil
}
