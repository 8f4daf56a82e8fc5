package login

import (
	"context"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Options of logins. Fields without a default must be set.
type Options struct {
	Store   *store.Store
	Keyring *secrets.Keyring
	// OAuth asks authorization servers. Default: none is asked.
	OAuth *oauth.Client
	Log   *slog.Logger
	// Origins decides where credentials may be sent.
	Origins *Origins
	// PublicURL is where browsers and authorization servers reach this listener. Default: the
	// address that a request came to.
	PublicURL string
	// LinkURL is what the links of callers begin with. Default: they get no links.
	LinkURL string
	// Work ends when the server does; Jobs counts what goes on besides requests.
	Work context.Context //nolint:containedctx // the life of the server, not of a call
	Jobs *sync.WaitGroup
	// Changed is called when a secret is forgotten. It must not block.
	Changed func()
	// Challenge is what an MCP server wants from who has no credential. Default: it is
	// asked as any other resource.
	Challenge func(ctx context.Context, resource string) oauth.Challenge
}

// Room serves logins in browsers: those that an operator begins, and those of callers.
type Room struct {
	o       *Options
	Secrets *Secrets
	Clients *Clients
	Origins *Origins
}

// Secrets keeps the secrets of credentials open for gateways, gets and renews access
// tokens, and revokes them.
type Secrets struct {
	o       *Options
	clients *Clients
	origins *Origins
	shared  cache
	users   cache // tokens of single callers, by holder
	// epoch changes when tokens of callers are forgotten before their time.
	epoch   atomic.Uint64
	flights singleflight.Group // requests for access tokens, by holder
}

// Clients finds and registers clients at authorization servers.
type Clients struct {
	o       *Options
	flights singleflight.Group // searches, by credential
}

// New makes what serves logins and keeps their tokens.
func New(o Options) *Room { //nolint:gocritic // once
	clients := &Clients{o: &o}
	s := &Secrets{o: &o, clients: clients, origins: o.Origins}
	s.shared.changed = o.Changed
	s.users.most = maxUserTokens
	s.epoch.Store(mathrand.Uint64()) //nolint:gosec // another one than before a restart; it keeps no secret
	return &Room{o: &o, Secrets: s, Clients: clients, Origins: o.Origins}
}

// Epoch changes when tokens of callers are forgotten before their time: edges then
// forget those that they have.
func (s *Secrets) Epoch() uint64 { return s.epoch.Load() }
