package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/cmd/internal/upstreamauth"
	"github.com/sluicegate/sluice/internal/problem"
)

// authLogin begins a login at the authorization server of a toolset and waits
// until the person is done.
func (e *edit) authLogin(ctx context.Context, f *upstreamauth.Flags) error {
	var begun login.Authorization
	path := e.authPath()
	if err := e.Client().Post(ctx, path+"/authorize", login.Authorize{Scopes: f.Scopes}, &begun); err != nil {
		return err
	}
	upstreamauth.ShowLogin(ctx, e.Session, begun.AuthorizationURL, begun.RedirectURL, begun.Registered, !f.NoBrowser)
	e.Say("  Waiting until %s … (Ctrl-C stops waiting)", begun.ExpiresAt.Local().Format("15:04"))
	it, err := e.awaitLogin(ctx, path, &begun)
	if err != nil {
		return err
	}
	e.Say("  next   sluice toolset test %s", e.t.Slug)
	return e.Object(it, func(w io.Writer) {
		fmt.Fprintf(w, "✓ %s is logged in", e.t.Slug)
		if it.ExpiresAt != nil {
			fmt.Fprintf(w, "; the access token lasts until %s", it.ExpiresAt.Local().Format("2006-01-02 15:04"))
		}
		fmt.Fprintln(w)
	})
}

// awaitLogin asks for the state of a credential until its login has an outcome.
func (e *edit) awaitLogin(ctx context.Context, path string, begun *login.Authorization) (*credential.AuthenticationItem, error) {
	tick := time.NewTicker(upstreamauth.Poll)
	defer tick.Stop()
	for {
		var now credential.Authentication
		if err := e.Client().Get(ctx, path, &now); err != nil {
			return nil, err
		}
		it := credentialOf(&now, begun.CredentialID)
		switch {
		case it == nil:
			return nil, problem.New(problem.Conflict, "the authentication was changed while you logged in").Fix("begin again")
		case it.LoginPending:
		case it.State == "ok":
			return it, nil
		case it.LastError != "":
			return nil, problem.New(problem.Unauthenticated, "the login did not succeed: %s", it.LastError).Fix("begin again")
		default:
			return nil, problem.New(problem.Timeout, "no login in time").Fix("begin again")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// credentialOf finds a credential in a configuration.
func credentialOf(a *credential.Authentication, id string) *credential.AuthenticationItem {
	if a.CredentialID == id {
		return &a.AuthenticationItem
	}
	for i := range a.Items {
		if a.Items[i].CredentialID == id {
			return &a.Items[i]
		}
	}
	return nil
}

// rotated is a configuration as it is, for a new secret.
func rotated(now *credential.Authentication) (upstreamauth.Request, error) {
	var r upstreamauth.Request
	switch now.AuthType {
	case "none":
		return r, problem.New(problem.InvalidArgument, "the toolset has no authentication whose key could be rotated").
			Fix("sluice toolset auth TOOLSET set")
	case "list":
		return r, problem.New(problem.InvalidArgument, "the toolset combines %d credentials", len(now.Items)).
			Fix("set them again: sluice toolset auth TOOLSET set")
	}
	it := &now.AuthenticationItem
	r.AuthType, r.Scheme, r.HeaderName, r.HeaderPrefix, r.ParameterName = it.AuthType, it.Scheme, it.HeaderName, it.HeaderPrefix, it.ParameterName
	r.CookieName, r.MemberName, r.Username, r.Grant, r.Issuer, r.ClientID = it.CookieName, it.MemberName, it.Username, it.Grant, it.Issuer, it.ClientID
	r.Resource, r.PerUser = it.Resource, it.PerUser
	r.TokenAuth, r.AuthorizationURL, r.TokenURL, r.Scopes, r.Audience = it.TokenAuth, it.AuthorizationURL, it.TokenURL, it.Scopes, it.Audience
	return r, nil
}
