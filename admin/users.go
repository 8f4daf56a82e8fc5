package admin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

const (
	// userLoginPath is below what the links of single callers begin with.
	userLoginPath = "/oauth/login/"
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
// [Server.Refresh] does.
func (s *Server) UserSecret(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (HeldSecret, error) {
	v, err := s.userSecret(ctx, id, user, rejected, scopes)
	return v.held(), err
}

func (s *Server) userSecret(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (openedSecret, error) {
	if err := user.Validate(); err != nil {
		return openedSecret{}, err
	}
	of := tokenOf(id, &user)
	if rejected == 0 && len(scopes) == 0 {
		c := &s.users
		c.mu.RLock()
		v, ok := c.values[of.Holder()]
		c.mu.RUnlock()
		if ok && (v.renew.IsZero() || s.now().Before(v.renew)) {
			return v, nil
		}
	}
	row, err := s.o.Store.SealedCredential(ctx, id)
	if err != nil {
		return openedSecret{}, err
	}
	sh, err := shapeOf(row)
	if err != nil {
		return openedSecret{}, err
	}
	if !sh.PerUser {
		return openedSecret{}, problem.New(problem.NotFound, "the credential %s does not belong to single callers", id)
	}
	if err := s.knownUser(ctx, row, &user); err != nil {
		return openedSecret{}, err
	}
	if len(scopes) > 0 {
		return openedSecret{}, s.mustLogIn(ctx, row, &user, scopes, problem.New(problem.Unauthenticated, "your login does not have the permissions (scopes) that this needs"))
	}
	v, err := s.renew(ctx, of, rejected, false)
	if p := problem.As(err); p != nil && p.Kind == problem.Unauthenticated {
		return v, s.mustLogIn(ctx, row, &user, nil, p)
	}
	return v, err
}

// knownUser refuses a caller whom the toolset does not know: a gateway lets nobody
// else call, and none may ask for the tokens of others.
func (s *Server) knownUser(ctx context.Context, row *store.Credential, user *registry.User) error {
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
		case !t.RevokedAt.IsZero() || !t.ExpiresAt.IsZero() && !s.now().Before(t.ExpiresAt.Time):
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
func (s *Server) mustLogIn(ctx context.Context, row *store.Credential, user *registry.User, scopes []string, cause *problem.Error) error {
	p := problem.New(problem.Unauthenticated, "%s", cause.Detail)
	base := firstOf(s.o.PublicURL, s.o.LinkURL)
	if base == "" {
		return p.Fix("ask the operator of this gateway to give it an address for browsers (--admin-public-url)").Because(&registry.LoginError{})
	}
	tok, err := s.o.Store.Workspace(row.WorkspaceID).OAuthToken(ctx, row.ID, user.Key())
	if err != nil {
		return err
	}
	t := ticket{
		Workspace: row.WorkspaceID, Credential: row.ID, User: *user, Scopes: oauth.ValidScopes(scopes[:min(len(scopes), maxLinkScopes)]),
		Expires: s.now().Add(linkTTL).Unix(), Nonce: rand.Text(),
	}
	if tok != nil {
		t.Version = tok.Version
	}
	sealed, err := s.o.Keyring.Seal(ticketRecord, secrets.New(store.JSON(t)))
	if err != nil {
		return err
	}
	link := base + userLoginPath + base64.RawURLEncoding.EncodeToString(sealed)
	return p.Fix("log in").Because(&registry.LoginError{URL: link})
}

// openTicket opens a link. Whatever is wrong with it is a [problem.NotFound] that
// does not say what.
func (s *Server) openTicket(text string) (*ticket, error) {
	unknown := problem.New(problem.NotFound, "this link is not good any more: it was used, replaced, or is older than %d minutes", int(linkTTL.Minutes())).
		Fix("let your AI client call the tool again; it gets a new link")
	if len(text) > maxTicket {
		return nil, unknown
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, unknown
	}
	plain, err := s.o.Keyring.Open(ticketRecord, sealed)
	if err != nil {
		return nil, unknown
	}
	t := new(ticket)
	if json.Unmarshal([]byte(plain.Reveal()), t) != nil || s.now().Unix() >= t.Expires || t.User.Validate() != nil {
		return nil, unknown
	}
	return t, nil
}

// forgetUsers drops the open tokens of all callers, here and on edges.
func (s *Server) forgetUsers() {
	c := &s.users
	c.mu.Lock()
	c.generation++
	clear(c.values)
	c.mu.Unlock()
	s.userEpoch.Add(1)
	s.fleet.Ring()
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

type userLoginsOutput struct {
	Body struct {
		Items []UserLogin `json:"items"`
		Next  string      `json:"next,omitempty" doc:"Pass as after."`
	}
}

type userLoginsInput struct {
	ToolsetInput
	Connector string `query:"connector" maxLength:"63" doc:"Of this connector, when callers log in at several."`
	After     string `query:"after" maxLength:"64"`
	Limit     int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

type userLoginInput struct {
	ToolsetInput
	Connector string `query:"connector" maxLength:"63" doc:"Of this connector, when callers log in at several."`
	User      string `path:"user" maxLength:"64"`
}

func (s *Server) registerUsers(path string, tags []string) {
	path += "/users"
	register(s, huma.Operation{
		OperationID: "list-user-logins", Method: http.MethodGet, Path: path, Summary: "List the callers who logged in", Tags: tags,
		Description: "Of a configuration with perUser: who logged in with an account of their own, oldest first. Never their tokens.",
	}, func(ctx context.Context, in *userLoginsInput) (*userLoginsOutput, error) {
		ws := s.workspace(ctx)
		ts, creds, err := s.userCredential(ctx, ws, in.ID, in.Connector)
		if err != nil {
			return nil, err
		}
		out := &userLoginsOutput{}
		out.Body.Items = []UserLogin{}
		if creds == nil {
			return out, nil
		}
		rows, next, err := ws.UserTokens(ctx, creds.row.ID, store.Page{After: in.After, Limit: in.Limit})
		if err != nil {
			return nil, err
		}
		names, err := accessNames(ctx, ws, ts.ID)
		if err != nil {
			return nil, err
		}
		now := s.now()
		for i := range rows {
			out.Body.Items = append(out.Body.Items, showUser(&rows[i], names, now))
		}
		out.Body.Next = next
		return out, nil
	})
	register(s, huma.Operation{
		OperationID: "revoke-user-login", Method: http.MethodDelete, Path: path + "/{user}", Summary: "Forget the login of a caller", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Description:   "Their tokens are destroyed here and forgotten by every gateway at once; their next call is answered with a link to log in again. The authorization server is told where it says where (RFC 7009).",
	}, func(ctx context.Context, in *userLoginInput) (*struct{}, error) {
		return nil, s.revokeUser(ctx, in.ID, in.Connector, in.User)
	})
}

// userCredential finds the credential of a toolset, or of the named connector in it,
// whose tokens belong to callers; nil: it has none. It fails with [problem.Conflict]
// when there are several.
func (s *Server) userCredential(ctx context.Context, ws *store.Workspace, id, connector string) (*store.Toolset, *draftCredential, error) {
	ts, found, err := s.userCredentials(ctx, ws, id, connector)
	switch {
	case err != nil || len(found) == 0:
		return ts, nil, err
	case len(found) > 1:
		return nil, nil, problem.New(problem.Conflict, "callers log in at several connectors of toolset %s", ts.Slug).Fix("name one of them")
	}
	return ts, found[0], nil
}

// userCredentials are all of them.
func (s *Server) userCredentials(ctx context.Context, ws *store.Workspace, id, connector string) (*store.Toolset, []*draftCredential, error) {
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	d, err := outline(ctx, ws, ts)
	if err != nil {
		return nil, nil, err
	}
	var found []*draftCredential
	for _, p := range d.parts {
		for i := range p.creds {
			sh, err := shapeOf(&p.creds[i].row)
			if err != nil {
				return nil, nil, err
			}
			if sh.PerUser && (connector == "" || connector == p.row.Name) {
				found = append(found, &p.creds[i])
			}
		}
	}
	return ts, found, nil
}

func showUser(u *store.OAuthToken, names map[string]string, now time.Time) UserLogin {
	l := UserLogin{
		ID: u.ID, CredentialID: u.CredentialID, Kind: u.Kind, Subject: u.Subject, Issuer: u.Issuer, CreatedAt: u.CreatedAt.Time, UpdatedAt: u.UpdatedAt.Time,
	}
	if u.Kind == registry.UserToken {
		l.Name = names[u.Subject]
	}
	l.State, l.LastError, l.ExpiresAt = tokenState(u, oauth.AuthorizationCode, now)
	return l
}

func (s *Server) revokeUser(ctx context.Context, id, connector, user string) error {
	ws := s.workspace(ctx)
	ts, cred, err := s.userCredential(ctx, ws, id, connector)
	if err != nil {
		return err
	}
	unknown := problem.New(problem.NotFound, "no caller %.80q is logged in at this toolset", user)
	if cred == nil || user == "" {
		return unknown
	}
	var lost gone
	s.collectGrants(ctx, ws, &lost, &cred.row, false, user)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		n, err := tx.DeleteUserTokens(ctx, cred.row.ID, user)
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
	s.forgetUsers()
	s.revokeGone(ctx, ws, ts.ID, &lost)
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
		host := hostname(u.Issuer)
		return request.ClipText(strings.ToValidUTF8(u.ID, "�"), 120) + ", as " + request.ClipText(host, 120) + " knows them"
	}
	if name := names[u.ID]; name != "" {
		return "whoever holds the access token “" + request.ClipText(name, 120) + "”"
	}
	return "whoever holds the access token " + request.ClipText(u.ID, 80)
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	if i := slices.IndexFunc(texts, func(s string) bool { return s != "" }); i >= 0 {
		return texts[i]
	}
	return ""
}
