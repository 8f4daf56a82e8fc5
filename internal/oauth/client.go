package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// maxAnswer of an authorization server, in bytes: a metadata document with
	// every extension has 8 KB, a token with many claims 16 KB.
	maxAnswer = 256 << 10
	// maxToken in bytes: more does not fit the header lines that servers accept.
	maxToken = 32 << 10
	// requestTimeout bounds one request; a login page is no part of it.
	requestTimeout = 20 * time.Second
	// maxLifetime of a token that is believed: a longer one is asked for anew.
	maxLifetime = 366 * 24 * time.Hour
	// maxText of an error's description from outside.
	maxText = 300
)

// Grants that a [Config] can use.
const (
	ClientCredentials = "client_credentials" // RFC 6749 §4.4
	AuthorizationCode = "authorization_code" // RFC 6749 §4.1 with RFC 7636
)

// Ways a client authenticates at the token endpoint (RFC 7591 §2).
const (
	AuthBasic = "client_secret_basic"
	AuthPost  = "client_secret_post"
	AuthNone  = "none"
)

// Config is one client at one authorization server.
type Config struct {
	// Issuer whose metadata names the endpoints that are not set here. Default:
	// none, TokenURL is set.
	Issuer           string
	AuthorizationURL string
	TokenURL         string
	ClientID         string
	ClientSecret     secrets.Secret // zero: a public client
	// AuthMethod at the token endpoint. Default: what the metadata says, else
	// basic, and once more in the body when the server refuses that (RFC 6749
	// §2.3.1 makes basic the one that every server knows; some know it not).
	AuthMethod string
	Scopes     []string
	Audience   string // some servers want to know which API the token is for
	// Resource is the resource identifier that tokens are asked for (RFC 8707): a
	// server that knows it gives tokens that are of no use elsewhere. Default: none.
	Resource    string
	RedirectURL string // authorization code only
	// Permit is asked before each request that carries the client's secret, a token or
	// a code: use is the endpoint it goes to, known are all of this server that such
	// requests go to. Its error is that of the request. Default: every endpoint is
	// permitted.
	Permit func(ctx context.Context, use string, known []string) error
	// PermitLogin is asked before a person is sent to log in: use is the endpoint that
	// the code would go to. Default: every endpoint is permitted.
	PermitLogin func(ctx context.Context, use string) error
}

// Token is what the server gave.
type Token struct {
	Access  secrets.Secret
	Refresh secrets.Secret // zero: none was given
	Expires time.Time      // of Access; zero: not said
	Scope   string         // granted; empty: what was asked for
}

// Options of a client. Both have defaults.
type Options struct {
	// HTTP makes the requests. It must guard against private addresses. Its
	// redirects are not used. Default: http.DefaultClient's transport is never
	// used; HTTP must be set.
	HTTP *http.Client
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Client asks authorization servers. It is safe for concurrent use.
type Client struct {
	http *http.Client
	now  func() time.Time

	mu    sync.Mutex
	known map[string]known // guarded by mu; metadata by issuer
}

// New makes a client. It fails without Options.HTTP.
func New(o Options) (*Client, error) {
	if o.HTTP == nil {
		return nil, errors.New("making the OAuth client: HTTP must be set")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := *o.HTTP
	// An endpoint that redirects would get the client's secret sent on (RFC 9700
	// §4.12); metadata that moved is not the issuer's.
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{http: &h, now: o.Now, known: map[string]known{}}, nil
}

// CheckURL refuses an endpoint that credentials cannot be sent to: it must be
// https, or http on this machine for development.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http":
		return problem.New(problem.InvalidArgument, "the address is not an https URL")
	case u.User != nil || u.Fragment != "":
		return problem.New(problem.InvalidArgument, "the address holds credentials or a fragment")
	case u.Scheme == "http" && !safedial.Loopback(u.Hostname()):
		return problem.New(problem.InvalidArgument, "the address must be https: secrets are sent there")
	}
	return nil
}

// Obtain gets a token with the client credentials grant. Errors are as for
// [Client.Refresh].
func (c *Client) Obtain(ctx context.Context, cfg *Config) (*Token, error) {
	form := url.Values{"grant_type": {ClientCredentials}}
	cfg.describe(form)
	return c.token(ctx, cfg, form)
}

// Exchange gets a token for the code of a finished login; verifier is the one
// whose challenge [AuthorizationURL] had. Errors are as for [Client.Refresh].
func (c *Client) Exchange(ctx context.Context, cfg *Config, code, verifier string) (*Token, error) {
	form := url.Values{
		"grant_type": {AuthorizationCode}, "code": {code}, "redirect_uri": {cfg.RedirectURL}, "code_verifier": {verifier},
	}
	cfg.aim(form)
	return c.token(ctx, cfg, form)
}

// Refresh gets a new access token. A server that rotates refresh tokens gives a
// new one of those too; otherwise the old one is in the answer.
//
// It fails with [problem.Unauthenticated] when the server refuses (see
// [Refused]), [problem.UpstreamMalformed] when it does not answer as RFC 6749
// says, and the problems of the dialer when it cannot be reached.
func (c *Client) Refresh(ctx context.Context, cfg *Config, refresh secrets.Secret) (*Token, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh.Reveal()}}
	if len(cfg.Scopes) > 0 {
		form.Set("scope", strings.Join(cfg.Scopes, " "))
	}
	cfg.aim(form)
	t, err := c.token(ctx, cfg, form)
	if err == nil && t.Refresh.IsZero() {
		t.Refresh = refresh
	}
	return t, err
}

// describe adds what the token should be good for.
func (cfg *Config) describe(form url.Values) {
	if len(cfg.Scopes) > 0 {
		form.Set("scope", strings.Join(cfg.Scopes, " "))
	}
	if cfg.Audience != "" {
		form.Set("audience", cfg.Audience)
	}
	cfg.aim(form)
}

// aim names the resource (RFC 8707 §2): at the login and with every token.
func (cfg *Config) aim(form url.Values) {
	if cfg.Resource != "" {
		form.Set("resource", cfg.Resource)
	}
}

// token makes one request to the token endpoint, or a second one when the server
// does not know the first way to authenticate.
func (c *Client) token(ctx context.Context, cfg *Config, form url.Values) (*Token, error) {
	ep, err := c.endpoints(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := cfg.permit(ctx, ep.token, &ep); err != nil {
		return nil, err
	}
	t, err := c.post(ctx, ep, cfg, form)
	if err != nil && ep.guessed && ep.auth == AuthBasic && codeOf(err) == "invalid_client" {
		ep.auth = AuthPost
		var second error
		if t, second = c.post(ctx, ep, cfg, form); second == nil {
			return t, nil
		}
	}
	return t, err
}

func (cfg *Config) permit(ctx context.Context, use string, ep *endpoints) error {
	if cfg.Permit == nil {
		return nil
	}
	known := []string{ep.token}
	if ep.revocation != "" {
		known = append(known, ep.revocation)
	}
	return cfg.Permit(ctx, use, known)
}

func (c *Client) post(ctx context.Context, ep endpoints, cfg *Config, form url.Values) (*Token, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	sent := maps.Clone(form)
	if ep.auth != AuthBasic {
		sent.Set("client_id", cfg.ClientID)
	}
	if ep.auth == AuthPost {
		sent.Set("client_secret", cfg.ClientSecret.Reveal())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ep.token, strings.NewReader(sent.Encode()))
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the token endpoint is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if ep.auth == AuthBasic {
		// RFC 6749 §2.3.1: both are form-encoded first.
		req.SetBasicAuth(url.QueryEscape(cfg.ClientID), url.QueryEscape(cfg.ClientSecret.Reveal()))
	}
	status, contentType, body, err := c.do(req, "the token endpoint")
	if err != nil {
		return nil, err
	}
	return c.readToken(host(ep.token), status, contentType, body, cfg.ClientSecret.Reveal(), form.Get("refresh_token"), form.Get("code"), form.Get("code_verifier"))
}

// redact takes a secret out of words that repeat it, before they become an error. A short one is not looked for: it would be part of words.
func redact(body []byte, secret string) []byte {
	if len(secret) < 8 {
		return body
	}
	return bytes.ReplaceAll(body, []byte(secret), []byte(secrets.Redacted))
}

// do makes a request and reads a bounded answer. what names the endpoint for
// people.
func (c *Client) do(req *http.Request, what string) (status int, contentType string, body []byte, err error) {
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return 0, "", nil, unreachable(what, req.URL.Host, err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return 0, "", nil, unreachable(what, req.URL.Host, err)
	}
	if len(body) > maxAnswer {
		return 0, "", nil, problem.New(problem.UpstreamTooLarge, "%s of %.100s answered with more than %d bytes", what, req.URL.Host, maxAnswer)
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // an odd one is read as JSON
	return res.StatusCode, media, body, nil
}

// answer is what a token endpoint says (RFC 6749 §5.1 and §5.2).
type answer struct {
	Access      string          `json:"access_token"`
	Type        string          `json:"token_type"`
	ExpiresIn   json.RawMessage `json:"expires_in"`
	Refresh     string          `json:"refresh_token"`
	Scope       string          `json:"scope"`
	Error       json.RawMessage `json:"error"`
	Description string          `json:"error_description"`
}

// words returns the code of the error, if there is one, and takes the secrets of the
// request out of all that people read of the answer, as it is after unescaping.
func (a *answer) words(secrets []string) (code string) {
	code = errorCode(a.Error)
	for _, text := range []*string{&code, &a.Description, &a.Type, &a.Scope} {
		for _, secret := range secrets {
			*text = string(redact([]byte(*text), secret))
		}
	}
	return code
}

// readToken reads an answer. Its words become errors without the secrets of the request;
// the tokens stay as they are: many servers answer with the refresh token that they got.
func (c *Client) readToken(host string, status int, contentType string, body []byte, sent ...string) (*Token, error) {
	var a answer
	if contentType == "application/x-www-form-urlencoded" { // GitHub's default
		if form, err := url.ParseQuery(string(body)); err == nil {
			a = answer{
				Access: form.Get("access_token"), Type: form.Get("token_type"), ExpiresIn: json.RawMessage(form.Get("expires_in")),
				Refresh: form.Get("refresh_token"), Scope: form.Get("scope"), Description: form.Get("error_description"),
			}
			if e := form.Get("error"); e != "" {
				a.Error, _ = json.Marshal(e) // a string: cannot fail
			}
		}
	} else if json.Unmarshal(body, &a) != nil {
		if status >= 200 && status < 300 {
			return nil, problem.New(problem.UpstreamMalformed, "the token endpoint of %s did not answer with JSON", host).Fix("check tokenUrl")
		}
		return nil, refusedStatus(host, status)
	}
	code := a.words(sent)
	switch {
	case code != "":
		return nil, refused(host, code, a.Description, status)
	case status < 200 || status > 299:
		return nil, refusedStatus(host, status)
	case a.Access == "":
		return nil, problem.New(problem.UpstreamMalformed, "the answer of the token endpoint of %s has no access token", host).Fix("check tokenUrl")
	case len(a.Access) > maxToken || len(a.Refresh) > maxToken || !visible(a.Access):
		return nil, problem.New(problem.UpstreamMalformed, "the access token of %s cannot be sent in a header", host)
	case a.Type != "" && !strings.EqualFold(a.Type, "bearer"):
		return nil, problem.New(problem.Unsupported, "the authorization server %s gives tokens of type %.40q, not Bearer", host, a.Type)
	}
	t := &Token{Access: secrets.New(a.Access), Refresh: secrets.New(a.Refresh), Scope: a.Scope}
	if in := lifetime(a.ExpiresIn); in > 0 {
		t.Expires = c.now().Add(in)
	}
	return t, nil
}

// lifetime reads expires_in, which some servers write as text.
func lifetime(raw json.RawMessage) time.Duration {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return time.Duration(min(n, maxLifetime.Seconds()) * float64(time.Second))
}

// visible reports whether a token can stand in a header (RFC 6750 §2.1 allows
// less; servers give more).
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the authorization server"
	}
	return u.Host
}
