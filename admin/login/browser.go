package login

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// browserCookie and the id of a login name the cookie that binds the login to the browser in which its link was confirmed:
// whoever is sent the page of the authorization server alone, or the address that it leads back to, cannot finish it.
const browserCookie = "sluice-login-"

// Cookie is the cookie of one login. RFC 6265bis §4.1.3.2: a browser takes a
// __Host- cookie only over TLS and from this host itself, so no neighbour in the
// domain can plant one. On loopback there is no TLS, and not every browser keeps a
// Secure cookie then.
type Cookie struct {
	Name, Path string
	Secure     bool
}

// cookieOf is the cookie of a login that comes back to redirect.
func cookieOf(id, redirect string) Cookie {
	if strings.HasPrefix(redirect, "https:") {
		return Cookie{Name: "__Host-" + browserCookie + id, Path: "/", Secure: true}
	}
	return Cookie{Name: browserCookie + id, Path: CallbackPath}
}

// newBrowser makes the value of a cookie, and its SHA-256, which is what is kept.
func newBrowser() (value secrets.Secret, sum []byte) {
	text := oauth.NewVerifier()
	h := sha256.Sum256([]byte(text))
	return secrets.New(text), h[:]
}

// Set gives the cookie to a browser for a number of seconds; a negative number
// takes it away.
func (c Cookie) Set(w http.ResponseWriter, value secrets.Secret, seconds int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure as the type says
		Name: c.Name, Value: value.Reveal(), Path: c.Path, MaxAge: seconds, HttpOnly: true,
		Secure: c.Secure, SameSite: http.SameSiteLaxMode, // the way back is a navigation from another site
	})
}

// heldBy reports whether a request brings the cookie whose SHA-256 is sum. No
// request does when sum is empty: nobody confirmed the login.
func (c Cookie) heldBy(r *http.Request, sum []byte) bool {
	cookie, err := r.Cookie(c.Name)
	if err != nil {
		return false
	}
	got := sha256.Sum256([]byte(cookie.Value))
	return subtle.ConstantTimeCompare(got[:], sum) == 1
}

// pressedHere refuses a form that a page elsewhere sent: it must not press the
// button of a login. Browsers say where a request comes from; what says nothing is
// no browser.
func pressedHere(r *http.Request) error {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if site != "" && site != "same-origin" || origin != "" && origin != "null" && !sameHost(origin, r.Host) {
		return problem.New(problem.Forbidden, "this page was sent by another site").Fix("open the link itself")
	}
	return nil
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, host)
}

// refuseBrowser refuses a login that comes back without its cookie. The login stays:
// the browser that confirmed it can still finish it.
func refuseBrowser(r *http.Request, workspace, action, resource, remedy string) error {
	p := problem.New(problem.Forbidden, "this login was begun in another browser").Fix("%s", remedy)
	request.Of(r.Context()).Refused = &request.RefusedLogin{Workspace: workspace, Action: action, Resource: resource, Reason: p.Detail}
	return p
}
