package login

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// Tokens that are forgotten here would be good at the authorization server until they
// end by themselves: it is told (RFC 7009), where it says that it wants to be, behind the
// answer and as well as it goes. What it made of it is in the audit log.

const (
	// maxRevoked grants are reported by one change; a toolset with more callers leaves the
	// rest to end by themselves, and the audit log says how many.
	maxRevoked = 500
	// revokeAtOnce is how many are told at the same time: servers limit the rate.
	revokeAtOnce = 4
	// revokeTimeout of all of one change.
	revokeTimeout = 2 * time.Minute
)

// grantGone holds tokens of an authorization server that are no longer used and are to be
// revoked there.
type grantGone struct {
	config *oauth.Config
	tokens credential.Tokens
}

// Gone are the grants that a change makes useless. It is collected before the change and
// reported behind it.
type Gone struct {
	grants []grantGone
	more   int // beyond maxRevoked
}

// full reports whether there is no room for another grant, which is counted then.
func (g *Gone) full() bool {
	if len(g.grants) < maxRevoked {
		return false
	}
	g.more++
	return true
}

// collectGrants adds the grants of a credential: those of its callers, or of one of them by id,
// and with own the toolset's. What cannot be opened is left out: it is lost anyway.
func (s *Secrets) collectGrants(ctx context.Context, ws *store.Workspace, g *Gone, row *store.Credential, own bool, user string) {
	if s.o.OAuth == nil || !credential.IsOAuth(row.AuthType) || row.Version == 0 {
		return
	}
	err := s.collectFrom(ctx, ws, g, row, own, user)
	if err != nil {
		s.o.Log.LogAttrs(ctx, slog.LevelWarn, "tokens that are forgotten cannot be revoked", slog.String("credential", row.ID), slog.Any("error", err))
	}
}

func (s *Secrets) collectFrom(ctx context.Context, ws *store.Workspace, g *Gone, row *store.Credential, own bool, user string) error {
	sh, err := credential.ShapeOf(row)
	if err != nil {
		return err
	}
	add := func(tok *store.OAuthToken) error {
		if tok == nil || len(tok.Sealed) == 0 {
			return nil
		}
		if g.full() {
			return nil
		}
		t, err := s.openTokens(tok)
		if err != nil {
			return err
		}
		cfg, err := s.oauthConfig(row, &sh, t.Client)
		if err != nil {
			return err
		}
		g.grants = append(g.grants, grantGone{cfg, t})
		return nil
	}
	if own {
		tok, err := ws.OAuthToken(ctx, row.ID, "")
		if err == nil {
			err = add(tok)
		}
		if err != nil {
			return err
		}
	}
	p := store.Page{Limit: store.MaxLimit}
	for {
		rows, next, err := ws.UserTokens(ctx, row.ID, p)
		if err != nil {
			return err
		}
		for i := range rows {
			if user != "" && rows[i].ID != user {
				continue
			}
			if err := add(&rows[i]); err != nil {
				return err
			}
		}
		if p.After = next; next == "" {
			return nil
		}
	}
}

// collectHolder adds the grants of the caller who is known by an access token.
func (s *Secrets) collectHolder(ctx context.Context, ws *store.Workspace, g *Gone, ts *store.Toolset, accessToken string) error {
	creds, err := allOfCallers(ctx, ws, ts, "")
	if err != nil {
		return err
	}
	key := (&registry.User{Kind: registry.UserToken, ID: accessToken, Toolset: ts.ID}).Key()
	for i := range creds {
		c := &creds[i]
		u, err := ws.OAuthToken(ctx, c.Row.ID, key)
		if err != nil {
			return err
		}
		if u != nil {
			s.collectGrants(ctx, ws, g, &c.Row, false, u.ID)
		}
	}
	return nil
}

// CollectLost adds the grants of credentials that a change takes away or makes another
// client's: before are they as they were, after as they will be.
func (s *Secrets) CollectLost(ctx context.Context, ws *store.Workspace, g *Gone, before, after []credential.Draft) {
	for i := range before {
		row, lost, shared := &before[i].Row, true, false
		for k := range after {
			if c := &after[k]; c.Row.ID == row.ID {
				lost, shared = c.Forget, c.Shared
			}
		}
		if lost || shared {
			s.collectGrants(ctx, ws, g, row, lost, "")
		}
	}
}

// RevokeGone tells the authorization servers, after the change was made. It does not wait
// for them.
func (s *Secrets) RevokeGone(ctx context.Context, ws *store.Workspace, toolset string, g *Gone) {
	if len(g.grants) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(safedial.WithHolder(context.WithoutCancel(ctx), toolset), revokeTimeout)
	stop := context.AfterFunc(s.o.Work, cancel)
	s.o.Jobs.Go(func() {
		defer cancel()
		defer stop()
		s.tellServers(ctx, ws, toolset, g)
	})
}

// revoked counts what servers made of it.
type revoked struct {
	Revoked    int    `json:"revoked"`
	NotOffered int    `json:"notOffered,omitempty"` // their servers do not say where
	Failed     int    `json:"failed,omitempty"`
	LeftOut    int    `json:"leftOut,omitempty"`
	reason     string // of the first failure
}

func (s *Secrets) tellServers(ctx context.Context, ws *store.Workspace, toolset string, g *Gone) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		total = revoked{LeftOut: g.more}
		slots = make(chan struct{}, revokeAtOnce)
	)
	for i := range g.grants {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			announced, err := s.tellServer(ctx, &g.grants[i])
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				if total.Failed++; total.reason == "" {
					total.reason = request.Detail(err)
				}
			case !announced:
				total.NotOffered++
			default:
				total.Revoked++
			}
		})
	}
	wg.Wait()
	if total.NotOffered == len(g.grants) {
		return // nothing was to be told
	}
	err := ws.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		rec := request.Audit(ctx, "authentication.tokens.revoke", toolset)
		rec.After = store.JSON(total)
		if total.Failed > 0 {
			rec.Outcome, rec.Reason = request.OutcomeFailed, total.reason
		}
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		s.o.Log.LogAttrs(ctx, slog.LevelWarn, "what was revoked was not recorded", slog.String("toolset", toolset), slog.Any("error", err))
	}
	if total.Failed > 0 {
		s.o.Log.LogAttrs(ctx, slog.LevelWarn, "an authorization server was not told that tokens are forgotten: they are good until they end",
			slog.String("toolset", toolset), slog.Int("failed", total.Failed), slog.String("reason", total.reason))
	}
}

// tellServer revokes the refresh token first: most servers then end what came of it too,
// and those that do not are notified of the access token.
func (s *Secrets) tellServer(ctx context.Context, g *grantGone) (announced bool, err error) {
	for _, t := range []struct {
		kind  string
		token secrets.Wire
	}{{oauth.RefreshToken, g.tokens.Refresh}, {oauth.AccessToken, g.tokens.Access}} {
		told, err := s.o.OAuth.Revoke(ctx, g.config, t.token.Secret, t.kind)
		announced = announced || told
		if err != nil && !(t.kind == oauth.AccessToken && !g.tokens.Refresh.IsZero()) {
			return announced, err // a server may revoke refresh tokens only (RFC 7009 §2)
		}
	}
	return announced, nil
}

// PerUser reports whether each caller of a toolset logs in with their own account.
func (s *Secrets) PerUser(ctx context.Context, ws *store.Workspace, toolset string) (bool, error) {
	ts, err := ws.FindToolset(ctx, toolset)
	if err != nil {
		return false, err
	}
	creds, err := allOfCallers(ctx, ws, ts, "")
	return len(creds) > 0, err
}

// Ending collects what authorization servers gave to the holder of an access token, and
// returns what gives it back.
func (s *Secrets) Ending(ctx context.Context, ws *store.Workspace, ts *store.Toolset, token string) (ended func(), err error) {
	var lost Gone
	err = s.collectHolder(ctx, ws, &lost, ts, token)
	return func() { s.RevokeGone(ctx, ws, ts.ID, &lost) }, err
}
