package requestpage

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestPage: a stranger confirms an address, asks, votes, takes the vote back, is told when the
// connector is there, and is forgotten. What is kept says nobody's address.
func TestPage(t *testing.T) {
	s := open(t, true)
	ann, bob := s.browser(), s.browser()
	if page := ann.get("/"); !strings.Contains(page, "There are none") || !strings.Contains(page, `name="email"`) || strings.Contains(page, "<script") {
		t.Fatal(page)
	}
	ann.post("/new", http.StatusUnauthorized, fields...)
	ann.confirm("ann@a.example")
	if page := ann.post("/new", http.StatusUnprocessableEntity, with("website", "acme")...); !strings.Contains(page, `aria-describedby="website-fault"`) || !strings.Contains(page, "write https://") || !strings.Contains(page, "Acme CRM") {
		t.Errorf("the field at fault is not named: %s", page)
	}
	if page := ann.post("/new", http.StatusOK, fields...); !strings.Contains(page, "1 vote") || !strings.Contains(page, "find customers") || strings.Contains(page, "1,000 calls") || !strings.Contains(page, "Take back") {
		t.Fatal(page)
	}
	page := ann.post("/new", http.StatusOK, with("serviceName", "acme crm!")...)
	if !strings.Contains(page, "Is it one of these?") || !strings.Contains(page, "similar by name, host") {
		t.Fatalf("similar requests are not shown: %s", page)
	}
	bob.confirm("Bob@b.example")
	page = bob.get("/")
	id := voteID.FindStringSubmatch(page)[1]
	if page = bob.post("/vote", http.StatusOK, "id", id); !strings.Contains(page, "2 votes") {
		t.Fatal(page)
	}
	if page = bob.post("/vote", http.StatusOK, "id", id); !strings.Contains(page, "2 votes") {
		t.Errorf("a second vote counts: %s", page)
	}
	if page = bob.post("/vote", http.StatusOK, "id", id, "take", "1"); !strings.Contains(page, "1 vote<") && !strings.Contains(page, "1 vote ") {
		t.Errorf("the vote was not taken back: %s", page)
	}
	bob.post("/vote", http.StatusOK, "id", id)
	again := s.browser() // the same mailbox is not a second voter
	again.confirm("bob+two@B.example")
	if page = again.post("/vote", http.StatusOK, "id", id); !strings.Contains(page, "2 votes") {
		t.Errorf("one mailbox voted twice: %s", page)
	}
	if page = s.browser().get("/?state=open"); !strings.Contains(page, "2 votes") || strings.Contains(page, "<button type=\"submit\" aria-label") {
		t.Errorf("a stranger: %s", page)
	}

	admin := request.With(t.Context(), &request.Request{Token: &store.Token{InWorkspace: store.InWorkspace{WorkspaceID: "default"}, ID: "tok_admin"}})
	state, entry := connectorrequest.Published, "acme"
	before := len(s.mail.Got())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.notify.Run(ctx) }()
	defer func() { stop(); <-done }()
	if _, err := s.o.Requests.Change(admin, s.ws, id, &request.MatchInput{}, &connectorrequest.ChangeRequest{State: &state, Entry: &entry}); err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for i := 0; i < 200 && len(s.mail.Got())-before < 3; i++ {
		time.Sleep(20 * time.Millisecond)
	}
	for _, m := range s.mail.Got()[before:] {
		for _, to := range m.To {
			told[to]++
		}
		if len(m.To) != 1 || !strings.Contains(m.Text, "Acme CRM") || m.To[0] == "ann@a.example" && !strings.Contains(m.Text, s.server.URL) {
			t.Errorf("%+v", m)
		}
	}
	if len(told) != 3 || told["ann@a.example"] != 1 || told["Bob@b.example"] != 1 || told["team@sluice.example"] != 1 {
		t.Errorf("told: %v", told)
	}
	if page = bob.post("/vote", http.StatusConflict, "id", id, "take", "1"); !strings.Contains(page, "nothing to vote for") {
		t.Error(page)
	}
	if page = bob.get("/?state=published"); !strings.Contains(page, "The connector is acme") {
		t.Error(page)
	}

	if page = bob.post("/forget", http.StatusOK); !strings.Contains(page, "were removed") || !strings.Contains(page, "1 vote") {
		t.Error(page)
	}
	if page = again.get("/"); strings.Contains(page, "Take back") || !strings.Contains(page, `name="email"`) {
		t.Errorf("who was forgotten is known in another browser: %s", page)
	}
	ann.post("/sign-out", http.StatusOK)
	if page = ann.get("/new"); !strings.Contains(page, `name="email"`) {
		t.Errorf("signed out: %s", page)
	}

	audits, _, err := s.ws.AuditLog(t.Context(), store.Page{Limit: store.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i := range audits {
		seen[audits[i].Action+" "+audits[i].ActorType]++
		if audits[i].ActorType == "public" && (!strings.HasPrefix(audits[i].ActorID, store.RequestPersonPrefix) || !strings.HasPrefix(audits[i].ActorIP, "198.51.")) {
			t.Errorf("%+v", audits[i])
		}
	}
	for _, want := range []string{"request-page.confirm public", "connector-request.create public", "connector-request.vote public", "connector-request.unvote public", "request-page.forget public"} {
		if seen[want] == 0 {
			t.Errorf("no %s in the audit log: %v", want, seen)
		}
	}
	for _, name := range []string{s.path, s.path + "-wal"} {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, address := range []string{"ann@a.example", "bob@b.example", "Bob@b.example"} {
			if strings.Contains(string(b), address) {
				t.Errorf("%s has %s in clear", filepath.Base(name), address)
			}
		}
	}
}

// TestReload: people are known after a restart, by whichever key their address was sealed.
func TestReload(t *testing.T) {
	s := open(t, true)
	ann := s.browser()
	ann.confirm("ann@a.example")
	p, err := loadPeople(t.Context(), s.ws, s.o.Keyring)
	if err != nil || len(p.ids) != 1 || p.ids[p.digest("ANN@a.example")] == "" {
		t.Errorf("%v, %v", p, err)
	}
}

// TestLinksOfBefore: which links were used is not known after a restart, so none of before is
// good.
func TestLinksOfBefore(t *testing.T) {
	s := open(t, true)
	load := func() *people {
		p, err := loadPeople(t.Context(), s.ws, s.o.Keyring)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before := load()
	link, err := before.link("ann@a.example")
	if err != nil {
		t.Fatal(err)
	}
	s.after(time.Second)
	if id, err := load().confirm(t.Context(), link); id != "" || !problem.Is(err, problem.NotFound) {
		t.Errorf("after a restart: %q, %v", id, err)
	}
	if id, err := before.confirm(t.Context(), link); id == "" || err != nil {
		t.Errorf("without one: %q, %v", id, err)
	}
}

// TestReadOnly: without a mail server the page lists, and says why it does no more.
func TestReadOnly(t *testing.T) {
	s := open(t, false)
	b := s.browser()
	if page := b.get("/"); !strings.Contains(page, "not possible at the moment") || strings.Contains(page, `name="email"`) {
		t.Error(page)
	}
	if page := b.post("/sign-in", http.StatusServiceUnavailable, "email", "ann@a.example"); !strings.Contains(page, "No addresses can be confirmed") {
		t.Error(page)
	}
}

// TestHostile: what strangers send changes nothing, reveals nothing and becomes no markup.
func TestHostile(t *testing.T) {
	s := open(t, true)
	ann := s.browser()
	link := ann.link("ann@a.example")
	ann.post(link, http.StatusOK)
	if page := ann.post(link, http.StatusNotFound); !strings.Contains(page, "not valid, or has expired") {
		t.Errorf("a link works twice: %s", page)
	}
	if status, page, _ := ann.send(http.MethodGet, link, nil, nil); status != http.StatusNotFound || strings.Contains(page, "<button") {
		t.Errorf("a link that was used shows a button: %d %s", status, page)
	}
	const evil = `"><script>alert(1)</script>`
	page := ann.post("/new", http.StatusOK, with("serviceName", evil, "useCase", evil+evil, "website", `https://acme.example/"onmouseover="x`)...)
	if strings.Contains(page, "<script") || strings.Contains(page, `"onmouseover`) || !strings.Contains(page, html.EscapeString(evil)) {
		t.Errorf("markup got through: %s", page)
	}
	id := voteID.FindStringSubmatch(page)[1]
	for name, change := range map[string]func(*http.Request){
		"another site":         func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"a neighbour":          func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"an old browser there": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "https://evil.example") },
		"no origin":            func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "null") },
	} {
		if status, body, _ := ann.send(http.MethodPost, "/vote", url.Values{"id": {id}, "take": {"1"}}, change); status != http.StatusForbidden {
			t.Errorf("a form of %s: %d %s", name, status, body)
		}
	}
	for _, kind := range []string{"text/plain", "multipart/form-data; boundary=x", "", "application/json"} {
		if status, _, _ := ann.send(http.MethodPost, "/vote", url.Values{"id": {id}}, func(r *http.Request) { r.Header.Set("Content-Type", kind) }); status != http.StatusBadRequest {
			t.Errorf("a body of %q: %d", kind, status)
		}
	}
	f := func(method, path string, want int, pairs ...string) {
		t.Helper()
		s.after(time.Minute)
		form := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		status, body, h := ann.send(method, path, form, nil)
		if status != want {
			t.Errorf("%s %.60s: %d, want %d: %.200s", method, path, status, want, body)
		}
		if h.Get("Content-Security-Policy") != Policy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %.60s: %v", method, path, h)
		}
	}
	f("GET", "/?state=declined", 404)
	f("GET", "/?state="+url.QueryEscape(evil), 404)
	f("GET", "/?said="+url.QueryEscape(evil), 200)
	f("GET", "/?after="+url.QueryEscape(evil), 400)
	f("GET", "/?after="+strings.Repeat("a", maxQuery), 413)
	f("GET", "/confirm/x", 404)
	f("GET", "/confirm/"+strings.Repeat("a", maxToken+1), 404)
	f("GET", "/v1/toolsets", 404)
	f("GET", "/metrics", 404)
	f("DELETE", "/", 405)
	if _, page, _ := ann.send("GET", "/nowhere", nil, nil); !strings.Contains(page, "There is no such page.") || !strings.Contains(page, `<a href="/">`) {
		t.Errorf("an address without a page: %.300s", page)
	}
	f("POST", "/vote", 404, "id", "creq_none")
	f("POST", "/vote", 404, "id", evil)
	for _, address := range []string{"", "ann", "ann@localhost", "Ann <ann@a.example>", "ann@a.example\r\nBcc: x@y.example", "a@b.example, c@d.example", "ä@a.example", "ann%b.example@a.example", "b.example!ann@a.example", `"a b"@a.example`, strings.Repeat("a", maxAddress) + "@a.example"} {
		f("POST", "/sign-in", 400, "email", address)
	}
	if n := len(s.mail.Got()); n != 1 {
		t.Errorf("%d mails", n)
	}
	// A link is not a cookie, a cookie no link, and one of another key neither.
	cookie, err := s.people.session(s.people.whoseIDs()[0])
	if err != nil {
		t.Fatal(err)
	}
	f("POST", "/confirm/"+cookie, 404)
	if who := s.people.whose(strings.TrimPrefix(link, "/confirm/")); who != "" {
		t.Errorf("a link is the cookie of %s", who)
	}
	fresh := strings.TrimPrefix(ann.link("eve@a.example"), "/confirm/")
	s.after(linkLife)
	f("POST", "/confirm/"+fresh, 404)
	if who := s.people.whose(cookie); who == "" {
		t.Error("the cookie has expired")
	}
	s.after(sessionLife)
	if who := s.people.whose(cookie); who != "" {
		t.Error("the cookie has not expired")
	}
}

func (p *people) whoseIDs() (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.has {
		out = append(out, id)
	}
	return out
}

// TestDeclined: what was declined is seen by whoever wanted it, and by nobody else.
func TestDeclined(t *testing.T) {
	s := open(t, true)
	ann := s.browser()
	ann.confirm("ann@a.example")
	id := voteID.FindStringSubmatch(ann.post("/new", http.StatusOK, fields...))[1]
	admin := request.With(t.Context(), &request.Request{Token: &store.Token{InWorkspace: store.InWorkspace{WorkspaceID: "default"}, ID: "tok_admin"}})
	state, reason := connectorrequest.Declined, "no public API"
	if _, err := s.o.Requests.Change(admin, s.ws, id, &request.MatchInput{}, &connectorrequest.ChangeRequest{State: &state, Reason: &reason}); err != nil {
		t.Fatal(err)
	}
	if page := ann.get("/"); !strings.Contains(page, "Declined: no public API") {
		t.Error(page)
	}
	if page := s.browser().get("/"); strings.Contains(page, "Acme") {
		t.Error(page)
	}
	ann.post("/vote", http.StatusNotFound, "id", id)
	if _, err := s.o.Requests.Create(admin, s.ws, &connectorrequest.NewRequest{ServiceName: "Inner", Website: "https://inner.example", APIDocsURL: "https://inner.example", UseCase: "our secret plans", ExpectedVolume: "x"}, true); err != nil {
		t.Fatal(err)
	}
	if page := s.browser().get("/"); !strings.Contains(page, "Inner") || strings.Contains(page, "secret plans") {
		t.Errorf("what members write is shown: %s", page)
	}
	if page := ann.post("/new", http.StatusOK, with("serviceName", "Guess", "website", "https://guess.example", "useCase", "our secret plans")...); strings.Contains(page, "Is it one of these?") {
		t.Errorf("what members want to do can be guessed: %s", page)
	}
	if page := ann.post("/new", http.StatusOK, with("serviceName", "inner", "website", "https://inner2.example", "useCase", "our secret plans")...); !strings.Contains(page, "similar by name · <a") {
		t.Errorf("a name that is taken: %s", page)
	}
}

// TestRates: of one address, of one e-mail address, of one person and of everybody.
func TestRates(t *testing.T) {
	s := open(t, true)
	limited := func(b *browser, what, path string, pairs ...string) {
		t.Helper()
		form := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		if status, body, h := b.send(http.MethodPost, path, form, nil); status != http.StatusTooManyRequests || h.Get("Retry-After") == "" && path != "/new" {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	for i := range mailToBurst {
		s.browser().post("/sign-in", http.StatusOK, "email", fmt.Sprintf("ann+%d@a.example", i))
	}
	limited(s.browser(), "mails to one mailbox", "/sign-in", "email", "ann@a.example")
	one := s.browser()
	for i := range mailBurst {
		one.post("/sign-in", http.StatusOK, "email", fmt.Sprintf("p%d@a.example", i))
	}
	limited(one, "mails from one address", "/sign-in", "email", "p@a.example")
	s.after(mailToEvery)
	for range allMailBurst {
		if _, ok := s.allMails.Take(""); !ok {
			t.Fatal("too early")
		}
	}
	limited(s.browser(), "mails of all", "/sign-in", "email", "q@a.example")
	s.after(mailToEvery)

	ann := s.browser()
	ann.confirm("ann@a.example")
	for i := range 3 {
		ann.post("/new", http.StatusOK, with("serviceName", fmt.Sprint("Service ", i), "website", fmt.Sprintf("https://s%d.example", i), "anyway", "1")...)
	}
	limited(ann, "requests of one person", "/new", with("anyway", "1")...)
	s.after(24 * time.Hour)
	ann.post("/new", http.StatusOK, with("anyway", "1")...)
	for range requestBurst {
		s.requests.Take("")
	}
	limited(ann, "requests of all", "/new", with("serviceName", "Last", "website", "https://last.example", "anyway", "1")...)

	two := s.browser()
	for range pressBurst {
		two.post("/sign-out", http.StatusOK)
	}
	limited(two, "forms of one address", "/sign-out")
	for range viewBurst {
		s.views.Take(two.from)
	}
	if status, _, _ := two.send(http.MethodGet, "/", nil, nil); status != http.StatusTooManyRequests {
		t.Errorf("pages: %d", status)
	}
	s.after(time.Minute)
	for range maxSending {
		s.sending <- struct{}{}
	}
	if page := s.browser().post("/sign-in", http.StatusServiceUnavailable, "email", "r@a.example"); !strings.Contains(page, "too many links") && !strings.Contains(page, "Too many links") {
		t.Error(page)
	}
}

// TestBounds: at each limit and one past it.
func TestBounds(t *testing.T) {
	s := open(t, true)
	ctx := t.Context()
	for i := range maxPeople - 1 {
		s.people.knowLocked(fmt.Sprint("rqp_", i), fmt.Sprintf("p%d@a.example", i))
	}
	link := func(address string) string {
		l, err := s.people.link(address)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if _, err := s.people.confirm(ctx, link("last@a.example")); err != nil {
		t.Error(err)
	}
	if _, err := s.people.confirm(ctx, link("more@a.example")); !problem.Is(err, problem.Conflict) {
		t.Errorf("one person more: %v", err)
	}
	if _, err := s.people.confirm(ctx, link("p1@a.example")); err != nil {
		t.Errorf("somebody who is known: %v", err)
	}
	until := s.ws.Now().Add(time.Minute).Unix()
	for i := len(s.people.used); i < maxUsed-1; i++ {
		s.people.used[fmt.Sprint(i)] = until
	}
	if _, err := s.people.confirm(ctx, link("p2@a.example")); err != nil {
		t.Error(err)
	}
	if _, err := s.people.confirm(ctx, link("p2@a.example")); !problem.Is(err, problem.Unavailable) {
		t.Errorf("one link more: %v", err)
	}
	s.after(2 * time.Minute)
	if _, err := s.people.confirm(ctx, link("p2@a.example")); err != nil || len(s.people.used) > 5 {
		t.Errorf("after the links expired: %v, %d", err, len(s.people.used))
	}
	longest := strings.Repeat("a", maxAddress-10) + "@a.example"
	if _, err := parseAddress(longest); err != nil {
		t.Error(err)
	}
	if _, err := parseAddress("a" + longest); err == nil {
		t.Error("one character more")
	}
	if l := link(longest); len(l) > maxToken {
		t.Errorf("the longest link has %d bytes", len(l))
	}
	b := s.browser()
	form := url.Values{"email": {strings.Repeat("a", maxBody-len("email="))}}
	if status, body, _ := b.send(http.MethodPost, "/sign-in", form, nil); status != http.StatusBadRequest || !strings.Contains(body, "e-mail address") {
		t.Errorf("the largest form: %d %s", status, body)
	}
	form.Set("email", form.Get("email")+"a")
	if status, body, _ := b.send(http.MethodPost, "/sign-in", form, nil); !strings.Contains(body, "the form cannot be read") && !strings.Contains(body, "The form cannot be read") {
		t.Errorf("one byte more: %d %s", status, body)
	}
}

// TestPolicy: the style of the page is the one that its policy permits, and there is no other.
func TestPolicy(t *testing.T) {
	page := open(t, false).browser().get("/")
	_, rest, _ := strings.Cut(page, "<style>")
	css, rest, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(css))
	if !strings.Contains(Policy, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") || strings.Contains(rest, "style") {
		t.Error("there is style that the policy does not permit")
	}
}

// TestCookie: over https the cookie is bound to this host, and no script reads it.
func TestCookie(t *testing.T) {
	s := open(t, false)
	o := s.o
	o.URL = "https://requests.example"
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.people.link("ann@a.example")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/confirm/"+l, nil)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "https://requests.example")
	r.Handler().ServeHTTP(w, req)
	if c := w.Header().Get("Set-Cookie"); w.Code != http.StatusSeeOther || !strings.HasPrefix(c, "__Host-sluice-requests=") || !strings.Contains(c, "; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Strict") {
		t.Errorf("%d %s", w.Code, c)
	}
	if w.Header().Get("Strict-Transport-Security") == "" {
		t.Error("no HSTS")
	}
	for _, at := range []string{"", "ftp://a.example", "https://a.example/x", "https://u@a.example", "a.example", "https://a.example?x"} {
		o.URL = at
		if _, err := New(t.Context(), o); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%q: %v", at, err)
		}
	}
}
