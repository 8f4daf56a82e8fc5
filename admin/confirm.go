package admin

import (
	"context"
	"crypto/subtle"
	"html"
	"net/http"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// confirmPath is below what the links of logins begin with that an operator began.
	confirmPath = "/oauth/confirm/"
	// maxConfirm is the longest end of such a link that is looked at, in bytes: an id
	// and a verifier.
	maxConfirm = 128
)

// unknownLogin is the answer to whatever belongs to no login. It does not say what
// is wrong.
func unknownLogin() *problem.Error {
	return problem.New(problem.NotFound, "login expired or already used").Fix("begin it again")
}

// waitingLogin is a login that an operator began and nobody confirmed yet.
type waitingLogin struct {
	id      string // of the credential or of the login; it begins the state
	ws      *store.Workspace
	pending *pendingLogin
	expires time.Time

	cred  *store.Credential // nil: of an MCP server that is no toolset yet
	token *store.OAuthToken // of cred

	row  *store.OAuthLogin // of such a server
	kept *keptLogin
}

// link makes the address of the page that a login is confirmed at. It is on the
// host that the authorization server sends the browser back to, which is the only
// one that gets the cookie.
func (p *pendingLogin) link(id, page string) string {
	p.Confirm, p.Page = oauth.NewVerifier(), page
	return strings.TrimSuffix(p.Redirect, callbackPath) + confirmPath + id + "." + p.Confirm
}

// serveConfirm is the page behind the link of a login that an operator began. GET
// shows what the login is for; only POST, which a person must cause, uses the link
// up and binds the login to the browser.
func (s *Server) serveConfirm(w http.ResponseWriter, r *http.Request) {
	s.serveLink(w, r, strings.TrimPrefix(r.URL.Path, confirmPath), s.showConfirm, s.confirmLogin)
}

// serveLink answers a page behind a link: show is for GET, press for POST, which only
// the button of the page sends.
func (s *Server) serveLink(w http.ResponseWriter, r *http.Request, text string, show, press func(http.ResponseWriter, *http.Request, string) error) {
	var err error
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		err = show(w, r, text)
	case http.MethodPost:
		err = press(w, r, text)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		s.writeProblem(w, r, statusProblem(http.StatusMethodNotAllowed, "the resource does not know the method "+safeMethod(r.Method)))
		return
	}
	if err != nil {
		if p := problemOf(err); p.Code == codeInternal {
			_ = s.fail(r.Context(), err) // logs it
		}
		s.callbackPage(w, "", err)
	}
}

// waiting finds the login of a link. Whatever is wrong with the link is
// [unknownLogin].
func (s *Server) waiting(ctx context.Context, text string) (*waitingLogin, error) {
	id, secret, ok := strings.Cut(text, ".")
	if !ok || len(text) > maxConfirm {
		return nil, unknownLogin()
	}
	find := s.waitingOfCredential
	if strings.HasPrefix(id, loginPrefix) {
		find = s.waitingOfServer
	}
	l, err := find(ctx, id)
	switch {
	case problem.Is(err, problem.NotFound):
		return nil, unknownLogin()
	case err != nil:
		return nil, err
	case !l.pending.confirmedBy(secret) || !s.now().Before(l.expires):
		return nil, unknownLogin()
	}
	return l, nil
}

// confirmedBy reports whether a link with this secret confirms the login, which
// one does once.
func (p *pendingLogin) confirmedBy(secret string) bool {
	return p.Confirm != "" && subtle.ConstantTimeCompare([]byte(p.Confirm), []byte(secret)) == 1
}

func (s *Server) waitingOfCredential(ctx context.Context, id string) (*waitingLogin, error) {
	cred, err := s.o.Store.SealedCredential(ctx, id)
	if err != nil {
		return nil, err
	}
	l := &waitingLogin{id: id, cred: cred, ws: s.o.Store.Workspace(cred.WorkspaceID)}
	if l.token, err = l.ws.OAuthToken(ctx, id); err != nil {
		return nil, err
	}
	if l.token == nil || len(l.token.Login) == 0 {
		return nil, unknownLogin()
	}
	l.expires = l.token.LoginExpires.Time
	l.pending, err = s.openPending(l.token)
	return l, err
}

func (s *Server) waitingOfServer(ctx context.Context, id string) (*waitingLogin, error) {
	row, err := s.o.Store.AnyOAuthLogin(ctx, id)
	if err != nil {
		return nil, err
	}
	kept, err := s.openLogin(row)
	if err != nil {
		return nil, err
	}
	return &waitingLogin{
		id: id, ws: s.o.Store.Workspace(row.WorkspaceID), pending: &kept.pendingLogin, expires: row.ExpiresAt.Time, row: row, kept: kept,
	}, nil
}

func (s *Server) showConfirm(w http.ResponseWriter, r *http.Request, text string) error {
	ctx := r.Context()
	l, err := s.waiting(ctx, text)
	if err != nil {
		return err
	}
	where := hostOf(l.pending.Page)
	rows := [][2]string{{"Authorization server", where}}
	acts := "The toolset that is made with this login"
	if l.cred != nil {
		ts, err := l.ws.FindToolset(ctx, l.cred.ToolsetID)
		if err != nil {
			return err
		}
		rows = append(rows, [2]string{"Toolset", ts.Name + " (" + ts.Slug + ")"}, [2]string{"Connector", l.cred.Connector}, [2]string{"Credential", l.cred.ID})
		acts = "Everybody who may call this toolset"
	} else {
		rows = append(rows, [2]string{"MCP server", l.kept.URL}, [2]string{"Login", l.id})
	}
	var list strings.Builder
	for _, row := range rows {
		list.WriteString("<dt>" + row[0] + "</dt><dd>" + html.EscapeString(row[1]) + "</dd>")
	}
	body := "<p>An operator of Sluice began a login.</p><dl>" + list.String() + "</dl><p>Go on only if you began it yourself just now. " + acts + " will act with the account that you log in with. " +
		"Close this page if somebody sent you the link.</p><form method=\"post\"><button type=\"submit\">Go on and log in</button></form>"
	s.page(w, http.StatusOK, "Log in at "+html.EscapeString(where), body)
	return nil
}

// confirmLogin uses a link up, binds the login to the browser and sends it to the
// authorization server.
func (s *Server) confirmLogin(w http.ResponseWriter, r *http.Request, text string) error {
	if err := pressedHere(r); err != nil {
		return err
	}
	ctx := r.Context()
	l, err := s.waiting(ctx, text)
	if err != nil {
		return err
	}
	page, secret := l.pending.Page, l.pending.Confirm
	value, sum := newBrowser()
	if l.cred != nil {
		err = s.bindCredentialLogin(ctx, l, secret, sum)
	} else {
		err = s.bindServerLogin(ctx, l, sum)
	}
	if err != nil {
		return err
	}
	cookieOf(l.id, l.pending.Redirect).set(w, value, max(1, int(l.expires.Sub(s.now())/time.Second)))
	w.Header().Set("Referrer-Policy", "no-referrer") // the link is in the address
	http.Redirect(w, r, page, http.StatusSeeOther)
	return nil
}

// bind makes a login that of a browser.
func (p *pendingLogin) bind(sum []byte) { p.Confirm, p.Page, p.Browser = "", "", sum }

// bindCredentialLogin fails like an unknown link when another browser was quicker.
func (s *Server) bindCredentialLogin(ctx context.Context, l *waitingLogin, secret string, sum []byte) error {
	return l.ws.Update(ctx, func(tx *store.Tx) error {
		err := s.editLogin(ctx, tx, l.id, func(row *store.OAuthToken, p *pendingLogin) (bool, error) {
			if !p.confirmedBy(secret) {
				return false, unknownLogin()
			}
			p.bind(sum)
			return true, nil
		})
		if err != nil {
			return err
		}
		rec := request.Audit(ctx, "authentication.confirm", l.cred.ToolsetID)
		rec.ActorType, rec.ActorID = "token", l.pending.Token
		return tx.Audit(ctx, rec)
	})
}

func (s *Server) bindServerLogin(ctx context.Context, l *waitingLogin, sum []byte) error {
	l.pending.bind(sum)
	err := l.ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SealOAuthLogin(ctx, s.o.Keyring, l.row, secrets.New(store.JSON(l.kept))); err != nil {
			return err
		}
		rec := request.Audit(ctx, "mcp.login.confirm", l.id)
		rec.ActorType, rec.ActorID = "token", l.pending.Token
		return tx.Audit(ctx, rec)
	})
	if problem.Is(err, problem.Conflict) {
		return unknownLogin()
	}
	return err
}
