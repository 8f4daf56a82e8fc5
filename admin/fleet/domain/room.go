package domain

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// maxDomains of one workspace: one for each toolset of a large one.
	maxDomains = 1000
	// releaseTimeout is how long a change waits for the gateway of this node, as one of
	// access does.
	releaseTimeout = 5 * time.Second
	// saveTries of a change: each that fails lost to another one of the same domain.
	saveTries = 10
)

// never is when a domain is looked at that is not looked at by itself any more.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Room keeps the domains of workspaces.
type Room struct {
	Store     *store.Store
	Publisher *publish.Publisher
	Log       *slog.Logger
	// AwaitRelease waits until the gateway of this node serves a release. nil: nothing waits.
	AwaitRelease func(ctx context.Context, revision uint64) error
	// Resolver asks DNS. Default: as the machine does.
	Resolver Resolver
	// Target is where the gateways are: a host name or an address that domains must lead
	// to. "": they may lead anywhere.
	Target string
	// Reserved are hosts that nobody can have: those of the gateways and of the admin API.
	Reserved []string
	// Certificates come from an authority. nil: this control plane obtains none.
	Certificates Certificates
	// Elsewhere says that something else shows certificates, a proxy or the files of a
	// gateway: a domain is live when it is proven. Only without Certificates.
	Elsewhere bool

	// Own are hosts of the gateways themselves, whose certificates are obtained without a
	// record. Only with Certificates.
	Own []string
	// Edges says that the gateways are edges: those hosts are not asked for before an edge
	// was Told of them, because nothing would answer the authority.
	Edges bool

	told *atomic.Bool
	wake chan struct{} // capacity 1
	jobs *jobs
}

// Open makes a room. The fields of o do not change after it.
func Open(o Room) *Room {
	r := o
	if r.Resolver == nil {
		r.Resolver = net.DefaultResolver
	}
	r.told, r.wake, r.jobs = new(atomic.Bool), make(chan struct{}, 1), newJobs()
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	return &r
}

// Wake has the domains looked at soon. It does not block.
func (r *Room) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Told notes that an edge knows the hosts of this installation.
func (r *Room) Told() { r.told.Store(true) }

// Add claims a host for a toolset, or with "" for the workspace. It serves nothing until
// DNS proves it.
func (r *Room) Add(ctx context.Context, ws *store.Workspace, toolset, written string) (*store.Domain, error) {
	host, err := hostOf(written)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(r.Reserved, func(h string) bool { return strings.EqualFold(h, host) }) {
		return nil, problem.New(problem.Conflict, "%s is the name of this installation itself", host).At("", 0, 0, "/host").Fix("choose another host name")
	}
	row := &store.Domain{Host: host, ToolsetID: toolset, Token: rand.Text(), State: Pending, CreatedBy: request.Of(ctx).ActorID(), NextAt: store.Time{Time: ws.Now().Add(firstCheck)}}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		n, err := tx.CountDomains(ctx)
		if err != nil {
			return err
		}
		if n >= maxDomains {
			return problem.New(problem.Conflict, "the workspace has %d domains, which is the most", n).Fix("remove some: sluice domain list")
		}
		if err := tx.AddDomain(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "domain.add", row.ID)
		rec.After = store.JSON(map[string]any{"host": host, "toolset": toolset})
		return tx.Audit(ctx, rec)
	})
	return row, err
}

// Verify asks DNS about a domain now. What it says is in the domain that is returned: an
// answer that does not prove it is not an error. A certificate that could not be obtained is
// asked for again.
func (r *Room) Verify(ctx context.Context, ws *store.Workspace, host string) (*store.Domain, error) {
	row, err := ws.Domain(ctx, host)
	if err != nil {
		return nil, err
	}
	return r.verify(ctx, ws, row, request.Audit(ctx, "domain.verify", row.ID))
}

// verify asks DNS about a domain and records what it says, with an audit record if that
// proves it for the first time.
func (r *Room) verify(ctx context.Context, ws *store.Workspace, row *store.Domain, rec *store.Audit) (*store.Domain, error) {
	fault := r.check(ctx, row)
	if fault != nil && (problem.As(fault) == nil || ctx.Err() != nil) {
		return nil, fault
	}
	proven := false
	row, err := r.save(ctx, ws, row, func(tx *store.Tx, row *store.Domain) error {
		now := tx.Now()
		row.CheckedAt = store.Time{Time: now}
		if fault != nil {
			row.Cause = causeOf(fault)
			if row.State == Pending {
				row.Attempts++
				row.NextAt = store.Time{Time: nextCheck(row, now)}
			}
			return nil
		}
		row.Cause = ""
		if row.State != Live {
			row.Attempts, row.NextAt = 0, store.Time{}
		}
		if row.State == Failed && r.Certificates != nil {
			row.State = Verified // who waits for the certificate must not take the fault of before for the answer
		}
		if row.State != Pending {
			return nil
		}
		proven = true
		row.VerifiedAt = row.CheckedAt
		r.settle(row)
		rec.After = store.JSON(map[string]any{"host": row.Host, "state": row.State})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	if proven {
		if err := r.release(ctx, row.Host); err != nil {
			return nil, err
		}
	}
	r.Wake()
	return row, nil
}

// settle gives a domain that is proven the state that it has without a certificate of
// this control plane.
func (r *Room) settle(row *store.Domain) {
	switch {
	case r.Certificates != nil:
		row.State = Verified
	case r.Elsewhere:
		row.State, row.Cause = Live, ""
	default:
		row.State, row.Cause = Verified, "nothing shows a certificate for it: start the node with --acme-ca, with --tls-cert, or behind a proxy that speaks TLS"
	}
}

// Records are what the domains of toolsets are read from: the records of a workspace, or those
// that were gathered for a page of toolsets.
type Records interface {
	DomainInState(ctx context.Context, toolset, state string) (*store.Domain, error)
}

// ToolsetURL is where clients reach a toolset: at a domain that is live, its own before one
// of the workspace, else below the URL of the gateway.
func (r *Room) ToolsetURL(ctx context.Context, records Records, ts *store.Toolset, gatewayURL string) (string, error) {
	row, err := records.DomainInState(ctx, ts.ID, Live)
	if err != nil {
		return "", err
	}
	if row != nil {
		return URL(row, ts.Slug), nil
	}
	return strings.TrimSuffix(gatewayURL, "/") + "/t/" + ts.Slug, nil
}

// Remove frees a domain. Gateways stop serving it; its certificate is revoked soon.
func (r *Room) Remove(ctx context.Context, ws *store.Workspace, host string, match *request.MatchInput) error {
	proven := false
	err := ws.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.Domain(ctx, host)
		if err != nil {
			return err
		}
		if err := match.Check(row.Version, false); err != nil {
			return err
		}
		if err := tx.DeleteDomain(ctx, host); err != nil {
			return err
		}
		proven = !row.VerifiedAt.IsZero()
		rec := request.Audit(ctx, "domain.remove", row.ID)
		rec.Before = store.JSON(map[string]any{"host": host, "toolset": row.ToolsetID, "state": row.State})
		return tx.Audit(ctx, rec)
	})
	if err != nil || !proven {
		return err
	}
	r.Wake()
	return r.release(ctx, host)
}

// save changes a domain, which may have been changed meanwhile.
func (r *Room) save(ctx context.Context, ws *store.Workspace, row *store.Domain, change func(tx *store.Tx, row *store.Domain) error) (*store.Domain, error) {
	for try := 1; ; try++ {
		err := ws.Update(ctx, func(tx *store.Tx) error {
			var err error
			id := row.ID
			if row, err = tx.Domain(ctx, row.Host); err != nil {
				return err
			}
			if row.ID != id {
				return problem.New(problem.NotFound, "domain %s was removed", row.Host)
			}
			if err := change(tx, row); err != nil {
				return err
			}
			return tx.SaveDomain(ctx, row)
		})
		if try == saveTries || !errors.Is(err, store.ErrStale) {
			return row, err
		}
	}
}

// release tells gateways which domains there are.
func (r *Room) release(ctx context.Context, host string) error {
	rel, err := r.Publisher.Release(ctx)
	if err != nil {
		return problem.New(problem.Unavailable, "the change of domain %s is stored, but no release could be made of it: gateways do not know it yet", host).
			Fix("look into the log of this node").Because(err)
	}
	if r.AwaitRelease == nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	if err := r.AwaitRelease(wait, rel.Release().Revision); err != nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "the gateway of this node does not serve the new release yet", slog.String("domain", host), slog.Any("error", err))
	}
	return nil
}

// maxCause is the longest text of an authority or of DNS that is kept.
const maxCause = 500

// causeOf is the text of an error for people, with its remedy.
func causeOf(err error) string {
	text := request.Detail(err)
	if p := problem.As(err); p != nil && p.Remedy != "" {
		text += "; " + p.Remedy
	}
	return request.ClipText(text, maxCause)
}

// OfToolset reads a domain of a toolset.
func OfToolset(ctx context.Context, ws *store.Workspace, toolset, host string) (*store.Domain, error) {
	ts, err := ws.FindToolset(ctx, toolset)
	if err != nil {
		return nil, err
	}
	row, err := ws.Domain(ctx, Name(host))
	if err != nil {
		return nil, err
	}
	if row.ToolsetID != ts.ID {
		return nil, problem.New(problem.NotFound, "toolset %s has no domain %s", ts.Slug, row.Host).Fix("list those of the workspace: sluice domain list")
	}
	return row, nil
}
