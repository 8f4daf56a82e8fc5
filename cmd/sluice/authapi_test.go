package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
)

// The secrets that the API of authAPI takes.
const (
	apiHeaderKey, apiQueryKey, apiCookieKey = "header-key-0001", "query key/0002", "cookie-key-0003"
	apiPassword, apiToken                   = "pass word:0004", "token-0005"
)

// schemesSpec declares every kind of security scheme, alone and combined.
const schemesSpec = `{"openapi":"3.1.0","info":{"title":"Schemes","version":"1"},"servers":[{"url":"%s"}],
"components":{"securitySchemes":{
"headerKey":{"type":"apiKey","in":"header","name":"X-Key"},"queryKey":{"type":"apiKey","in":"query","name":"app id"},
"cookieKey":{"type":"apiKey","in":"cookie","name":"sid"},"user":{"type":"http","scheme":"basic"},
"token":{"type":"http","scheme":"bearer"},"digest":{"type":"http","scheme":"digest"},"certificate":{"type":"mutualTLS"}}},
"paths":{%s}}`

// swaggerSpec is Swagger 2.0, where basic is a type of its own, and a key is also
// declared as a parameter.
const swaggerSpec = `{"swagger":"2.0","info":{"title":"Swagger","version":"1"},"host":"%s","schemes":["http"],
"securityDefinitions":{"user":{"type":"basic"},"queryKey":{"type":"apiKey","in":"query","name":"app id"}},
"security":[{"user":[],"queryKey":[]}],
"paths":{"/both2":{"get":{"operationId":"both2","parameters":[{"in":"query","name":"app id","type":"string","required":true},
{"in":"query","name":"q","type":"string"}],"responses":{"200":{"description":"OK"}}}}}}`

// schemeOperations each operation: the security of the document and what the API then
// insists on getting, exactly.
var schemeOperations = []struct{ name, security, want string }{
	{"by_header", `[{"headerKey":[]}]`, "headerKey"},
	{"by_query", `[{"queryKey":[]}]`, "queryKey"},
	{"by_cookie", `[{"cookieKey":[]}]`, "cookieKey"},
	{"by_user", `[{"user":[]}]`, "user"},
	{"by_token", `[{"token":[]}]`, "token"},
	{"both", `[{"headerKey":[],"queryKey":[]}]`, "headerKey queryKey"},
	{"either", `[{"digest":[]},{"cookieKey":[]},{"headerKey":[]}]`, "cookieKey"},
	{"open", `[]`, ""},
	{"optional", `[{},{"queryKey":[]}]`, "queryKey"},
	{"by_digest", `[{"digest":[]}]`, ""},
	{"both2", `[{"user":[],"queryKey":[]}]`, "queryKey user"},
}

// sent lists the credentials of a request that are right.
func sent(r *http.Request) []string {
	var out []string
	cookie, _ := r.Cookie("sid")
	user, password, basic := r.BasicAuth()
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"cookieKey", cookie != nil && cookie.Value == apiCookieKey},
		{"headerKey", r.Header.Get("X-Key") == apiHeaderKey},
		{"queryKey", slices.Equal(r.URL.Query()["app id"], []string{apiQueryKey})},
		{"token", r.Header.Get("Authorization") == "Bearer "+apiToken},
		{"user", basic && user == "me" && password == apiPassword},
	} {
		if c.ok {
			out = append(out, c.name)
		}
	}
	return out
}

// authAPI answers with what it was sent, also when it refuses.
func authAPI() http.Handler {
	mux := http.NewServeMux()
	var paths []string
	for _, op := range schemeOperations {
		paths = append(paths, fmt.Sprintf(`"/%s":{"get":{"operationId":"%s","security":%s,"responses":{"200":{"description":"OK"}}}}`, op.name, op.name, op.security))
		mux.HandleFunc("GET /"+op.name, func(w http.ResponseWriter, r *http.Request) {
			got := strings.Join(sent(r), " ")
			w.Header().Set("Content-Type", "application/json")
			if got != op.want {
				w.WriteHeader(http.StatusUnauthorized)
			}
			if got == "" {
				got = "nothing"
			}
			_ = json.NewEncoder(w).Encode(map[string]any{
				"sent": got, "query": r.URL.Query(), "header": r.Header["X-Key"], "authorization": r.Header["Authorization"], "cookie": r.Header["Cookie"],
			})
		})
	}
	mux.HandleFunc("GET /forbidden", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"message":"not yours"}`))
	})
	paths = append(paths, `"/forbidden":{"get":{"operationId":"forbidden","security":[{"headerKey":[]}],"responses":{"200":{"description":"OK"}}}}`)
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, schemesSpec, "http://"+r.Host, strings.Join(paths, ","))
	})
	mux.HandleFunc("GET /swagger.json", func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, swaggerSpec, r.Host) })
	return mux
}

// mutualTLS is an API that insists on a client certificate. Its own certificate
// authority is written to ca.pem, and another client's certificate to other.pem
// and other.key.
func mutualTLS(ts *testscript.TestScript) *httptest.Server {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"client": r.TLS.PeerCertificates[0].DNSNames[0]})
	}))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(ts.ReadFile("client.pem")))
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug) // clients that are refused are the point
	srv.StartTLS()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), ca, 0o600))
	doc := `{"openapi":"3.1.0","info":{"title":"Bank","version":"1"},"servers":[{"url":"` + srv.URL + `"}],` +
		`"components":{"securitySchemes":{"certificate":{"type":"mutualTLS"}}},"security":[{"certificate":[]}],` +
		`"paths":{"/who":{"get":{"operationId":"who","responses":{"200":{"description":"OK"}}}}}}`
	ts.Check(os.WriteFile(ts.MkAbs("bank.json"), []byte(doc), 0o600))
	return srv
}

// oauthAPI is an API that takes good access tokens only, and the authorization
// server that gives them.
func (s *scripts) oauthAPI(ts *testscript.TestScript) (api, issuer string) {
	as, err := oauthtest.Start()
	ts.Check(err)
	ts.Defer(as.Close)
	s.servers.Store(as.Issuer(), as)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.json" {
			_, _ = fmt.Fprintf(w, oauthSpec, "http://"+r.Host, as.AuthorizationURL(), as.TokenURL(), as.TokenURL(), as.Issuer())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if !as.Valid(r.Header.Get("Authorization")) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"message":"bad token"}`))
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"good": true, "authorization": r.Header["Authorization"], "method": r.Method})
	}))
	ts.Defer(srv.Close)
	return srv.URL, as.Issuer()
}

// oauthSpec declares both flows and the issuer.
const oauthSpec = `{"openapi":"3.1.0","info":{"title":"CRM","version":"1"},"servers":[{"url":"%s"}],
"components":{"securitySchemes":{
"flows":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"%s","tokenUrl":"%s","scopes":{"openid":""}},
"clientCredentials":{"tokenUrl":"%s","scopes":{"openid":""}}}},
"issuer":{"type":"openIdConnect","openIdConnectUrl":"%s.well-known/openid-configuration"}}},
"security":[{"flows":[]},{"issuer":[]}],
"paths":{"/deals":{"get":{"operationId":"list_deals","responses":{"200":{"description":"OK"}}},
"post":{"operationId":"add_deal","responses":{"200":{"description":"OK"}}}}}}`

func (s *scripts) authorizationServer(ts *testscript.TestScript) *oauthtest.Server {
	as, ok := s.servers.Load(ts.Getenv("ISSUER"))
	if !ok {
		ts.Fatalf("start one first: upstream API oauth")
	}
	return as.(*oauthtest.Server) //nolint:forcetypeassert // of Store
}

func (s *scripts) revoke(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: revoke")
	}
	s.authorizationServer(ts).RevokeAll()
}

// login runs the command, reads the page from its output while it waits, and logs
// in there.
func (s *scripts) login(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: login TOOLSET or login COMMAND ARGUMENT...")
	}
	if len(args) == 1 {
		args = []string{"toolset", "auth", args[0], "login"}
	}
	as := s.authorizationServer(ts)
	program := ""
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if _, err := os.Stat(filepath.Join(dir, "sluice")); err == nil && program == "" {
			program = filepath.Join(dir, "sluice")
		}
	}
	cmd := exec.CommandContext(s.t.Context(), program, append(args, "--no-browser")...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "NO_COLOR=1")
	cmd.Stdout = ts.Stdout()
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if page := strings.TrimSpace(lines.Text()); strings.Contains(page, "/oauth/confirm/") {
			address, text, err := as.Login(page, oauthtest.Password, "")
			if err != nil || !strings.Contains(text, "You are logged in") {
				_ = cmd.Process.Kill()
				ts.Fatalf("the browser ended at %s: %v %s", address, err, text)
			}
		}
		fmt.Fprintln(ts.Stderr(), lines.Text())
	}
	ts.Check(cmd.Wait())
}
