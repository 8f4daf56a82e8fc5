package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

func client(t testing.TB) *oauth.Client {
	t.Helper()
	c, err := oauth.New(oauth.Options{HTTP: &http.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantKind(t *testing.T, err error, kind problem.Kind, texts ...string) {
	t.Helper()
	if !problem.Is(err, kind) {
		t.Fatalf("%v, want a problem of kind %s", err, kind)
	}
	p := problem.As(err)
	for _, text := range texts {
		if !strings.Contains(p.Detail+" "+p.Remedy, text) {
			t.Errorf("%v (%s) does not say %q", err, p.Remedy, text)
		}
	}
}

func TestClientCredentials(t *testing.T) {
	s, c := oauthtest.New(t), client(t)
	cfg := &oauth.Config{Issuer: s.Issuer(), ClientID: oauthtest.ServiceClient, ClientSecret: secrets.New(oauthtest.ServiceSecret), Scopes: []string{"openid"}}
	before := time.Now()
	tok, err := c.Obtain(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Valid("Bearer "+tok.Access.Reveal()) || !tok.Refresh.IsZero() || !tok.Expires.After(before) {
		t.Fatalf("the token is %+v", tok)
	}
	direct := &oauth.Config{TokenURL: s.TokenURL(), ClientID: oauthtest.ServiceClient, ClientSecret: secrets.New(oauthtest.ServiceSecret), AuthMethod: oauth.AuthPost}
	if tok, err = c.Obtain(t.Context(), direct); err != nil || !s.Valid("Bearer "+tok.Access.Reveal()) {
		t.Fatalf("without discovery: %v", err)
	}
	wrong := *cfg
	wrong.ClientSecret = secrets.New("wrong-wrong-wrong")
	_, err = c.Obtain(t.Context(), &wrong)
	wantKind(t, err, problem.Unauthenticated, "refused")
	if refused, login := oauth.Refused(err); !refused || login {
		t.Errorf("refused %v, login %v", refused, login)
	}
	if strings.Contains(fmt.Sprintf("%+v %v", err, problem.As(err)), "wrong-wrong") {
		t.Errorf("the error holds the secret: %v", err)
	}
}

// TestAuthorizationCode logs in as a person does, with a public and with a
// confidential client.
func TestAuthorizationCode(t *testing.T) {
	s, c := oauthtest.New(t), client(t)
	f := func(cfg *oauth.Config) {
		t.Helper()
		cfg.Issuer, cfg.Scopes = s.Issuer(), []string{"openid", "offline_access"}
		login := func() (code, verifier string) {
			t.Helper()
			verifier = oauth.NewVerifier()
			page, err := c.AuthorizationURL(t.Context(), cfg, "state-1", verifier)
			if err != nil {
				t.Fatal(err)
			}
			back, _, err := s.Login(page, oauthtest.Password, cfg.RedirectURL)
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(back)
			if err != nil || u.Query().Get("state") != "state-1" || u.Query().Get("code") == "" {
				t.Fatalf("the browser came back to %s", back)
			}
			return u.Query().Get("code"), verifier
		}
		code, verifier := login()
		tok, err := c.Exchange(t.Context(), cfg, code, verifier)
		if err != nil || !s.Valid("Bearer "+tok.Access.Reveal()) || tok.Refresh.IsZero() {
			t.Fatalf("%+v, %v", tok, err)
		}
		_, err = c.Exchange(t.Context(), cfg, code, verifier)
		wantKind(t, err, problem.Unauthenticated, "invalid_grant", "log in again") // once only

		next, err := c.Refresh(t.Context(), cfg, tok.Refresh)
		if err != nil || !s.Valid("Bearer "+next.Access.Reveal()) || next.Access.Equal(tok.Access) || next.Refresh.Equal(tok.Refresh) {
			t.Fatalf("refresh: %v", err)
		}
		_, err = c.Refresh(t.Context(), cfg, tok.Refresh) // it was rotated away
		wantKind(t, err, problem.Unauthenticated)

		code, _ = login()
		_, err = c.Exchange(t.Context(), cfg, code, oauth.NewVerifier()) // somebody else's verifier
		wantKind(t, err, problem.Unauthenticated, "invalid_grant")
		if strings.Contains(err.Error(), code) {
			t.Errorf("the error holds the code: %v", err)
		}
	}
	f(&oauth.Config{ClientID: oauthtest.PublicClient, RedirectURL: "http://127.0.0.1:41234/oauth/callback"})
	f(&oauth.Config{ClientID: oauthtest.WebClient, ClientSecret: secrets.New(oauthtest.WebSecret), RedirectURL: oauthtest.WebRedirect})
}

func TestAuthorizationURL(t *testing.T) {
	c := client(t)
	cfg := &oauth.Config{
		AuthorizationURL: "https://id.example/authorize?tenant=a%20b", TokenURL: "https://id.example/token", ClientID: "me",
		Scopes: []string{"read", "offline_access"}, Audience: "https://api.example", RedirectURL: "http://127.0.0.1:7301/oauth/callback",
	}
	// RFC 7636, appendix B.
	const verifier, challenge = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	got, err := c.AuthorizationURL(t.Context(), cfg, "s", verifier)
	if err != nil {
		t.Fatal(err)
	}
	want := "https://id.example/authorize?audience=https%3A%2F%2Fapi.example&client_id=me&code_challenge=" + challenge +
		"&code_challenge_method=S256&prompt=consent&redirect_uri=http%3A%2F%2F127.0.0.1%3A7301%2Foauth%2Fcallback&response_type=code" +
		"&scope=read+offline_access&state=s&tenant=a+b"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if v := oauth.NewVerifier(); len(v) != 43 || v == oauth.NewVerifier() {
		t.Errorf("the verifier %q", v)
	}
	cfg.AuthorizationURL = ""
	_, err = c.AuthorizationURL(t.Context(), cfg, "s", verifier)
	wantKind(t, err, problem.InvalidArgument, "authorizationUrl")
}

func TestCheckURL(t *testing.T) {
	f := func(u string, ok bool) {
		t.Helper()
		if err := oauth.CheckURL(u); (err == nil) != ok {
			t.Errorf("CheckURL(%q) = %v", u, err)
		}
	}
	f("https://id.example/token", true)
	f("http://127.0.0.1:8080/token", true)
	f("http://localhost/token", true)
	f("http://[::1]/token", true)
	f("http://id.example/token", false)
	f("http://localhost.example/token", false)
	f("https://u:p@id.example/token", false)
	f("https://id.example/token#x", false)
	f("ftp://id.example", false)
	f("https:token", false)
	f("", false)
}

// discoveryServer serves one document at one path.
func discoveryServer(t *testing.T, path, document string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.ReplaceAll(document, "SELF", srv.URL)))
	})
	return srv
}

func TestDiscover(t *testing.T) {
	const good = `{"issuer":"SELF/a","authorization_endpoint":"SELF/auth","token_endpoint":"SELF/token","code_challenge_methods_supported":["S256"]}`
	for _, path := range []string{"/a/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/a", "/.well-known/openid-configuration/a"} {
		srv := discoveryServer(t, path, good)
		m, err := client(t).Discover(t.Context(), srv.URL+"/a")
		if err != nil || m.TokenEndpoint != srv.URL+"/token" {
			t.Errorf("at %s: %+v, %v", path, m, err)
		}
	}
	f := func(kind problem.Kind, document, text string) {
		t.Helper()
		srv := discoveryServer(t, "/a/.well-known/openid-configuration", document)
		_, err := client(t).Discover(t.Context(), srv.URL+"/a")
		wantKind(t, err, kind, text)
	}
	f(problem.UpstreamMalformed, `{"issuer":"https://other.example","token_endpoint":"SELF/token"}`, "another issuer")
	f(problem.UpstreamMalformed, `{"issuer":"SELF/a"}`, "no usable token endpoint")
	f(problem.UpstreamMalformed, `{"issuer":"SELF/a","token_endpoint":"http://id.example/token"}`, "no usable token endpoint")
	f(problem.UpstreamMalformed, `{"issuer":"SELF/a","token_endpoint":"SELF/token","authorization_endpoint":"javascript:alert(1)"}`, "authorization endpoint")
	f(problem.UpstreamMalformed, `{"issuer":"SELF/a","token_endpoint":"SELF/token","authorization_endpoint":"http://id.example/auth"}`, "authorization endpoint")
	f(problem.UpstreamMalformed, `{"issuer":"SELF/a","token_endpoint":"SELF/token","registration_endpoint":"http://id.example/new"}`, "registration endpoint")
	f(problem.Unsupported, `{"issuer":"SELF/a","token_endpoint":"SELF/token","code_challenge_methods_supported":["plain"]}`, "S256")
	f(problem.UpstreamMalformed, `<html>`, "not JSON")
	f(problem.UpstreamTooLarge, `{"issuer":"`+strings.Repeat("x", 256<<10)+`"}`, "more than 262144 bytes")
	srv := discoveryServer(t, "/elsewhere", good)
	_, err := client(t).Discover(t.Context(), srv.URL+"/a")
	wantKind(t, err, problem.NotFound, "check the issuer")
	_, err = client(t).Discover(t.Context(), "http://id.example")
	wantKind(t, err, problem.InvalidArgument, "https")
	srv.Close()
	_, err = client(t).Discover(t.Context(), srv.URL)
	wantKind(t, err, problem.Unreachable)
}

// TestDiscoverOnce: metadata is asked for once an hour.
func TestDiscoverOnce(t *testing.T) {
	asked := 0
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"token_endpoint":"%s/token"}`, srv.URL, srv.URL)
	}))
	defer srv.Close()
	now := time.Unix(1e9, 0)
	c, err := oauth.New(oauth.Options{HTTP: &http.Client{}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	f := func(after time.Duration, want int) {
		t.Helper()
		now = now.Add(after)
		if _, err := c.Discover(t.Context(), srv.URL); err != nil || asked != want {
			t.Errorf("asked %d times, want %d (%v)", asked, want, err)
		}
	}
	f(0, 1)
	f(time.Hour-time.Second, 1)
	f(time.Second, 2)
}

func TestCheckIssuer(t *testing.T) {
	srv := discoveryServer(t, "/.well-known/openid-configuration",
		`{"issuer":"SELF","token_endpoint":"SELF/token","authorization_response_iss_parameter_supported":true}`)
	c := client(t)
	cfg := &oauth.Config{Issuer: srv.URL}
	if err := c.CheckIssuer(t.Context(), cfg, srv.URL); err != nil {
		t.Error(err)
	}
	for _, iss := range []string{"", "https://other.example"} {
		wantKind(t, c.CheckIssuer(t.Context(), cfg, iss), problem.Forbidden, "another authorization server")
	}
	if err := c.CheckIssuer(t.Context(), &oauth.Config{TokenURL: "https://id.example/token"}, ""); err != nil {
		t.Error(err)
	}
}

// TestTokenAnswers: what token endpoints of this world answer.
func TestTokenAnswers(t *testing.T) {
	const secret = "s3cret-s3cret-s3cret"
	now := time.Unix(1e9, 0)
	ask := func(status int, contentType, body string) (*oauth.Token, error) {
		t.Helper()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Location", "https://id.example/elsewhere")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		defer srv.Close()
		c, err := oauth.New(oauth.Options{HTTP: &http.Client{}, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return c.Obtain(context.Background(), &oauth.Config{TokenURL: srv.URL, ClientID: "c", ClientSecret: secrets.New(secret), AuthMethod: oauth.AuthBasic})
	}
	const asJSON, asForm = "application/json; charset=utf-8", "application/x-www-form-urlencoded"
	good := func(contentType, body, access string, lifetime time.Duration) {
		t.Helper()
		tok, err := ask(200, contentType, body)
		if err != nil || tok.Access.Reveal() != access {
			t.Errorf("%s: %+v, %v", body, tok, err)
			return
		}
		if want := now.Add(lifetime); lifetime > 0 && !tok.Expires.Equal(want) || lifetime == 0 && !tok.Expires.IsZero() {
			t.Errorf("%s expires %v", body, tok.Expires)
		}
	}
	good(asJSON, `{"access_token":"a","token_type":"bearer","expires_in":60}`, "a", time.Minute)
	good(asJSON, `{"access_token":"a","token_type":"Bearer","expires_in":"3599"}`, "a", 3599*time.Second)
	good(asJSON, `{"access_token":"a"}`, "a", 0)
	good(asJSON, `{"access_token":"a","expires_in":null}`, "a", 0)
	good(asJSON, `{"access_token":"a","expires_in":-1}`, "a", 0)
	good(asJSON, `{"access_token":"a","expires_in":1e300}`, "a", 366*24*time.Hour)
	good("text/plain", `{"access_token":"a"}`, "a", 0)
	good(asForm, `access_token=a&token_type=bearer&expires_in=60`, "a", time.Minute)
	good(asJSON, `{"access_token":"`+strings.Repeat("a", 32<<10)+`"}`, strings.Repeat("a", 32<<10), 0)

	bad := func(kind problem.Kind, status int, contentType, body string, texts ...string) {
		t.Helper()
		_, err := ask(status, contentType, body)
		wantKind(t, err, kind, texts...)
		if p := problem.As(err); strings.Contains(p.Error()+p.Remedy, secret) {
			t.Errorf("the error holds the secret: %v", err)
		}
	}
	bad(problem.Unauthenticated, 400, asJSON, `{"error":"invalid_scope","error_description":"no\nsuch scope"}`, "invalid_scope (no such scope)", "correct the scopes")
	bad(problem.Unauthenticated, 401, asJSON, `{"error":"invalid_client","error_description":"bad `+secret+`"}`, "[redacted]", "clientSecret")
	bad(problem.Unauthenticated, 401, asJSON, `{"error":"no \u0073`+secret[1:]+`","error_description":"bad \u0073`+secret[1:]+`"}`, "[redacted]")
	bad(problem.Unsupported, 200, asJSON, `{"access_token":"a","token_type":"`+secret+`"}`, "[redacted]")
	bad(problem.Unauthenticated, 200, asJSON, `{"error":"bad_verification_code"}`, "bad_verification_code") // GitHub
	bad(problem.Unauthenticated, 200, asForm, `error=bad_verification_code&error_description=x`, "bad_verification_code (x)")
	bad(problem.Unauthenticated, 400, asJSON, `{"error":{"code":"E1","message":"m"}}`, "E1")
	bad(problem.Unauthenticated, 401, "text/html", `<html>`, "status 401 and no reason")
	bad(problem.Unavailable, 400, asJSON, `{"error":"temporarily_unavailable"}`, "try again later")
	bad(problem.Unavailable, 503, "text/html", `<html>`, "status 503")
	bad(problem.Unavailable, 429, asJSON, `{}`, "status 429")
	bad(problem.UpstreamMalformed, 302, "text/html", ``, "redirects")
	bad(problem.UpstreamMalformed, 404, "text/html", ``, "tokenUrl")
	bad(problem.UpstreamMalformed, 200, "text/html", `<html>`, "did not answer with JSON")
	bad(problem.UpstreamMalformed, 200, asJSON, `{"id_token":"x"}`, "no access token")
	bad(problem.UpstreamMalformed, 200, asJSON, `{"access_token":"a\nb"}`, "cannot be sent")
	bad(problem.UpstreamMalformed, 200, asJSON, `{"access_token":"`+strings.Repeat("a", 32<<10+1)+`"}`, "cannot be sent")
	bad(problem.Unsupported, 200, asJSON, `{"access_token":"a","token_type":"mac"}`, "mac")
	bad(problem.UpstreamTooLarge, 200, asJSON, strings.Repeat(" ", 256<<10+1), "more than")
}

// TestSameRefreshToken: a server that answers with the refresh token that it was asked with,
// as many do that do not rotate them, gave that token.
func TestSameRefreshToken(t *testing.T) {
	const refresh = "refresh-token-0123456789"
	for contentType, answer := range map[string]string{
		"application/json":                  `{"access_token":"` + refresh + `-access","refresh_token":"` + refresh + `"}`,
		"application/x-www-form-urlencoded": "access_token=" + refresh + "-access&refresh_token=" + refresh,
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, answer)
		}))
		c, err := oauth.New(oauth.Options{HTTP: &http.Client{}})
		if err != nil {
			t.Fatal(err)
		}
		tok, err := c.Refresh(t.Context(), &oauth.Config{TokenURL: srv.URL, ClientID: "c", AuthMethod: oauth.AuthBasic}, secrets.New(refresh))
		if err != nil || tok.Refresh.Reveal() != refresh || tok.Access.Reveal() != refresh+"-access" {
			t.Errorf("%s: %v", contentType, err)
		}
		srv.Close()
	}
}

// TestSecondWay: some servers know the secret only in the body.
func TestSecondWay(t *testing.T) {
	var ways []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id, secret, ok := r.BasicAuth(); ok {
			ways = append(ways, "basic "+id+" "+secret)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
			return
		}
		ways = append(ways, "post "+r.PostFormValue("client_id")+" "+r.PostFormValue("client_secret"))
		_, _ = w.Write([]byte(`{"access_token":"a"}`))
	}))
	defer srv.Close()
	cfg := &oauth.Config{TokenURL: srv.URL, ClientID: "me:you", ClientSecret: secrets.New("p w+%")}
	if _, err := client(t).Obtain(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	// RFC 6749 §2.3.1: form-encoded in the header, as they are in the form.
	if got := strings.Join(ways, ", "); got != "basic me%3Ayou p+w%2B%25, post me:you p w+%" {
		t.Error(got)
	}
	cfg.AuthMethod, ways = oauth.AuthBasic, nil
	if _, err := client(t).Obtain(t.Context(), cfg); err == nil || len(ways) != 1 {
		t.Errorf("told to use basic, it tried %v", ways)
	}
}

func TestTimeout(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then it is noticed that the client went
		<-r.Context().Done()
	}))
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := client(t).Obtain(ctx, &oauth.Config{TokenURL: srv.URL, ClientID: "c", ClientSecret: secrets.New("s")})
	wantKind(t, err, problem.Timeout, "try again")
}

// TestNotPermitted: nothing is asked of an endpoint that is not permitted, in no way of
// getting a token.
func TestNotPermitted(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{"access_token":"a"}`))
	}))
	defer srv.Close()
	no := errors.New("not this one")
	cfg := &oauth.Config{TokenURL: srv.URL, ClientID: "me", ClientSecret: secrets.New("secret-secret"), Permit: func(_ context.Context, use string, known []string) error {
		if use != srv.URL || len(known) == 0 {
			t.Errorf("asked about %q of %q", use, known)
		}
		return no
	}}
	c := client(t)
	for what, get := range map[string]func() (*oauth.Token, error){
		"a token":   func() (*oauth.Token, error) { return c.Obtain(t.Context(), cfg) },
		"a renewal": func() (*oauth.Token, error) { return c.Refresh(t.Context(), cfg, secrets.New("refresh")) },
		"a login":   func() (*oauth.Token, error) { return c.Exchange(t.Context(), cfg, "code", "verifier") },
	} {
		if tok, err := get(); !errors.Is(err, no) || tok != nil {
			t.Errorf("%s: %v, %v", what, tok, err)
		}
	}
	if asked != 0 {
		t.Errorf("the endpoint was asked %d times", asked)
	}
}

// TestAnswerCutOff: a part of an answer is not an answer.
func TestAnswerCutOff(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"access_token":"a"}`))
	}))
	defer srv.Close()
	tok, err := client(t).Obtain(t.Context(), &oauth.Config{TokenURL: srv.URL, ClientID: "me", ClientSecret: secrets.New("secret-secret")})
	if err == nil || tok != nil {
		t.Errorf("%+v, %v", tok, err)
	}
}

// TestAuthorizationURLRefuses: what is not a URL is named, and nobody is sent there.
func TestAuthorizationURLRefuses(t *testing.T) {
	_, err := client(t).AuthorizationURL(t.Context(), &oauth.Config{AuthorizationURL: "https://[::1/authorize", TokenURL: "https://id.example/token", ClientID: "me"}, "s", "v")
	wantKind(t, err, problem.InvalidArgument, "authorizationUrl is not a URL")
}
