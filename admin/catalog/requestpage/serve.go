package requestpage

import (
	"context"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/admin/member/ratelimit"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// visit is one request to the page.
type visit struct {
	*Room

	w      http.ResponseWriter
	req    *http.Request
	ctx    context.Context //nolint:containedctx // the visit is the request
	ip     string
	person string // who confirmed an address; "": nobody
	status int    // of the answer
}

// Handler serves the page.
func (r *Room) Handler() http.Handler {
	mux := http.NewServeMux()
	get := func(path string, show func(*visit) error) { mux.HandleFunc("GET "+path, r.visited("GET "+path, show)) }
	post := func(path string, press func(*visit) error) {
		mux.HandleFunc("POST "+path, r.visited("POST "+path, press))
	}
	get("/{$}", (*visit).list)
	get("/", func(*visit) error {
		return problem.New(problem.NotFound, "there is no such page").Fix("go back to the list")
	})
	get("/new", (*visit).form)
	get("/confirm/{link}", (*visit).ask)
	post("/new", (*visit).create)
	post("/vote", (*visit).vote)
	post("/sign-in", (*visit).signIn)
	post("/confirm/{link}", (*visit).confirm)
	post("/sign-out", (*visit).signOut)
	post("/forget", (*visit).forget)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", Policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // with none at all browsers leave Origin out of forms
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if r.secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		mux.ServeHTTP(w, req)
	})
}

// visited answers one route: what it may cost is counted, a form comes from the page itself, and
// what goes wrong is a page.
func (r *Room) visited(route string, do func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		v := &visit{Room: r, w: w, req: req, ip: r.client(req)}
		v.ctx = request.With(req.Context(), &request.Request{ID: r.ws.NewID("req"), IP: v.ip, Workspace: r.o.Workspace})
		err := v.admit()
		if err == nil {
			if c, cerr := req.Cookie(v.cookieName()); cerr == nil {
				if v.person = r.people.whose(c.Value); v.person != "" {
					v.ctx = as(v.ctx, v.person)
				}
			}
			err = do(v)
		}
		if err != nil {
			v.fail(err)
		}
		r.o.Counted(route, v.status)
	}
}

// admit counts a visit and refuses forms that are not from the page.
func (v *visit) admit() error {
	key := ratelimit.AddressKey(v.ip)
	if len(v.req.URL.RawQuery) > maxQuery {
		return problem.New(problem.TooLarge, "the address is too long")
	}
	if v.req.Method != http.MethodPost {
		return v.take(v.views, key)
	}
	if err := v.origins.Check(v.req); err != nil {
		return problem.New(problem.Forbidden, "the form was not sent from this page").Fix("open the page itself and try again")
	}
	if err := v.take(v.presses, key); err != nil {
		return err
	}
	if err := v.take(v.allPresses, ""); err != nil {
		return err
	}
	if kind, _, err := mime.ParseMediaType(v.req.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return problem.New(problem.InvalidArgument, "that is not a form of this page").Fix("use the page itself")
	}
	v.req.Body = http.MaxBytesReader(v.w, v.req.Body, maxBody)
	if err := v.req.ParseForm(); err != nil {
		return problem.New(problem.InvalidArgument, "the form cannot be read, or has more than %d bytes", maxBody).Because(err)
	}
	return nil
}

// take spends an attempt. It fails with [problem.RateLimited].
func (v *visit) take(l *ratelimit.Limiter, key string) error {
	wait, ok := l.Take(key)
	if ok {
		return nil
	}
	seconds := int((max(wait, time.Second) + time.Second - 1) / time.Second)
	v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return problem.New(problem.RateLimited, "too many attempts").Fix("try again in %s", (time.Duration(seconds) * time.Second).String())
}

// fail shows what went wrong.
func (v *visit) fail(err error) {
	e := request.Fault(err)
	if e == nil {
		v.o.Log.LogAttrs(v.ctx, slog.LevelError, "the page of requests met an unexpected error", slog.String("request_id", request.Of(v.ctx).ID), slog.Any("error", err))
		v.show(http.StatusInternalServerError, "Something went wrong", func(p *page) { p.put(`<p role="alert">The page met an unexpected error. Try again later.</p>`) })
		return
	}
	v.show(e.Kind.Status(), "That did not work", func(p *page) {
		p.put(`<p role="alert">`, sentence(e.Detail), `</p>`)
		if e.Remedy != "" {
			p.put(`<p>`, sentence(e.Remedy), `</p>`)
		}
		p.put(`<p><a href="/">Back to the list</a></p>`)
	})
}

// redirect sends the browser to another page after a form.
func (v *visit) redirect(to string) error {
	v.status = http.StatusSeeOther
	http.Redirect(v.w, v.req, to, v.status)
	return nil
}

// cookieName is that of the cookie: browsers take a __Host- cookie only over TLS and from this
// host itself.
func (v *visit) cookieName() string {
	if v.secure {
		return "__Host-sluice-requests"
	}
	return "sluice-requests"
}

func (v *visit) setCookie(value string, life time.Duration) {
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // Secure is set where TLS is spoken
		Name: v.cookieName(), Value: value, Path: "/", MaxAge: int(life.Seconds()), Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// shownStates are those that everybody sees. What was declined is seen by those who wanted it:
// what somebody wrote to annoy is declined, and gone.
var shownStates = []string{connectorrequest.Open, connectorrequest.Planned, connectorrequest.Building, connectorrequest.Published}

func (v *visit) list() error {
	q := v.req.URL.Query()
	state, after := q.Get("state"), q.Get("after")
	states := shownStates
	if state != "" {
		if !slices.Contains(shownStates, state) {
			return problem.New(problem.NotFound, "there is no such list").Fix("choose one of %s", strings.Join(shownStates, ", "))
		}
		states = []string{state}
	}
	rows, next, err := v.ws.ConnectorRequests(v.ctx, states, store.Page{Limit: listed, After: after})
	if err != nil {
		return err
	}
	voted, err := v.voted()
	if err != nil {
		return err
	}
	var declined []store.ConnectorRequest
	if v.person != "" && state == "" && after == "" {
		all, _, err := v.ws.ConnectorRequests(v.ctx, []string{connectorrequest.Declined}, store.Page{Limit: store.MaxLimit})
		if err != nil {
			return err
		}
		declined = slices.DeleteFunc(all, func(r store.ConnectorRequest) bool { return !voted[r.ID] })
	}
	open, err := v.open(v.ctx)
	if err != nil {
		return err
	}
	v.show(http.StatusOK, "Connector requests", func(p *page) {
		p.says(q.Get("said"))
		p.intro(v.person != "", open)
		p.filters(state)
		p.requests(rows, voted, v.person != "")
		if next != "" {
			p.put(`<p><a rel="next" href="/?state=`, url.QueryEscape(state), `&amp;after=`, url.QueryEscape(next), `">More requests</a></p>`)
		}
		if len(declined) > 0 {
			p.put(`<h2>What you wanted and was declined</h2>`)
			p.requests(declined, nil, false)
		}
		if v.person != "" {
			p.leave()
		}
	})
	return nil
}

func (v *visit) voted() (map[string]bool, error) {
	if v.person == "" {
		return nil, nil
	}
	return connectorrequest.Voted(v.ctx, v.ws)
}

// signedIn refuses a visitor who confirmed no address.
func (v *visit) signedIn() error {
	if v.person == "" {
		return problem.New(problem.Unauthenticated, "confirm your e-mail address first").Fix("write it into the form of the list; you get a link")
	}
	return nil
}

func (v *visit) form() error {
	if v.person == "" {
		return v.redirect("/")
	}
	v.show(http.StatusOK, "Ask for a connector", func(p *page) { p.form(&connectorrequest.NewRequest{}, nil) })
	return nil
}

// create asks for a connector. What is like it is shown first.
func (v *visit) create() error {
	if err := v.signedIn(); err != nil {
		return err
	}
	in := &connectorrequest.NewRequest{}
	for i := range connectorrequest.Fields {
		f := &connectorrequest.Fields[i]
		*f.Of(in) = strings.ReplaceAll(v.req.PostFormValue(f.Name), "\r\n", "\n")
	}
	if fault := in.Check(); fault != nil {
		v.show(http.StatusUnprocessableEntity, "Ask for a connector", func(p *page) { p.form(in, request.Fault(fault)) })
		return nil //nolint:nilerr // the page says it
	}
	anyway := v.req.PostFormValue("anyway") == "1"
	if !anyway {
		found, err := connectorrequest.Similar(v.ctx, v.ws, in)
		if err != nil {
			return err
		}
		found = forStrangers(found)
		if len(found) > 0 {
			v.show(http.StatusOK, "Is it one of these?", func(p *page) { p.similar(in, found) })
			return nil
		}
	}
	if err := v.take(v.requests, ""); err != nil {
		return err
	}
	if _, err := v.o.Requests.Create(v.ctx, v.ws, in, true); err != nil {
		v.requests.GiveBack("")
		return err
	}
	return v.redirect("/?said=asked")
}

// forStrangers leaves out what the page does not show: what was declined, and that the use case
// of a member is like one that a stranger wrote, who could guess it so.
func forStrangers(found []connectorrequest.Likeness) (out []connectorrequest.Likeness) {
	for _, l := range found {
		if !strings.HasPrefix(l.Request.RequestedBy, store.RequestPersonPrefix) {
			l.Because = slices.DeleteFunc(l.Because, func(why string) bool { return why == connectorrequest.ByUseCase })
		}
		if l.Request.State != connectorrequest.Declined && len(l.Because) > 0 {
			out = append(out, l)
		}
	}
	return out
}

func (v *visit) vote() error {
	if err := v.signedIn(); err != nil {
		return err
	}
	id, take := v.req.PostFormValue("id"), v.req.PostFormValue("take") == "1"
	row, err := v.ws.ConnectorRequest(v.ctx, id)
	if err != nil {
		return err
	}
	if row.State == connectorrequest.Declined {
		return problem.New(problem.NotFound, "there is no such request")
	}
	if _, err := v.o.Requests.Vote(v.ctx, v.ws, id, !take); err != nil {
		return err
	}
	if take {
		return v.redirect("/?said=taken")
	}
	return v.redirect("/?said=voted")
}

// signIn sends a link to an address. The answer is the same whether the address is known.
func (v *visit) signIn() error {
	to, err := parseAddress(v.req.PostFormValue("email"))
	if err != nil {
		return err
	}
	if open, err := v.open(v.ctx); err != nil {
		return err
	} else if !open {
		return problem.New(problem.Unavailable, "no addresses can be confirmed here at the moment").Fix("come back later")
	}
	if err := v.take(v.mails, ratelimit.AddressKey(v.ip)); err != nil {
		return err
	}
	if err := v.take(v.mailsTo, identity(to)); err != nil {
		return err
	}
	if err := v.take(v.allMails, ""); err != nil {
		return err
	}
	select {
	case v.sending <- struct{}{}:
		defer func() { <-v.sending }()
	default:
		return problem.New(problem.Unavailable, "too many links are being sent").Fix("try again in a minute")
	}
	link, err := v.people.link(to)
	if err != nil {
		return err
	}
	err = v.o.Notify.Send(v.ctx, v.ws, connectorrequest.MailChannel, &notify.Letter{
		To: to, Title: "Confirm your e-mail address", Link: v.o.URL + "/confirm/" + link,
		Lines: []notify.Line{
			{Name: "What for", Value: "to ask for connectors and to vote at " + v.o.URL},
			{Name: "Until", Value: v.ws.Now().Add(linkLife).Format("15:04 MST")},
			{Name: "If it was not you", Value: "do nothing: without the link your address is not kept"},
		},
	})
	if err != nil {
		v.o.Log.LogAttrs(v.ctx, slog.LevelWarn, "the link that confirms an address could not be sent", slog.Any("error", err))
		return problem.New(problem.Unavailable, "the link could not be sent").Fix("look whether the address is right, or try again later")
	}
	v.show(http.StatusOK, "Look into your mail", func(p *page) {
		p.put(`<p role="status">A link is on its way to `, to, `. It works once, and for `, strconv.Itoa(int(linkLife.Minutes())), ` minutes.</p><p><a href="/">Back to the list</a></p>`)
	})
	return nil
}

// ask shows the button behind a link: programs that look at mail open its links.
func (v *visit) ask() error {
	t, err := v.people.valid(v.req.PathValue("link"))
	if err != nil {
		return err
	}
	v.show(http.StatusOK, "Confirm your e-mail address", func(p *page) {
		p.put(`<p>You confirm that `, t.Address, ` is yours. It is kept sealed, shown to nobody, and used to tell you of what you asked for or voted for.</p>`)
		p.put(`<form method="post" action="/confirm/`, v.req.PathValue("link"), `"><button type="submit">Confirm</button></form>`)
	})
	return nil
}

func (v *visit) confirm() error {
	person, err := v.people.confirm(v.ctx, v.req.PathValue("link"))
	if err != nil {
		return err
	}
	cookie, err := v.people.session(person)
	if err != nil {
		return err
	}
	v.setCookie(cookie, sessionLife)
	return v.redirect("/?said=confirmed")
}

func (v *visit) signOut() error {
	v.setCookie("", -time.Second)
	return v.redirect("/?said=out")
}

func (v *visit) forget() error {
	if err := v.signedIn(); err != nil {
		return err
	}
	if err := v.people.forget(v.ctx, v.person); err != nil {
		return err
	}
	v.setCookie("", -time.Second)
	return v.redirect("/?said=forgotten")
}
