package credential

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// reservedHeaders frame or route a request; a credential must not replace them.
var reservedHeaders = []string{
	"host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
	"upgrade", "proxy-connection", "proxy-authenticate", "accept", "accept-encoding", "range", "expect",
}

const (
	// maxScopes of a configuration.
	maxScopes = oauth.MaxScopes
	// maxScopeText is the largest scope in bytes.
	maxScopeText = oauth.MaxScopeBytes
)

// Shape is what is stored of an authentication item in the clear.
type Shape struct {
	Scheme           string           `json:"scheme,omitempty"`
	HeaderName       string           `json:"headerName,omitempty"`
	HeaderPrefix     string           `json:"headerPrefix,omitempty"`
	ParameterName    string           `json:"parameterName,omitempty"`
	CookieName       string           `json:"cookieName,omitempty"`
	MemberName       string           `json:"memberName,omitempty"`
	Username         string           `json:"username,omitempty"`
	Grant            string           `json:"grant,omitempty"`
	Issuer           string           `json:"issuer,omitempty"`
	ClientID         string           `json:"clientId,omitempty"`
	TokenAuth        string           `json:"tokenAuthMethod,omitempty"`
	AuthorizationURL string           `json:"authorizationUrl,omitempty"`
	TokenURL         string           `json:"tokenUrl,omitempty"`
	Scopes           []string         `json:"scopes,omitempty"`
	Audience         string           `json:"audience,omitempty"`
	Resource         string           `json:"resource,omitempty"`
	PerUser          bool             `json:"perUser,omitempty"`
	Certificate      *CertificateInfo `json:"certificate,omitempty"`
}

// ShapeOf reads the shape of a credential.
func ShapeOf(row *store.Credential) (Shape, error) {
	var sh Shape
	if err := json.Unmarshal([]byte(row.Shape), &sh); err != nil {
		return sh, fmt.Errorf("reading the shape of credential %s: %w", row.ID, err)
	}
	return sh, nil
}

// authField is a member of a configuration and the types it belongs to.
type authField struct {
	name  string
	set   bool
	types []string
}

// IsOAuth reports whether the secret of a type is one for an authorization server.
func IsOAuth(authType string) bool {
	return authType == registry.AuthOAuth2 || authType == registry.AuthOIDC
}

func (a *AuthItem) fields() []authField {
	both := []string{registry.AuthOAuth2, registry.AuthOIDC}
	return []authField{
		{"headerName", a.HeaderName != "", []string{registry.AuthHeader}},
		{"headerPrefix", a.HeaderPrefix != "", []string{registry.AuthHeader}},
		{"parameterName", a.ParameterName != "", []string{registry.AuthQuery}},
		{"cookieName", a.CookieName != "", []string{registry.AuthCookie}},
		{"memberName", a.MemberName != "", []string{registry.AuthBody}},
		{"apiKey", !a.APIKey.IsZero(), []string{registry.AuthHeader, registry.AuthQuery, registry.AuthCookie, registry.AuthBody}},
		{"token", !a.Token.IsZero(), []string{registry.AuthBearer}},
		{"username", a.Username != "", []string{registry.AuthBasic}},
		{"password", !a.Password.IsZero(), []string{registry.AuthBasic}},
		{"grant", a.Grant != "", both},
		{"clientId", a.ClientID != "", both},
		{"clientSecret", !a.ClientSecret.IsZero(), both},
		{"tokenAuthMethod", a.TokenAuth != "", both},
		{"authorizationUrl", a.AuthorizationURL != "", both},
		{"tokenUrl", a.TokenURL != "", both},
		{"scopes", len(a.Scopes) > 0, both},
		{"audience", a.Audience != "", both},
		{"resource", a.Resource != "", both},
		{"perUser", a.PerUser, both},
		{"issuer", a.Issuer != "", both},
		{"certificate", a.Certificate != "", []string{registry.AuthMTLS}},
		{"privateKey", !a.PrivateKey.IsZero(), []string{registry.AuthMTLS}},
	}
}

// SecretField names the one secret of a type; "": it has none or more.
func SecretField(authType string) string {
	switch authType {
	case registry.AuthHeader, registry.AuthQuery, registry.AuthCookie, registry.AuthBody:
		return "apiKey"
	case registry.AuthBearer:
		return "token"
	case registry.AuthBasic:
		return "password"
	case registry.AuthOAuth2, registry.AuthOIDC:
		return "clientSecret"
	}
	return ""
}

// Secret is what of an item is sealed.
func (a *AuthItem) Secret() secrets.Secret {
	switch a.AuthType {
	case registry.AuthHeader, registry.AuthQuery, registry.AuthCookie, registry.AuthBody:
		return a.APIKey
	case registry.AuthBearer:
		return a.Token
	case registry.AuthBasic:
		return a.Password
	case registry.AuthOAuth2, registry.AuthOIDC:
		return a.ClientSecret
	case registry.AuthMTLS:
		if a.Certificate != "" && !a.PrivateKey.IsZero() {
			return secrets.New(strings.TrimSpace(a.Certificate) + "\n" + strings.TrimSpace(a.PrivateKey.Reveal()) + "\n")
		}
	}
	return secrets.Secret{}
}

// authFaults collects what is wrong with a configuration.
type authFaults struct{ e *problem.Error }

func (f authFaults) add(at, format string, args ...any) {
	f.e.Parts = append(f.e.Parts, problem.New(problem.InvalidArgument, format, args...).At("", 0, 0, at))
}

// Check reports every fault of a configuration, naming fields under at. keep says
// whether the stored secret of item i stays when none is given.
func (a *SetAuth) Check(at string, keep func(i int) bool) error {
	f := authFaults{problem.New(problem.InvalidArgument, "the authentication configuration is not valid")}
	switch {
	case a.AuthType == registry.AuthList:
		if n := len(a.Items); n < 1 || n > registry.MaxAuthItems {
			f.add(at+"/items", "a list has 1 to %d items", registry.MaxAuthItems)
			break
		}
		for _, field := range a.fields() {
			if field.set {
				f.add(at+"/"+field.name, "%s belongs into an item of the list", field.name)
			}
		}
		for i := range a.Items {
			it, where := &a.Items[i], fmt.Sprintf("%s/items/%d", at, i)
			if it.AuthType == registry.AuthList || it.AuthType == registry.AuthNone {
				f.add(where+"/authType", "an item of a list is one credential")
				continue
			}
			it.check(f, where, keep(i))
		}
	case len(a.Items) > 0:
		f.add(at+"/items", "items belong to authType list")
	default:
		a.AuthItem.check(f, at, keep(0))
	}
	if len(f.e.Parts) == 0 {
		return nil
	}
	return f.e
}

// KeepAny is for a first look, before it is known what is stored.
func KeepAny(int) bool { return true }

// Each lists the items of a configuration: one, several, or none.
func (a *SetAuth) Each() []AuthItem {
	switch a.AuthType {
	case registry.AuthNone:
		return nil
	case registry.AuthList:
		return a.Items
	}
	return []AuthItem{a.AuthItem}
}

func (a *AuthItem) check(f authFaults, at string, keep bool) {
	for _, field := range a.fields() {
		if field.set && !slices.Contains(field.types, a.AuthType) {
			f.add(at+"/"+field.name, "%s does not belong to authType %s", field.name, a.AuthType)
		}
	}
	switch a.AuthType {
	case registry.AuthNone:
		return
	case registry.AuthOAuth2, registry.AuthOIDC:
		a.checkOAuth(f, at)
	case registry.AuthMTLS:
		a.checkCertificate(f, at, keep)
		return
	case registry.AuthBasic:
		if strings.ContainsFunc(a.Username, func(r rune) bool { return r < ' ' || r == ':' || r == 0x7f }) {
			f.add(at+"/username", "a user name has no colon and no control characters (RFC 7617 §2)")
		}
	case registry.AuthHeader, registry.AuthQuery, registry.AuthCookie, registry.AuthBody, registry.AuthBearer:
	default:
		f.add(at+"/authType", "authType must be header, query, cookie, body, basic, bearer, oauth2, oidc, mtls, list or none")
		return
	}
	reg := a.registryShape("c")
	for _, p := range shapeFaults(&reg) {
		f.add(at+"/"+strings.TrimPrefix(p.Place.Pointer, "/connectors/0/auth/"), "%s", p.Detail)
	}
	if slices.Contains(reservedHeaders, strings.ToLower(a.HeaderName)) {
		f.add(at+"/headerName", "the header %s is set by the gateway itself", a.HeaderName)
	}
	a.checkSecret(f, at, keep)
}

func (a *AuthItem) checkSecret(f authFaults, at string, keep bool) {
	field, secret := SecretField(a.AuthType), a.Secret()
	switch {
	case secret.IsZero() && (keep || IsOAuth(a.AuthType) && a.Grant != oauth.ClientCredentials):
	case secret.IsZero():
		f.add(at+"/"+field, "%s is missing", field)
	case a.AuthType == registry.AuthCookie && !cookieValue(secret):
		f.add(at+"/"+field, "%s has characters that cannot be in a cookie (RFC 6265 §4.1.1)", field)
	case a.AuthType != registry.AuthBasic && !sendable(secret):
		f.add(at+"/"+field, "%s has spaces at its ends, line breaks or characters that cannot be in a header", field)
	}
}

func (a *AuthItem) checkOAuth(f authFaults, at string) {
	for _, u := range []struct{ name, value string }{{"authorizationUrl", a.AuthorizationURL}, {"tokenUrl", a.TokenURL}, {"issuer", a.Issuer}, {"resource", a.Resource}} {
		if u.value == "" {
			continue
		}
		if err := oauth.CheckURL(u.value); err != nil {
			f.add(at+"/"+u.name, "%s", problem.As(err).Detail)
		}
	}
	switch a.Grant {
	case oauth.ClientCredentials, oauth.AuthorizationCode:
	default:
		f.add(at+"/grant", "grant must be client_credentials or authorization_code")
	}
	if a.PerUser && a.Grant != oauth.AuthorizationCode {
		f.add(at+"/perUser", "callers log in with the grant authorization_code")
	}
	switch {
	case a.AuthType == registry.AuthOIDC && a.Issuer == "":
		f.add(at+"/issuer", "issuer is missing")
	case a.Resource != "" && a.TokenURL == "" && a.AuthorizationURL == "": // its metadata names the rest
	case a.Issuer == "" && a.TokenURL == "":
		f.add(at+"/tokenUrl", "tokenUrl is missing, or the issuer whose metadata names it")
	case a.Issuer == "" && a.Grant == oauth.AuthorizationCode && a.AuthorizationURL == "":
		f.add(at+"/authorizationUrl", "authorizationUrl is missing, or the issuer whose metadata names it")
	}
	if registers := a.Resource != "" && a.TokenURL == "" && a.Grant == oauth.AuthorizationCode; a.ClientID == "" && !registers {
		f.add(at+"/clientId", "clientId is missing")
	}
	switch a.TokenAuth {
	case "", oauth.AuthBasic, oauth.AuthPost:
	default:
		f.add(at+"/tokenAuthMethod", "tokenAuthMethod must be client_secret_basic or client_secret_post")
	}
	if len(a.Scopes) > maxScopes {
		f.add(at+"/scopes", "%d scopes are more than %d", len(a.Scopes), maxScopes)
		return
	}
	for i, s := range a.Scopes {
		if !oauth.ValidScope(s) {
			f.add(fmt.Sprintf("%s/scopes/%d", at, i), "a scope has 1 to %d visible characters without quotes and backslashes", maxScopeText)
		}
	}
}

func (a *AuthItem) checkCertificate(f authFaults, at string, keep bool) {
	switch given := a.Certificate != ""; {
	case !given && a.PrivateKey.IsZero() && keep:
	case !given:
		f.add(at+"/certificate", "certificate is missing")
	case a.PrivateKey.IsZero():
		f.add(at+"/privateKey", "privateKey is missing")
	default:
		if _, err := readCertificate(a.Secret()); err != nil {
			f.add(at+"/certificate", "%s", problem.As(err).Detail)
		}
	}
}

// readCertificate describes the first certificate of a chain, whose private key
// must be in the same text. Its errors hold nothing of it.
func readCertificate(s secrets.Secret) (*CertificateInfo, error) {
	pair, err := tls.X509KeyPair([]byte(s.Reveal()), []byte(s.Reveal()))
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "certificate and privateKey are not a PEM certificate chain and its unencrypted PEM private key")
	}
	c, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the certificate cannot be read")
	}
	if c.NotAfter.Before(time.Now()) {
		return nil, problem.New(problem.InvalidArgument, "the certificate expired at %s", c.NotAfter.UTC().Format(time.RFC3339))
	}
	subject := c.Subject.String()
	if subject == "" && len(c.DNSNames) > 0 {
		subject = c.DNSNames[0]
	}
	return &CertificateInfo{Subject: request.ClipText(subject, 200), Issuer: request.ClipText(c.Issuer.String(), 200), NotAfter: c.NotAfter.UTC()}, nil
}

// registryShape is how the item appears in a bundle.
func (a *AuthItem) registryShape(id string) registry.AuthShape {
	return registry.AuthShape{
		Type: a.AuthType, Scheme: a.Scheme, HeaderName: a.HeaderName, HeaderPrefix: a.HeaderPrefix, ParameterName: a.ParameterName,
		CookieName: a.CookieName, MemberName: a.MemberName, CredentialID: id, User: a.PerUser,
	}
}

// Shape is what is stored of the item in the clear.
func (a *AuthItem) Shape() Shape {
	return Shape{
		Scheme: a.Scheme, HeaderName: a.HeaderName, HeaderPrefix: a.HeaderPrefix, ParameterName: a.ParameterName, CookieName: a.CookieName,
		MemberName: a.MemberName,
		Username:   a.Username, Grant: a.Grant, Issuer: a.Issuer, ClientID: a.ClientID, TokenAuth: a.TokenAuth,
		AuthorizationURL: a.AuthorizationURL, TokenURL: a.TokenURL, Scopes: a.Scopes, Audience: a.Audience, Resource: a.Resource, PerUser: a.PerUser,
	}
}

// shapeFaults validates a shape by the rules of the registry's toolset.
func shapeFaults(a *registry.AuthShape) []*problem.Error {
	t := registry.Toolset{
		Workspace: "w", ID: "i", Slug: "s", Name: "n", Access: registry.Access{Mode: registry.AccessNone},
		Connectors: []registry.ConnectorRef{{
			Name: "c", Repository: "w/connectors/c", Auth: a,
			Manifest: registry.DigestOf(nil), Digest: registry.DigestOf(nil),
		}},
	}
	return request.Faults(t.Validate())
}

// sendable reports whether a secret can be in a header's value: visible ASCII
// with inner spaces (RFC 9110 §5.5 without obs-text).
func sendable(s secrets.Secret) bool {
	v := s.Reveal()
	if v == "" || v != strings.TrimSpace(v) {
		return false
	}
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return false
		}
	}
	return true
}

// cookieValue reports whether a secret is a cookie-value of RFC 6265 §4.1.1.
func cookieValue(s secrets.Secret) bool {
	return sendable(s) && !strings.ContainsAny(s.Reveal(), " \",;\\")
}

// BundleShape is how the credentials of a toolset appear in its bundle.
func BundleShape(creds []Draft) (*registry.AuthShape, error) {
	items := make([]registry.AuthShape, 0, len(creds))
	for i := range creds {
		row := &creds[i].Row
		sh, err := ShapeOf(row)
		if err != nil {
			return nil, err
		}
		items = append(items, registry.AuthShape{
			Type: row.AuthType, Scheme: sh.Scheme, HeaderName: sh.HeaderName, HeaderPrefix: sh.HeaderPrefix,
			ParameterName: sh.ParameterName, CookieName: sh.CookieName, MemberName: sh.MemberName, CredentialID: row.ID, User: sh.PerUser,
		})
	}
	switch len(items) {
	case 0:
		return nil, nil //nolint:nilnil // no authentication
	case 1:
		return &items[0], nil
	}
	return &registry.AuthShape{Type: registry.AuthList, Items: items}, nil
}

// mask stands for a secret, with its end when that is stored.
func mask(last4 string) string { return "••••" + last4 }

// preview is what a credential adds to a request, with the secret masked.
func preview(row *store.Credential, sh *Shape) string {
	switch row.AuthType {
	case registry.AuthHeader:
		return sh.HeaderName + ": " + sh.HeaderPrefix + mask(row.Last4)
	case registry.AuthQuery:
		return "?" + sh.ParameterName + "=" + mask(row.Last4)
	case registry.AuthCookie:
		return "Cookie: " + sh.CookieName + "=" + mask(row.Last4)
	case registry.AuthBody:
		return "body: " + sh.MemberName + "=" + mask(row.Last4)
	case registry.AuthBearer:
		return "Authorization: Bearer " + mask(row.Last4)
	case registry.AuthBasic: // the end of a base64 text is not the end of the password
		return "Authorization: Basic ••••"
	case registry.AuthOAuth2, registry.AuthOIDC:
		if sh.PerUser {
			return "Authorization: Bearer •••• (access token of the caller)"
		}
		return "Authorization: Bearer •••• (access token)"
	case registry.AuthMTLS:
		return "client certificate " + sh.Certificate.subject()
	}
	return ""
}

func (c *CertificateInfo) subject() string {
	if c == nil {
		return ""
	}
	return c.Subject
}

// Asked are what is asked for. A person who logs in at an OpenID provider and
// says nothing else wants to stay logged in (OpenID Connect Core §11).
func (sh *Shape) Asked(authType string) []string {
	if len(sh.Scopes) == 0 && authType == registry.AuthOIDC && sh.Grant == oauth.AuthorizationCode {
		return []string{"openid", "offline_access"}
	}
	return sh.Scopes
}

// CheckScopes refuses scopes that are none.
func CheckScopes(scopes []string) error {
	for i, scope := range scopes {
		if !oauth.ValidScope(scope) {
			return problem.New(problem.InvalidArgument, "a scope has 1 to %d visible characters without quotes and backslashes", maxScopeText).At("", 0, 0, fmt.Sprintf("/scopes/%d", i))
		}
	}
	return nil
}

// Public is the item without what is secret or kept with it.
func (a *AuthItem) Public() AuthItem {
	sh := a.Shape()
	return AuthItem{
		AuthType: a.AuthType, Scheme: sh.Scheme, HeaderName: sh.HeaderName, HeaderPrefix: sh.HeaderPrefix, ParameterName: sh.ParameterName,
		CookieName: sh.CookieName, MemberName: sh.MemberName, Username: sh.Username, Grant: sh.Grant, Issuer: sh.Issuer, ClientID: sh.ClientID, TokenAuth: sh.TokenAuth,
		AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, Scopes: sh.Scopes, Audience: sh.Audience, Resource: sh.Resource, PerUser: sh.PerUser,
	}
}
