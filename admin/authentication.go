package admin

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// draftCredential is one credential of a draft, as it is stored or will be.
type draftCredential struct {
	row    store.Credential
	token  *store.OAuthToken // nil: none was ever given
	login  *store.OAuthLogin // the newest; nil: none, or it is over
	secret secrets.Secret    // to seal; zero: what is sealed stays
	forget bool              // its tokens were for another client, server or scope
	// adopted is a login whose tokens it takes over; nil: none.
	adopted *adopted
	shared  bool // callers do not log in themselves any more
	// given says that a request gives the secret, or the first configuration of a client
	// without one; elsewhere that its authorization server is another one.
	given, elsewhere bool
	rebound          bool   // row.Origins is to be written
	was              string // row.Origins as stored
}

// loadCredentials reads the credentials of a connector in a toolset with their tokens.
func loadCredentials(ctx context.Context, ws *store.Workspace, toolset, connector string) ([]draftCredential, error) {
	rows, err := ws.CredentialsOf(ctx, toolset, connector)
	if err != nil {
		return nil, err
	}
	out := make([]draftCredential, len(rows))
	for i := range rows {
		out[i].row = rows[i]
		if isOAuth(rows[i].AuthType) {
			if out[i].token, err = ws.OAuthToken(ctx, rows[i].ID, ""); err != nil {
				return nil, err
			}
			if out[i].login, err = ws.CredentialLogin(ctx, rows[i].ID); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// keepsSecret reports whether the sealed secret may stay for an item without one.
func keepsSecret(row *store.Credential, it *AuthItem) bool {
	if !isOAuth(it.AuthType) {
		return true
	}
	sh, err := shapeOf(row)
	return err == nil && sh.ClientID == it.ClientID && sh.Issuer == it.Issuer && sh.TokenURL == it.TokenURL && sh.Resource == it.Resource
}

// set writes an item into a credential.
func (c *draftCredential) set(it *AuthItem) error {
	sh, isNew := it.shape(), c.row.Version == 0
	before := shape{}
	if !isNew {
		var err error
		if before, err = shapeOf(&c.row); err != nil {
			return err
		}
	}
	c.secret = it.secret()
	switch {
	case it.AuthType != authMTLS:
	case c.secret.IsZero():
		sh.Certificate = before.Certificate
	default:
		info, err := readCertificate(c.secret)
		if err != nil {
			return err
		}
		sh.Certificate = info
	}
	if !c.secret.IsZero() && it.AuthType != authMTLS {
		c.row.Last4 = c.secret.Last4()
	}
	c.shared = before.PerUser && !sh.PerUser
	whose := before
	whose.PerUser = sh.PerUser // whoever uses it, it is the same client at the same server
	c.forget = isOAuth(it.AuthType) && !isNew && (!c.secret.IsZero() || !reflect.DeepEqual(whose, sh))
	c.row.AuthType, c.row.Shape = it.AuthType, store.JSON(sh)
	return nil
}

// bindSchemes gives the items of a list that name no scheme the one of the
// specification that they fit, each scheme once. An operation then gets the
// items that it asks for, not all of them.
func bindSchemes(items []AuthItem, methods []AuthMethod) {
	taken := map[string]bool{}
	for i := range items {
		taken[items[i].Scheme] = true
	}
	for i := range items {
		for _, m := range methods {
			if items[i].Scheme == "" && !taken[m.ID] && fits(&items[i], &m) {
				items[i].Scheme = m.ID
				taken[m.ID] = true
			}
		}
	}
}

// fits reports whether an item is what a security scheme asks for.
func fits(it *AuthItem, m *AuthMethod) bool {
	switch m.Type {
	case "apiKey":
		return m.In == "header" && it.AuthType == authHeader && http.CanonicalHeaderKey(it.HeaderName) == http.CanonicalHeaderKey(m.Name) ||
			m.In == "query" && it.AuthType == authQuery && it.ParameterName == m.Name ||
			m.In == "cookie" && it.AuthType == authCookie && it.CookieName == m.Name ||
			m.In == "body" && it.AuthType == authBody && it.MemberName == m.Name
	case "http":
		return it.AuthType == m.Scheme || m.Scheme == "bearer" && isOAuth(it.AuthType)
	case "oauth2", "openIdConnect":
		return isOAuth(it.AuthType) || it.AuthType == authBearer
	case "mutualTLS":
		return it.AuthType == authMTLS
	}
	return false
}

// writeCredentials writes credentials of a connector, and removes those of its toolset
// whose ids are not in keep.
func (s *Server) writeCredentials(ctx context.Context, tx *store.Tx, toolset string, keep []string, creds []draftCredential) error {
	if _, err := tx.KeepCredentials(ctx, toolset, keep...); err != nil {
		return err
	}
	for i := range creds {
		c := &creds[i]
		var err error
		if c.rebound && c.row.Version > 0 {
			done, err := tx.SetOrigins(ctx, c.row.ID, c.was, c.row.Origins)
			if err == nil && !done {
				err = problem.New(problem.Conflict, "the authentication was changed meanwhile").Fix("look at it and try again")
			}
			if err != nil {
				return err
			}
		}
		if c.secret.IsZero() && c.row.Version > 0 {
			err = tx.SaveCredentialShape(ctx, &c.row)
		} else {
			err = tx.SealCredential(ctx, s.o.Keyring, &c.row, c.secret)
		}
		if err == nil && c.forget {
			err = tx.DeleteOAuthClient(ctx, c.row.ID)
		}
		if err == nil && (c.forget || c.adopted != nil) {
			err = tx.DeleteCredentialLogin(ctx, c.row.ID)
		}
		if err == nil && (c.forget || c.shared) {
			_, err = tx.DeleteUserTokens(ctx, c.row.ID, "")
		}
		if err == nil && c.forget && c.token != nil {
			c.token = &store.OAuthToken{CredentialID: c.row.ID, Version: c.token.Version + 1}
			err = tx.SaveOAuthToken(ctx, c.token)
		}
		if err == nil && c.adopted != nil {
			err = s.writeAdopted(ctx, tx, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// auditAuth is what the audit log says of a configuration: its shape, and of a
// new secret only a keyed fingerprint.
func (s *Server) auditAuth(creds []draftCredential) any {
	if len(creds) == 0 {
		return map[string]string{"authType": authNone}
	}
	out := make([]map[string]string, len(creds))
	for i := range creds {
		c := &creds[i]
		out[i] = map[string]string{"authType": c.row.AuthType, "shape": c.row.Shape, "credentialId": c.row.ID, "origins": c.row.Origins}
		if !c.secret.IsZero() {
			out[i]["fingerprint"] = s.o.Keyring.Fingerprint(c.secret)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return map[string]any{"authType": authList, "items": out}
}

// showAuth is a configuration as the API shows it.
func showAuth(creds []draftCredential, now time.Time) (*Authentication, error) {
	switch len(creds) {
	case 0:
		return &Authentication{AuthenticationItem: AuthenticationItem{AuthType: authNone}}, nil
	case 1:
		it, err := creds[0].show(now)
		return &Authentication{AuthenticationItem: it}, err
	}
	a := &Authentication{AuthenticationItem: AuthenticationItem{AuthType: authList}}
	for i := range creds {
		it, err := creds[i].show(now)
		if err != nil {
			return nil, err
		}
		if a.Items = append(a.Items, it); i > 0 {
			a.Preview += ", "
		}
		a.Preview += it.Preview
	}
	return a, nil
}

func (c *draftCredential) show(now time.Time) (AuthenticationItem, error) {
	row := &c.row
	sh, err := shapeOf(row)
	if err != nil {
		return AuthenticationItem{}, err
	}
	at := row.RotatedAt.Time
	it := AuthenticationItem{
		AuthType: row.AuthType, CredentialID: row.ID, Scheme: sh.Scheme, HeaderName: sh.HeaderName, HeaderPrefix: sh.HeaderPrefix,
		ParameterName: sh.ParameterName, CookieName: sh.CookieName, MemberName: sh.MemberName, Username: sh.Username, Grant: sh.Grant, Issuer: sh.Issuer,
		ClientID: sh.ClientID, TokenAuth: sh.TokenAuth, AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, Scopes: sh.Scopes,
		Audience: sh.Audience, Resource: sh.Resource, PerUser: sh.PerUser, Certificate: sh.Certificate, Last4: row.Last4, RotatedAt: &at, Version: row.Version, Preview: preview(row, &sh),
	}
	b, _, err := parseBound(row)
	if err != nil {
		return AuthenticationItem{}, err
	}
	it.Origins, it.TokenOrigins = b.Call, b.Token
	if isOAuth(row.AuthType) {
		it.State, it.LastError, it.ExpiresAt = tokenState(c.token, sh.Grant, now)
		it.LoginPending = c.login != nil && now.Before(c.login.ExpiresAt.Time)
	}
	return it, nil
}

// aim fills in what an OAuth item that does not say where to log in is for: the MCP
// server at an address.
func (a *SetAuth) aim(server string) {
	set := func(it *AuthItem) {
		if isOAuth(it.AuthType) && it.Resource == "" && it.Issuer == "" && it.TokenURL == "" && it.AuthorizationURL == "" {
			it.Resource = server
			if it.Grant == "" {
				it.Grant = oauth.AuthorizationCode
			}
		}
	}
	set(&a.AuthItem)
	for i := range a.Items {
		set(&a.Items[i])
	}
}

// addresses are the authorization servers that a configuration names.
func (a *SetAuth) addresses() []string {
	var out []string
	for _, it := range a.items() {
		out = append(out, it.Issuer, it.AuthorizationURL, it.TokenURL, it.Resource)
	}
	return out
}
