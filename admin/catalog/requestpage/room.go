package requestpage

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/admin/member/ratelimit"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// maxBody of a form: the five fields of a request have 3,280 characters, each of which may
	// take 12 bytes in a form.
	maxBody = 48 << 10
	// maxQuery of an address: a state and where a list goes on.
	maxQuery = 2 << 10
	// listed are the requests on one page.
	listed = 50
	// maxSending are the mails that are handed to the mail server at the same time.
	maxSending = 4
)

// Rates of one client's address, of everybody together, and of one e-mail address: a page that
// strangers may write mail from must not be of use to those who send it unasked.
const (
	viewBurst, viewEvery         = 120, 500 * time.Millisecond
	pressBurst, pressEvery       = 20, 6 * time.Second
	mailBurst, mailEvery         = 5, 10 * time.Minute
	mailToBurst, mailToEvery     = 3, time.Hour
	allMailBurst, allMailEvery   = 60, 30 * time.Second
	requestBurst, requestEvery   = 50, 5 * time.Minute
	allPressBurst, allPressEvery = 600, 100 * time.Millisecond
)

// Options of a room. All but Proxies, Log and Counted are required.
type Options struct {
	Store     *store.Store
	Workspace string // whose requests are shown
	Keyring   *secrets.Keyring
	Notify    *notify.Room
	Requests  *connectorrequest.Room
	// URL is scheme and host at which people reach the page: links in mails begin with it.
	URL     string
	Proxies forwarded.Proxies // in front of the page. Default: there are none
	Log     *slog.Logger      // Default: discard
	// Counted is notified of every answer, by its route and status. May be nil.
	Counted func(route string, status int)
}

// Room serves the page.
type Room struct {
	o       Options
	ws      *store.Workspace
	secure  bool // people come over https
	people  *people
	origins *http.CrossOriginProtection
	sending chan struct{} // capacity maxSending

	views, presses, mails, mailsTo, allMails, requests, allPresses *ratelimit.Limiter
}

// New makes a room. It fails with [problem.InvalidArgument] when URL is not an address of a page.
func New(ctx context.Context, o Options) (*Room, error) {
	if o.Store == nil || o.Keyring == nil || o.Notify == nil || o.Requests == nil || o.Workspace == "" {
		return nil, errors.New("making the page of requests: Store, Workspace, Keyring, Notify and Requests must be set")
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, problem.New(problem.InvalidArgument, "the address of the page of requests is not scheme and host").Fix("write it as https://requests.example.com, without a path")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Counted == nil {
		o.Counted = func(string, int) {}
	}
	limit := func(burst int, every time.Duration) *ratelimit.Limiter {
		return ratelimit.New(burst, every, o.Store.Now)
	}
	r := &Room{
		o: o, ws: o.Store.Workspace(o.Workspace), secure: u.Scheme == "https", origins: http.NewCrossOriginProtection(), sending: make(chan struct{}, maxSending),
		views: limit(viewBurst, viewEvery), presses: limit(pressBurst, pressEvery), mails: limit(mailBurst, mailEvery), mailsTo: limit(mailToBurst, mailToEvery),
		allMails: limit(allMailBurst, allMailEvery), requests: limit(requestBurst, requestEvery), allPresses: limit(allPressBurst, allPressEvery),
	}
	if err := r.origins.AddTrustedOrigin(o.URL); err != nil { // a proxy may give the page another Host
		return nil, problem.New(problem.InvalidArgument, "the address of the page of requests is not an origin").Because(err)
	}
	if r.people, err = loadPeople(ctx, r.ws, o.Keyring); err != nil {
		return nil, err
	}
	if open, err := r.open(ctx); err != nil {
		return nil, err
	} else if !open {
		o.Log.LogAttrs(ctx, slog.LevelWarn, "the public page of requests confirms no e-mail addresses: the workspace has no e-mail channel for them",
			slog.String("channel", connectorrequest.MailChannel),
			slog.String("remedy", "sluice notify channel add "+connectorrequest.MailChannel+" --mail-host … --mail-from … --mail-to …"))
	}
	return r, nil
}

// open reports whether addresses can be confirmed: there is a mail server.
func (r *Room) open(ctx context.Context) (bool, error) {
	_, err := notify.Mailer(ctx, r.ws, connectorrequest.MailChannel)
	if problem.Is(err, problem.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// client is the address of whoever sent a request.
func (r *Room) client(req *http.Request) string {
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return req.RemoteAddr
	}
	return r.o.Proxies.Of(peer.Addr(), req.Header.Values).Client.String()
}

// newID is a word that nobody guesses.
func newID() string { return strings.ToLower(rand.Text()) }
