package oauthtest

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"

	"github.com/zitadel/oidc/v3/example/server/storage"
)

// Features are what a server does beyond OpenID Connect, as MCP has it, and what
// it does wrong. The zero Features register clients (RFC 7591), know S256, name
// themselves in the answer of the login page (RFC 9207) and bind tokens to the
// resource that was asked for (RFC 8707).
type Features struct {
	NoRegistration bool         // RFC 7591 is not offered
	NoPKCE         bool         // the metadata does not name S256
	Issuer         string       // iss of the answer; "": the right one, "-": none
	Documents      *http.Client // not nil: clients are named by documents, got with it
	WrongIssuer    string       // issuer of the metadata; "": the right one
	NoRevocation   bool         // RFC 7009 is not offered
	RevokeStatus   int          // of every answer to it; 0: it works
	AnyResource    string       // resource that tokens are bound to whatever was asked for; "": what was asked for
}

// Set changes what the server does.
func (s *Server) Set(f Features) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.features = f
}

// Grant is what an access token is good for.
type Grant struct {
	Subject  string // of the user; "": a service
	Resource string // that it was asked for
	Scopes   []string
	Client   string
}

// Grant of an Authorization header; ok is false when it shows no good token.
func (s *Server) Grant(authorization string) (g Grant, ok bool) {
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grants[token], bearer && s.good[token]
}

// Admits lets a request to an MCP server at /mcp through that shows a good access token
// which was given for that server, says of others where to get one (RFC 9728), and answers
// the request for that document. subject is the user of the token.
func (s *Server) Admits(w http.ResponseWriter, r *http.Request) (subject string, ok bool) {
	self := "http://" + r.Host
	if r.URL.Path == "/.well-known/oauth-protected-resource/mcp" {
		_ = json.NewEncoder(w).Encode(map[string]any{ // the client is gone when this fails
			"resource": self + "/mcp", "authorization_servers": []string{s.Issuer()}, "scopes_supported": []string{"openid"},
		})
		return "", false
	}
	g, ok := s.Grant(r.Header.Get("Authorization"))
	if r.URL.Path == "/mcp" && (!ok || g.Resource != self+"/mcp") {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="`+self+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
		return "", false
	}
	return g.Subject, true
}

// Registered are the metadata of the clients that registered themselves, oldest
// first.
func (s *Server) Registered() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.registered)
}

// Register registers a confidential client that may come back to redirect, as one registers
// itself.
func (s *Server) Register(redirect string) (id, secret string, err error) {
	in, err := json.Marshal(map[string]any{"redirect_uris": []string{redirect}, "token_endpoint_auth_method": "client_secret_basic"})
	if err != nil {
		return "", "", err
	}
	res, err := http.Post(s.URL+"/register", "application/json", bytes.NewReader(in)) //nolint:noctx,forbidigo // of a test
	if err != nil {
		return "", "", err
	}
	defer res.Body.Close()
	var out struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	err = json.NewDecoder(io.LimitReader(res.Body, maxForm)).Decode(&out)
	return out.ID, out.Secret, err
}

// ForgetClients makes the clients unknown that registered themselves.
func (s *Server) ForgetClients() {
	s.knows.Lock()
	defer s.knows.Unlock()
	maps.DeleteFunc(s.clients, func(id string, _ *storage.Client) bool { return strings.HasPrefix(id, "dyn-") })
}

// metadata adds to the library's document what the server can beyond it. RFC 8414
// is answered too.
func (s *Server) metadata(op http.Handler, w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.features
	s.mu.Unlock()
	r = r.Clone(r.Context())
	r.URL.Path = "/.well-known/openid-configuration"
	rec := httptest.NewRecorder()
	op.ServeHTTP(rec, r)
	var m map[string]any
	if json.Unmarshal(rec.Body.Bytes(), &m) != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if !f.NoRegistration {
		m["registration_endpoint"] = s.URL + "/register"
	}
	if f.NoRevocation {
		delete(m, "revocation_endpoint")
	}
	if f.NoPKCE {
		delete(m, "code_challenge_methods_supported")
	}
	if f.Documents != nil {
		m["client_id_metadata_document_supported"] = true
	}
	if f.WrongIssuer != "" {
		m["issuer"] = f.WrongIssuer
	}
	m["authorization_response_iss_parameter_supported"] = f.Issuer != "-"
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(m) // the client is gone when this fails
}

// Revocations are the forms that came to the revocation endpoint (RFC 7009).
func (s *Server) Revocations() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.revoked)
}

// revoke passes a revocation on; what it ends is good nowhere any more.
func (s *Server) revoke(op http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxForm))
	if err != nil {
		return
	}
	form, _ := url.ParseQuery(string(body)) // the library says what is wrong with it
	s.mu.Lock()
	s.revoked = append(s.revoked, form)
	status := s.features.RevokeStatus
	s.mu.Unlock()
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	op.ServeHTTP(rec, r)
	if rec.Code == http.StatusOK {
		token := form.Get("token")
		s.mu.Lock()
		delete(s.good, token)
		delete(s.good, s.refreshed[token])
		s.mu.Unlock()
	}
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes()) // the client is gone when this fails
}

// register is RFC 7591.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.features
	s.mu.Unlock()
	var in map[string]any
	body, err := io.ReadAll(io.LimitReader(r.Body, maxForm))
	if err != nil || json.Unmarshal(body, &in) != nil || f.NoRegistration || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_client_metadata"}`)
		return
	}
	var redirects []string
	list, _ := in["redirect_uris"].([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			redirects = append(redirects, text)
		}
	}
	id, secret := "dyn-"+rand.Text(), ""
	c := storage.NativeClient(id, redirects...)
	if in["token_endpoint_auth_method"] != "none" {
		secret = rand.Text() + rand.Text()
		c = storage.WebClient(id, secret, redirects...)
	}
	s.knows.Lock()
	s.clients[id] = c
	s.knows.Unlock()
	s.mu.Lock()
	s.registered = append(s.registered, maps.Clone(in))
	s.mu.Unlock()
	in["client_id"] = id
	if secret != "" {
		in["client_secret"] = secret
		in["client_secret_expires_at"] = 0
		in["token_endpoint_auth_method"] = "client_secret_basic"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(in) // the client is gone when this fails
}

// document makes a client known that is named by the URL of its metadata.
func (s *Server) document(r *http.Request) {
	id := r.URL.Query().Get("client_id")
	s.mu.Lock()
	f := s.features
	s.mu.Unlock()
	if f.Documents == nil || !strings.HasPrefix(id, "https://") {
		return
	}
	res, err := f.Documents.Get(id) //nolint:noctx,gosec // of a test
	if err != nil {
		return
	}
	defer res.Body.Close()
	var doc struct {
		ID        string   `json:"client_id"`
		Redirects []string `json:"redirect_uris"`
	}
	if json.NewDecoder(io.LimitReader(res.Body, maxForm)).Decode(&doc) != nil || doc.ID != id {
		return
	}
	s.knows.Lock()
	defer s.knows.Unlock()
	s.clients[id] = storage.NativeClient(id, doc.Redirects...)
}

// answer adds iss to what the login page sends back to a client.
func (s *Server) answer(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" || strings.HasPrefix(location, s.URL) {
		return location
	}
	s.mu.Lock()
	f := s.features
	s.mu.Unlock()
	q := u.Query()
	switch f.Issuer {
	case "-":
		return location
	case "":
		q.Set("iss", s.Issuer())
	default:
		q.Set("iss", f.Issuer)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// granted notes what a token is good for.
func (s *Server) grantedLocked(a map[string]any, form url.Values, client string) Grant {
	g := Grant{Resource: form.Get("resource"), Client: client}
	if s.features.AnyResource != "" {
		g.Resource = s.features.AnyResource
	}
	if id, _ := a["id_token"].(string); id != "" {
		if parts := strings.Split(id, "."); len(parts) == 3 {
			var claims struct {
				Subject string `json:"sub"`
			}
			b, _ := base64.RawURLEncoding.DecodeString(parts[1]) // the library made it
			_ = json.Unmarshal(b, &claims)
			g.Subject = claims.Subject
		}
	}
	if scope, _ := a["scope"].(string); scope != "" {
		g.Scopes = strings.Fields(scope)
	}
	return g
}

// withLocation changes the Location of an answer on its way.
type withLocation struct {
	http.ResponseWriter
	change func(string) string
}

// WriteHeader writes the changed header.
func (w withLocation) WriteHeader(status int) {
	if at := w.Header().Get("Location"); at != "" {
		w.Header().Set("Location", w.change(at))
	}
	w.ResponseWriter.WriteHeader(status)
}
