package oauthtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// Clients and the user that a [Server] knows.
const (
	ConsoleClient = "console" // sign-in to the console, no secret, any port of a loopback callback
	PublicClient  = "public"  // authorization code, no secret, any port of a loopback callback
	WebClient     = "web"     // authorization code
	WebSecret     = "web-secret-0123456789"
	WebRedirect   = "http://localhost:7301/oauth/callback"
	ServiceClient = "sid1" // client credentials
	ServiceSecret = "verysecret"
	User          = "test-user2"
	OtherUser     = "test-user@127.0.0.1" // with the same password
	Password      = "verysecure"
)

// maxForm is the largest form of a request or answer that is looked at.
const maxForm = 1 << 20

// Server is a running authorization server.
type Server struct {
	*httptest.Server

	knows   sync.RWMutex               // held while the library looks at clients
	clients map[string]*storage.Client // guarded by knows

	mu       sync.Mutex
	good     map[string]bool // guarded by mu; access tokens that were issued and not revoked
	issued   []string        // guarded by mu; every access, refresh and identity token
	requests []url.Values    // guarded by mu; at the token endpoint
	hold     chan struct{}   // guarded by mu; not nil: token requests wait until it is closed
	down     int             // guarded by mu; not 0: status of every answer of the token endpoint
	lifetime int             // guarded by mu; not 0: expires_in that is told

	features   Features          // guarded by mu
	grants     map[string]Grant  // guarded by mu; by access token
	registered []map[string]any  // guarded by mu
	revoked    []url.Values      // guarded by mu; at the revocation endpoint
	refreshed  map[string]string // guarded by mu; access token of each refresh token
}

// New starts a server.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server that the caller closes.
func Start() (*Server, error) { return StartAt("127.0.0.1:0") }

// StartAt starts a server at an address, which the caller closes.
func StartAt(address string) (*Server, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // of a test
	if err != nil {
		return nil, err
	}
	s := &Server{good: map[string]bool{}, grants: map[string]Grant{}, refreshed: map[string]string{}}
	var op http.Handler
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch at := r.URL.Path; {
		case strings.HasSuffix(at, "/oauth/token"):
			s.token(locked(&s.knows, op), w, r)
		case strings.HasPrefix(at, "/.well-known/oauth-authorization-server"), at == "/.well-known/openid-configuration":
			s.metadata(op, w, r)
		case at == "/register":
			s.register(w, r)
		case at == "/revoke":
			s.revoke(locked(&s.knows, op), w, r)
		default:
			if at == "/auth" || at == "/authorize" {
				s.document(r)
			}
			locked(&s.knows, op).ServeHTTP(withLocation{w, s.answer}, r)
		}
	}))
	_ = s.Listener.Close() // the other one takes its place
	s.Listener = listener
	s.Server.Start()
	issuer := s.Issuer()
	users := storage.NewUserStore(issuer)
	s.clients = map[string]*storage.Client{
		ConsoleClient: storage.NativeClient(ConsoleClient, "http://127.0.0.1/openid/callback"),
		PublicClient:  storage.NativeClient(PublicClient, "http://127.0.0.1/oauth/callback"),
		WebClient:     storage.WebClient(WebClient, WebSecret, WebRedirect),
	}
	op = exampleop.SetupServer(issuer, storage.NewStorageWithClients(users, s.clients), slog.New(slog.DiscardHandler), false)
	return s, nil
}

// locked serves with a lock held for reading.
func locked(l *sync.RWMutex, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.RLock()
		defer l.RUnlock()
		h.ServeHTTP(w, r)
	})
}

// Issuer is the issuer to configure.
func (s *Server) Issuer() string { return s.URL + "/" }

// TokenURL and AuthorizationURL are the endpoints that its metadata names.
func (s *Server) TokenURL() string { return s.URL + "/oauth/token" }

// AuthorizationURL is where a person logs in.
func (s *Server) AuthorizationURL() string { return s.URL + "/auth" }

// Valid reports whether an Authorization header shows a good access token.
func (s *Server) Valid(authorization string) bool {
	token, ok := strings.CutPrefix(authorization, "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok && s.good[token]
}

// RevokeAll makes every access token bad that was issued so far.
func (s *Server) RevokeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.good)
}

// Requests are the forms that came to the token endpoint.
func (s *Server) Requests() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]url.Values(nil), s.requests...)
}

// Issued are all access, refresh and identity tokens so far, revoked ones included.
func (s *Server) Issued() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.issued)
}

// Hold makes token requests wait until the function it returns is called.
func (s *Server) Hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hold := make(chan struct{})
	s.hold = hold
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hold = nil
		close(hold)
	})
}

// Fail makes the token endpoint answer with a status; 0: work again.
func (s *Server) Fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = status
}

// Lifetime makes the token endpoint tell another expires_in, in seconds.
func (s *Server) Lifetime(seconds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lifetime = seconds
}

// token passes a request on and looks at the answer.
func (s *Server) token(op http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxForm))
	if err != nil {
		return
	}
	form, _ := url.ParseQuery(string(body)) // the server says what is wrong with it
	s.mu.Lock()
	s.requests = append(s.requests, form)
	hold, down, lifetime := s.hold, s.down, s.lifetime
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	if down != 0 {
		w.WriteHeader(down)
		return
	}
	client, _, _ := r.BasicAuth() // form-encoded, but ids here need no encoding
	if client == "" {
		client = form.Get("client_id")
	}
	s.knows.RLock()
	_, known := s.clients[client]
	s.knows.RUnlock()
	if !known && strings.HasPrefix(client, "dyn-") { // the library says server_error
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	op.ServeHTTP(rec, r)
	out := rec.Body.Bytes()
	var a map[string]any
	if json.Unmarshal(out, &a) == nil {
		if token, _ := a["access_token"].(string); token != "" {
			s.mu.Lock()
			s.good[token] = true
			for _, kind := range []string{"access_token", "refresh_token", "id_token"} {
				if t, _ := a[kind].(string); t != "" {
					s.issued = append(s.issued, t)
				}
			}
			s.grants[token] = s.grantedLocked(a, form, client)
			if refresh, _ := a["refresh_token"].(string); refresh != "" {
				s.refreshed[refresh] = token
			}
			s.mu.Unlock()
			if lifetime != 0 {
				a["expires_in"] = lifetime
				out, _ = json.Marshal(a) // it was JSON
			}
		}
	}
	for k, v := range rec.Header() {
		if k != "Content-Length" {
			w.Header()[k] = v
		}
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(out) // the client is gone when this fails
}

var hiddenID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// Login does what a person with a browser does: it opens the page, presses its
// button when it is one in front of this server, logs in, and follows the way back. until ends that before a request to an address that starts
// with it is made; "": the callback is requested too. It returns the last address
// and, when it was requested, what the page there says.
func (s *Server) Login(page, password, until string) (address, text string, err error) {
	return s.LoginAs(nil, page, User, password, until)
}

// LoginAs is Login of another user, with the cookies of a browser; nil: a fresh
// one.
func (s *Server) LoginAs(cookies http.CookieJar, page, user, password, until string) (address, text string, err error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", "", err
	}
	if cookies == nil {
		cookies = jar
	}
	stopped := ""
	browser := &http.Client{Jar: cookies, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if until != "" && strings.HasPrefix(r.URL.String(), until) {
			stopped = r.URL.String()
			return http.ErrUseLastResponse
		}
		if len(via) > 10 {
			return errors.New("too many redirects")
		}
		return nil
	}}
	get := func(r *http.Response, err error) (string, string, error) {
		if err != nil {
			return "", "", err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(io.LimitReader(r.Body, maxForm))
		return r.Request.URL.String(), string(b), err
	}
	address, text, err = get(browser.Get(page)) //nolint:noctx // of a test
	if err != nil || stopped != "" {
		return stopped, "", err
	}
	if !strings.HasPrefix(address, s.URL+"/") && strings.Contains(text, "<button type=\"submit\">") {
		address, text, err = get(browser.PostForm(address, nil)) //nolint:noctx // of a test
		if err != nil || stopped != "" {
			return stopped, "", err
		}
	}
	id := hiddenID.FindStringSubmatch(text)
	if id == nil {
		return address, text, fmt.Errorf("%s shows no login: %s", address, text)
	}
	form := url.Values{"id": {id[1]}, "username": {user}, "password": {password}}
	address, text, err = get(browser.PostForm(s.URL+"/login/username", form)) //nolint:noctx // of a test
	if stopped != "" {
		return stopped, "", err
	}
	return address, text, err
}
