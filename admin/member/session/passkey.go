package session

import (
	"context"

	"github.com/sluicegate/sluice/admin/member/passkey"
	"github.com/sluicegate/sluice/admin/member/ratelimit"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// challengePrefix begins the secret that a browser keeps of the challenge that it asked for.
const challengePrefix = "slc_"

// Challenge makes a challenge for a login with a passkey, and the secret that the browser
// keeps meanwhile. base is scheme and host of the console.
func (m *Room) Challenge(ctx context.Context, base string) (*passkey.SignInChallenge, secrets.Secret, error) {
	if err := m.challenges.take(ratelimit.AddressKey(request.Of(ctx).IP)); err != nil {
		return nil, secrets.Secret{}, err
	}
	kept := access.NewTokenFor(challengePrefix)
	c, err := m.Passkeys.BeginSignIn(base, kept)
	return c, kept, err
}

// checkPasskey finds the passkey that signed. A login that succeeds costs no attempt.
func (m *Room) checkPasskey(ctx context.Context, in *passkey.Assertion, from *From) (*store.Passkey, error) {
	ip := ratelimit.AddressKey(request.Of(ctx).IP)
	if err := m.addresses.take(ip); err != nil {
		return nil, err
	}
	if !access.ValidTokenFor(challengePrefix, from.Kept) {
		return nil, passkey.Expired()
	}
	key, err := m.Passkeys.SignIn(ctx, from.Base, from.Kept, in)
	if err == nil {
		m.addresses.GiveBack(ip)
	}
	return key, err
}

// usePasskey writes the counter of a passkey that signed somebody in.
func usePasskey(ctx context.Context, tx *store.Tx, key *store.Passkey) error {
	err := tx.UsePasskey(ctx, key)
	if problem.Is(err, problem.NotFound) {
		failed(ctx, key.WorkspaceID, key.MemberID, "passkey")
		return problem.New(problem.Unauthenticated, "the passkey was removed, or used again meanwhile").Fix("try it again, or sign in with your password")
	}
	return err
}

// Confirm returns the member who is signed in, once they gave their present password again: who
// finds an open browser makes no passkey that outlives it. A session that an invitation or
// reset link opened may without, until a password is set.
func (m *Room) Confirm(ctx context.Context, current secrets.Secret) (*store.Member, error) {
	member, err := m.SignedIn(ctx)
	if err != nil || request.Of(ctx).Session.SetsPassword {
		return member, err
	}
	return member, m.checkCurrent(ctx, m.store.Workspace(member.WorkspaceID), member, current)
}

// SignedIn is the member of this session. It fails with [problem.Conflict] where that is
// nobody's.
func (m *Room) SignedIn(ctx context.Context) (*store.Member, error) {
	r := request.Of(ctx)
	if r.Session == nil {
		return nil, notSignedIn()
	}
	if r.Session.MemberID == "" {
		return nil, problem.New(problem.Conflict, "this session is of an API token, which has no password and no passkeys").
			Fix("add yourself as a member, and sign in with a login link of that member")
	}
	return m.store.Workspace(r.Token.WorkspaceID).Member(ctx, r.Session.MemberID)
}

// Own is the id of the member whose session or API token asks; empty: it is nobody's.
func Own(ctx context.Context) string { return request.Of(ctx).Token.MemberID }
