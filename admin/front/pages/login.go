package pages

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/member/oidc"
	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
)

// Room serves pages to browsers of people who have no session, or get one there.
type Room struct {
	Front    *front.Room
	Logins   *login.Room
	Notify   *notify.Room
	OpenID   *oidc.Room
	Sessions *session.Room
}

// Callback is where a browser comes back to. The browser that confirmed a
// pending login may finish it with its state, once; there is no token in a browser.
func (p *Room) Callback(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		p.Front.WriteProblem(w, r, front.NotAllowed(r))
		return
	}
	if len(r.URL.RawQuery) > login.MaxCallback {
		p.callbackPage(w, "", problem.New(problem.TooLarge, "the answer of the authorization server is too long"))
		return
	}
	q := r.URL.Query()
	done, err := p.Logins.Finish(w, r, q)
	if err != nil {
		fault := front.ProblemOf(err)
		if fault.Code == front.CodeInternal {
			_ = p.Front.Fail(r.Context(), err) // logs it
		} else {
			p.Front.Log.LogAttrs(r.Context(), slog.LevelWarn, "a login at an authorization server did not succeed",
				slog.String("request_id", request.Of(r.Context()).ID), slog.Any("error", err))
		}
	}
	p.callbackPage(w, done, err)
}

// callbackPage is what the person sees.
func (p *Room) callbackPage(w http.ResponseWriter, text string, err error) {
	title, status := "You are logged in", http.StatusOK
	if err != nil {
		fault := front.ProblemOf(err)
		title, status = "The login did not succeed", fault.Status
		text = fault.Detail + ". " + fault.Remedy
	}
	p.page(w, status, title, "<p>"+html.EscapeString(text)+"</p>")
}

// page shows a person something. body is HTML.
func (p *Room) page(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer") // the code is in the address
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>"+title+" · Sluice</title><h1>"+title+"</h1>"+
		body+"</html>\n") // the client is gone when this fails
}

// UserLogin is the page behind the link of a single caller. GET shows who asks
// for what; only POST, which a person must cause, uses the link up.
func (p *Room) UserLogin(w http.ResponseWriter, r *http.Request) {
	p.serveLink(w, r, strings.TrimPrefix(r.URL.Path, login.UserPath), p.Logins.ShowUser, p.Logins.BeginUser)
}

// Confirm is the page behind the link of a login that an operator began. GET
// shows what the login is for; only POST, which a person must cause, uses the link
// up and binds the login to the browser.
func (p *Room) Confirm(w http.ResponseWriter, r *http.Request) {
	p.serveLink(w, r, strings.TrimPrefix(r.URL.Path, login.ConfirmPath), p.Logins.ShowConfirm, p.Logins.Confirm)
}

// serveLink answers a page behind a link: show is for GET, press for POST, which only
// the button of the page sends.
func (p *Room) serveLink(w http.ResponseWriter, r *http.Request, text string, show func(context.Context, string) (login.Page, error), press func(http.ResponseWriter, *http.Request, string) error) {
	var (
		shown login.Page
		err   error
	)
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if shown, err = show(r.Context(), text); err == nil {
			p.page(w, http.StatusOK, shown.Title, shown.Body)
		}
	case http.MethodPost:
		err = press(w, r, text)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		p.Front.WriteProblem(w, r, front.NotAllowed(r))
		return
	}
	if err != nil {
		if fault := front.ProblemOf(err); fault.Code == front.CodeInternal {
			_ = p.Front.Fail(r.Context(), err) // logs it
		}
		p.callbackPage(w, "", err)
	}
}

// ClientDocument answers authorization servers that ask who we are.
func (p *Room) ClientDocument(w http.ResponseWriter, r *http.Request) {
	m := p.Logins.Clients.Document()
	switch {
	case m == nil:
		p.Front.WriteProblem(w, r, front.NotHere(r))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		p.Front.WriteProblem(w, r, front.NotAllowed(r))
	default:
		w.Header().Set("Cache-Control", "public, max-age=3600")
		if err := request.WriteJSON(w, m); err != nil {
			p.Front.WriteProblem(w, r, err)
		}
	}
}
