package session

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/admin/member/ratelimit"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// LoginLink is a link that signs one browser in, once.
type LoginLink struct {
	URL       string    `json:"url" doc:"Open it in a browser. Shown once; a later link of the same member or token makes it worthless." example:"http://127.0.0.1:7301/#login=sll_…"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// OwnLink makes a link that signs a browser in as who asks. base is scheme and host of the
// console.
func (m *Room) OwnLink(ctx context.Context, base string) (*LoginLink, error) {
	r := request.Of(ctx)
	row := &store.LoginLink{TokenID: r.Token.ID}
	if r.Session != nil {
		row.MemberID, row.TokenID = r.Session.MemberID, r.Session.TokenID
	}
	return m.link(ctx, m.store.Workspace(r.Token.WorkspaceID), row, base)
}

// MemberLink makes a link that signs a browser in as a member, who may then set a password:
// an invitation, and the way back for who forgot theirs.
func (m *Room) MemberLink(ctx context.Context, ws *store.Workspace, id, base string) (*LoginLink, error) {
	member, err := ws.Member(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.link(ctx, ws, &store.LoginLink{MemberID: member.ID, SetsPassword: true}, base)
}

// FirstLink makes a link for the API token of the local administrator when nobody can sign in
// to its workspace yet; nil: somebody can.
func (m *Room) FirstLink(ctx context.Context, token secrets.Secret, base string) (*LoginLink, error) {
	row, err := m.store.TokenByHash(ctx, access.HashToken(token))
	if err != nil {
		return nil, err
	}
	ws := m.store.Workspace(row.WorkspaceID)
	if can, err := ws.CanSignIn(ctx); err != nil || can {
		return nil, err
	}
	return m.link(ctx, ws, &store.LoginLink{TokenID: row.ID}, base)
}

func (m *Room) link(ctx context.Context, ws *store.Workspace, row *store.LoginLink, base string) (*LoginLink, error) {
	secret := access.NewTokenFor(linkPrefix)
	row.Hash, row.ExpiresAt = access.HashToken(secret), store.Time{Time: m.store.Now().Add(linkLife)}
	err := ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutLoginLink(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "session.link", row.ID)
		rec.After = store.JSON(map[string]any{"member": row.MemberID, "token": row.TokenID, "setsPassword": row.SetsPassword})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	return &LoginLink{URL: base + "/#login=" + secret.Reveal(), ExpiresAt: row.ExpiresAt.Time}, nil
}

// findLink finds the link of a secret. Whether it is still good is decided where it is used up.
func (m *Room) findLink(ctx context.Context, secret secrets.Secret) (*store.LoginLink, error) {
	if err := m.addresses.take(ratelimit.AddressKey(request.Of(ctx).IP)); err != nil {
		return nil, err
	}
	if !access.ValidTokenFor(linkPrefix, secret) {
		return nil, refuseLink(ctx, request.Operator)
	}
	link, err := m.store.LoginLinkByHash(ctx, access.HashToken(secret))
	if problem.Is(err, problem.NotFound) {
		return nil, refuseLink(ctx, request.Operator)
	}
	return link, err
}

// useLink uses a link up.
func useLink(ctx context.Context, tx *store.Tx, link *store.LoginLink) error {
	err := tx.TakeLoginLink(ctx, link)
	if problem.Is(err, problem.NotFound) {
		return refuseLink(ctx, link.WorkspaceID)
	}
	return err
}

// refuseLink is the one answer for every link that is not good.
func refuseLink(ctx context.Context, workspace string) error {
	failed(ctx, workspace, "", "login link")
	return problem.New(problem.Unauthenticated, "the login link is not known, was used or has expired").
		Fix("make another one on the machine with: sluice session link; or ask an administrator for one")
}
