package login

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

const (
	// CallbackPath is where authorization servers send a person back to.
	CallbackPath = "/oauth/callback"
	// loginTimeout is how long a person may take to log in: finding a second factor
	// takes minutes. RFC 6749 §4.1.2 wants the code itself used within ten.
	loginTimeout = 10 * time.Minute
	// MaxCallback bounds what comes back: a code has some hundred bytes, one with
	// claims in it 4 KB.
	MaxCallback = 16 << 10
)

// sourceMCP is the kind of a connector whose source is an MCP server.
const sourceMCP = "mcp"

// record is what is sealed of a login in a browser, whatever its tokens are for.
type record struct {
	State    string       `json:"state"` // empty: it came back
	Verifier secrets.Wire `json:"verifier"`
	Redirect string       `json:"redirect"`
	Token    string       `json:"token"`             // id of the API token that began it
	Toolset  string       `json:"toolset,omitempty"` // id of the toolset, if it is there
	// Confirm is the secret of the link that leads to Page, the page of the
	// authorization server; both are empty once somebody confirmed the login.
	Confirm secrets.Wire `json:"confirm,omitzero"`
	Page    string       `json:"page,omitempty"`
	// Browser is the SHA-256 of the cookie of the browser that confirmed it.
	Browser []byte `json:"browser,omitempty"`
	// Client is who logs in, when it was found or registered.
	Client *credential.Client `json:"client,omitempty"`

	// Shape is the configuration of the credential when the login began: a code goes to no
	// other authorization server than the one that gives it.
	Shape string `json:"shape,omitempty"`

	User   *registry.User `json:"user,omitempty"` // of a single caller
	Server *serverLogin   `json:"server,omitempty"`
}

// Steps of a login.
const (
	loginBegun = iota
	loginConfirmed
	loginFinished
)

// loginActions name the steps of a login in the audit log, by its purpose.
var loginActions = map[string][3]string{
	store.LoginCredential: {"authentication.authorize", "authentication.confirm", "authentication.login"},
	store.LoginServer:     {"mcp.login.begin", "mcp.login.confirm", "mcp.login"},
	store.LoginUser:       {"authentication.user.authorize", "", "authentication.user.login"},
}

// resource is what the audit log says that a login is of.
func (l *record) resource(row *store.OAuthLogin) string {
	if row.Purpose == store.LoginServer {
		return row.ID
	}
	return l.Toolset
}

// audit makes the record of a step of a login.
func (l *record) audit(ctx context.Context, row *store.OAuthLogin, step int) *store.Audit {
	rec := request.Audit(ctx, loginActions[row.Purpose][step], l.resource(row))
	switch {
	case l.User != nil:
		rec.ActorType, rec.ActorID = "user", request.ClipText(l.User.ID, 200)
	case step != loginBegun: // a browser shows no token
		rec.ActorType, rec.ActorID = request.ActorType(l.Token), l.Token
	}
	return rec
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

// loginConfig is the client that a person logs in with, found or registered when
// the configuration leaves it open; found is nil otherwise.
func (r *Room) loginConfig(ctx context.Context, row *store.Credential, sh *credential.Shape, more []string, anew bool) (cfg *oauth.Config, found *credential.Client, err error) {
	if r.o.OAuth == nil {
		return nil, nil, problem.New(problem.Unavailable, "this node does not call authorization servers")
	}
	ctx = safedial.WithHolder(ctx, row.ToolsetID)
	if sh.Discovers() {
		server, err := r.Clients.ofServer(ctx, row)
		if err != nil {
			return nil, nil, err
		}
		found, err = r.Clients.clientFor(ctx, row, search{shape: sh, server: server, redirect: r.Clients.CallbackURL(ctx), more: more, anew: anew})
		if err != nil {
			return nil, nil, err
		}
	}
	cfg, err = r.Secrets.oauthConfig(row, sh, found)
	if err != nil {
		return nil, nil, err
	}
	if found == nil {
		cfg.RedirectURL = r.Clients.CallbackURL(ctx)
		cfg.Scopes = oauth.ValidScopes(append(slices.Clone(cfg.Scopes), more...))
	}
	return cfg, found, nil
}

// ofServer reports whether a credential is for an MCP server.
func (cs *Clients) ofServer(ctx context.Context, row *store.Credential) (bool, error) {
	ws := cs.o.Store.Workspace(row.WorkspaceID)
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
			return rows[i].SourceKind == sourceMCP, nil
		}
	}
	return false, nil
}

// Begin begins a login for a credential of a toolset's connector; creds are all of its.
func (r *Room) Begin(ctx context.Context, ws *store.Workspace, ts *store.Toolset, creds []credential.Draft, want *Authorize) (*Authorization, error) {
	c, sh, err := credential.ForLogin(creds, want.CredentialID)
	if err != nil {
		return nil, err
	}
	// A registered client whose last login never came back may be unknown to the
	// server by now: it would show that to the person only.
	cfg, found, err := r.loginConfig(ctx, &c.Row, sh, want.Scopes, c.Login != nil)
	if err != nil {
		return nil, err
	}
	row := &store.OAuthLogin{ID: r.o.Store.NewID("login"), Purpose: store.LoginCredential, CredentialID: c.Row.ID, ExpiresAt: store.Time{Time: ws.Now().Add(loginTimeout)}}
	l := &record{Token: request.Of(ctx).ActorID(), Toolset: ts.ID, Client: found, Shape: c.Row.Shape}
	link, err := r.start(safedial.WithHolder(ctx, ts.ID), ws, row, l, cfg)
	if err != nil {
		return nil, err
	}
	return &Authorization{
		CredentialID: c.Row.ID, AuthorizationURL: link, RedirectURL: l.Redirect, Registered: found != nil && found.Registered, ExpiresAt: row.ExpiresAt.Time,
	}, nil
}

// start writes a new login and returns the page to open: the one of the authorization
// server for a caller, who confirmed the login already, else that of its link.
func (r *Room) start(ctx context.Context, ws *store.Workspace, row *store.OAuthLogin, l *record, cfg *oauth.Config) (string, error) {
	verifier := oauth.NewVerifier()
	row.State, l.Verifier, l.Redirect = store.LoginPending, secrets.Wire{Secret: secrets.New(verifier)}, cfg.RedirectURL
	// The id in the state finds the login; the rest of it cannot be guessed.
	l.State = row.ID + "." + oauth.NewVerifier()
	page, err := r.o.OAuth.AuthorizationURL(ctx, cfg, l.State, verifier)
	if err != nil {
		return "", err
	}
	if l.User == nil {
		page = l.link(row.ID, page)
	}
	rec := l.audit(ctx, row, loginBegun)
	if l.Server != nil {
		rec.After = store.JSON(map[string]string{"url": l.Server.URL})
	}
	return page, ws.Update(ctx, func(tx *store.Tx) error {
		if row.Purpose == store.LoginCredential {
			if err := replaceLogin(ctx, tx, row.CredentialID); err != nil {
				return err
			}
		}
		if err := tx.SealOAuthLogin(ctx, r.o.Keyring, row, secrets.New(store.JSON(l))); err != nil {
			return err
		}
		return tx.Audit(ctx, rec)
	})
}

// replaceLogin forgets the login before of a credential, and why it failed.
func replaceLogin(ctx context.Context, tx *store.Tx, credential string) error {
	if err := tx.DeleteCredentialLogin(ctx, credential); err != nil {
		return err
	}
	tok, err := tx.OAuthToken(ctx, credential, "")
	if err != nil || tok == nil || tok.Error == "" {
		return err
	}
	tok.Error, tok.ErrorAt = "", store.Time{}
	return tx.SaveOAuthToken(ctx, tok)
}

// openLogin opens what is sealed of a login.
func (r *Room) openLogin(row *store.OAuthLogin) (*record, error) {
	text, err := r.o.Keyring.Open(row.Record(), row.Sealed)
	if err != nil {
		return nil, fmt.Errorf("opening login %s: %w", row.ID, err)
	}
	l := new(record)
	if json.Unmarshal([]byte(text.Reveal()), l) != nil { // its error would quote it
		return nil, fmt.Errorf("login %s is not in the form it was written", row.ID)
	}
	return l, nil
}

// What a person reads after a login.
const (
	loggedIn     = "Sluice has the access it asked for. You can close this window."
	userLoggedIn = "Your AI client can now work with your account. Close this window and let it call the tool again."
)

// Finish finishes the login that a browser brings back, and returns what the person
// reads.
func (r *Room) Finish(w http.ResponseWriter, req *http.Request, q url.Values) (string, error) {
	ctx := req.Context()
	id, _, ok := strings.Cut(q.Get("state"), ".")
	if !ok || len(id) > 64 {
		return "", unknownLogin()
	}
	row, err := r.o.Store.AnyOAuthLogin(ctx, id)
	if problem.Is(err, problem.NotFound) || err == nil && row.State != store.LoginPending {
		return "", unknownLogin()
	}
	if err != nil {
		return "", err
	}
	l, err := r.openLogin(row)
	if err != nil {
		return "", err
	}
	if l.State == "" || subtle.ConstantTimeCompare([]byte(l.State), []byte(q.Get("state"))) != 1 {
		return "", unknownLogin()
	}
	cookie := cookieOf(row.ID, l.Redirect)
	if !cookie.heldBy(req, l.Browser) {
		remedy := "begin it again and open its link in this browser; if somebody sent you here, close the page"
		if l.User != nil {
			remedy = "open the link that your AI client gave you, in this browser; if somebody sent you here, close the page"
		}
		return "", refuseBrowser(req, row.WorkspaceID, loginActions[row.Purpose][loginFinished], l.resource(row), remedy)
	}
	// Taken before anything is asked, so that it can be finished only once.
	ws := r.o.Store.Workspace(row.WorkspaceID)
	l.State = ""
	if err := r.sealAgain(ctx, ws, row, l, nil); err != nil {
		return "", err
	}
	cookie.Set(w, secrets.Secret{}, -1)
	cause := r.complete(ctx, ws, row, l, q)
	if err := r.noteLogin(ctx, ws, row, l, cause); err != nil {
		if cause == nil && l.Server != nil { // its tokens are in the row
			return "", err
		}
		r.o.Log.LogAttrs(ctx, slog.LevelWarn, "the outcome of a login was not recorded", slog.String("login", row.ID), slog.Any("error", err))
	}
	if l.User != nil {
		return userLoggedIn, cause
	}
	return loggedIn, cause
}

// sealAgain writes a login that was read. It fails with [unknownLogin] when somebody
// else was faster.
func (r *Room) sealAgain(ctx context.Context, ws *store.Workspace, row *store.OAuthLogin, l *record, rec *store.Audit) error {
	err := ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SealOAuthLogin(ctx, r.o.Keyring, row, secrets.New(store.JSON(l))); err != nil || rec == nil {
			return err
		}
		return tx.Audit(ctx, rec)
	})
	if problem.Is(err, problem.Conflict) {
		return unknownLogin()
	}
	return err
}

// complete gets the tokens of a login that came back and keeps them where they belong:
// with the credential, or of a server that is not a toolset yet in the login.
func (r *Room) complete(ctx context.Context, ws *store.Workspace, row *store.OAuthLogin, l *record, q url.Values) error {
	if l.Server != nil {
		tok, err := r.exchangeWith(safedial.WithAddresses(ctx, l.Server.Seen), l.config(), l, q)
		if err != nil {
			return err
		}
		tokens := credential.TokensOf(tok, r.o.Store.Now(), l.Client)
		if l.Server.Tokens = &tokens; !tok.Expires.IsZero() {
			l.Server.Expires = tok.Expires.Unix()
		}
		return nil
	}
	cred, err := ws.CredentialByID(ctx, row.CredentialID)
	if err != nil {
		return err
	}
	if cred.Shape != l.Shape {
		return problem.New(problem.Conflict, "the authentication of the toolset was changed while you logged in").Fix("log in again")
	}
	sh, err := credential.ShapeOf(cred)
	if err != nil {
		return err
	}
	tok, err := r.exchange(ctx, cred, &sh, l, q)
	if err != nil {
		return err
	}
	bound, err := r.Origins.Of(ctx, cred)
	if err != nil {
		return err
	}
	_, err = r.Secrets.keepToken(ctx, ws, cred, tokenOf(cred.ID, l.User), tok, l.Client, bound.Call, true)
	return err
}

// noteLogin records how a login ended, for whoever waits for it and for the audit log. The
// record of a caller's login stays to its end, so that its link cannot be used again.
func (r *Room) noteLogin(ctx context.Context, ws *store.Workspace, row *store.OAuthLogin, l *record, cause error) error {
	rec := l.audit(ctx, row, loginFinished)
	if row.State = store.LoginDone; cause != nil {
		row.State, row.Error = store.LoginFailed, request.Detail(cause)
		rec.Outcome, rec.Reason = request.OutcomeFailed, row.Error
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		var err error
		if row.Purpose == store.LoginCredential {
			err = noteCredentialLogin(ctx, tx, row)
		} else {
			err = tx.SealOAuthLogin(ctx, r.o.Keyring, row, secrets.New(store.JSON(l)))
		}
		if err != nil {
			return err
		}
		return tx.Audit(ctx, rec)
	})
}

// noteCredentialLogin keeps with the tokens of a credential why a login failed.
func noteCredentialLogin(ctx context.Context, tx *store.Tx, row *store.OAuthLogin) error {
	if err := tx.DeleteOAuthLogin(ctx, row.ID); err != nil || row.Error == "" {
		return err
	}
	tok, err := tx.OAuthToken(ctx, row.CredentialID, "")
	if err != nil {
		return err
	}
	if tok == nil {
		tok = tokenOf(row.CredentialID, nil)
	}
	tok.Error, tok.ErrorAt = row.Error, store.Time{Time: tx.Now()}
	return tx.SaveOAuthToken(ctx, tok)
}

// exchange turns the answer of the login page into a token.
func (r *Room) exchange(ctx context.Context, cred *store.Credential, sh *credential.Shape, p *record, q url.Values) (*oauth.Token, error) {
	cfg, err := r.Secrets.oauthConfig(cred, sh, p.Client)
	if err != nil {
		return nil, err
	}
	cfg.RedirectURL = p.Redirect
	tok, err := r.exchangeWith(safedial.WithHolder(ctx, cred.ToolsetID), cfg, p, q)
	if err != nil && oauth.InvalidClient(err) {
		if dropped := r.Clients.dropClient(ctx, r.o.Store.Workspace(cred.WorkspaceID), cred.ID, p.Client); dropped != nil {
			r.o.Log.LogAttrs(ctx, slog.LevelWarn, "a client that is not known any more was not forgotten", slog.String("credential", cred.ID), slog.Any("error", dropped))
		}
	}
	return tok, err
}

func (r *Room) exchangeWith(ctx context.Context, cfg *oauth.Config, p *record, q url.Values) (*oauth.Token, error) {
	if err := r.o.OAuth.CheckIssuer(ctx, cfg, q.Get("iss")); err != nil {
		return nil, err
	}
	if code := q.Get("error"); code != "" {
		return nil, oauth.Refusal(code, q.Get("error_description"))
	}
	if q.Get("code") == "" {
		return nil, problem.New(problem.UpstreamMalformed, "the authorization server sent neither a code nor an error")
	}
	ctx, cancel := context.WithTimeout(ctx, RenewTimeout)
	defer cancel()
	tok, err := r.o.OAuth.Exchange(ctx, cfg, q.Get("code"), p.Verifier.Reveal())
	if err == nil && !tok.Expires.IsZero() && !r.o.Store.Now().Before(tok.Expires) {
		err = problem.New(problem.UpstreamMalformed, "the access token of the authorization server has ended already").Fix("check the clocks")
	}
	return tok, err
}
