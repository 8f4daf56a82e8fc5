package fleet

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/sluicegate/sluice/admin/fleet/domain"
	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// Options of a room. All must be set.
type Options struct {
	Store     *store.Store
	Publisher *publish.Publisher
	// Keyring has the key that the nodes of a pool share.
	Keyring *secrets.Keyring
	Log     *slog.Logger
	// Secrets opens what edges apply.
	Secrets Secrets
	// UserWait is the longest that UserCredential of Secrets takes.
	UserWait time.Duration
	// Domains has the certificates of edges and what authorities want to see at them.
	Domains *domain.Room
	// Plugins and Usage take what edges report.
	Plugins *plugin.Room
	Usage   *usage.Room
	// ReadBody reads the body of a message, of at most limit bytes and bounded in time.
	ReadBody func(w http.ResponseWriter, req *http.Request, limit int64) ([]byte, error)
	// Stopping is closed when the server stops: questions that are held are answered.
	Stopping <-chan struct{}
}

// Secrets opens credentials in the form that a gateway applies.
type Secrets interface {
	// Credential opens a credential. It fails with [problem.NotFound] when there is none.
	Credential(ctx context.Context, id string) (registry.EdgeCredential, error)
	// UserCredential opens the token of one caller. It fails with a [registry.LoginError]
	// when that caller must log in.
	UserCredential(ctx context.Context, in *registry.EdgeUserRequest) (*registry.EdgeCredential, error)
	// Users changes when tokens of callers are forgotten before their time.
	Users() uint64
}

// Room is what the control plane does with its edges.
type Room struct {
	o     Options
	needs needs
	bell  publish.Bell // rings when an edge may have new credentials or was changed
}

// New makes a room.
func New(o Options) *Room {
	return &Room{o: o, needs: needs{publisher: o.Publisher}}
}

// Ring has the edges that wait look again: their credentials may be others, or they
// themselves were changed. It does not block.
func (r *Room) Ring() { r.bell.Ring() }

// MayPull reports whether the newest release of an edge's group, or the one before,
// needs a content. It fails with [problem.Unavailable] when that is not known yet.
func (r *Room) MayPull(ctx context.Context, e *store.Edge, d registry.Digest) (bool, error) {
	return r.needs.mayPull(ctx, e.Group, d)
}

// NeededBy names the newest release of a group of edges when it, or the one before, needs
// a content; nil when it does not, or the group has no release.
func (r *Room) NeededBy(ctx context.Context, group string, d registry.Digest) (*registry.ReleaseName, error) {
	return r.needs.neededBy(ctx, group, d)
}
