package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

const (
	// RenewTimeout bounds one request for a token with everything around it.
	RenewTimeout = 45 * time.Second
	// renewEarly is how long before its end an access token is replaced by the call
	// that needs it: a request on its way, and clocks that differ. Of a short-lived
	// token it is a tenth of its life.
	renewEarly = time.Minute
	// RenewInterval is how often tokens are looked at that end soon, and renewAhead
	// how soon: calls then find a fresh one, and nodes elsewhere get it in time.
	RenewInterval = 30 * time.Second
	renewAhead    = 3 * time.Minute
	// renewBatch tokens are replaced in one look.
	renewBatch = 200
	// refusedPause is how long a refusal of the client itself is believed, so that
	// an agent that tries again and again does not lock the client out.
	refusedPause = 30 * time.Second
)

// tokenOf names whose tokens of a credential are meant: those that all calls of the
// toolset use, or those of one caller.
func tokenOf(credential string, user *registry.User) *store.OAuthToken {
	t := &store.OAuthToken{CredentialID: credential}
	if user != nil {
		t.UserKey, t.Kind, t.Issuer, t.Subject = user.Key(), user.Kind, user.Issuer, user.ID
	}
	return t
}

// cacheOf is where open tokens are kept: the toolset's own, or those of single callers.
func (s *Secrets) cacheOf(of *store.OAuthToken) *cache {
	if of.UserKey == "" {
		return &s.shared
	}
	return &s.users
}

// due is when a token is replaced by the call that needs it; zero: never.
func due(obtained, expires time.Time) time.Time {
	if expires.IsZero() {
		return expires
	}
	early := max(0, min(renewEarly, expires.Sub(obtained)/10))
	return expires.Add(-early)
}

// Refresh returns another access token than the rejected version of a credential,
// which an upstream refused before its time. Calls of one credential share one
// request to the authorization server.
//
// It fails with [problem.Unauthenticated] when the server refuses or a person must
// log in, [problem.Unsupported] when the credential is not an access token, and the
// problems of package oauth.
func (s *Secrets) Refresh(ctx context.Context, id string, rejected uint64) (credential.HeldSecret, error) {
	row, err := s.o.Store.SealedCredential(ctx, id)
	if err != nil {
		return credential.HeldSecret{}, err
	}
	if !credential.IsOAuth(row.AuthType) {
		return credential.HeldSecret{}, problem.New(problem.Unsupported, "the credential %s cannot be renewed", id)
	}
	v, err := s.another(ctx, tokenOf(row.ID, nil), rejected, false)
	return v.held(), err
}

// another returns an access token that is not the rejected version and has some
// time left: the stored one, or a new one. Callers for the tokens of one holder wait
// for one request, which goes on when a caller does not wait any more.
func (s *Secrets) another(ctx context.Context, of *store.OAuthToken, rejected uint64, ahead bool) (Opened, error) {
	for {
		result := s.flights.DoChan(of.Holder(), func() (any, error) {
			ctx, cancel := context.WithTimeout(s.o.Work, RenewTimeout)
			defer cancel()
			return s.renewNow(ctx, of, rejected, ahead)
		})
		select {
		case r := <-result:
			v, _ := r.Val.(Opened)
			known := v.Value.IsZero() || rejected > 0 && v.Version == rejected
			switch {
			case r.Err == nil && known:
				continue // it was the flight of somebody who did not know of the rejection
			case r.Err != nil && (known || ahead):
				return Opened{}, r.Err
			}
			return v, nil // a token that was not replaced is good to its end
		case <-ctx.Done():
			return Opened{}, problem.New(problem.Timeout, "the authorization server did not give a token in time").
				Fix("try again").Because(ctx.Err())
		}
	}
}

// renewNow is one flight of renew. With an error it still returns the stored token
// when that has some time left.
func (s *Secrets) renewNow(ctx context.Context, of *store.OAuthToken, rejected uint64, ahead bool) (Opened, error) {
	generation := s.cacheOf(of).now()
	row, err := s.o.Store.SealedCredential(ctx, of.CredentialID)
	if err != nil {
		return Opened{}, err
	}
	sh, err := credential.ShapeOf(row)
	if err != nil {
		return Opened{}, err
	}
	bound, err := s.origins.Of(ctx, row)
	if err != nil {
		return Opened{}, err
	}
	ws := s.o.Store.Workspace(row.WorkspaceID)
	tok, err := ws.OAuthToken(ctx, of.CredentialID, of.UserKey)
	if err != nil {
		return Opened{}, err
	}
	if tok == nil {
		tok = of.Without()
	}
	have, err := s.openTokens(tok)
	if err != nil {
		return Opened{}, err
	}
	now, till := s.o.Store.Now(), tok.ExpiresAt.Time
	current := Opened{have.Access.Secret, tok.Version, due(time.Unix(have.Obtained, 0), till), till, bound.Call}
	usable := !have.Access.IsZero() && (rejected == 0 || tok.Version != rejected) && (till.IsZero() || now.Before(till))
	if ahead {
		till = till.Add(-renewAhead)
	} else {
		till = current.Renew
	}
	if usable && (till.IsZero() || now.Before(till)) {
		s.cacheOf(of).put(of.Holder(), current, generation)
		return current, nil
	}
	fresh, client, err := s.ask(ctx, row, &sh, tok, have)
	if err == nil {
		return s.keepToken(ctx, ws, row, tok, fresh, client, bound.Call, false)
	}
	if refused, login := oauth.Refused(err); refused {
		if oauth.InvalidClient(err) && client != nil && client.Registered {
			login = true // with a client that is registered anew
			if err := s.clients.dropClient(ctx, ws, of.CredentialID, client); err != nil {
				s.o.Log.LogAttrs(ctx, slog.LevelWarn, "a client that is not known any more was not forgotten", slog.String("credential", of.CredentialID), slog.Any("error", err))
			}
		}
		s.noteRefusal(ctx, ws, tok, err, login)
	}
	if usable {
		s.o.Log.LogAttrs(ctx, slog.LevelWarn, "the access token could not be replaced, using it to its end",
			slog.String("credential", of.CredentialID), slog.Any("error", err))
		return current, err
	}
	return Opened{}, err
}

// ask gets a new token from the authorization server, or says why there is no way
// to one. The client that asked is returned also with an error, when it was found.
func (s *Secrets) ask(ctx context.Context, row *store.Credential, sh *credential.Shape, tok *store.OAuthToken, have credential.Tokens) (*oauth.Token, *credential.Client, error) {
	if s.o.OAuth == nil {
		return nil, nil, problem.New(problem.Unavailable, "this node does not call authorization servers")
	}
	toLogin := "the operator must log in: sluice toolset auth TOOLSET login"
	if tok.UserKey != "" {
		toLogin = "log in again"
	}
	switch {
	case tok.Error != "" && s.o.Store.Now().Before(tok.ErrorAt.Add(refusedPause)) && (tok.UserKey == "" || !have.Access.IsZero()):
		return nil, have.Client, problem.New(problem.Unauthenticated, "%s", tok.Error).Fix("correct the authentication of the toolset, or log in again")
	case sh.Grant == oauth.ClientCredentials || !have.Refresh.IsZero():
	case tok.Error != "":
		return nil, nil, problem.New(problem.Unauthenticated, "%s", tok.Error).Fix("%s", toLogin)
	case !have.Access.IsZero():
		return nil, nil, problem.New(problem.Unauthenticated, "the access token ended and the authorization server gave none to renew it with").
			Fix("log in again; the scope offline_access makes some servers give one")
	case tok.UserKey != "":
		return nil, nil, problem.New(problem.Unauthenticated, "this tool works with your own account at %s, and you are not logged in there", credential.Host(cmp.Or(sh.Resource, sh.Issuer, sh.AuthorizationURL))).
			Fix("%s", toLogin)
	default:
		return nil, nil, problem.New(problem.Unauthenticated, "no user is logged in at the authorization server").Fix("%s", toLogin)
	}
	ctx = safedial.WithHolder(ctx, row.ToolsetID)
	client := have.Client
	if sh.Grant == oauth.ClientCredentials && sh.Discovers() && client == nil {
		server, err := s.clients.ofServer(ctx, row)
		if err != nil {
			return nil, nil, err
		}
		if client, err = s.clients.clientFor(ctx, row, search{shape: sh, server: server}); err != nil {
			return nil, nil, err
		}
	}
	cfg, err := s.oauthConfig(row, sh, client)
	if err != nil {
		return nil, client, err
	}
	var fresh *oauth.Token
	if sh.Grant == oauth.ClientCredentials {
		fresh, err = s.o.OAuth.Obtain(ctx, cfg)
	} else {
		fresh, err = s.o.OAuth.Refresh(ctx, cfg, have.Refresh.Secret)
	}
	return fresh, client, err
}

// oauthConfig is the client of a credential: the configured one, completed by the
// one that was found.
func (s *Secrets) oauthConfig(row *store.Credential, sh *credential.Shape, found *credential.Client) (*oauth.Config, error) {
	secret, err := s.Unseal(row)
	if err != nil {
		return nil, err
	}
	cfg := &oauth.Config{
		Issuer: sh.Issuer, AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, ClientID: sh.ClientID, ClientSecret: secret,
		AuthMethod: sh.TokenAuth, Scopes: sh.Asked(row.AuthType), Audience: sh.Audience, Resource: sh.Resource,
		Permit: s.origins.permitToken(row), PermitLogin: s.origins.permitLogin(row),
	}
	if found != nil {
		found.Apply(cfg)
	}
	return cfg, nil
}

func (s *Secrets) openTokens(row *store.OAuthToken) (t credential.Tokens, err error) {
	if len(row.Sealed) == 0 {
		return t, nil
	}
	text, err := s.o.Keyring.Open(row.Record(), row.Sealed)
	if err != nil {
		return t, fmt.Errorf("opening the tokens of credential %s: %w", row.CredentialID, err)
	}
	if json.Unmarshal([]byte(text.Reveal()), &t) != nil { // its error would quote them
		return credential.Tokens{}, problem.New(problem.Unauthenticated, "the stored tokens of credential %s cannot be read", row.CredentialID).Fix("log in again")
	}
	return t, nil
}

// keepToken writes a new token before anybody uses it: a rotated refresh token
// that is lost is a login that is lost. It fails with [problem.Conflict] when the
// tokens are not those of row any more, which do not matter after a login, and when the
// client is not that of cred any more: its tokens would be shown to another server.
func (s *Secrets) keepToken(ctx context.Context, ws *store.Workspace, cred *store.Credential, row *store.OAuthToken, t *oauth.Token, client *credential.Client, origins registry.Origins, login bool) (Opened, error) {
	now := s.o.Store.Now()
	text := store.JSON(credential.TokensOf(t, now, client))
	next := row.Without()
	next.WorkspaceID, next.ExpiresAt = ws.ID(), store.Time{Time: t.Expires}
	changed := problem.New(problem.Conflict, "the authentication changed while a token was requested").Fix("try again")
	err := ws.Update(ctx, func(tx *store.Tx) error {
		if is, err := tx.CredentialByID(ctx, row.CredentialID); err != nil {
			return err
		} else if is.Shape != cred.Shape {
			return changed
		}
		cur, err := tx.OAuthToken(ctx, row.CredentialID, row.UserKey)
		if err != nil {
			return err
		}
		if cur == nil {
			cur = &store.OAuthToken{}
			if row.UserKey != "" {
				// Forgotten logins leave nothing behind: a version that no answer of an
				// earlier one was kept under.
				cur.Version = uint64(tx.Now().UnixMilli())
			}
			if row.Version != 0 && !login {
				cur.Version = row.Version + 1 // revoked meanwhile
			} else {
				row.Version = cur.Version
			}
		}
		if cur.Version != row.Version && !login { // set or logged in anew meanwhile
			return changed
		}
		next.Version = cur.Version + 1
		if next.Sealed, err = s.o.Keyring.Seal(next.Record(), secrets.New(text)); err != nil {
			return fmt.Errorf("sealing the tokens of credential %s: %w", row.CredentialID, err)
		}
		return tx.SaveOAuthToken(ctx, next)
	})
	if err != nil {
		return Opened{}, err
	}
	// After the write, so that nothing older stays, and who follows sees the new one.
	cache := s.cacheOf(row)
	cache.forget(row.Holder())
	v := Opened{t.Access, next.Version, due(now, t.Expires), t.Expires, origins}
	cache.put(row.Holder(), v, cache.now())
	return v, nil
}

// noteRefusal writes down why the server gives no token. login: what is stored is
// of no use any more.
func (s *Secrets) noteRefusal(ctx context.Context, ws *store.Workspace, row *store.OAuthToken, cause error, login bool) {
	err := ws.Update(ctx, func(tx *store.Tx) error {
		cur, err := tx.OAuthToken(ctx, row.CredentialID, row.UserKey)
		if err != nil || cur != nil && cur.Version != row.Version || cur == nil && row.UserKey != "" {
			return err
		}
		if cur == nil {
			cur = row.Without()
		}
		cur.Error, cur.ErrorAt = problem.As(cause).Detail, store.Time{Time: tx.Now()}
		if login && (cur.ExpiresAt.IsZero() || !tx.Now().Before(cur.ExpiresAt.Time)) {
			cur.Version++
			cur.Sealed, cur.ExpiresAt = nil, store.Time{}
		}
		return tx.SaveOAuthToken(ctx, cur)
	})
	if err != nil {
		s.o.Log.LogAttrs(ctx, slog.LevelWarn, "a refusal of an authorization server was not recorded",
			slog.String("credential", row.CredentialID), slog.Any("error", err))
	}
}

// Renew replaces the access tokens that end soon. Run does it all the time; a
// caller may want it now. It returns what could not be renewed; those stay in use to
// their end and are tried again.
func (s *Secrets) Renew(ctx context.Context) error {
	if s.o.OAuth == nil {
		return nil
	}
	rows, err := s.o.Store.ExpiringTokens(ctx, s.o.Store.Now().Add(renewAhead), renewBatch)
	if err != nil {
		return err
	}
	var errs []error
	for i := range rows {
		_, err := s.another(ctx, &rows[i], 0, true)
		if err != nil && ctx.Err() == nil && !problem.Is(err, problem.NotFound) {
			errs = append(errs, fmt.Errorf("credential %s: %w", rows[i].CredentialID, err))
		}
	}
	return errors.Join(errs...)
}

// FirstToken is a service's own token for a credential that is not stored yet. A
// person's login cannot be had that way.
func (s *Secrets) FirstToken(ctx context.Context, c *credential.Draft) (none secrets.Secret, err error) {
	sh, err := credential.ShapeOf(&c.Row)
	if err != nil {
		return none, err
	}
	if sh.Grant != oauth.ClientCredentials || s.o.OAuth == nil {
		return none, problem.New(problem.Unauthenticated, "there is no access token yet").
			Fix("log in first (POST /v1/mcp/logins, or --auth oauth), or use a bearer token")
	}
	cfg := &oauth.Config{
		Issuer: sh.Issuer, TokenURL: sh.TokenURL, ClientID: sh.ClientID, ClientSecret: c.Secret, AuthMethod: sh.TokenAuth, Scopes: sh.Scopes,
		Audience: sh.Audience, Resource: sh.Resource,
	}
	if sh.Discovers() {
		found, err := s.clients.findClient(ctx, &search{shape: &sh, server: true})
		if err != nil {
			return none, err
		}
		found.Apply(cfg)
	}
	tok, err := s.o.OAuth.Obtain(ctx, cfg)
	if err != nil {
		return none, err
	}
	return tok.Access, nil
}
