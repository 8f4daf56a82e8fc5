package admin

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// callbackPath is where authorization servers send a person back to.
	callbackPath = "/oauth/callback"
	// loginTimeout is how long a person may take to log in: finding a second factor
	// takes minutes. RFC 6749 §4.1.2 wants the code itself used within ten.
	loginTimeout = 10 * time.Minute
	// maxCallback bounds what comes back: a code has some hundred bytes, one with
	// claims in it 4 KB.
	maxCallback = 16 << 10
)

// pendingLogin is what is sealed while a person logs in.
type pendingLogin struct {
	State    string `json:"state"`
	Verifier string `json:"verifier"`
	Redirect string `json:"redirect"`
	Token    string `json:"token"` // id of the API token that began it
	// Confirm is the secret of the link that leads to Page, the page of the
	// authorization server; both are empty once somebody confirmed the login.
	Confirm string `json:"confirm,omitempty"`
	Page    string `json:"page,omitempty"`
	// Browser is the SHA-256 of the cookie of the browser that confirmed it.
	Browser []byte `json:"browser,omitempty"`
	// Client is who logs in, when it was found or registered.
	Client *foundClient `json:"client,omitempty"`
}

// Authorize asks for a login.
type Authorize struct {
	CredentialID string   `json:"credentialId,omitempty" maxLength:"64" doc:"Which item of a list. Default: the only one that a person logs in for."`
	Scopes       []string `json:"scopes,omitempty" maxItems:"200" doc:"To ask for beyond the usual ones, as a server that answers insufficient_scope wants. Where the authorization server was found from the resource, later logins ask for them too."`
}

// Authorization is a login that waits for a person.
type Authorization struct {
	CredentialID     string    `json:"credentialId"`
	AuthorizationURL string    `json:"authorizationUrl" doc:"Open it in a browser: a page of this listener that says what the login is for and leads on to the authorization server, once. The login must end in the browser in which it was confirmed there."`
	RedirectURL      string    `json:"redirectUrl" doc:"The client at the authorization server must allow it."`
	Registered       bool      `json:"registered,omitempty" doc:"The client was registered automatically, with this redirect."`
	ExpiresAt        time.Time `json:"expiresAt"`
}

type authorizeInput struct {
	ToolsetInput
	Body *Authorize
}

type authorizeConnectorInput struct {
	ToolsetConnectorInput
	Body *Authorize
}

func (s *Server) registerAuthorize(path, ofConnector string, tags []string) {
	authorize := func(ctx context.Context, id, connector string, in *Authorize) (*bodyOutput[Authorization], error) {
		want := Authorize{}
		if in != nil {
			want = *in
		}
		if err := checkScopes(want.Scopes); err != nil {
			return nil, err
		}
		a, err := s.beginLogin(ctx, id, connector, &want)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[Authorization]{*a}, nil
	}
	register(s, huma.Operation{
		OperationID: "authorize-connector-authentication", Method: http.MethodPost, Path: ofConnector + "/authorize",
		Summary: "Begin a login at the authorization server of a connector", Tags: tags,
	}, func(ctx context.Context, in *authorizeConnectorInput) (*bodyOutput[Authorization], error) {
		return authorize(ctx, in.ID, in.Connector, in.Body)
	})
	register(s, huma.Operation{
		OperationID: "authorize-authentication", Method: http.MethodPost, Path: path + "/authorize", Summary: "Begin a login at the authorization server", Tags: tags,
		Description: "For the grant authorization_code. The answer names a page of this listener, where a person confirms the login; it leads to the authorization server, which " +
			"sends the same browser back to " + callbackPath + ". Read the authentication configuration to see the outcome in state and lastError. A new login replaces one that waits.",
	}, func(ctx context.Context, in *authorizeInput) (*bodyOutput[Authorization], error) {
		return authorize(ctx, in.ID, "", in.Body)
	})
	s.registerUsers(path, tags)
}

// loginCredential finds the credential that a person logs in for.
func loginCredential(creds []draftCredential, id string) (*draftCredential, *shape, error) {
	var found *draftCredential
	var of shape
	for i := range creds {
		sh, err := shapeOf(&creds[i].row)
		if err != nil {
			return nil, nil, err
		}
		if sh.Grant != oauth.AuthorizationCode || id != "" && creds[i].row.ID != id {
			continue
		}
		if found != nil {
			return nil, nil, problem.New(problem.InvalidArgument, "the toolset has several credentials that a person logs in for").Fix("name one by credentialId")
		}
		found, of = &creds[i], sh
	}
	if found == nil {
		return nil, nil, problem.New(problem.InvalidArgument, "the toolset has no credential that a person logs in for").
			Fix("configure authType oauth2 or oidc with the grant authorization_code")
	}
	return found, &of, nil
}

// checkScopes refuses scopes that are none.
func checkScopes(scopes []string) error {
	for i, scope := range scopes {
		if !oauth.ValidScope(scope) {
			return problem.New(problem.InvalidArgument, "a scope has 1 to %d visible characters without quotes and backslashes", maxScopeText).At("", 0, 0, fmt.Sprintf("/scopes/%d", i))
		}
	}
	return nil
}

// loginConfig is the client that a person logs in with, found or registered when
// the configuration leaves it open; found is nil otherwise.
func (s *Server) loginConfig(ctx context.Context, row *store.Credential, sh *shape, more []string, anew bool) (cfg *oauth.Config, found *foundClient, err error) {
	if s.o.OAuth == nil {
		return nil, nil, problem.New(problem.Unavailable, "this node asks no authorization servers")
	}
	ctx = safedial.WithHolder(ctx, row.ToolsetID)
	if sh.discovers() {
		server, err := s.ofServer(ctx, row)
		if err != nil {
			return nil, nil, err
		}
		found, err = s.clientFor(ctx, row, search{shape: sh, server: server, redirect: s.callbackURL(ctx), more: more, anew: anew})
		if err != nil {
			return nil, nil, err
		}
	}
	cfg, err = s.oauthConfig(row, sh, found)
	if err != nil {
		return nil, nil, err
	}
	if found == nil {
		cfg.RedirectURL = s.callbackURL(ctx)
		cfg.Scopes = oauth.ValidScopes(append(slices.Clone(cfg.Scopes), more...))
	}
	return cfg, found, nil
}

// ofServer reports whether a credential is for an MCP server.
func (s *Server) ofServer(ctx context.Context, row *store.Credential) (bool, error) {
	ws := s.o.Store.Workspace(row.WorkspaceID)
	ts, err := ws.FindToolset(ctx, row.ToolsetID)
	if err != nil {
		return false, err
	}
	rows, err := ws.ToolsetConnectors(ctx, ts)
	if err != nil {
		return false, err
	}
	for i := range rows {
		if rows[i].Name == row.Connector {
			return rows[i].SourceKind == kindMCP, nil
		}
	}
	return false, nil
}

func (s *Server) beginLogin(ctx context.Context, id, connector string, want *Authorize) (*Authorization, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	d, err := outline(ctx, ws, ts)
	if err != nil {
		return nil, err
	}
	if err := d.focus(connector); err != nil {
		return nil, err
	}
	c, sh, err := loginCredential(d.creds, want.CredentialID)
	if err != nil {
		return nil, err
	}
	// A registered client whose last login never came back may be unknown to the
	// server by now: it would show that to the person only.
	anew := c.token != nil && len(c.token.Login) > 0
	cfg, found, err := s.loginConfig(ctx, &c.row, sh, want.Scopes, anew)
	if err != nil {
		return nil, err
	}
	// The credential in the state finds the login; the rest of it cannot be guessed.
	p := pendingLogin{
		State: c.row.ID + "." + oauth.NewVerifier(), Verifier: oauth.NewVerifier(), Redirect: cfg.RedirectURL,
		Token: request.Of(ctx).TokenID(), Client: found,
	}
	page, err := s.o.OAuth.AuthorizationURL(safedial.WithHolder(ctx, ts.ID), cfg, p.State, p.Verifier)
	if err != nil {
		return nil, err
	}
	link := p.link(c.row.ID, page)
	expires := store.Time{Time: ws.Now().Add(loginTimeout)}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.OAuthToken(ctx, c.row.ID)
		if err != nil {
			return err
		}
		if row == nil {
			row = &store.OAuthToken{CredentialID: c.row.ID}
			row.WorkspaceID = ws.ID()
		}
		row.LoginExpires = expires
		if err := s.sealPending(row, &p); err != nil {
			return err
		}
		if row.Error != "" {
			row.Error, row.ErrorAt = "", store.Time{} // of the login before
		}
		if err := tx.SaveOAuthToken(ctx, row); err != nil {
			return err
		}
		return tx.Audit(ctx, request.Audit(ctx, "authentication.authorize", ts.ID))
	})
	if err != nil {
		return nil, err
	}
	return &Authorization{
		CredentialID: c.row.ID, AuthorizationURL: link, RedirectURL: p.Redirect, Registered: found != nil && found.Registered, ExpiresAt: expires.Time,
	}, nil
}

// serveCallback is where a browser comes back to. The browser that confirmed a
// pending login may finish it with its state, once; there is no token in a browser.
func (s *Server) serveCallback(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		s.writeProblem(w, r, statusProblem(http.StatusMethodNotAllowed, "the resource does not know the method "+safeMethod(r.Method)))
		return
	}
	if len(r.URL.RawQuery) > maxCallback {
		s.callbackPage(w, "", problem.New(problem.TooLarge, "the answer of the authorization server is too long"))
		return
	}
	q := r.URL.Query()
	var err error
	done := loggedIn
	if strings.HasPrefix(q.Get("state"), loginPrefix) {
		done, err = s.finishOther(w, r, q)
	} else {
		err = s.finishLogin(w, r, q)
	}
	if err != nil {
		p := problemOf(err)
		if p.Code == codeInternal {
			_ = s.fail(r.Context(), err) // logs it
		} else {
			s.log.LogAttrs(r.Context(), slog.LevelWarn, "a login at an authorization server did not succeed",
				slog.String("request_id", request.Of(r.Context()).ID), slog.Any("error", err))
		}
	}
	s.callbackPage(w, done, err)
}

// loggedIn is what a person reads after a login.
const loggedIn = "Sluice has the access it asked for. You can close this window."

// callbackPage is what the person sees.
func (s *Server) callbackPage(w http.ResponseWriter, text string, err error) {
	title, status := "You are logged in", http.StatusOK
	if err != nil {
		p := problemOf(err)
		title, status = "The login did not succeed", p.Status
		text = p.Detail + ". " + p.Remedy
	}
	s.page(w, status, title, "<p>"+html.EscapeString(text)+"</p>")
}

// page shows a person something. body is HTML.
func (s *Server) page(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer") // the code is in the address
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>"+title+" · Sluice</title><h1>"+title+"</h1>"+
		body+"</html>\n") // the client is gone when this fails
}

func (s *Server) finishLogin(w http.ResponseWriter, r *http.Request, q url.Values) error {
	ctx := r.Context()
	id, _, ok := strings.Cut(q.Get("state"), ".")
	if !ok || len(id) > 64 {
		return unknownLogin()
	}
	cred, err := s.o.Store.SealedCredential(ctx, id)
	switch {
	case problem.Is(err, problem.NotFound):
		return unknownLogin()
	case err != nil:
		return err
	}
	ws := s.o.Store.Workspace(cred.WorkspaceID)
	p, err := s.takeLogin(r, ws, cred, q.Get("state"))
	if err != nil {
		return err
	}
	cookieOf(id, p.Redirect).set(w, secrets.Secret{}, -1)
	sh, err := shapeOf(cred)
	if err != nil {
		return err
	}
	tok, err := s.exchange(ctx, cred, &sh, p, q)
	if err != nil {
		s.noteLogin(ctx, ws, cred, p, err)
		return err
	}
	bound, err := s.boundOf(ctx, cred)
	if err != nil {
		return err
	}
	row := &store.OAuthToken{CredentialID: id}
	if _, err := s.keepToken(ctx, ws, holder{credential: id}, row, tok, p.Client, bound.Call, true); err != nil {
		s.noteLogin(ctx, ws, cred, p, err)
		return err
	}
	s.noteLogin(ctx, ws, cred, p, nil)
	return nil
}

// takeLogin takes a pending login out of the store, so that it can be finished
// only once. It fails with [unknownLogin] when there is none with this state, and
// with [problem.Forbidden], which leaves it, when another browser confirmed it.
func (s *Server) takeLogin(r *http.Request, ws *store.Workspace, cred *store.Credential, state string) (*pendingLogin, error) {
	ctx := r.Context()
	var taken *pendingLogin
	err := ws.Update(ctx, func(tx *store.Tx) error {
		return s.editLogin(ctx, tx, cred.ID, func(row *store.OAuthToken, p *pendingLogin) (bool, error) {
			if subtle.ConstantTimeCompare([]byte(p.State), []byte(state)) != 1 {
				return false, unknownLogin()
			}
			if !cookieOf(cred.ID, p.Redirect).heldBy(r, p.Browser) {
				return false, refuseBrowser(r, ws.ID(), "authentication.login", cred.ToolsetID,
					"begin it again and open its link in this browser; if somebody sent you here, close the page")
			}
			row.Login = nil // LoginExpires stays until the outcome is known
			taken = p
			return false, nil
		})
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// editLogin changes the pending login of a credential and what belongs to it. seal
// says that the login itself was changed. It fails with [unknownLogin] when there
// is none or its time is over.
func (s *Server) editLogin(ctx context.Context, tx *store.Tx, id string, edit func(*store.OAuthToken, *pendingLogin) (seal bool, err error)) error {
	row, err := tx.OAuthToken(ctx, id)
	if err != nil {
		return err
	}
	if row == nil || len(row.Login) == 0 || !tx.Now().Before(row.LoginExpires.Time) {
		return unknownLogin()
	}
	p, err := s.openPending(row)
	if err != nil {
		return err
	}
	seal, err := edit(row, p)
	if err == nil && seal {
		err = s.sealPending(row, p)
	}
	if err != nil {
		return err
	}
	return tx.SaveOAuthToken(ctx, row)
}

// openPending opens the pending login of a credential.
func (s *Server) openPending(row *store.OAuthToken) (*pendingLogin, error) {
	text, err := s.o.Keyring.Open(row.LoginRecord(), row.Login)
	if err != nil {
		return nil, fmt.Errorf("opening the login of credential %s: %w", row.CredentialID, err)
	}
	p := new(pendingLogin)
	if json.Unmarshal([]byte(text.Reveal()), p) != nil { // its error would quote it
		return nil, fmt.Errorf("the login of credential %s is not in the form it was written", row.CredentialID)
	}
	return p, nil
}

// sealPending puts a pending login into its row, whose LoginExpires it is sealed for.
func (s *Server) sealPending(row *store.OAuthToken, p *pendingLogin) (err error) {
	if row.Login, err = s.o.Keyring.Seal(row.LoginRecord(), secrets.New(store.JSON(p))); err != nil {
		return fmt.Errorf("sealing the login of credential %s: %w", row.CredentialID, err)
	}
	return nil
}

// exchange turns the answer of the login page into a token.
func (s *Server) exchange(ctx context.Context, cred *store.Credential, sh *shape, p *pendingLogin, q url.Values) (*oauth.Token, error) {
	cfg, err := s.oauthConfig(cred, sh, p.Client)
	if err != nil {
		return nil, err
	}
	cfg.RedirectURL = p.Redirect
	tok, err := s.exchangeWith(safedial.WithHolder(ctx, cred.ToolsetID), cfg, p, q)
	if err != nil && oauth.InvalidClient(err) {
		if dropped := s.dropClient(ctx, s.o.Store.Workspace(cred.WorkspaceID), cred.ID, p.Client); dropped != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "a client that is not known any more was not forgotten", slog.String("credential", cred.ID), slog.Any("error", dropped))
		}
	}
	return tok, err
}

func (s *Server) exchangeWith(ctx context.Context, cfg *oauth.Config, p *pendingLogin, q url.Values) (*oauth.Token, error) {
	if err := s.o.OAuth.CheckIssuer(ctx, cfg, q.Get("iss")); err != nil {
		return nil, err
	}
	if code := q.Get("error"); code != "" {
		return nil, oauth.Refusal(code, q.Get("error_description"))
	}
	if q.Get("code") == "" {
		return nil, problem.New(problem.UpstreamMalformed, "the authorization server sent neither a code nor an error")
	}
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	tok, err := s.o.OAuth.Exchange(ctx, cfg, q.Get("code"), p.Verifier)
	if err == nil && !tok.Expires.IsZero() && !s.now().Before(tok.Expires) {
		err = problem.New(problem.UpstreamMalformed, "the access token of the authorization server has ended already").Fix("check the clocks")
	}
	return tok, err
}

// noteLogin records how a login ended, for who waits for it and for the audit log.
func (s *Server) noteLogin(ctx context.Context, ws *store.Workspace, cred *store.Credential, p *pendingLogin, cause error) {
	err := ws.Update(ctx, func(tx *store.Tx) error {
		rec := request.Audit(ctx, "authentication.login", cred.ToolsetID)
		rec.ActorType, rec.ActorID = "token", p.Token
		if cause != nil {
			rec.Outcome, rec.Reason = request.OutcomeFailed, request.Detail(cause)
			row, err := tx.OAuthToken(ctx, cred.ID)
			if err != nil {
				return err
			}
			if row != nil {
				row.Error, row.ErrorAt, row.LoginExpires = request.Detail(cause), store.Time{Time: tx.Now()}, store.Time{}
				if err := tx.SaveOAuthToken(ctx, row); err != nil {
					return err
				}
			}
		}
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the outcome of a login was not recorded", slog.String("credential", cred.ID), slog.Any("error", err))
	}
}
