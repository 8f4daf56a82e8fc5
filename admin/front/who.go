package front

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// SessionCookie keeps the secret of a session in a browser. Over https its name begins with
// [HostPrefix].
const SessionCookie = "sluice_session"

// HostPrefix begins the names of cookies over https: browsers take such a cookie only over
// TLS and from this host itself (RFC 6265bis §4.1.3.2), so no neighbour in the domain, and
// nobody on a connection in the clear, can plant one. Over loopback there is no https, and
// not every browser keeps a Secure cookie there.
const HostPrefix = "__Host-"

// SessionPath is where a browser signs in and out.
const SessionPath = "/v1/session"

// PasskeyPath is where a browser begins to sign in with a passkey.
const PasskeyPath = SessionPath + "/passkey"

// challengeCookie keeps who asked for the challenge of a passkey; over https its name, too,
// begins with [HostPrefix].
const challengeCookie = "sluice_passkey"

// MaxSignInBytes is the largest request that signs in: several times one with every member
// at its longest. Nobody has said yet who they are, so it is far below [MaxBodyBytes].
const MaxSignInBytes = 16 << 10

// Authenticated lets requests with a valid API token or the cookie of a session through.
func (f *Room) Authenticated(next http.HandlerFunc) http.HandlerFunc {
	byToken, bySession := f.WithToken(next), f.withSession(next)
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie(f.cookieName(r.Context(), SessionCookie)); err == nil && r.Header.Get("Authorization") == "" {
			bySession(w, r)
			return
		}
		byToken(w, r)
	}
}

// WithToken lets requests with a valid API token through.
func (f *Room) WithToken(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, err := apiToken(r.Header.Get("Authorization"))
		if err != nil {
			f.WriteProblem(w, r, err)
			return
		}
		row, err := f.Store.TokenByHash(r.Context(), access.HashToken(token))
		if err != nil {
			if problem.Is(err, problem.Unauthenticated) {
				f.Log.LogAttrs(r.Context(), slog.LevelWarn, "unknown API token", slog.String("request_id", request.Of(r.Context()).ID),
					slog.String("client", request.Of(r.Context()).IP))
			}
			f.WriteProblem(w, r, err)
			return
		}
		request.Of(r.Context()).Token = row
		next(w, r)
	}
}

// apiToken is the API token of an Authorization header (RFC 6750 §2.1). Errors say what is
// wrong with the header and nothing of what is in it.
func apiToken(header string) (secrets.Secret, error) {
	const remedy = "send Authorization: Bearer slu_…; the token of the local administrator is in the file admin.token of the data directory"
	scheme, value, _ := strings.Cut(header, " ")
	token := secrets.New(strings.TrimSpace(value))
	var says string
	switch {
	case header == "":
		says = "missing API token"
	case !strings.EqualFold(scheme, "Bearer"):
		says = "the Authorization header is not of the form Bearer TOKEN"
	case access.ValidTokenFor(access.ToolsetPrefix, token):
		says = "this is an access token of a toolset: it opens the toolset URL, not the admin API"
	case !access.ValidToken(token):
		says = "malformed API token: a letter is missing or wrong, or it is another kind of token"
	default:
		return token, nil
	}
	return secrets.Secret{}, problem.New(problem.Unauthenticated, "%s", says).Fix(remedy)
}

// withSession lets requests with the cookie of a session through.
func (f *Room) withSession(next http.HandlerFunc) http.HandlerFunc {
	return f.FromConsole(func(w http.ResponseWriter, r *http.Request) {
		var secret secrets.Secret
		for i, c := range r.CookiesNamed(f.cookieName(r.Context(), SessionCookie)) {
			if next := secrets.New(c.Value); i == 0 {
				secret = next
			} else if !next.Equal(secret) { // one of them was set by a neighbour, for its own session
				f.WriteProblem(w, r, problem.New(problem.Unauthenticated, "the browser has two sessions, one of which another host of this domain may have set").
					Fix("remove the cookies of this site in the browser, and sign in again"))
				return
			}
		}
		row, as, err := f.Sessions.Resume(r.Context(), secret)
		if err != nil {
			f.WriteProblem(w, r, err)
			return
		}
		req := request.Of(r.Context())
		req.Session, req.Token = row, as
		next(w, r)
	})
}

// FromConsole lets requests of the console's own pages through, and of nobody else's: no
// page of another site, which includes other ports of this machine, can use a session or
// open one.
func (f *Room) FromConsole(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !session.SameOrigin(r.Method, r.Header, request.Of(r.Context()).Base, f.PublicURL) {
			f.WriteProblem(w, r, problem.New(problem.Forbidden, "the request was not sent by a page of the console").
				Fix("programs use an API token: Authorization: Bearer slu_…"))
			return
		}
		next(w, r)
	}
}

// Small bounds the body of requests of those who are not known yet.
func Small(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, MaxSignInBytes)
		next(w, r)
	}
}

// Cookie keeps the secret of a session until it ends. No script reads it,
// no page of another site sends it, and over https it is never sent in the clear.
func (f *Room) Cookie(ctx context.Context, secret secrets.Secret, until time.Time) http.Cookie {
	return http.Cookie{ //nolint:gosec // over loopback it is not Secure: there is no https
		Name: f.cookieName(ctx, SessionCookie), Value: secret.Reveal(), Path: "/", Expires: until, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: f.secure(ctx),
	}
}

// secure reports whether a request came over https. A proxy that ends TLS passes the public
// name on.
func (f *Room) secure(ctx context.Context) bool {
	scheme, host, _ := strings.Cut(request.Of(ctx).Base, "://")
	return scheme == "https" || f.PublicURL == "https://"+host
}

// cookieName is the name that a cookie has where a request came from. One without the prefix
// is nothing over https: anybody may have set it.
func (f *Room) cookieName(ctx context.Context, name string) string {
	if f.secure(ctx) {
		return HostPrefix + name
	}
	return name
}

// Own is the one of two cookies of a request that counts where it came from: the one with
// [HostPrefix], or the one without.
func (f *Room) Own(ctx context.Context, host, plain string) secrets.Secret {
	if f.secure(ctx) {
		return secrets.New(host)
	}
	return secrets.New(plain)
}

// OldSession is the secret of the session that a browser has already; empty: none.
func (f *Room) OldSession(r *http.Request) secrets.Secret {
	c, err := r.Cookie(f.cookieName(r.Context(), SessionCookie))
	if err != nil {
		return secrets.Secret{}
	}
	return secrets.New(c.Value)
}

// ChallengeCookie keeps the secret of a challenge until it expires: where sessions begin, or
// over https, where a cookie of this host only cannot have a path, at every path.
func (f *Room) ChallengeCookie(ctx context.Context, secret secrets.Secret, until time.Time) http.Cookie {
	c := f.Cookie(ctx, secret, until) //nolint:gosec // its attributes are those of Cookie
	if c.Name = f.cookieName(ctx, challengeCookie); !c.Secure {
		c.Path = SessionPath
	}
	return c
}

// ConsoleURL is scheme and host of the console: the public URL, or what the client wrote.
func (f *Room) ConsoleURL(ctx context.Context) string {
	if f.PublicURL != "" {
		return f.PublicURL
	}
	return request.Of(ctx).Base
}
