package session

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Session is who is signed in, and what they may do now.
type Session struct {
	ID            string           `json:"id" example:"ses_01JD5Z8Q"`
	Name          string           `json:"name" doc:"Of the member or, without one, of the API token that the session acts as." example:"Ada Lovelace"`
	Member        *SignedIn        `json:"member,omitempty" doc:"Absent where somebody signed in with the link of an API token that belongs to no member, such as the local administrator's."`
	Workspace     CurrentWorkspace `json:"workspace"`
	Role          string           `json:"role" enum:"viewer,editor,publisher,admin" doc:"What it may do now."`
	OpenedBy      string           `json:"openedBy" enum:"link,password,openid,passkey" doc:"openid: at an OpenID provider."`
	Password      string           `json:"password" enum:"set,settable,none" doc:"set: the member has one, and needs it to set another. settable: this session may set one without the present one, once. none: there is none, and this session cannot set one."`
	CreatedAt     time.Time        `json:"createdAt"`
	IdleExpiresAt time.Time        `json:"idleExpiresAt" doc:"When it ends if nothing more is asked."`
	ExpiresAt     time.Time        `json:"expiresAt" doc:"When it ends in any case."`
	Version       string           `json:"version" doc:"Of the program."`
}

// SignedIn is a member who is signed in.
type SignedIn struct {
	ID    string `json:"id" example:"mem_01JD5Z8Q"`
	Name  string `json:"name" example:"Ada Lovelace"`
	Email string `json:"email" example:"ada@example.com"`
}

// CurrentWorkspace is the workspace of a session.
type CurrentWorkspace struct {
	ID       string `json:"id" example:"default"`
	Name     string `json:"name" example:"Default"`
	Operator bool   `json:"operator" doc:"Its administrators run this control plane."`
}

// OpenSession is a session as it is listed.
type OpenSession struct {
	ID        string    `json:"id" example:"ses_01JD5Z8Q"`
	Name      string    `json:"name" example:"Ada Lovelace"`
	Member    *SignedIn `json:"member,omitempty"`
	Role      string    `json:"role,omitempty" enum:"viewer,editor,publisher,admin"`
	OpenedBy  string    `json:"openedBy" enum:"link,password,openid,passkey"`
	Current   bool      `json:"current" doc:"It is the session that asks."`
	Address   string    `json:"address" doc:"Of the browser, when it signed in." example:"192.0.2.7"`
	Agent     string    `json:"agent,omitempty" doc:"What the browser said it is."`
	CreatedAt time.Time `json:"createdAt"`
	SeenAt    time.Time `json:"seenAt" doc:"Exact to a minute."`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Current shows the session of the request.
func (m *Room) Current(ctx context.Context) (Session, error) {
	r := request.Of(ctx)
	if r.Session == nil {
		return Session{}, notSignedIn()
	}
	return m.Show(ctx, r.Session, r.Token)
}

// Show shows a session that may do what a token may.
func (m *Room) Show(ctx context.Context, row *store.Session, as *store.Token) (Session, error) {
	ws := m.store.Workspace(row.WorkspaceID)
	name, err := ws.WorkspaceName(ctx)
	if err != nil {
		return Session{}, err
	}
	out := Session{
		ID: row.ID, Name: as.Name, Role: as.Role, OpenedBy: row.OpenedBy, Password: "none", Version: m.version,
		Workspace: CurrentWorkspace{ID: ws.ID(), Name: name, Operator: ws.ID() == request.Operator},
		CreatedAt: row.CreatedAt.Time, IdleExpiresAt: row.IdleAt.Time, ExpiresAt: row.ExpiresAt.Time,
	}
	if as.MemberID == "" {
		return out, nil
	}
	if out.Member, err = m.member(ctx, ws, as.MemberID); err != nil {
		return Session{}, err
	}
	if row.SetsPassword {
		out.Password = "settable"
		return out, nil
	}
	password, err := ws.Password(ctx, as.MemberID)
	if password != nil && row.MemberID != "" {
		out.Password = "set"
	}
	return out, err
}

func (m *Room) member(ctx context.Context, ws *store.Workspace, id string) (*SignedIn, error) {
	row, err := ws.Member(ctx, id)
	if err != nil {
		return nil, err
	}
	return &SignedIn{ID: row.ID, Name: row.Name, Email: row.Email}, nil
}

// holder is whose sessions who asks may see and end: of a member or of a token; both are
// empty for an administrator, who may do that with all.
func holder(ctx context.Context) (member, token string) {
	r := request.Of(ctx)
	switch {
	case store.RoleAllows(r.Token.Role, store.RoleAdmin):
		return "", ""
	case r.Session != nil:
		return r.Session.MemberID, r.Session.TokenID
	}
	return "", r.Token.ID
}

// List lists the sessions that have not ended, newest first: for an administrator those of
// the workspace, for others their own.
func (m *Room) List(ctx context.Context, ws *store.Workspace, p store.Page) ([]store.Session, string, error) {
	member, token := holder(ctx)
	return ws.Sessions(ctx, member, token, p)
}

// ShowOpen shows a session of a list.
func (m *Room) ShowOpen(ctx context.Context, row *store.Session) (OpenSession, error) {
	ws := m.store.Workspace(row.WorkspaceID)
	current := request.Of(ctx).Session
	out := OpenSession{
		ID: row.ID, OpenedBy: row.OpenedBy, Current: current != nil && current.ID == row.ID, Address: row.Address, Agent: row.Agent,
		CreatedAt: row.CreatedAt.Time, SeenAt: row.SeenAt.Time, ExpiresAt: row.ExpiresAt.Time,
	}
	as, err := ws.ActsAs(ctx, row)
	if problem.Is(err, problem.NotFound) {
		return out, nil // its token was revoked meanwhile
	}
	if err != nil {
		return OpenSession{}, err
	}
	out.Name, out.Role = as.Name, as.Role
	if as.MemberID != "" {
		out.Member, err = m.member(ctx, ws, as.MemberID)
	}
	return out, err
}

// Revoke ends a session: one's own, or any for an administrator.
func (m *Room) Revoke(ctx context.Context, ws *store.Workspace, id string) error {
	row, err := ws.Session(ctx, id)
	if err != nil {
		return err
	}
	member, token := holder(ctx)
	if (member != "" || token != "") && (row.MemberID != member || row.TokenID != token) {
		return problem.New(problem.NotFound, "there is no session %.80q of yours", id)
	}
	return m.end(ctx, row, "revoked")
}
