package login

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

const (
	// UserPath is below what the links of single callers begin with.
	UserPath = "/oauth/login/"
	// linkTTL is how long such a link can be opened: the time an agent takes to show
	// it and a person to see it.
	linkTTL = 10 * time.Minute
	// maxTicket is the longest link that is looked at, in bytes: scopes and a subject
	// of the largest size, sealed and in base64.
	maxTicket = 96 << 10
	// maxLinkScopes are asked for by one link: what one refused call wanted.
	maxLinkScopes = 50
)

// ticketRecord is what links are sealed for: they open nowhere else, and nothing
// else opens as a link.
var ticketRecord = secrets.Record{Key: "oauth/user-login", Version: 1}

// ticket is what the link of a single caller holds. It is sealed with the key of
// this control plane: nobody can make one or read who it is for.
type ticket struct {
	Workspace  string        `json:"w"`
	Credential string        `json:"c"`
	User       registry.User `json:"u"`
	Version    uint64        `json:"v,omitempty"` // of the tokens that the caller had; 0: none
	Scopes     []string      `json:"s,omitempty"` // beyond the usual ones
	Expires    int64         `json:"x"`           // seconds since 1970
	Nonce      string        `json:"n"`           // of the login that it can begin, once
}

// UserSecret returns an access token of one caller for a credential whose tokens
// belong to callers, and its version. rejected is the version that the upstream
// refused; 0: none. scopes are what the upstream wants beyond what the token has; a
// caller with less must log in again.
//
// A caller who must log in gets [problem.Unauthenticated] with a
// [registry.LoginError] that holds the page to open. It fails with
// [problem.NotFound] for a credential that does not belong to callers, and as
// [Secrets.Refresh] does.
func (s *Secrets) UserSecret(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (credential.HeldSecret, error) {
	v, err := s.OpenUser(ctx, id, user, rejected, scopes)
	return v.held(), err
}

// OpenUser is UserSecret with how long the token is good.
func (s *Secrets) OpenUser(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (Opened, error) {
	if err := user.Validate(); err != nil {
		return Opened{}, err
	}
	of := tokenOf(id, &user)
	if rejected == 0 && len(scopes) == 0 {
		c := &s.users
		c.mu.RLock()
		v, ok := c.values[of.Holder()]
		c.mu.RUnlock()
		if ok && (v.Renew.IsZero() || s.o.Store.Now().Before(v.Renew)) {
			return v, nil
		}
	}
	row, err := s.o.Store.SealedCredential(ctx, id)
	if err != nil {
		return Opened{}, err
	}
	sh, err := credential.ShapeOf(row)
	if err != nil {
		return Opened{}, err
	}
	if !sh.PerUser {
		return Opened{}, problem.New(problem.NotFound, "the credential %s does not belong to single callers", id)
	}
	if err := s.knownUser(ctx, row, &user); err != nil {
		return Opened{}, err
	}
	if len(scopes) > 0 {
		return Opened{}, s.mustLogIn(ctx, row, &user, scopes, problem.New(problem.Unauthenticated, "your login does not have the permissions (scopes) that this needs"))
	}
	v, err := s.another(ctx, of, rejected, false)
	if p := problem.As(err); p != nil && p.Kind == problem.Unauthenticated {
		return v, s.mustLogIn(ctx, row, &user, nil, p)
	}
	return v, err
}

// knownUser refuses a caller whom the toolset does not know: a gateway lets nobody
// else call, and none may ask for the tokens of others.
func (s *Secrets) knownUser(ctx context.Context, row *store.Credential, user *registry.User) error {
	ws := s.o.Store.Workspace(row.WorkspaceID)
	stranger := problem.New(problem.Forbidden, "the toolset does not know this caller")
	if user.Kind == registry.UserToken {
		if user.Toolset != row.ToolsetID {
			return stranger
		}
		t, err := ws.AccessToken(ctx, row.ToolsetID, user.ID)
		switch {
		case problem.Is(err, problem.NotFound):
			return stranger
		case err != nil:
			return err
		case !t.RevokedAt.IsZero() || !t.ExpiresAt.IsZero() && !s.o.Store.Now().Before(t.ExpiresAt.Time):
			return stranger
		}
		return nil
	}
	open, err := ws.Access(ctx, row.ToolsetID)
	if err != nil {
		return err
	}
	settings, err := access.SettingsOf(open)
	if err != nil {
		return err
	}
	if settings.JWT == nil || settings.JWT.Issuer != user.Issuer {
		return stranger
	}
	return nil
}

// mustLogIn is the problem of a caller who must log in, with a link for it.
func (s *Secrets) mustLogIn(ctx context.Context, row *store.Credential, user *registry.User, scopes []string, cause *problem.Error) error {
	p := problem.New(problem.Unauthenticated, "%s", cause.Detail)
	base := cmp.Or(s.o.PublicURL, s.o.LinkURL)
	if base == "" {
		return p.Fix("ask the operator of this gateway to give it an address for browsers (--admin-public-url)").Because(&registry.LoginError{})
	}
	tok, err := s.o.Store.Workspace(row.WorkspaceID).OAuthToken(ctx, row.ID, user.Key())
	if err != nil {
		return err
	}
	t := ticket{
		Workspace: row.WorkspaceID, Credential: row.ID, User: *user, Scopes: oauth.ValidScopes(scopes[:min(len(scopes), maxLinkScopes)]),
		Expires: s.o.Store.Now().Add(linkTTL).Unix(), Nonce: rand.Text(),
	}
	if tok != nil {
		t.Version = tok.Version
	}
	sealed, err := s.o.Keyring.Seal(ticketRecord, secrets.New(store.JSON(t)))
	if err != nil {
		return err
	}
	link := base + UserPath + base64.RawURLEncoding.EncodeToString(sealed)
	return p.Fix("log in").Because(&registry.LoginError{URL: link})
}

// openTicket opens a link. Whatever is wrong with it is a [problem.NotFound] that
// does not say what.
func (r *Room) openTicket(text string) (*ticket, error) {
	unknown := problem.New(problem.NotFound, "this link is no longer valid: it was used, replaced, or is older than %d minutes", int(linkTTL.Minutes())).
		Fix("let your AI client call the tool again; it gets a new link")
	if len(text) > maxTicket {
		return nil, unknown
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, unknown
	}
	plain, err := r.o.Keyring.Open(ticketRecord, sealed)
	if err != nil {
		return nil, unknown
	}
	t := new(ticket)
	if json.Unmarshal([]byte(plain.Reveal()), t) != nil || r.o.Store.Now().Unix() >= t.Expires || t.User.Validate() != nil {
		return nil, unknown
	}
	return t, nil
}

// forgetUsers drops the open tokens of all callers, here and on edges.
func (s *Secrets) forgetUsers() {
	c := &s.users
	c.mu.Lock()
	c.generation++
	clear(c.values)
	c.mu.Unlock()
	s.epoch.Add(1)
	s.o.Changed()
}

// UserLogin is a caller who logged in.
type UserLogin struct {
	ID           string     `json:"id" example:"usr_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	CredentialID string     `json:"credentialId"`
	Kind         string     `json:"kind" enum:"token,jwt" doc:"How the gateway knows the caller: by an access token of the toolset, or as the subject of a JWT."`
	Name         string     `json:"name,omitempty" doc:"token: name of the access token, when it is still there."`
	Subject      string     `json:"subject" doc:"jwt: the subject; token: id of the access token."`
	Issuer       string     `json:"issuer,omitempty" doc:"jwt"`
	State        string     `json:"state" enum:"ok,login_required,failing,expired"`
	LastError    string     `json:"lastError,omitempty"`
	ExpiresAt    *time.Time `json:"expiresAt,omitempty" doc:"Of the access token, which is renewed when the server gave something to renew it with."`
	CreatedAt    time.Time  `json:"createdAt"`
	UpdatedAt    time.Time  `json:"updatedAt"`
}

// ofCallers finds the credential of a toolset, or of the named connector in it, whose
// tokens belong to callers; nil: it has none. It fails with [problem.Conflict] when there
// are several.
func ofCallers(ctx context.Context, ws *store.Workspace, ts *store.Toolset, connector string) (*credential.Draft, error) {
	found, err := allOfCallers(ctx, ws, ts, connector)
	switch {
	case err != nil || len(found) == 0:
		return nil, err
	case len(found) > 1:
		return nil, problem.New(problem.Conflict, "callers log in at several connectors of toolset %s", ts.Slug).Fix("name one of them")
	}
	return &found[0], nil
}

// allOfCallers are all of them.
func allOfCallers(ctx context.Context, ws *store.Workspace, ts *store.Toolset, connector string) ([]credential.Draft, error) {
	rows, err := ws.ToolsetConnectors(ctx, ts)
	if err != nil {
		return nil, err
	}
	var found []credential.Draft
	for i := range rows {
		if connector != "" && connector != rows[i].Name {
			continue
		}
		creds, err := credential.Load(ctx, ws, ts.ID, rows[i].Name)
		if err != nil {
			return nil, err
		}
		for k := range creds {
			sh, err := credential.ShapeOf(&creds[k].Row)
			if err != nil {
				return nil, err
			}
			if sh.PerUser {
				found = append(found, creds[k])
			}
		}
	}
	return found, nil
}

// Users lists the callers who logged in at a toolset, or at the named connector of it,
// oldest first.
func (r *Room) Users(ctx context.Context, ws *store.Workspace, ts *store.Toolset, connector string, p store.Page) (list []UserLogin, next string, err error) {
	list = []UserLogin{}
	cred, err := ofCallers(ctx, ws, ts, connector)
	if err != nil || cred == nil {
		return list, "", err
	}
	rows, next, err := ws.UserTokens(ctx, cred.Row.ID, p)
	if err != nil {
		return nil, "", err
	}
	names, err := accessNames(ctx, ws, ts.ID)
	if err != nil {
		return nil, "", err
	}
	now := r.o.Store.Now()
	for i := range rows {
		list = append(list, showUser(&rows[i], names, now))
	}
	return list, next, nil
}

func showUser(u *store.OAuthToken, names map[string]string, now time.Time) UserLogin {
	l := UserLogin{
		ID: u.ID, CredentialID: u.CredentialID, Kind: u.Kind, Subject: u.Subject, Issuer: u.Issuer, CreatedAt: u.CreatedAt.Time, UpdatedAt: u.UpdatedAt.Time,
	}
	if u.Kind == registry.UserToken {
		l.Name = names[u.Subject]
	}
	l.State, l.LastError, l.ExpiresAt = credential.TokenState(u, oauth.AuthorizationCode, now)
	return l
}

// RevokeUser forgets the login of a caller.
func (r *Room) RevokeUser(ctx context.Context, ws *store.Workspace, ts *store.Toolset, connector, user string) error {
	cred, err := ofCallers(ctx, ws, ts, connector)
	if err != nil {
		return err
	}
	unknown := problem.New(problem.NotFound, "no caller %.80q is logged in at this toolset", user)
	if cred == nil || user == "" {
		return unknown
	}
	var lost Gone
	r.Secrets.collectGrants(ctx, ws, &lost, &cred.Row, false, user)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		n, err := tx.DeleteUserTokens(ctx, cred.Row.ID, user)
		if err == nil && n == 0 {
			err = unknown
		}
		if err != nil {
			return err
		}
		rec := request.Audit(ctx, "authentication.user.revoke", ts.ID)
		rec.After = store.JSON(map[string]string{"user": user})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	r.Secrets.forgetUsers()
	r.Secrets.RevokeGone(ctx, ws, ts.ID, &lost)
	return nil
}

// accessNames are the names of a toolset's access tokens by id.
func accessNames(ctx context.Context, ws *store.Workspace, toolset string) (map[string]string, error) {
	names, p := map[string]string{}, store.Page{Limit: store.MaxLimit}
	for {
		rows, next, err := ws.AccessTokens(ctx, toolset, p)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			names[rows[i].ID] = rows[i].Name
		}
		if p.After = next; next == "" {
			return names, nil
		}
	}
}

// describeUser says for people who a caller is.
func describeUser(u *registry.User, names map[string]string) string {
	if u.Kind == registry.UserJWT {
		host := credential.Hostname(u.Issuer)
		return request.ClipText(strings.ToValidUTF8(u.ID, "�"), 120) + ", as " + request.ClipText(host, 120) + " knows them"
	}
	if name := names[u.ID]; name != "" {
		return "whoever holds the access token “" + request.ClipText(name, 120) + "”"
	}
	return "whoever holds the access token " + request.ClipText(u.ID, 80)
}
