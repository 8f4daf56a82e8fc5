package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// tokenIssuer is the part of an authorization server that a resource server meets: its
// metadata, its keys, and the tokens it signs.
type tokenIssuer struct {
	mu     sync.Mutex
	number int                // guarded by mu; of the key
	key    ed25519.PrivateKey // guarded by mu
}

// turn makes another key, and forgets the one before.
func (i *tokenIssuer) turn() error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.number, i.key = i.number+1, key
	return nil
}

func (i *tokenIssuer) id() string { return fmt.Sprintf("key-%d", i.number) }

func (i *tokenIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	self := "http://" + r.Host
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": self, "jwks_uri": self + "/jwks"})
	case "/jwks":
		public := i.key.Public().(ed25519.PublicKey)
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{
			map[string]any{"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": i.id(), "x": base64.RawURLEncoding.EncodeToString(public)},
		}})
	default:
		http.NotFound(w, r)
	}
}

// issuer starts one and sets a variable to its address.
func (s *scripts) issuer(ts *testscript.TestScript, name string) {
	i := new(tokenIssuer)
	ts.Check(i.turn())
	srv := httptest.NewServer(i)
	ts.Defer(srv.Close)
	s.servers.Store(srv.URL, i)
	ts.Setenv(name, srv.URL)
}

func (s *scripts) issuerAt(ts *testscript.TestScript, url string) *tokenIssuer {
	v, ok := s.servers.Load(url)
	if !ok {
		ts.Fatalf("no issuer is at %s", url)
	}
	return v.(*tokenIssuer)
}

// jwt signs a token that is good for an hour: claims are added, and those without a
// value left out. exp is in seconds from now.
func (s *scripts) jwt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: jwt VAR ISSUER [CLAIM=VALUE…]")
	}
	i := s.issuerAt(ts, args[1])
	now := time.Now()
	claims := jwt.MapClaims{"iss": args[1], "sub": "alice", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for _, c := range args[2:] {
		name, value, _ := strings.Cut(c, "=")
		switch {
		case value == "":
			delete(claims, name)
		case name == "exp":
			d, err := time.ParseDuration(value)
			ts.Check(err)
			claims[name] = now.Add(d).Unix()
		default:
			claims[name] = value
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	t.Header["kid"] = i.id()
	text, err := t.SignedString(i.key)
	ts.Check(err)
	ts.Setenv(args[0], text)
}

// turnKey makes an issuer sign with another key and forget the one before.
func (s *scripts) turnKey(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: turnkey ISSUER")
	}
	ts.Check(s.issuerAt(ts, args[0]).turn())
}

// dumpServer is an API and an MCP server that write the headers of every request, and
// where it went, to dump.txt of the script.
func dumpServer(ts *testscript.TestScript) string {
	name := ts.MkAbs("dump.txt")
	var mu sync.Mutex
	return mcpServer(ts, func(w http.ResponseWriter, r *http.Request) (string, bool) {
		var text strings.Builder
		fmt.Fprintf(&text, "%s %s\n", r.Method, r.URL)
		_ = r.Header.Write(&text) // a builder does not fail
		mu.Lock()
		defer mu.Unlock()
		file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		ts.Check(err)
		_, err = file.WriteString(text.String() + "\n")
		ts.Check(err)
		ts.Check(file.Close())
		if r.URL.Path == "/mcp" {
			return "", true
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[{"id":1,"name":"Rex"}]`))
		return "", false
	}).URL
}
