package oauth_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// TestRevoke: a server that says where is told that a token is not used any more, as the
// client that it was given to; one that does not say is not asked.
func TestRevoke(t *testing.T) {
	s, c := oauthtest.New(t), client(t)
	f := func(cfg *oauth.Config) {
		t.Helper()
		cfg.Issuer, cfg.Scopes = s.Issuer(), []string{"openid", "offline_access"}
		logIn := func() *oauth.Token {
			t.Helper()
			verifier := oauth.NewVerifier()
			page, err := c.AuthorizationURL(t.Context(), cfg, "state-1", verifier)
			if err != nil {
				t.Fatal(err)
			}
			back, _, err := s.Login(page, oauthtest.Password, cfg.RedirectURL)
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(back)
			if err != nil {
				t.Fatal(err)
			}
			tok, err := c.Exchange(t.Context(), cfg, u.Query().Get("code"), verifier)
			if err != nil || !s.Valid("Bearer "+tok.Access.Reveal()) {
				t.Fatalf("%+v, %v", tok, err)
			}
			return tok
		}
		tok := logIn()
		if told, err := c.Revoke(t.Context(), cfg, tok.Access, oauth.AccessToken); !told || err != nil || s.Valid("Bearer "+tok.Access.Reveal()) {
			t.Fatalf("told %v, %v", told, err)
		}
		tok = logIn()
		if told, err := c.Revoke(t.Context(), cfg, tok.Refresh, oauth.RefreshToken); !told || err != nil || s.Valid("Bearer "+tok.Access.Reveal()) {
			t.Fatalf("told %v, %v", told, err)
		}
		_, err := c.Refresh(t.Context(), cfg, tok.Refresh)
		wantKind(t, err, problem.Unauthenticated)

		asked := len(s.Revocations())
		if told, err := c.Revoke(t.Context(), cfg, secrets.Secret{}, oauth.AccessToken); told || err != nil {
			t.Errorf("no token: %v, %v", told, err)
		}
		direct := *cfg
		direct.Issuer, direct.TokenURL = "", s.TokenURL()
		if told, err := c.Revoke(t.Context(), &direct, tok.Access, oauth.AccessToken); told || err != nil {
			t.Errorf("without metadata: %v, %v", told, err)
		}
		if n := len(s.Revocations()); n != asked {
			t.Errorf("asked %d times more", n-asked)
		}
	}
	f(&oauth.Config{ClientID: oauthtest.PublicClient, RedirectURL: "http://127.0.0.1:41234/oauth/callback"})
	f(&oauth.Config{ClientID: oauthtest.WebClient, ClientSecret: secrets.New(oauthtest.WebSecret), RedirectURL: oauthtest.WebRedirect})
}

// TestRevokeOdd: ways in which servers differ, and places that nobody is sent to.
func TestRevokeOdd(t *testing.T) {
	for name, f := range map[string]struct {
		place  string // in the metadata; SELF is the server
		handle http.HandlerFunc
		asked  int
		told   bool
		kind   problem.Kind
	}{
		"none":          {place: ""},
		"no URL":        {place: "://"},
		"in the clear":  {place: "http://revoke.example/r"},
		"unknown token": {place: "SELF/r", handle: func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") }, asked: 1, told: true},
		"in the body only": {place: "SELF/r", asked: 2, told: true, handle: func(w http.ResponseWriter, r *http.Request) {
			if _, _, basic := r.BasicAuth(); basic || r.FormValue("client_secret") != "a-secret-of-the-client" {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = fmt.Fprint(w, `{"error":"invalid_client"}`)
			}
		}},
		"refused": {place: "SELF/r", asked: 1, told: true, kind: problem.Unauthenticated, handle: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":"unsupported_token_type","error_description":"not %s"}`, r.FormValue("token"))
		}},
		"redirect": {place: "SELF/r", asked: 1, told: true, kind: problem.UpstreamMalformed, handle: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusTemporaryRedirect)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			var srv *httptest.Server
			srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/r" {
					_ = json.NewEncoder(w).Encode(map[string]string{
						"issuer": srv.URL, "token_endpoint": srv.URL + "/t", "revocation_endpoint": strings.Replace(f.place, "SELF", srv.URL, 1),
					})
					return
				}
				asked++
				f.handle(w, r)
			}))
			defer srv.Close()
			cfg := &oauth.Config{Issuer: srv.URL, ClientID: "me", ClientSecret: secrets.New("a-secret-of-the-client")}
			told, err := client(t).Revoke(t.Context(), cfg, secrets.New("the-token-itself"), oauth.RefreshToken)
			if told != f.told || asked != f.asked {
				t.Errorf("told %v, asked %d times: %v", told, asked, err)
			}
			if f.kind == "" && err != nil || f.kind != "" && !problem.Is(err, f.kind) {
				t.Errorf("%v, want %q", err, f.kind)
			}
			if err != nil && (strings.Contains(fmt.Sprintf("%+v", err), "the-token-itself") || strings.Contains(fmt.Sprintf("%+v", err), "a-secret")) {
				t.Errorf("the error holds a secret: %v", err)
			}
		})
	}
}
