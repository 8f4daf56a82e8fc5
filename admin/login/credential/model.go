package credential

import (
	"time"

	"github.com/sluicegate/sluice/internal/secrets"
)

// AuthMethod is one way to authenticate that the specification names.
type AuthMethod struct {
	ID           string   `json:"id" doc:"Name of the security scheme."`
	Type         string   `json:"type" doc:"apiKey, http, oauth2, openIdConnect or mutualTLS."`
	In           string   `json:"in,omitempty"`
	Name         string   `json:"name,omitempty" doc:"Header, parameter or cookie."`
	Scheme       string   `json:"scheme,omitempty"`
	Description  string   `json:"description,omitempty"`
	Suggestion   *Suggest `json:"suggestion,omitempty" doc:"Authentication configuration that fits; only the secret is missing. Absent: see unsupported."`
	Unsupported  string   `json:"unsupported,omitempty" doc:"Why Sluice cannot apply it."`
	Operations   int      `json:"operations" doc:"Tools that accept it, disabled ones too."`
	With         []string `json:"with,omitempty" doc:"Security schemes that the specification wants together with it, by name: a call has all of them." example:"[\"secret\"]"`
	Flows        []string `json:"flows,omitempty" doc:"OAuth 2 grants."`
	BearerFormat string   `json:"bearerFormat,omitempty"`
}

// Suggest is an authentication configuration without its secret.
type Suggest struct {
	AuthType         string   `json:"authType"`
	HeaderName       string   `json:"headerName,omitempty"`
	HeaderPrefix     string   `json:"headerPrefix,omitempty"`
	ParameterName    string   `json:"parameterName,omitempty"`
	CookieName       string   `json:"cookieName,omitempty"`
	MemberName       string   `json:"memberName,omitempty"`
	Grant            string   `json:"grant,omitempty"`
	Issuer           string   `json:"issuer,omitempty"`
	AuthorizationURL string   `json:"authorizationUrl,omitempty"`
	TokenURL         string   `json:"tokenUrl,omitempty"`
	Scopes           []string `json:"scopes,omitempty" doc:"Those that the specification lists; choose the ones that are needed."`
}

// Authentication is an authentication configuration. Secret fields (apiKey,
// password, token, clientSecret, privateKey) are write-only: they are never in an
// answer.
type Authentication struct {
	AuthenticationItem
	Items []AuthenticationItem `json:"items,omitempty" doc:"list: the credentials."`
}

// AuthenticationItem is one credential without its secret.
type AuthenticationItem struct {
	AuthType         string           `json:"authType" enum:"header,query,cookie,body,basic,bearer,oauth2,oidc,mtls,list,none"`
	CredentialID     string           `json:"credentialId,omitempty" example:"cred_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Scheme           string           `json:"scheme,omitempty" doc:"Security scheme of the specification that it fulfils; absent: it is sent with every operation that needs authentication."`
	HeaderName       string           `json:"headerName,omitempty" doc:"header: the HTTP header."`
	HeaderPrefix     string           `json:"headerPrefix,omitempty" doc:"header: put directly before the key, with its own space."`
	ParameterName    string           `json:"parameterName,omitempty" doc:"query"`
	CookieName       string           `json:"cookieName,omitempty" doc:"cookie"`
	MemberName       string           `json:"memberName,omitempty" doc:"body"`
	Username         string           `json:"username,omitempty" doc:"basic"`
	Grant            string           `json:"grant,omitempty" enum:"client_credentials,authorization_code" doc:"oauth2, oidc"`
	Issuer           string           `json:"issuer,omitempty" doc:"oauth2, oidc"`
	ClientID         string           `json:"clientId,omitempty" doc:"oauth2, oidc"`
	TokenAuth        string           `json:"tokenAuthMethod,omitempty" doc:"oauth2, oidc"`
	AuthorizationURL string           `json:"authorizationUrl,omitempty" doc:"oauth2, oidc"`
	TokenURL         string           `json:"tokenUrl,omitempty" doc:"oauth2, oidc"`
	Scopes           []string         `json:"scopes,omitempty" doc:"oauth2, oidc"`
	Audience         string           `json:"audience,omitempty" doc:"oauth2, oidc"`
	PerUser          bool             `json:"perUser,omitempty" doc:"oauth2, oidc: each caller logs in; state is that of the operator's own login."`
	Resource         string           `json:"resource,omitempty" doc:"oauth2, oidc: what tokens are asked for, and whose metadata names what is not set here."`
	Certificate      *CertificateInfo `json:"certificate,omitempty" doc:"mtls"`
	State            string           `json:"state,omitempty" enum:"ok,login_required,failing,expired" doc:"oauth2, oidc: whether there is an access token; ok: yes, or one will be got when it is needed."`
	LoginPending     bool             `json:"loginPending,omitempty" doc:"A login was begun and is not finished."`
	LastError        string           `json:"lastError,omitempty" doc:"oauth2, oidc: why the last request for a token was refused."`
	ExpiresAt        *time.Time       `json:"expiresAt,omitempty" doc:"oauth2, oidc: of the access token."`
	Last4            string           `json:"apiKeyLast4,omitempty" doc:"Last four characters of the secret, when it is long enough."`
	RotatedAt        *time.Time       `json:"rotatedAt,omitempty" doc:"When the secret was set."`
	Version          uint64           `json:"version,omitempty" doc:"Version of the secret."`
	Origins          []string         `json:"origins,omitempty" doc:"Where the credential may be sent: scheme, host and port. Requests elsewhere do not carry it."`
	TokenOrigins     []string         `json:"tokenOrigins,omitempty" doc:"Where the secret of an OAuth client and its tokens may be sent; the first request decides."`
	Preview          string           `json:"preview,omitempty" doc:"What is sent, with the secret masked." example:"Authorization: Bearer ••••9f3c"`
}

// CertificateInfo is what is shown of a client certificate.
type CertificateInfo struct {
	Subject  string    `json:"subject"`
	Issuer   string    `json:"issuer"`
	NotAfter time.Time `json:"notAfter"`
}

// SetAuth sets an authentication configuration: one credential, or several as
// the items of a list.
type SetAuth struct {
	AuthItem
	Items []AuthItem `json:"items,omitempty" maxItems:"16" doc:"list: the credentials, each of another type than list and none."`

	adopted *Adopted // nil: no login comes with it
}

// Adopt makes the tokens of a login come with the configuration.
func (a *SetAuth) Adopt(l *Adopted) { a.adopted = l }

// Adopts reports whether a login comes with the configuration.
func (a *SetAuth) Adopts() bool { return a.adopted != nil }

// AuthItem is one credential. Which fields belong to a type: header: headerName,
// headerPrefix, apiKey; query: parameterName, apiKey; cookie: cookieName, apiKey;
// body: memberName, apiKey;
// bearer: token; basic: username, password; oauth2: grant, clientId, clientSecret,
// authorizationUrl, tokenUrl, scopes, audience; oidc: the same with issuer; mtls:
// certificate, privateKey; none: nothing.
type AuthItem struct {
	AuthType         string         `json:"authType" enum:"header,query,cookie,body,basic,bearer,oauth2,oidc,mtls,list,none"`
	Scheme           string         `json:"scheme,omitempty" maxLength:"256" doc:"Security scheme of the specification that it fulfils. Default: it is sent with every operation that needs authentication; in a list, the scheme that it fits."`
	HeaderName       string         `json:"headerName,omitempty" maxLength:"128"`
	HeaderPrefix     string         `json:"headerPrefix,omitempty" maxLength:"64" doc:"Put directly before the key, with its own space."`
	ParameterName    string         `json:"parameterName,omitempty" maxLength:"128"`
	CookieName       string         `json:"cookieName,omitempty" maxLength:"128"`
	MemberName       string         `json:"memberName,omitempty" maxLength:"128" doc:"Of the JSON object or form that is the body."`
	APIKey           secrets.Secret `json:"apiKey,omitzero" writeOnly:"true"`
	Token            secrets.Secret `json:"token,omitzero" writeOnly:"true"`
	Username         string         `json:"username,omitempty" maxLength:"512"`
	Password         secrets.Secret `json:"password,omitzero" writeOnly:"true"`
	Grant            string         `json:"grant,omitempty" enum:"client_credentials,authorization_code"`
	Issuer           string         `json:"issuer,omitempty" maxLength:"2048" doc:"Its metadata names the endpoints that are not set here."`
	ClientID         string         `json:"clientId,omitempty" maxLength:"512"`
	ClientSecret     secrets.Secret `json:"clientSecret,omitzero" writeOnly:"true"`
	TokenAuth        string         `json:"tokenAuthMethod,omitempty" enum:"client_secret_basic,client_secret_post" doc:"Default: what the server's metadata says, else basic, then post."`
	AuthorizationURL string         `json:"authorizationUrl,omitempty" maxLength:"2048"`
	TokenURL         string         `json:"tokenUrl,omitempty" maxLength:"2048"`
	Scopes           []string       `json:"scopes,omitempty" maxItems:"200"`
	Audience         string         `json:"audience,omitempty" maxLength:"2048"`
	PerUser          bool           `json:"perUser,omitempty" doc:"oauth2, oidc with the grant authorization_code: each caller of the toolset logs in, through a link that their first call is answered with, and calls with their own token. The toolset's access must be token or jwt. A login of the operator is used for tests and for the list of tools."`
	Resource         string         `json:"resource,omitempty" maxLength:"2048" doc:"What tokens are asked for (RFC 8707). Without issuer and tokenUrl, its metadata (RFC 9728) names the authorization server, and without clientId a client is registered there. Default for MCP servers, when nothing else says where to log in: their URL."`
	Certificate      string         `json:"certificate,omitempty" maxLength:"65536" doc:"PEM chain."`
	PrivateKey       secrets.Secret `json:"privateKey,omitzero" writeOnly:"true" doc:"PEM, unencrypted."`
}
