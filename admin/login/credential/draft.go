package credential

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

// Draft is one credential of a draft, as it is stored or will be.
type Draft struct {
	Row    store.Credential
	token  *store.OAuthToken // nil: none was ever given
	Login  *store.OAuthLogin // the newest; nil: none, or it is over
	Secret secrets.Secret    // to seal; zero: what is sealed stays
	Forget bool              // its tokens were for another client, server or scope
	// Adopted is a login whose tokens it takes over; nil: none.
	Adopted *Adopted
	Shared  bool // callers do not log in themselves any more
	// Given says that a request gives the secret, or the first configuration of a client
	// without one; elsewhere that its authorization server is another one.
	Given, Elsewhere bool
	Rebound          bool   // row.Origins is to be written
	Was              string // row.Origins as stored
}

// Records are what credentials are read from: the records of a workspace, or those that were
// gathered for a page of toolsets.
type Records interface {
	CredentialsOf(ctx context.Context, toolset, connector string) ([]store.Credential, error)
	OAuthToken(ctx context.Context, credential, userKey string) (*store.OAuthToken, error)
	CredentialLogin(ctx context.Context, credential string) (*store.OAuthLogin, error)
}

// Load reads the credentials of a connector in a toolset with their tokens.
func Load(ctx context.Context, records Records, toolset, connector string) ([]Draft, error) {
	rows, err := records.CredentialsOf(ctx, toolset, connector)
	if err != nil {
		return nil, err
	}
	out := make([]Draft, len(rows))
	for i := range rows {
		out[i].Row = rows[i]
		if IsOAuth(rows[i].AuthType) {
			if out[i].token, err = records.OAuthToken(ctx, rows[i].ID, ""); err != nil {
				return nil, err
			}
			if out[i].Login, err = records.CredentialLogin(ctx, rows[i].ID); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// KeepsSecret reports whether the sealed secret may stay for an item without one.
func KeepsSecret(row *store.Credential, it *AuthItem) bool {
	if !IsOAuth(it.AuthType) {
		return true
	}
	sh, err := ShapeOf(row)
	return err == nil && sh.ClientID == it.ClientID && sh.Issuer == it.Issuer && sh.TokenURL == it.TokenURL && sh.Resource == it.Resource
}

// set writes an item into a credential.
func (c *Draft) set(it *AuthItem) error {
	sh, isNew := it.Shape(), c.Row.Version == 0
	before := Shape{}
	if !isNew {
		var err error
		if before, err = ShapeOf(&c.Row); err != nil {
			return err
		}
	}
	c.Secret = it.Secret()
	switch {
	case it.AuthType != registry.AuthMTLS:
	case c.Secret.IsZero():
		sh.Certificate = before.Certificate
	default:
		info, err := readCertificate(c.Secret)
		if err != nil {
			return err
		}
		sh.Certificate = info
	}
	if !c.Secret.IsZero() && it.AuthType != registry.AuthMTLS {
		c.Row.Last4 = c.Secret.Last4()
	}
	c.Shared = before.PerUser && !sh.PerUser
	whose := before
	whose.PerUser = sh.PerUser // whoever uses it, it is the same client at the same server
	c.Forget = IsOAuth(it.AuthType) && !isNew && (!c.Secret.IsZero() || !reflect.DeepEqual(whose, sh))
	c.Row.AuthType, c.Row.Shape = it.AuthType, store.JSON(sh)
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
		return it.AuthType == m.Scheme || m.Scheme == "bearer" && IsOAuth(it.AuthType)
	case "oauth2", "openIdConnect":
		return IsOAuth(it.AuthType) || it.AuthType == registry.AuthBearer
	case "mutualTLS":
		return it.AuthType == registry.AuthMTLS
	}
	return false
}

// Write writes credentials of a connector, and removes those of its toolset
// whose ids are not in keep.
func Write(ctx context.Context, tx *store.Tx, ring *secrets.Keyring, toolset string, keep []string, creds []Draft) error {
	if _, err := tx.KeepCredentials(ctx, toolset, keep...); err != nil {
		return err
	}
	for i := range creds {
		c := &creds[i]
		var err error
		if c.Rebound && c.Row.Version > 0 {
			done, err := tx.SetOrigins(ctx, c.Row.ID, c.Was, c.Row.Origins)
			if err == nil && !done {
				err = problem.New(problem.Conflict, "the authentication was changed meanwhile").Fix("look at it and try again")
			}
			if err != nil {
				return err
			}
		}
		if c.Secret.IsZero() && c.Row.Version > 0 {
			err = tx.SaveCredentialShape(ctx, &c.Row)
		} else {
			err = tx.SealCredential(ctx, ring, &c.Row, c.Secret)
		}
		if err == nil && c.Forget {
			err = tx.DeleteOAuthClient(ctx, c.Row.ID)
		}
		if err == nil && (c.Forget || c.Adopted != nil) {
			err = tx.DeleteCredentialLogin(ctx, c.Row.ID)
		}
		if err == nil && (c.Forget || c.Shared) {
			_, err = tx.DeleteUserTokens(ctx, c.Row.ID, "")
		}
		if err == nil && c.Forget && c.token != nil {
			c.token = &store.OAuthToken{CredentialID: c.Row.ID, Version: c.token.Version + 1}
			err = tx.SaveOAuthToken(ctx, c.token)
		}
		if err == nil && c.Adopted != nil {
			err = writeAdopted(ctx, tx, ring, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Audited is what the audit log says of a configuration: its shape, and of a
// new secret only a keyed fingerprint.
func Audited(ring *secrets.Keyring, creds []Draft) any {
	if len(creds) == 0 {
		return map[string]string{"authType": registry.AuthNone}
	}
	out := make([]map[string]string, len(creds))
	for i := range creds {
		c := &creds[i]
		out[i] = map[string]string{"authType": c.Row.AuthType, "shape": c.Row.Shape, "credentialId": c.Row.ID, "origins": c.Row.Origins}
		if !c.Secret.IsZero() {
			out[i]["fingerprint"] = ring.Fingerprint(c.Secret)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return map[string]any{"authType": registry.AuthList, "items": out}
}

// Show is a configuration as the API shows it.
func Show(creds []Draft, now time.Time) (*Authentication, error) {
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

func (c *Draft) show(now time.Time) (AuthenticationItem, error) {
	row := &c.Row
	sh, err := ShapeOf(row)
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
	b, _, err := ParseBound(row)
	if err != nil {
		return AuthenticationItem{}, err
	}
	it.Origins, it.TokenOrigins = b.Call, b.Token
	if IsOAuth(row.AuthType) {
		it.State, it.LastError, it.ExpiresAt = TokenState(c.token, sh.Grant, now)
		it.LoginPending = c.Login != nil && now.Before(c.Login.ExpiresAt.Time)
	}
	return it, nil
}

// Aim fills in what an OAuth item that does not say where to log in is for: the MCP
// server at an address.
func (a *SetAuth) Aim(server string) {
	set := func(it *AuthItem) {
		if IsOAuth(it.AuthType) && it.Resource == "" && it.Issuer == "" && it.TokenURL == "" && it.AuthorizationURL == "" {
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

// Addresses are the authorization servers that a configuration names.
func (a *SetAuth) Addresses() []string {
	var out []string
	for _, it := range a.Each() {
		out = append(out, it.Issuer, it.AuthorizationURL, it.TokenURL, it.Resource)
	}
	return out
}

// ForLogin finds the credential that a person logs in for.
func ForLogin(creds []Draft, id string) (*Draft, *Shape, error) {
	var found *Draft
	var of Shape
	for i := range creds {
		sh, err := ShapeOf(&creds[i].Row)
		if err != nil {
			return nil, nil, err
		}
		if sh.Grant != oauth.AuthorizationCode || id != "" && creds[i].Row.ID != id {
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
func writeAdopted(ctx context.Context, tx *store.Tx, ring *secrets.Keyring, c *Draft) error {
	row := &store.OAuthToken{CredentialID: c.Row.ID, Version: 1, ExpiresAt: store.Time{Time: c.Adopted.Expires}}
	if c.token != nil {
		row.Version = c.token.Version + 1
	}
	row.WorkspaceID = c.Row.WorkspaceID
	var err error
	if row.Sealed, err = ring.Seal(row.Record(), secrets.New(store.JSON(c.Adopted.Tokens))); err != nil {
		return fmt.Errorf("sealing the tokens of credential %s: %w", c.Row.ID, err)
	}
	if err := tx.SaveOAuthToken(ctx, row); err != nil {
		return err
	}
	c.token = row
	if err := tx.DeleteOAuthLogin(ctx, c.Adopted.Login); err != nil {
		return err
	}
	if client := c.Adopted.Tokens.Client; client != nil {
		return tx.SealOAuthClient(ctx, ring, c.Row.ID, secrets.New(store.JSON(client)))
	}
	return nil
}

// Value is the secret of a credential in the form that is applied.
func (c *Draft) Value() (secrets.Secret, error) {
	if c.Row.AuthType != registry.AuthBasic {
		return c.Secret, nil
	}
	sh, err := ShapeOf(&c.Row)
	if err != nil {
		return secrets.Secret{}, err
	}
	return secrets.New(sh.Username + ":" + c.Secret.Reveal()), nil
}

// Matching finds for each item of a configuration the stored credential that it replaces, of
// the same type, each once: the one of the same scheme and name, else of the same name, else of
// the same scheme, else the next one; -1: none. A secret that stays thus stays with its name.
func (a *SetAuth) Matching(old []Draft) []int {
	items := a.Each()
	out, used := make([]int, len(items)), make([]bool, len(old))
	for i := range out {
		out[i] = -1
	}
	name := func(it *AuthItem, sh *Shape) bool {
		return it.HeaderName == sh.HeaderName && it.ParameterName == sh.ParameterName && it.CookieName == sh.CookieName && it.MemberName == sh.MemberName
	}
	named := func(it *AuthItem, sh *Shape) bool {
		return it.HeaderName+it.ParameterName+it.CookieName+it.MemberName != "" && name(it, sh)
	}
	scheme := func(it *AuthItem, sh *Shape) bool { return it.Scheme == sh.Scheme }
	for _, same := range []func(*AuthItem, *Shape) bool{
		func(it *AuthItem, sh *Shape) bool { return scheme(it, sh) && name(it, sh) },
		named,
		scheme,
		func(*AuthItem, *Shape) bool { return true },
	} {
		for i := range items {
			for j := range old {
				if out[i] >= 0 || used[j] || old[j].Row.AuthType != items[i].AuthType {
					continue
				}
				if sh, err := ShapeOf(&old[j].Row); err == nil && same(&items[i], &sh) {
					out[i], used[j] = j, true
				}
			}
		}
	}
	return out
}

// Use is the connector that a configuration is for.
type Use struct {
	Toolset, Connector string // id and name
	MCP                bool   // it calls an MCP server
	Methods            []AuthMethod
}

// Configure makes the credentials of a connector what a configuration says; old are those
// that it has, newID makes the ids of new ones, and at is where the fields of the
// configuration are.
func (a *SetAuth) Configure(of *Use, old []Draft, newID func(prefix string) string, at string) ([]Draft, error) {
	match := a.Matching(old)
	keep := func(i int) bool {
		// A stored client secret must not go to another server because somebody
		// changed an address and gave no secret.
		return i < len(match) && match[i] >= 0 && KeepsSecret(&old[match[i]].Row, &a.Each()[i])
	}
	if err := a.Check(at, keep); err != nil {
		return nil, err
	}
	items := a.Each()
	if of.MCP && slices.ContainsFunc(items, func(it AuthItem) bool { return it.AuthType == registry.AuthBody }) {
		return nil, request.FieldFault(at+"/authType", "the bodies of an MCP server are messages of the protocol: a key goes into a header, the query or a cookie")
	}
	if len(items) > 1 {
		bindSchemes(items, of.Methods)
	}
	next := make([]Draft, 0, len(items))
	for i := range items {
		c := Draft{Row: store.Credential{ID: newID("cred"), ToolsetID: of.Toolset, Connector: of.Connector}}
		// Another type is another credential: what is live must not send the new
		// secret in the place of the old one.
		if match[i] >= 0 {
			c = old[match[i]]
		}
		c.Row.Position = int64(i)
		c.Elsewhere = c.Row.Version > 0 && !KeepsSecret(&c.Row, &items[i])
		if err := c.set(&items[i]); err != nil {
			return nil, err
		}
		c.Given = c.Row.Version == 0 || !c.Secret.IsZero()
		if a.adopted != nil && len(items) == 1 {
			c.Adopted = a.adopted
		}
		next = append(next, c)
	}
	return next, nil
}
