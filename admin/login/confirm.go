package login

import (
	"context"
	"html"
	"net/http"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// ConfirmPath is below what the links of logins begin with that an operator began.
	ConfirmPath = "/oauth/confirm/"
	// maxConfirm is the longest end of such a link that is looked at, in bytes: an id
	// and a verifier.
	maxConfirm = 128
)

// unknownLogin is the answer to whatever belongs to no login. It does not say what
// is wrong.
func unknownLogin() *problem.Error {
	return problem.New(problem.NotFound, "login expired or already used").Fix("begin it again")
}

// link makes the address of the page that a login is confirmed at. It is on the
// host that the authorization server sends the browser back to, which is the only
// one that gets the cookie.
func (l *record) link(id, page string) string {
	secret := oauth.NewVerifier()
	l.Confirm, l.Page = secrets.Wire{Secret: secrets.New(secret)}, page
	return strings.TrimSuffix(l.Redirect, CallbackPath) + ConfirmPath + id + "." + secret
}

// waiting finds the login of a link. Whatever is wrong with the link is
// [unknownLogin].
func (r *Room) waiting(ctx context.Context, text string) (*store.OAuthLogin, *record, error) {
	id, secret, ok := strings.Cut(text, ".")
	if !ok || len(text) > maxConfirm {
		return nil, nil, unknownLogin()
	}
	row, err := r.o.Store.AnyOAuthLogin(ctx, id)
	switch {
	case problem.Is(err, problem.NotFound):
		return nil, nil, unknownLogin()
	case err != nil:
		return nil, nil, err
	}
	l, err := r.openLogin(row)
	if err != nil {
		return nil, nil, err
	}
	if l.Confirm.IsZero() || !l.Confirm.Equal(secrets.New(secret)) {
		return nil, nil, unknownLogin()
	}
	return row, l, nil
}

// Page is what a browser shows; both are HTML.
type Page struct{ Title, Body string }

// ShowConfirm is the page behind the link of a login that an operator began.
func (r *Room) ShowConfirm(ctx context.Context, text string) (page Page, err error) {
	row, l, err := r.waiting(ctx, text)
	if err != nil {
		return page, err
	}
	where := credential.Host(l.Page)
	lines := [][2]string{{"Authorization server", where}}
	acts := "The toolset that is made with this login"
	if l.Server == nil {
		ws := r.o.Store.Workspace(row.WorkspaceID)
		cred, err := ws.CredentialByID(ctx, row.CredentialID)
		if err != nil {
			return page, err
		}
		ts, err := ws.FindToolset(ctx, cred.ToolsetID)
		if err != nil {
			return page, err
		}
		lines = append(lines, [2]string{"Toolset", ts.Name + " (" + ts.Slug + ")"}, [2]string{"Connector", cred.Connector}, [2]string{"Credential", cred.ID})
		acts = "Everybody who may call this toolset"
	} else {
		lines = append(lines, [2]string{"MCP server", l.Server.URL}, [2]string{"Login", row.ID})
	}
	var list strings.Builder
	for _, line := range lines {
		list.WriteString("<dt>" + line[0] + "</dt><dd>" + html.EscapeString(line[1]) + "</dd>")
	}
	body := "<p>An operator of Sluice began a login.</p><dl>" + list.String() + "</dl><p>Go on only if you began it yourself just now. " + acts + " will act with the account that you log in with. " +
		"Close this page if somebody sent you the link.</p><form method=\"post\"><button type=\"submit\">Go on and log in</button></form>"
	return Page{"Log in at " + html.EscapeString(where), body}, nil
}

// Confirm uses a link up, binds the login to the browser and sends it to the
// authorization server.
func (r *Room) Confirm(w http.ResponseWriter, req *http.Request, text string) error {
	if err := pressedHere(req); err != nil {
		return err
	}
	ctx := req.Context()
	row, l, err := r.waiting(ctx, text)
	if err != nil {
		return err
	}
	page, expires := l.Page, row.ExpiresAt.Time
	value, sum := newBrowser()
	l.Confirm, l.Page, l.Browser = secrets.Wire{}, "", sum
	if err := r.sealAgain(ctx, r.o.Store.Workspace(row.WorkspaceID), row, l, l.audit(ctx, row, loginConfirmed)); err != nil {
		return err
	}
	cookieOf(row.ID, l.Redirect).Set(w, value, max(1, int(expires.Sub(r.o.Store.Now())/time.Second)))
	w.Header().Set("Referrer-Policy", "no-referrer") // the link is in the address
	http.Redirect(w, req, page, http.StatusSeeOther)
	return nil
}
