package admin

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
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
	case it.AuthType != registry.AuthMTLS:
	case c.secret.IsZero():
		sh.Certificate = before.Certificate
	default:
		info, err := readCertificate(c.secret)
		if err != nil {
			return err
		}
		sh.Certificate = info
	}
	if !c.secret.IsZero() && it.AuthType != registry.AuthMTLS {
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
		return m.In == "header" && it.AuthType == registry.AuthHeader && http.CanonicalHeaderKey(it.HeaderName) == http.CanonicalHeaderKey(m.Name) ||
			m.In == "query" && it.AuthType == registry.AuthQuery && it.ParameterName == m.Name ||
			m.In == "cookie" && it.AuthType == registry.AuthCookie && it.CookieName == m.Name ||
			m.In == "body" && it.AuthType == registry.AuthBody && it.MemberName == m.Name
	case "http":
		return it.AuthType == m.Scheme || m.Scheme == "bearer" && isOAuth(it.AuthType)
	case "oauth2", "openIdConnect":
		return isOAuth(it.AuthType) || it.AuthType == registry.AuthBearer
	case "mutualTLS":
		return it.AuthType == registry.AuthMTLS
	}
	return false
}

// writeCredentials writes credentials of a connector, and removes those of its toolset
// whose ids are not in keep.
func writeCredentials(ctx context.Context, tx *store.Tx, ring *secrets.Keyring, toolset string, keep []string, creds []draftCredential) error {
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
			err = tx.SealCredential(ctx, ring, &c.row, c.secret)
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
			err = writeAdopted(ctx, tx, ring, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// auditAuth is what the audit log says of a configuration: its shape, and of a
// new secret only a keyed fingerprint.
func auditAuth(ring *secrets.Keyring, creds []draftCredential) any {
	if len(creds) == 0 {
		return map[string]string{"authType": registry.AuthNone}
	}
	out := make([]map[string]string, len(creds))
	for i := range creds {
		c := &creds[i]
		out[i] = map[string]string{"authType": c.row.AuthType, "shape": c.row.Shape, "credentialId": c.row.ID, "origins": c.row.Origins}
		if !c.secret.IsZero() {
			out[i]["fingerprint"] = ring.Fingerprint(c.secret)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return map[string]any{"authType": registry.AuthList, "items": out}
}

// showAuth is a configuration as the API shows it.
func showAuth(creds []draftCredential, now time.Time) (*Authentication, error) {
	switch len(creds) {
	case 0:
		return &Authentication{AuthenticationItem: AuthenticationItem{AuthType: registry.AuthNone}}, nil
	case 1:
		it, err := creds[0].show(now)
		return &Authentication{AuthenticationItem: it}, err
	}
	a := &Authentication{AuthenticationItem: AuthenticationItem{AuthType: registry.AuthList}}
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

// loginCredential finds the credential that a person logs in for.
func loginCredential(creds []draftCredential, id string) (*draftCredential, *shape, error) {
	var found *draftCredential
	var of shape
	for i := range creds {
		sh, err := shapeOf(&creds[i].row)
		if err != nil {
			return nil, nil, err
		}
		if sh.Grant != oauth.AuthorizationCode || id != "" && creds[i].row.ID != id {
			continue
		}
		if found != nil {
			return nil, nil, problem.New(problem.InvalidArgument, "the toolset has several credentials that a person logs in for").Fix("name one by credentialId")
		}
		found, of = &creds[i], sh
	}
	if found == nil {
		return nil, nil, problem.New(problem.InvalidArgument, "the toolset has no credential that a person logs in for").
			Fix("configure authType oauth2 or oidc with the grant authorization_code")
	}
	return found, &of, nil
}

// writeAdopted writes the tokens of a login that a credential took over.
func writeAdopted(ctx context.Context, tx *store.Tx, ring *secrets.Keyring, c *draftCredential) error {
	row := &store.OAuthToken{CredentialID: c.row.ID, Version: 1, ExpiresAt: store.Time{Time: c.adopted.expires}}
	if c.token != nil {
		row.Version = c.token.Version + 1
	}
	row.WorkspaceID = c.row.WorkspaceID
	var err error
	if row.Sealed, err = ring.Seal(row.Record(), secrets.New(store.JSON(c.adopted.tokens))); err != nil {
		return fmt.Errorf("sealing the tokens of credential %s: %w", c.row.ID, err)
	}
	if err := tx.SaveOAuthToken(ctx, row); err != nil {
		return err
	}
	c.token = row
	if err := tx.DeleteOAuthLogin(ctx, c.adopted.login); err != nil {
		return err
	}
	if client := c.adopted.tokens.Client; client != nil {
		return tx.SealOAuthClient(ctx, ring, c.row.ID, secrets.New(store.JSON(client)))
	}
	return nil
}

// value is the secret of a credential in the form that is applied.
func (c *draftCredential) value() (secrets.Secret, error) {
	if c.row.AuthType != registry.AuthBasic {
		return c.secret, nil
	}
	sh, err := shapeOf(&c.row)
	if err != nil {
		return secrets.Secret{}, err
	}
	return secrets.New(sh.Username + ":" + c.secret.Reveal()), nil
}

// matching finds for each item of a configuration the stored credential that it
// replaces: of the same type and scheme, each once and in order; -1: none.
func (a *SetAuth) matching(old []draftCredential) []int {
	items := a.items()
	out, used := make([]int, len(items)), make([]bool, len(old))
	find := func(it *AuthItem, exact bool) int {
		for i := range old {
			sh, err := shapeOf(&old[i].row)
			if err != nil || used[i] || old[i].row.AuthType != it.AuthType {
				continue
			}
			same := it.Scheme == sh.Scheme && it.HeaderName == sh.HeaderName && it.ParameterName == sh.ParameterName && it.CookieName == sh.CookieName && it.MemberName == sh.MemberName
			if same || !exact {
				used[i] = true
				return i
			}
		}
		return -1
	}
	for i := range items {
		out[i] = find(&items[i], true)
	}
	for i := range items {
		if out[i] < 0 {
			out[i] = find(&items[i], false)
		}
	}
	return out
}

// connectorUse is the connector that a configuration is for.
type connectorUse struct {
	toolset, connector string // id and name
	mcp                bool   // it calls an MCP server
	methods            []AuthMethod
}

// configure makes the credentials of a connector what a configuration says; old are those
// that it has, newID makes the ids of new ones, and at is where the fields of the
// configuration are.
func (a *SetAuth) configure(of *connectorUse, old []draftCredential, newID func(prefix string) string, at string) ([]draftCredential, error) {
	match := a.matching(old)
	keep := func(i int) bool {
		// A stored client secret must not go to another server because somebody
		// changed an address and gave no secret.
		return i < len(match) && match[i] >= 0 && keepsSecret(&old[match[i]].row, &a.items()[i])
	}
	if err := a.check(at, keep); err != nil {
		return nil, err
	}
	items := a.items()
	if of.mcp && slices.ContainsFunc(items, func(it AuthItem) bool { return it.AuthType == registry.AuthBody }) {
		return nil, request.FieldFault(at+"/authType", "the bodies of an MCP server are messages of the protocol: a key goes into a header, the query or a cookie")
	}
	if len(items) > 1 {
		bindSchemes(items, of.methods)
	}
	next := make([]draftCredential, 0, len(items))
	for i := range items {
		c := draftCredential{row: store.Credential{ID: newID("cred"), ToolsetID: of.toolset, Connector: of.connector}}
		// Another type is another credential: what is live must not send the new
		// secret in the place of the old one.
		if match[i] >= 0 {
			c = old[match[i]]
		}
		c.row.Position = int64(i)
		c.elsewhere = c.row.Version > 0 && !keepsSecret(&c.row, &items[i])
		if err := c.set(&items[i]); err != nil {
			return nil, err
		}
		c.given = c.row.Version == 0 || !c.secret.IsZero()
		if a.adopted != nil && len(items) == 1 {
			c.adopted = a.adopted
		}
		next = append(next, c)
	}
	return next, nil
}
