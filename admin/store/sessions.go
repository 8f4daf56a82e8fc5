package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
)

// How a session was opened.
const (
	OpenedByLink     = "link"
	OpenedByPassword = "password"
	OpenedByOpenID   = "openid" // at an OpenID provider
	OpenedByPasskey  = "passkey"
)

// Session is a browser that is signed in: as a member or, without one, as an API token. It
// ends with either. Only the hash of its secret is stored.
type Session struct {
	bun.BaseModel `bun:"table:sessions"`
	InWorkspace
	ID           string `bun:"id,pk"` // ses_…
	Hash         []byte `bun:"hash"`  // SHA-256
	MemberID     string `bun:"member_id"`
	TokenID      string `bun:"token_id"`      // empty with a member
	OpenedBy     string `bun:"opened_by"`     // OpenedByLink …
	SetsPassword bool   `bun:"sets_password"` // once, without the current one
	Address      string `bun:"address"`       // of the browser when it signed in
	Agent        string `bun:"agent"`         // its User-Agent
	CreatedAt    Time   `bun:"created_at"`
	SeenAt       Time   `bun:"seen_at"`
	IdleAt       Time   `bun:"idle_at"`    // when it ends if nothing more is asked
	ExpiresAt    Time   `bun:"expires_at"` // when it ends in any case
}

// LoginLink signs one browser in, once.
type LoginLink struct {
	bun.BaseModel `bun:"table:login_links"`
	InWorkspace
	ID           string `bun:"id,pk"` // link_…
	Hash         []byte `bun:"hash"`  // SHA-256
	MemberID     string `bun:"member_id"`
	TokenID      string `bun:"token_id"`      // empty with a member
	SetsPassword bool   `bun:"sets_password"` // its session may set a password
	CreatedAt    Time   `bun:"created_at"`
	ExpiresAt    Time   `bun:"expires_at"`
}

// Password is the hash of a member's password, in the PHC string format.
type Password struct {
	bun.BaseModel `bun:"table:passwords"`
	InWorkspace
	MemberID  string `bun:"member_id,pk"`
	Hash      string `bun:"hash"`
	UpdatedAt Time   `bun:"updated_at"`
}

// errSignedOut is the answer for every session that cannot be used.
func errSignedOut() error {
	return problem.New(problem.Unauthenticated, "the session is not known, has ended or was revoked").Fix("sign in again")
}

// SessionByHash finds a session that has not ended, and what it may do: as a token that has
// the id of the session and the role that its member or its token has now. It fails with
// [problem.Unauthenticated].
func (s *Store) SessionByHash(ctx context.Context, hash []byte) (*Session, *Token, error) {
	row := new(Session)
	err := s.read.NewSelect().Model(row).Where("hash = ?", hash).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, nil, fmt.Errorf("looking a session up: %w", err)
	}
	if now := s.now(); err != nil || !now.Before(row.IdleAt.Time) || !now.Before(row.ExpiresAt.Time) {
		return nil, nil, errSignedOut()
	}
	as, err := s.Workspace(row.WorkspaceID).actsAs(ctx, s.now(), row.MemberID, row.TokenID)
	if problem.Is(err, problem.NotFound) {
		return nil, nil, errSignedOut()
	}
	if err != nil {
		return nil, nil, err
	}
	as.ID, as.WorkspaceID, as.Hash = row.ID, row.WorkspaceID, nil
	return row, as, nil
}

// actsAs is what a member, or without one a token, may do now. It fails with
// [problem.NotFound] when there is none any more.
func (c *scope) actsAs(ctx context.Context, now time.Time, member, token string) (*Token, error) {
	if member != "" {
		m, err := c.Member(ctx, member)
		if err != nil {
			return nil, err
		}
		return &Token{Name: m.DisplayName(), Role: m.Role, MemberID: m.ID}, nil
	}
	row := new(Token)
	if err := table.Found(c.from(row).Where("id = ?", token).Scan(ctx), "token", token); err != nil {
		return nil, err
	}
	return row, c.limit(ctx, now, row)
}

// ActsAs is what a session may do now, as a token. It fails with [problem.NotFound] when its
// member or token is no more.
func (w *Workspace) ActsAs(ctx context.Context, row *Session) (*Token, error) {
	return w.actsAs(ctx, w.Now(), row.MemberID, row.TokenID)
}

// DisplayName is the name of a member, or their address.
func (m *Member) DisplayName() string {
	if m.Name != "" {
		return m.Name
	}
	return m.Email
}

// Sessions lists the sessions that have not ended, newest first: of one member or token, or
// of everybody when both are empty.
func (w *Workspace) Sessions(ctx context.Context, member, token string, p Page) ([]Session, string, error) {
	var rows []Session
	now := Time{Time: w.Now()}
	q := w.from(&rows).Where("idle_at > ?", now).Where("expires_at > ?", now)
	if member != "" || token != "" {
		q = q.Where("member_id = ?", member).Where("token_id = ?", token)
	}
	return table.Read(ctx, w.db, q, &rows, SessionList, p, "sessions")
}

// Session reads a session. It fails with [problem.NotFound].
func (c *scope) Session(ctx context.Context, id string) (*Session, error) {
	row := new(Session)
	return row, table.Found(c.from(row).Where("id = ?", id).Scan(ctx), "session", id)
}

// MaxSessions of one member or token: more browsers than anybody has. One more ends the
// oldest.
const MaxSessions = 100

// AddSession writes a new session.
func (t *Tx) AddSession(ctx context.Context, row *Session) error {
	var oldest string
	err := t.from((*Session)(nil)).Column("id").Where("member_id = ?", row.MemberID).Where("token_id = ?", row.TokenID).
		Order("id DESC").Offset(MaxSessions-1).Limit(1).Scan(ctx, &oldest)
	if err == nil {
		_, err = t.deleteOf((*Session)(nil)).Where("member_id = ?", row.MemberID).Where("token_id = ?", row.TokenID).Where("id <= ?", oldest).Exec(ctx)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("ending the oldest session: %w", err)
	}
	row.ID, row.CreatedAt, row.SeenAt = t.NewID("ses"), Time{Time: t.Now()}, Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing session %s: %w", row.ID, err)
	}
	return nil
}

// TouchSession writes when a session was seen and when it ends if nothing more is asked. One
// that has ended stays so.
func (t *Tx) TouchSession(ctx context.Context, row *Session) error {
	if _, err := t.updateOf(row).Column("seen_at", "idle_at").Where("id = ?", row.ID).Exec(ctx); err != nil {
		return fmt.Errorf("writing session %s: %w", row.ID, err)
	}
	return nil
}

// EndSession ends a session, and reports whether there was one.
func (t *Tx) EndSession(ctx context.Context, id string) (bool, error) {
	n, err := affected(t.deleteOf((*Session)(nil)).Where("id = ?", id).Exec(ctx))
	if err != nil {
		return false, fmt.Errorf("ending session %s: %w", id, err)
	}
	return n > 0, nil
}

// EndSessions ends the sessions of a member but one, and the links that would open more, and
// returns how many sessions.
func (t *Tx) EndSessions(ctx context.Context, member, but string) (int64, error) {
	n, err := affected(t.deleteOf((*Session)(nil)).Where("member_id = ?", member).Where("id <> ?", but).Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("ending the sessions of member %s: %w", member, err)
	}
	return n, t.dropLinks(ctx, member, "")
}

// dropLinks forgets the links of a member, or of a token.
func (t *Tx) dropLinks(ctx context.Context, member, token string) error {
	if _, err := t.deleteOf((*LoginLink)(nil)).Where("member_id = ?", member).Where("token_id = ?", token).Exec(ctx); err != nil {
		return fmt.Errorf("removing login links: %w", err)
	}
	return nil
}

// PutLoginLink writes a link; an earlier one of the same member or token is worth nothing
// from then on.
func (t *Tx) PutLoginLink(ctx context.Context, row *LoginLink) error {
	if err := t.dropLinks(ctx, row.MemberID, row.TokenID); err != nil {
		return err
	}
	row.ID, row.CreatedAt = t.NewID("link"), Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing login link %s: %w", row.ID, err)
	}
	return nil
}

// LoginLinkByHash finds a link. It is the one place where the workspace of a login becomes
// known. It fails with [problem.NotFound]; [Tx.TakeLoginLink] says whether it is still good.
func (s *Store) LoginLinkByHash(ctx context.Context, hash []byte) (*LoginLink, error) {
	row := new(LoginLink)
	return row, table.Found(s.read.NewSelect().Model(row).Where("hash = ?", hash).Scan(ctx), "login link", "of the request")
}

// TakeLoginLink uses a link up. It fails with [problem.NotFound] when it was used or has
// expired, or when its member or token is no more.
func (t *Tx) TakeLoginLink(ctx context.Context, row *LoginLink) error {
	gone := problem.New(problem.NotFound, "the login link was used or has expired")
	n, err := affected(t.deleteOf((*LoginLink)(nil)).Where("id = ?", row.ID).Where("expires_at > ?", Time{Time: t.Now()}).Exec(ctx))
	switch {
	case err != nil:
		return fmt.Errorf("using login link %s: %w", row.ID, err)
	case n == 0:
		return gone
	}
	_, err = t.actsAs(ctx, t.Now(), row.MemberID, row.TokenID)
	return err
}

// PasswordsByEmail finds the passwords of members with an address, in one workspace or, when
// that is empty, in all: at most two, because a second one makes the address ambiguous.
func (s *Store) PasswordsByEmail(ctx context.Context, workspace, email string) ([]Password, error) {
	var rows []Password
	q := s.read.NewSelect().Model(&rows).Join("JOIN members AS m ON m.workspace_id = password.workspace_id AND m.id = password.member_id").
		Where("m.email = ?", strings.ToLower(email)).Limit(2)
	if workspace != "" {
		q = q.Where("m.workspace_id = ?", workspace)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("looking a password up: %w", err)
	}
	return rows, nil
}

// Password reads the password of a member; nil: there is none.
func (c *scope) Password(ctx context.Context, member string) (*Password, error) {
	return oneOrNone[Password](ctx, c, "the password of member "+member,
		func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("member_id = ?", member) })
}

// PutPassword writes the password of a member. No session of theirs sets another one without
// it from then on.
func (t *Tx) PutPassword(ctx context.Context, row *Password) error {
	_, err := t.updateOf((*Session)(nil)).Set("sets_password = FALSE").Where("member_id = ?", row.MemberID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("writing the sessions of member %s: %w", row.MemberID, err)
	}
	row.UpdatedAt = Time{Time: t.Now()}
	if _, err := t.insert(row).On("CONFLICT (workspace_id, member_id) DO UPDATE").Set("hash = EXCLUDED.hash, updated_at = EXCLUDED.updated_at").Exec(ctx); err != nil {
		return fmt.Errorf("writing the password of member %s: %w", row.MemberID, err)
	}
	return nil
}

// CanSignIn reports whether somebody has a password or a passkey in the workspace, or is
// signed in.
func (w *Workspace) CanSignIn(ctx context.Context) (bool, error) {
	n, err := w.from((*Password)(nil)).Count(ctx)
	if err == nil && n == 0 {
		n, err = w.from((*Passkey)(nil)).Count(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("counting passwords and passkeys: %w", err)
	}
	rows, _, err := w.Sessions(ctx, "", "", Page{Limit: 1})
	return n > 0 || len(rows) > 0, err
}

// WorkspaceName is the name of the workspace.
func (c *scope) WorkspaceName(ctx context.Context) (string, error) {
	row := new(workspaceRow)
	return row.Name, table.Found(c.db.NewSelect().Model(row).Where("id = ?", c.id).Scan(ctx), "workspace", c.id)
}

// sweepSessions removes sessions and links that have ended.
func (s *Store) sweepSessions(ctx context.Context, now time.Time) error {
	if _, err := s.write.NewDelete().Model((*Session)(nil)).Where("expires_at <= ? OR idle_at <= ?", Time{Time: now}, Time{Time: now}).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping sessions: %w", err)
	}
	if _, err := s.write.NewDelete().Model((*LoginLink)(nil)).Where("expires_at <= ?", Time{Time: now}).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping login links: %w", err)
	}
	return nil
}
