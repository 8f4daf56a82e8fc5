package oidc

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// Life is how long a login may take: finding a second factor takes minutes.
	Life = 10 * time.Minute
	// askTimeout bounds what is asked of the provider while a browser waits.
	askTimeout = 20 * time.Second
	// maxAnswer is the largest answer of a provider that is read, in bytes: a document of
	// keys has some KB, an ID token with hundreds of groups a hundred.
	maxAnswer = 1 << 20
	// maxBack is the longest address in the console that a login leads back to.
	maxBack = 2 << 10
	// maxKept is the largest cookie that is opened: browsers keep 4 KB.
	maxKept = 4 << 10
)

// Options make a [Room].
type Options struct {
	Config Config
	Store  *store.Store
	// HTTP asks the provider, which the operator named.
	HTTP *http.Client
}

// Room signs members in at one provider. It may be used by many goroutines.
type Room struct {
	o    Options
	seal cipher.AEAD // of what a browser keeps meanwhile; its key ends with the process

	mu       sync.Mutex
	provider *oidc.Provider // guarded by mu; nil: it was not asked yet, or did not answer
}

// New makes a room. It fails as [Config.Check] does.
func New(o Options) (*Room, error) {
	if err := o.Config.Check(); err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the process instead
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("making the key of logins: %w", err)
	}
	m := &Room{o: o}
	if m.seal, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("making the key of logins: %w", err)
	}
	if o.HTTP != nil {
		bounded := *o.HTTP
		bounded.Transport = limited{o.HTTP.Transport}
		m.o.HTTP = &bounded
	}
	return m, nil
}

// Enabled reports whether members can sign in that way.
func (m *Room) Enabled() bool { return m.o.Config.Issuer != "" }

// Config is the configuration, completed.
func (m *Room) Config() Config { return m.o.Config }

// limited bounds the answers of a provider.
type limited struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	next := l.next
	if next == nil {
		next = http.DefaultTransport //nolint:forbidigo // of a client that was made without one, as in tests
	}
	res, err := next.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

// discover asks the provider who it is, once.
func (m *Room) discover(ctx context.Context) (*oidc.Provider, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.provider != nil {
		return m.provider, nil
	}
	p, err := oidc.NewProvider(ctx, m.o.Config.Issuer)
	if err != nil {
		return nil, problem.New(problem.Unavailable, "the OpenID provider %s cannot be asked: %s", m.o.Config.Issuer, request.ClipText(err.Error(), 300)).
			Fix("see whether it runs and --oidc-issuer is exactly the issuer that it names; members with a password can sign in with it").Because(err)
	}
	m.provider = p
	return p, nil
}

func (m *Room) client(p *oidc.Provider, redirect string) *oauth2.Config {
	c, at := &m.o.Config, p.Endpoint()
	if c.ClientSecret.IsZero() {
		at.AuthStyle = oauth2.AuthStyleInParams // what is found out by trying may use the code up
	}
	return &oauth2.Config{ClientID: c.ClientID, ClientSecret: c.ClientSecret.Reveal(), Endpoint: at, RedirectURL: redirect, Scopes: c.Scopes}
}

// kept is what a browser keeps of a login, sealed, until it comes back.
type kept struct {
	State, Nonce, Verifier string
	Redirect, Back         string
	Expires                int64
}

// Begin begins a login: page is where the browser goes, and cookie is what it keeps
// meanwhile. redirect is where the provider sends it back to, and back the page of the
// console that it wants in the end.
func (m *Room) Begin(ctx context.Context, redirect, back string) (page string, cookie secrets.Secret, err error) {
	ctx, cancel := m.asking(ctx)
	defer cancel()
	p, err := m.discover(ctx)
	if err != nil {
		return "", cookie, err
	}
	k := kept{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, Back: local(back),
		Expires: m.o.Store.Now().Add(Life).Unix(),
	}
	text, err := json.Marshal(k)
	if err != nil {
		return "", cookie, fmt.Errorf("writing a login: %w", err)
	}
	nonce := make([]byte, m.seal.NonceSize())
	_, _ = rand.Read(nonce)
	cookie = secrets.New(base64.RawURLEncoding.EncodeToString(m.seal.Seal(nonce, nonce, text, nil)))
	return m.client(p, redirect).AuthCodeURL(k.State, oidc.Nonce(k.Nonce), oauth2.S256ChallengeOption(k.Verifier)), cookie, nil
}

// asking bounds what is asked of the provider. Its keys are fetched later with the same
// values, so the context does not end with the request.
func (m *Room) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(oidc.ClientContext(ctx, m.o.HTTP), askTimeout)
}

// local is the address of a page of the console; "/" for everything else, so that no login
// leads to another site.
func local(back string) string {
	u, err := url.Parse(back)
	if err != nil || len(back) > maxBack || u.IsAbs() || u.Host != "" || !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") || strings.ContainsAny(back, "\\\r\n") {
		return "/"
	}
	return back
}

// Login is who signed in, and the page of the console that they want.
type Login struct {
	Workspace, Member string
	Back              string
}

// Finish ends a login that came back with a query: it checks what the provider says and
// finds or makes the member. It fails with [problem.Unauthenticated] when the login is not of
// this browser, has expired or was refused there, with [problem.Forbidden] when the person is
// not let in, and with [problem.Unavailable] when the provider cannot be asked.
func (m *Room) Finish(ctx context.Context, redirect string, cookie secrets.Secret, q url.Values) (*Login, error) {
	k, err := m.open(cookie)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(k.State), []byte(q.Get("state"))) != 1 || k.Redirect != redirect {
		return nil, expired()
	}
	if code := q.Get("error"); code != "" {
		return nil, problem.New(problem.Unauthenticated, "%s did not let you in: %s", m.o.Config.Name, request.ClipText(code+" "+q.Get("error_description"), 300)).Fix("sign in again there")
	}
	ctx, cancel := m.asking(ctx)
	defer cancel()
	p, err := m.discover(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := m.claims(ctx, p, k, q.Get("code"))
	if err != nil {
		return nil, err
	}
	member, err := m.member(ctx, claims)
	if err != nil {
		return nil, err
	}
	return &Login{Workspace: request.Operator, Member: member.ID, Back: k.Back}, nil
}

func expired() error {
	return problem.New(problem.Unauthenticated, "the login has expired, was used already, or was begun in another browser").Fix("sign in again")
}

func (m *Room) open(cookie secrets.Secret) (*kept, error) {
	text := cookie.Reveal()
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > maxKept || len(sealed) < m.seal.NonceSize() {
		return nil, expired()
	}
	plain, err := m.seal.Open(nil, sealed[:m.seal.NonceSize()], sealed[m.seal.NonceSize():], nil)
	k := new(kept)
	if err != nil || json.Unmarshal(plain, k) != nil || m.o.Store.Now().Unix() >= k.Expires {
		return nil, expired()
	}
	return k, nil
}
