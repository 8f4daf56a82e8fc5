package oauth_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

func TestParseChallenge(t *testing.T) {
	f := func(header string, want oauth.Challenge, ok bool) {
		t.Helper()
		got, found := oauth.ParseChallenge(header)
		if found != ok || got.ResourceMetadata != want.ResourceMetadata || got.Error != want.Error || !slices.Equal(got.Scopes, want.Scopes) {
			t.Errorf("%s: %+v, %v; want %+v, %v", header, got, found, want, ok)
		}
	}
	const at = "https://m.example/.well-known/oauth-protected-resource/mcp"
	f(`Bearer resource_metadata="`+at+`", scope="a b"`, oauth.Challenge{ResourceMetadata: at, Scopes: []string{"a", "b"}}, true)
	f(`bearer realm="x y, \"z\"",error="insufficient_scope" , scope="files:read  files:read"`, oauth.Challenge{Scopes: []string{"files:read"}, Error: "insufficient_scope"}, true)
	f(`Basic realm="a", Bearer error=invalid_token`, oauth.Challenge{Error: "invalid_token"}, true)
	f(`Negotiate abc==, Bearer scope=a, DPoP algs="ES256", scope="no"`, oauth.Challenge{Scopes: []string{"a"}}, true)
	f(`Bearer`, oauth.Challenge{}, true)
	f(`Bearer, Basic realm=x`, oauth.Challenge{}, true)
	f(`Bearer RESOURCE_METADATA=`+at, oauth.Challenge{ResourceMetadata: at}, true)
	f(`Basic realm="Bearer scope=a"`, oauth.Challenge{}, false)
	f(``, oauth.Challenge{}, false)
	f(`=x, Bearer scope=a`, oauth.Challenge{}, false) // nothing behind what is no scheme is believed
	f(`Bearer scope="open`, oauth.Challenge{Scopes: []string{"open"}}, true)
	f(`Bearer scope="a \"b\" c`+"\x01d"+`"`, oauth.Challenge{Scopes: []string{"a"}}, true)
}

func TestScopes(t *testing.T) {
	var many []string
	for i := range oauth.MaxScopes + 1 {
		many = append(many, "s"+strings.Repeat("x", i))
	}
	if got := oauth.ValidScopes(many); len(got) != oauth.MaxScopes {
		t.Errorf("%d scopes of %d", len(got), len(many))
	}
	if oauth.ValidScope(strings.Repeat("x", oauth.MaxScopeBytes+1)) || !oauth.ValidScope(strings.Repeat("x", oauth.MaxScopeBytes)) {
		t.Error("the length of a scope")
	}
}

// resourceServer answers with documents by path; SELF stands for its own address.
func resourceServer(t *testing.T, documents map[string]string) (srv *httptest.Server, asked *[]string) {
	t.Helper()
	asked = new([]string)
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.Path)
		doc, ok := documents[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(doc, "SELF", "http://"+r.Host)))
	}))
	t.Cleanup(srv.Close)
	return srv, asked
}

// TestDiscoverResource: where the metadata of a resource is looked for, and what
// is refused.
func TestDiscoverResource(t *testing.T) {
	const path, root = "/.well-known/oauth-protected-resource/a/mcp", "/.well-known/oauth-protected-resource"
	const good = `{"resource":"SELF/a/mcp","authorization_servers":["https://id.example/"],"scopes_supported":["read","wr\"ong"]}`
	f := func(documents map[string]string, challenge oauth.Challenge, want ...string) *oauth.Resource {
		t.Helper()
		srv, asked := resourceServer(t, documents)
		challenge.ResourceMetadata = strings.ReplaceAll(challenge.ResourceMetadata, "SELF", srv.URL)
		r, err := client(t).DiscoverResource(t.Context(), srv.URL+"/a/mcp", challenge)
		if err != nil || !slices.Equal(*asked, want) {
			t.Fatalf("%+v, %v; asked %v, want %v", r, err, *asked, want)
		}
		return r
	}
	r := f(map[string]string{path: good, root: good}, oauth.Challenge{}, path)
	if !strings.HasSuffix(r.ID, "/a/mcp") || !slices.Equal(r.Scopes, []string{"read"}) || !slices.Equal(r.Issuers, []string{"https://id.example/"}) {
		t.Errorf("%+v", r)
	}
	f(map[string]string{root: strings.Replace(good, "SELF/a/mcp", "SELF", 1)}, oauth.Challenge{}, path, root)
	f(map[string]string{"/x": good, path: `{}`}, oauth.Challenge{ResourceMetadata: "SELF/x"}, "/x")
	f(map[string]string{path: `<html>`, root: good}, oauth.Challenge{}, path, root)
	if r := f(nil, oauth.Challenge{}, path, root); !r.Guessed || len(r.Issuers) != 1 || strings.Contains(r.Issuers[0], "/a") {
		t.Errorf("guessed %+v", r)
	}

	bad := func(kind problem.Kind, document, text string) {
		t.Helper()
		srv, _ := resourceServer(t, map[string]string{path: document})
		_, err := client(t).DiscoverResource(t.Context(), srv.URL+"/a/mcp", oauth.Challenge{})
		wantKind(t, err, kind, text)
	}
	for _, other := range []string{"https://evil.example/a/mcp", "SELF/a/mc", "SELF/b", "SELF:1/a/mcp", "", "SELF/a/mcp#x", "SELF/a/mcp?x=1", "https://u:p@evil.example"} {
		bad(problem.Forbidden, strings.Replace(good, "SELF/a/mcp", other, 1), "another resource")
	}
	bad(problem.UpstreamMalformed, `{"resource":"SELF/a/mcp"}`, "no usable authorization server")
	bad(problem.UpstreamMalformed, `{"resource":"SELF/a/mcp","authorization_servers":["http://id.example","javascript:1"]}`, "no usable authorization server")
	bad(problem.UpstreamMalformed, `{"resource":`, "not JSON")
	bad(problem.UpstreamTooLarge, strings.Repeat(" ", 256<<10+1), "more than")
	srv, _ := resourceServer(t, nil)
	_, err := client(t).DiscoverResource(t.Context(), srv.URL+"/a/mcp", oauth.Challenge{ResourceMetadata: srv.URL + "/gone"})
	wantKind(t, err, problem.NotFound, "no metadata")
	_, err = client(t).DiscoverResource(t.Context(), "https://mcp.example/mcp", oauth.Challenge{ResourceMetadata: "http://127.0.0.1:9/x"})
	wantKind(t, err, problem.UpstreamMalformed, "on this machine")
	_, err = client(t).DiscoverResource(t.Context(), "http://mcp.example/mcp", oauth.Challenge{})
	wantKind(t, err, problem.InvalidArgument, "https")
}

// TestDiscoverServer: from a resource to its authorization server, and to a token
// for it, with a client that registers itself.
func TestDiscoverServer(t *testing.T) {
	as := oauthtest.New(t)
	srv, _ := resourceServer(t, map[string]string{
		"/.well-known/oauth-protected-resource/mcp": `{"resource":"SELF/mcp","authorization_servers":["` + as.Issuer() + `"],"scopes_supported":["openid","profile"]}`,
	})
	c := client(t)
	found, err := c.DiscoverServer(t.Context(), srv.URL+"/mcp", oauth.Challenge{Scopes: []string{"openid"}}, "")
	if err != nil || found.Resource != srv.URL+"/mcp" || !slices.Equal(found.Scopes, []string{"openid", "offline_access"}) {
		t.Fatalf("%+v, %v", found, err)
	}
	const redirect = "http://127.0.0.1:7301/oauth/callback"
	about := oauth.Describe("Sluice", redirect)
	reg, err := c.Register(t.Context(), found.Metadata, &about)
	if err != nil || reg.ClientID == "" || reg.ClientSecret.IsZero() || reg.AuthMethod != oauth.AuthBasic {
		t.Fatalf("%+v, %v", reg, err)
	}
	if sent := as.Registered()[0]; sent["application_type"] != "native" || sent["client_name"] != "Sluice" {
		t.Errorf("registered %v", sent)
	}
	cfg := &oauth.Config{
		Issuer: found.Metadata.Issuer, ClientID: reg.ClientID, ClientSecret: reg.ClientSecret, AuthMethod: reg.AuthMethod,
		Scopes: found.Scopes, Resource: found.Resource, RedirectURL: redirect,
	}
	verifier := oauth.NewVerifier()
	page, err := c.AuthorizationURL(t.Context(), cfg, "s", verifier)
	if err != nil || !strings.Contains(page, "resource="+url.QueryEscape(found.Resource)) {
		t.Fatalf("%s, %v", page, err)
	}
	back, _, err := as.Login(page, oauthtest.Password, redirect)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(back)
	if err != nil || u.Query().Get("iss") != as.Issuer() {
		t.Fatalf("came back to %s", back)
	}
	tok, err := c.Exchange(t.Context(), cfg, u.Query().Get("code"), verifier)
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := as.Grant("Bearer " + tok.Access.Reveal()); !ok || g.Resource != found.Resource || g.Client != reg.ClientID || g.Subject != "id2" {
		t.Errorf("granted %+v", g)
	}
	if tok, err = c.Refresh(t.Context(), cfg, tok.Refresh); err != nil {
		t.Fatal(err)
	}
	if g, ok := as.Grant("Bearer " + tok.Access.Reveal()); !ok || g.Resource != found.Resource {
		t.Errorf("refreshed %+v", g)
	}
	as.ForgetClients()
	_, err = c.Refresh(t.Context(), cfg, tok.Refresh)
	if !oauth.InvalidClient(err) {
		t.Errorf("a forgotten client: %v", err)
	}

	as.Set(oauthtest.Features{NoRegistration: true, NoPKCE: true})
	_, err = client(t).DiscoverServer(t.Context(), srv.URL+"/mcp", oauth.Challenge{}, "")
	wantKind(t, err, problem.Unsupported, "S256")
	as.Set(oauthtest.Features{NoRegistration: true})
	found, err = client(t).DiscoverServer(t.Context(), srv.URL+"/mcp", oauth.Challenge{}, "")
	if err != nil || !slices.Equal(found.Scopes, []string{"openid", "profile", "offline_access"}) {
		t.Fatalf("%+v, %v", found, err)
	}
	_, err = c.Register(t.Context(), found.Metadata, &about)
	wantKind(t, err, problem.Unsupported, "clientId", redirect)
}

// TestGuessedServer: servers of the revision of 2025-03-26 have no metadata.
func TestGuessedServer(t *testing.T) {
	srv, _ := resourceServer(t, nil)
	found, err := client(t).DiscoverServer(t.Context(), srv.URL+"/mcp", oauth.Challenge{}, "")
	if err != nil || !found.Guessed || found.Resource != "" || found.Metadata.RegistrationEndpoint != srv.URL+"/register" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestNamedAddresses: metadata from elsewhere cannot send us to this machine.
func TestNamedAddresses(t *testing.T) {
	f := func(members, want string) {
		t.Helper()
		srv := discoveryServer(t, "/.well-known/oauth-authorization-server",
			`{"issuer":"https://id.example",`+members+`,"code_challenge_methods_supported":["S256"]}`)
		u, err := url.Parse(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		c, err := oauth.New(oauth.Options{HTTP: &http.Client{Transport: sendTo(u.Host)}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Discover(t.Context(), "https://id.example")
		if want != "" {
			wantKind(t, err, problem.UpstreamMalformed, want)
		} else if err != nil || m.RevocationEndpoint != "" {
			t.Errorf("%+v, %v; want no place to revoke at", m, err)
		}
	}
	const token = `"token_endpoint":"https://id.example/token",`
	f(`"token_endpoint":"http://127.0.0.1:9/token"`, "no usable token endpoint")
	f(token+`"authorization_endpoint":"http://127.0.0.1:9/auth"`, "no usable authorization endpoint")
	f(token+`"registration_endpoint":"http://127.0.0.1:9/new"`, "no usable registration endpoint")
	f(token+`"revocation_endpoint":"http://127.0.0.1:9/revoke"`, "")
}

// sendTo sends every request to one server, in the clear.
type sendTo string

// RoundTrip implements [http.RoundTripper].
func (h sendTo) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", string(h)
	return http.DefaultTransport.RoundTrip(r)
}

func TestRegisterAnswers(t *testing.T) {
	f := func(status int, body string) (*oauth.Registration, error) {
		t.Helper()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		defer srv.Close()
		about := oauth.Describe("Sluice", "https://sluice.example/oauth/callback")
		if about.ApplicationType != "web" {
			t.Errorf("application type %s", about.ApplicationType)
		}
		return client(t).Register(t.Context(), &oauth.Metadata{RegistrationEndpoint: srv.URL, TokenEndpoint: srv.URL}, &about)
	}
	r, err := f(201, `{"client_id":"a","client_secret":"s","client_secret_expires_at":1000000000}`)
	if err != nil || r.AuthMethod != oauth.AuthBasic || r.Expires.Unix() != 1e9 || !r.ClientSecret.Equal(secrets.New("s")) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = f(200, `{"client_id":"a","token_endpoint_auth_method":"client_secret_post"}`); err != nil || r.AuthMethod != oauth.AuthNone {
		t.Errorf("without a secret: %+v, %v", r, err)
	}
	bad := func(kind problem.Kind, status int, body, text string) {
		t.Helper()
		_, err := f(status, body)
		wantKind(t, err, kind, text)
	}
	bad(problem.Unauthenticated, 400, `{"error":"invalid_redirect_uri","error_description":"no"}`, "invalid_redirect_uri (no)")
	bad(problem.Unauthenticated, 403, `<html>`, "status 403")
	bad(problem.UpstreamMalformed, 201, `{}`, "did not answer with a client")
	bad(problem.UpstreamMalformed, 201, `<html>`, "did not answer with a client")
	bad(problem.UpstreamMalformed, 201, `{"client_id":"`+strings.Repeat("a", 4<<10+1)+`"}`, "cannot be used")
	bad(problem.UpstreamMalformed, 201, `{"client_id":"a","client_secret":"a\nb"}`, "cannot be used")
	bad(problem.Unsupported, 201, `{"client_id":"a","client_secret":"b","token_endpoint_auth_method":"private_key_jwt"}`, "private_key_jwt")
}

// FuzzParseChallenge: whatever a server answers, its scopes can be sent and its
// texts be shown.
func FuzzParseChallenge(f *testing.F) {
	for _, s := range []string{`Bearer a="b\"c", scope="x y"`, `Basic x==, Bearer error=a`, `Bearer ,,=,"`, "Bearer\tscope=\"\x7f\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		c, ok := oauth.ParseChallenge(header)
		if !ok && (c.Error != "" || len(c.Scopes) > 0 || c.ResourceMetadata != "") {
			t.Fatalf("%+v of no challenge", c)
		}
		if len(c.Scopes) > oauth.MaxScopes || slices.ContainsFunc(c.Scopes, func(s string) bool { return !oauth.ValidScope(s) }) {
			t.Fatalf("scopes %q", c.Scopes)
		}
		// What is read can be written and read again.
		again, _ := oauth.ParseChallenge(`Bearer scope="` + strings.Join(c.Scopes, " ") + `"`)
		if !slices.Equal(again.Scopes, c.Scopes) {
			t.Fatalf("%q became %q", c.Scopes, again.Scopes)
		}
	})
}
