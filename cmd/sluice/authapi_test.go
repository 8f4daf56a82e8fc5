package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
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
