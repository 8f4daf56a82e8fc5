package login

import (
	"cmp"
	"context"
	"html"
	"net/http"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// userLoginPrefix begins the ids of the logins of callers; the rest is in their link.
const userLoginPrefix = "login_"

// ticketContent is what a link is about.
type ticketContent struct {
	ticket  *ticket
	ws      *store.Workspace
	cred    *store.Credential
	shape   credential.Shape
	toolset *store.Toolset
}

// readTicket finds what a link is about. A caller who logged in since needs it no
// more: an old link must not put another account in the place of theirs.
func (r *Room) readTicket(ctx context.Context, text string) (*ticketContent, error) {
	t, err := r.openTicket(text)
	if err != nil {
		return nil, err
	}
	c := &ticketContent{ticket: t, ws: r.o.Store.Workspace(t.Workspace)}
	gone := problem.New(problem.NotFound, "the toolset of this link does not ask for a login any more")
	if c.cred, err = c.ws.CredentialByID(ctx, t.Credential); err != nil {
		if problem.Is(err, problem.NotFound) {
			return nil, gone
		}
		return nil, err
	}
	if c.shape, err = credential.ShapeOf(c.cred); err != nil {
		return nil, err
	}
	if !c.shape.PerUser {
		return nil, gone
	}
	if c.toolset, err = c.ws.FindToolset(ctx, c.cred.ToolsetID); err != nil {
		return nil, err
	}
	tok, err := c.ws.OAuthToken(ctx, t.Credential, t.User.Key())
	if err != nil {
		return nil, err
	}
	version := uint64(0)
	if tok != nil {
		version = tok.Version
	}
	if version != t.Version {
		return nil, problem.New(problem.Conflict, "this login is not needed any more: it was done since the link was made").
			Fix("let your AI client call the tool again")
	}
	_, err = c.ws.OAuthLogin(ctx, userLoginPrefix+t.Nonce)
	if err == nil {
		return nil, problem.New(problem.NotFound, "this link was used before").Fix("let your AI client call the tool again; it gets a new link")
	}
	if !problem.Is(err, problem.NotFound) {
		return nil, err
	}
	return c, nil
}

// ShowUser is the page behind the link of a caller.
func (r *Room) ShowUser(ctx context.Context, text string) (page Page, err error) {
	c, err := r.readTicket(ctx, text)
	if err != nil {
		return page, err
	}
	names, err := accessNames(ctx, c.ws, c.toolset.ID)
	if err != nil {
		return page, err
	}
	where := credential.Host(cmp.Or(c.shape.Resource, c.shape.Issuer, c.shape.AuthorizationURL))
	row := func(name, value string) string {
		return "<dt>" + name + "</dt><dd>" + html.EscapeString(value) + "</dd>"
	}
	body := "<p>An AI client called a tool that works with an account of yours.</p><dl>" +
		row("Toolset", c.toolset.Name+" ("+c.toolset.Slug+")") + row("Account at", where) + row("Asked for by", describeUser(&c.ticket.User, names))
	if len(c.ticket.Scopes) > 0 {
		body += row("Permissions that are missing", strings.Join(c.ticket.Scopes, " "))
	}
	body += "</dl><p>Go on only if this is you, and you started this yourself just now: whoever calls under that name will act with the account that you log in with. " +
		"Close this page if somebody sent you the link.</p><form method=\"post\"><button type=\"submit\">Go on and log in</button></form>"
	return Page{"Log in to " + html.EscapeString(c.toolset.Name), body}, nil
}

// BeginUser uses a link up and sends the browser to the authorization server.
func (r *Room) BeginUser(w http.ResponseWriter, req *http.Request, text string) error {
	ctx := req.Context()
	if err := pressedHere(req); err != nil {
		return err
	}
	c, err := r.readTicket(ctx, text)
	if err != nil {
		return err
	}
	t := c.ticket
	cfg, found, err := r.loginConfig(ctx, c.cred, &c.shape, t.Scopes, false)
	if err != nil {
		return err
	}
	row := &store.OAuthLogin{ID: userLoginPrefix + t.Nonce, Purpose: store.LoginUser, CredentialID: c.cred.ID, ExpiresAt: store.Time{Time: r.o.Store.Now().Add(loginTimeout)}}
	browser, sum := newBrowser()
	page, err := r.start(safedial.WithHolder(ctx, c.toolset.ID), c.ws, row, &record{Toolset: c.toolset.ID, Client: found, Browser: sum, User: &t.User, Shape: c.cred.Shape}, cfg)
	if err != nil {
		return err
	}
	cookieOf(row.ID, cfg.RedirectURL).Set(w, browser, int(loginTimeout/time.Second))
	w.Header().Set("Referrer-Policy", "no-referrer") // the link is in the address
	http.Redirect(w, req, page, http.StatusSeeOther)
	return nil
}
