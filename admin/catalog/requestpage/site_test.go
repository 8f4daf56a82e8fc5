package requestpage

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/mailtest"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

// site is the page on real records, with a mail server.
type site struct {
	*Room
	t      *testing.T
	st     *store.Store
	path   string
	mail   *mailtest.Server
	server *httptest.Server
	notify *notify.Room

	mu  sync.Mutex
	now time.Time // guarded by mu
}

func (s *site) after(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func open(t *testing.T, mailing bool) *site {
	t.Helper()
	s := &site{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), path: filepath.Join(t.TempDir(), "s.db")}
	if err := storetest.Prepare(s.path); err != nil {
		t.Fatal(err)
	}
	var err error
	s.st, err = store.Open(t.Context(), store.Options{Path: s.path, Now: func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.st.Close() })
	if err := s.st.EnsureWorkspace(t.Context(), "default", "default"); err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.OpenFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	s.notify = notify.New(notify.Options{Store: s.st, Keyring: ring, Dialer: d, Backoff: []time.Duration{time.Millisecond}})
	if mailing {
		s.mail = (&mailtest.Server{}).Start(t)
		if _, err := s.notify.Create(t.Context(), s.st.Workspace("default"), &notify.NewChannel{Name: connectorrequest.MailChannel, Kind: notify.Email, Mail: &notify.Mail{
			Host: "127.0.0.1", Port: s.mail.Port(), Security: "none", From: "requests@sluice.example", To: []string{"team@sluice.example"},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	proxies, err := forwarded.Parse([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	requests := &connectorrequest.Room{Page: s.server.URL, Told: s.notify.Wake, Exists: func(context.Context, *store.Workspace, string) (bool, error) { return true, nil }}
	s.Room, err = New(t.Context(), Options{Store: s.st, Workspace: "default", Keyring: ring, Notify: s.notify, Requests: requests, URL: s.server.URL, Proxies: proxies})
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/", s.Handler())
	return s
}

// browser is somebody's browser.
type browser struct {
	*http.Client
	s    *site
	from string // address, as the proxy says
}

var visitors int

func (s *site) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	visitors++
	return &browser{&http.Client{Jar: jar}, s, netip.AddrFrom4([4]byte{198, 51, byte(visitors >> 8), byte(visitors)}).String()}
}

func (b *browser) send(method, path string, form url.Values, change func(*http.Request)) (int, string, http.Header) {
	b.s.t.Helper()
	req, err := http.NewRequestWithContext(b.s.t.Context(), method, b.s.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.s.t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", b.from)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if change != nil {
		change(req)
	}
	resp, err := b.Do(req)
	if err != nil {
		b.s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.s.t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}

func (b *browser) get(path string) string {
	b.s.t.Helper()
	status, body, _ := b.send(http.MethodGet, path, nil, nil)
	if status != http.StatusOK {
		b.s.t.Fatalf("GET %s: %d %s", path, status, body)
	}
	return body
}

func (b *browser) post(path string, want int, pairs ...string) string {
	b.s.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	status, body, _ := b.send(http.MethodPost, path, form, nil)
	if status != want {
		b.s.t.Fatalf("POST %s: %d, want %d: %s", path, status, want, body)
	}
	return body
}

var confirmLink = regexp.MustCompile(`/confirm/[A-Za-z0-9_-]+`)

// link asks for a link and reads it from the mail.
func (b *browser) link(address string) string {
	b.s.t.Helper()
	before := len(b.s.mail.Got())
	b.post("/sign-in", http.StatusOK, "email", address)
	got := b.s.mail.Got()[before:]
	if len(got) != 1 || len(got[0].To) != 1 || got[0].To[0] != address {
		b.s.t.Fatalf("mails to %s: %+v", address, got)
	}
	text := strings.ReplaceAll(got[0].Text, "=\r\n", "") // quoted-printable
	link := confirmLink.FindString(text)
	if link == "" {
		b.s.t.Fatalf("no link in %s", text)
	}
	return link
}

func (b *browser) confirm(address string) {
	b.s.t.Helper()
	link := b.link(address)
	if page := b.get(link); !strings.Contains(page, "<button") || strings.Contains(b.get("/"), "Ask for a connector<") {
		b.s.t.Fatalf("looking at a link confirms nothing: %s", page)
	}
	if page := b.post(link, http.StatusOK); !strings.Contains(page, "is confirmed") {
		b.s.t.Fatal(page)
	}
}

var fields = []string{"serviceName", "Acme CRM", "website", "https://acme.example", "apiDocsUrl", "https://acme.example/api", "useCase", "find customers and add notes", "expectedVolume", "1,000 calls a day"}

func with(pairs ...string) []string {
	out := append([]string{}, fields...)
	for i := 0; i < len(pairs); i += 2 {
		found := false
		for j := 0; j < len(out); j += 2 {
			if out[j] == pairs[i] {
				out[j+1], found = pairs[i+1], true
			}
		}
		if !found {
			out = append(out, pairs[i], pairs[i+1])
		}
	}
	return out
}

var voteID = regexp.MustCompile(`name="id" value="(creq_[^"]+)"`)
