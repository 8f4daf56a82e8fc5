package session

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/sluicegate/sluice/admin/member/passkey"
	"github.com/sluicegate/sluice/admin/member/ratelimit"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// How long what opens the console is good.
const (
	// idleLife is a working day with its breaks: who works with the console signs in once a
	// day at the most, and a browser that was left open is signed out the next morning.
	idleLife = 12 * time.Hour
	// life bounds a session that is used all the time: a copied cookie ends with it.
	life = 30 * 24 * time.Hour
	// linkLife is enough to copy a link into a browser. Whoever finds it later in a log or
	// in a mailbox cannot use it.
	linkLife = 10 * time.Minute
	// touchEvery is how exact the time is at which a session was seen, so that not every
	// request is a write.
	touchEvery = time.Minute
)

// Prefixes of the secrets; the rest has the form of API tokens.
const (
	secretPrefix = "sls_" // in the cookie
	linkPrefix   = "sll_" // in a login link
)

// maxAgent is how much of a browser's User-Agent is kept.
const maxAgent = 256

// Room opens and ends sessions. It may be used by many goroutines.
type Room struct {
	// Passkeys checks those of members.
	Passkeys *passkey.Room

	store   *store.Store
	log     *slog.Logger
	version string

	addresses, accounts limiter
	challenges          limiter       // of passkeys, asked for by an address
	hashing             chan struct{} // a slot for each password that is being hashed
}

// New returns a room for these records; version is that of the program.
func New(st *store.Store, log *slog.Logger, version string) *Room {
	return &Room{
		store: st, log: log, version: version,
		Passkeys:  passkey.New(st, log),
		addresses: limiter{ratelimit.New(addressBurst, addressEvery, st.Now)}, accounts: limiter{ratelimit.New(accountBurst, accountEvery, st.Now)},
		challenges: limiter{ratelimit.New(challengeBurst, challengeEvery, st.Now)},
		hashing:    make(chan struct{}, hashesAtOnce),
	}
}

// SignIn asks for a session: with the secret of a login link, with the address and password
// of a member, or with what a passkey signed.
type SignIn struct {
	Link      string `json:"link,omitempty" maxLength:"100" doc:"The part of a login link after #login=." example:"sll_…"`
	Email     string `json:"email,omitempty" maxLength:"254" example:"ada@example.com"`
	Password  string `json:"password,omitempty" maxLength:"1024"`
	Workspace string `json:"workspace,omitempty" maxLength:"63" doc:"Needed where an address belongs to members of several workspaces."`

	Passkey *passkey.Assertion `json:"passkey,omitempty" doc:"What a passkey signed of the challenge that this browser asked for."`
}

// From is the browser that signs in.
type From struct {
	Base  string         // scheme and host of the console
	Old   secrets.Secret // of the session that it had
	Kept  secrets.Secret // of the challenge that it asked for
	Agent string
}

// Opened is a new session and its secret, for the cookie.
type Opened struct {
	Session Session
	Secret  secrets.Secret
}

// Open signs a browser in and ends the session that it had. A session always gets a new
// secret, so one that was planted in the browser is worth nothing. It fails with
// [problem.Unauthenticated], and with [problem.RateLimited] after many failures.
func (m *Room) Open(ctx context.Context, in *SignIn, from *From) (*Opened, error) {
	row := &store.Session{Agent: agentName(from.Agent), Address: request.Of(ctx).IP}
	spend := func(*store.Tx) error { return nil }
	var err error
	typed := in.Email != "" && in.Password != ""
	switch {
	case in.Link != "" && in.Email == "" && in.Password == "" && in.Workspace == "" && in.Passkey == nil:
		var link *store.LoginLink
		if link, err = m.findLink(ctx, secrets.New(in.Link)); err == nil {
			row.WorkspaceID, row.MemberID, row.TokenID = link.WorkspaceID, link.MemberID, link.TokenID
			row.OpenedBy, row.SetsPassword = store.OpenedByLink, link.SetsPassword
			spend = func(tx *store.Tx) error { return useLink(ctx, tx, link) }
		}
	case in.Link == "" && typed && in.Passkey == nil:
		row.OpenedBy = store.OpenedByPassword
		row.WorkspaceID, row.MemberID, err = m.checkLogin(ctx, in.Workspace, in.Email, secrets.New(in.Password))
	case in.Link == "" && in.Email == "" && in.Password == "" && in.Workspace == "" && in.Passkey != nil:
		var key *store.Passkey
		if key, err = m.checkPasskey(ctx, in.Passkey, from); err == nil {
			row.WorkspaceID, row.MemberID, row.OpenedBy = key.WorkspaceID, key.MemberID, store.OpenedByPasskey
			spend = func(tx *store.Tx) error { return usePasskey(ctx, tx, key) }
		}
	default:
		err = problem.New(problem.InvalidArgument, "a login needs one of: link, email and password, passkey")
	}
	if err != nil {
		return nil, err
	}
	return m.open(ctx, row, spend, from.Old)
}

// OpenMember signs a browser in as a member whom a provider vouches for, and ends the session
// of old as Open does.
func (m *Room) OpenMember(ctx context.Context, workspace, member string, old secrets.Secret, agent string) (*Opened, error) {
	row := &store.Session{Agent: agentName(agent), Address: request.Of(ctx).IP, MemberID: member, OpenedBy: store.OpenedByOpenID}
	row.WorkspaceID = workspace
	return m.open(ctx, row, func(*store.Tx) error { return nil }, old)
}

// open writes a new session and ends the one before of the same browser. spend uses up what
// opens it.
func (m *Room) open(ctx context.Context, row *store.Session, spend func(*store.Tx) error, old secrets.Secret) (*Opened, error) {
	secret := access.NewTokenFor(secretPrefix)
	if err := m.add(ctx, row, spend, secret); err != nil {
		return nil, err
	}
	if before, _, err := m.resume(ctx, old); err == nil {
		if err := m.end(ctx, before, "another login in the same browser"); err != nil {
			return nil, err
		}
	}
	_, as, err := m.store.SessionByHash(ctx, row.Hash)
	if err != nil {
		return nil, err
	}
	view, err := m.Show(ctx, row, as)
	return &Opened{Session: view, Secret: secret}, err
}

// add writes a new session with its audit record, and uses up what opens it: of two browsers
// with one link, one is signed in.
func (m *Room) add(ctx context.Context, row *store.Session, spend func(*store.Tx) error, secret secrets.Secret) error {
	now := m.store.Now()
	row.Hash = access.HashToken(secret)
	row.IdleAt, row.ExpiresAt = store.Time{Time: now.Add(idleLife)}, store.Time{Time: now.Add(life)}
	return m.store.Workspace(row.WorkspaceID).Update(ctx, func(tx *store.Tx) error {
		if err := spend(tx); err != nil {
			return err
		}
		if err := tx.AddSession(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "session.open", row.ID)
		rec.ActorType, rec.ActorID = request.SessionActor(row)
		rec.After = store.JSON(map[string]any{"openedBy": row.OpenedBy})
		return tx.Audit(ctx, rec)
	})
}

// agentName is what is kept of a User-Agent, which may be anything.
func agentName(header string) string {
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, header)
	return request.ClipText(printable, maxAgent)
}

// failed is the audit record of a login that did not succeed.
func failed(ctx context.Context, workspace, resource, reason string) {
	request.Of(ctx).Refused = &request.RefusedLogin{Workspace: workspace, Action: "session.open", Resource: resource, Reason: reason}
}

// Resume finds the session of a cookie that has not ended, and what it may do; both are then
// the request's. It fails with [problem.Unauthenticated].
func (m *Room) Resume(ctx context.Context, secret secrets.Secret) (*store.Session, *store.Token, error) {
	row, as, err := m.resume(ctx, secret)
	if err != nil {
		return nil, nil, err
	}
	if now := m.store.Now(); now.Sub(row.SeenAt.Time) >= touchEvery {
		row.SeenAt, row.IdleAt = store.Time{Time: now}, store.Time{Time: now.Add(idleLife)}
		err = m.store.Workspace(row.WorkspaceID).Update(ctx, func(tx *store.Tx) error { return tx.TouchSession(ctx, row) })
	}
	return row, as, err
}

func (m *Room) resume(ctx context.Context, secret secrets.Secret) (*store.Session, *store.Token, error) {
	if !access.ValidTokenFor(secretPrefix, secret) {
		return nil, nil, problem.New(problem.Unauthenticated, "the session cookie is malformed").Fix("sign in again")
	}
	return m.store.SessionByHash(ctx, access.HashToken(secret))
}

// end ends a session and records why.
func (m *Room) end(ctx context.Context, row *store.Session, reason string) error {
	return m.store.Workspace(row.WorkspaceID).Update(ctx, func(tx *store.Tx) error {
		ok, err := tx.EndSession(ctx, row.ID)
		if err != nil || !ok {
			return err
		}
		rec := request.Audit(ctx, "session.end", row.ID)
		if request.Of(ctx).Token == nil {
			rec.ActorType, rec.ActorID = request.SessionActor(row)
		}
		rec.Reason = reason
		return tx.Audit(ctx, rec)
	})
}

// SignOut ends the session of the request.
func (m *Room) SignOut(ctx context.Context) error {
	row := request.Of(ctx).Session
	if row == nil {
		return notSignedIn()
	}
	return m.end(ctx, row, "sign-out")
}

func notSignedIn() error {
	return problem.New(problem.Unauthenticated, "the request has an API token, not a session of the console").
		Fix("sign in with a login link, or use GET /v1/me")
}

// SameOrigin reports whether a browser says that a page of one of these origins, or its user
// by typing the address, sends the request. Browsers set Sec-Fetch-Site (Fetch Metadata), and
// before it Origin, and let no page change them. Where neither is, nothing is known.
func SameOrigin(method string, h http.Header, origins ...string) bool {
	if site := h.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin" || site == "none" && (method == http.MethodGet || method == http.MethodHead)
	}
	from := h.Get("Origin")
	for _, o := range origins {
		if from != "" && from == o {
			return true
		}
	}
	return false
}
