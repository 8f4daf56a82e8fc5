package domain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

const (
	// interval is how often domains are looked at that nothing asks for sooner.
	interval = 5 * time.Second
	// firstCheck and longestCheck are pauses between checks of a domain that DNS does not
	// prove yet: the first one doubles. After checkFor it is not looked at by itself.
	firstCheck, longestCheck = 30 * time.Second, time.Hour
	checkFor                 = 7 * 24 * time.Hour
	// firstRetry and longestRetry are pauses after an authority gave no certificate.
	// Authorities count failures: Let's Encrypt allows five an hour for a name.
	firstRetry, longestRetry = time.Minute, 6 * time.Hour
	// longestOwn is the longest pause for a host of the installation, which nobody can verify
	// again by hand: gateways may be there only long after the control plane.
	longestOwn = 15 * time.Minute
	// revokeRetry is the pause after an authority did not revoke a certificate.
	revokeRetry = 10 * time.Minute
	// obtainTimeout of one certificate: authorities look from several places, and DNS
	// records of a challenge take minutes to be seen.
	obtainTimeout = 10 * time.Minute
	// atOnce is how many domains are checked at the same time.
	atOnce = 8
	// dueAtOnce domains are taken in one round of checks.
	dueAtOnce = 200
)

// Certificates come from a certificate authority. Its methods may be called by many
// goroutines.
type Certificates interface {
	// Get returns the certificate of a host; false: there is none.
	Get(host string) (Held, bool)
	// Hosts are all of which there is one.
	Hosts() []string
	// Obtain gets one, or another one when that has ended. What the authority says is in the error, which is a
	// *problem.Error: [problem.RateLimited] when it was asked too often, with a *TooSoonError as cause.
	Obtain(ctx context.Context, host string) error
	// RenewDue begins to renew those that need it, which is also done from time to time, and goes on
	// with that until ctx ends.
	RenewDue(ctx context.Context) error
	// Revoke has the authority revoke one, and forgets it.
	Revoke(ctx context.Context, host string) error
	// Fault says why the certificate of a host was not renewed; nil: it need not be.
	Fault(host string) error
	// Challenge returns what the authority asks a gateway to show at a host; nil: nothing.
	Challenge(ctx context.Context, host string) (*registry.EdgeChallenge, error)
	// Changed returns a channel that is closed when a certificate is obtained, renewed or
	// revoked.
	Changed() <-chan struct{}
}

// TooSoonError is what an authority says that was asked too often about a host.
type TooSoonError struct {
	Until time.Time // when it may be asked again
	Err   error     // what it says
}

// Error implements error: what the authority says.
func (e *TooSoonError) Error() string { return e.Err.Error() }

// Unwrap gives what the authority says, as the client of ACME has it.
func (e *TooSoonError) Unwrap() error { return e.Err }

// Held is a certificate with its key.
type Held struct {
	Issuer              string
	NotBefore, NotAfter time.Time
	PEM                 secrets.Secret // the chain, its own certificate first, and the private key
}

// Run looks at domains until ctx ends: it asks DNS about those that are not proven, gets
// certificates, and revokes those of domains that are gone. One process does it: the one
// that holds the claim on the database.
func (r *Room) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { r.every(ctx, nil, r.checkDue) })
	all.Go(func() { r.every(ctx, r.wake, r.Round) })
	if r.Certificates != nil {
		// Certificates may have ended while no control plane ran, and one that is started
		// again and again must renew too.
		all.Go(func() {
			if err := r.Certificates.RenewDue(ctx); err != nil && ctx.Err() == nil {
				r.Log.LogAttrs(ctx, slog.LevelWarn, "certificates were not renewed at the start: it is tried again", slog.Any("error", err))
			}
		})
	}
	all.Wait()
	r.jobs.all.Wait()
}

// every repeats work until ctx ends.
func (r *Room) every(ctx context.Context, wake <-chan struct{}, work func(context.Context) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := r.Store.Claimed(ctx)
		if err == nil {
			err = work(ctx)
		}
		if err != nil && ctx.Err() == nil {
			r.Log.LogAttrs(ctx, slog.LevelWarn, "domains were not looked at: it is tried again", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
	}
}

// checkDue asks DNS about the domains whose turn it is.
func (r *Room) checkDue(ctx context.Context) error {
	rows, err := r.Store.DomainsDue(ctx, dueAtOnce, Pending)
	if err != nil {
		return err
	}
	return r.each(ctx, rows, func(ctx context.Context, row *store.Domain) error {
		_, err := r.verify(ctx, r.Store.Workspace(row.WorkspaceID), row, request.Audit(ctx, "domain.verify", row.ID))
		return err
	})
}

// each does something with every domain, some at a time. A domain that was removed
// meanwhile, or that another workspace proved first, is no fault.
func (r *Room) each(ctx context.Context, rows []store.Domain, do func(context.Context, *store.Domain) error) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range rows {
		g.Go(func() error {
			err := do(gctx, &rows[i])
			if problem.Is(err, problem.NotFound) {
				return nil
			}
			if problem.Is(err, problem.Conflict) {
				return r.lost(gctx, &rows[i], err)
			}
			return err
		})
	}
	return g.Wait()
}

// lost records that a domain cannot be what it was to become.
func (r *Room) lost(ctx context.Context, row *store.Domain, fault error) error {
	_, err := r.save(ctx, r.Store.Workspace(row.WorkspaceID), row, func(tx *store.Tx, row *store.Domain) error {
		row.Cause, row.Attempts = causeOf(fault), row.Attempts+1
		row.NextAt = store.Time{Time: nextCheck(row, tx.Now())}
		return nil
	})
	if problem.Is(err, problem.NotFound) {
		return nil
	}
	return err
}

// nextCheck is when DNS is asked again about a domain that it does not prove.
func nextCheck(row *store.Domain, now time.Time) time.Time {
	pause := pauseAfter(row.Attempts, firstCheck, longestCheck)
	if now.Add(pause).After(row.CreatedAt.Add(checkFor)) {
		return never
	}
	return now.Add(pause)
}

// pauseAfter doubles with each failure.
func pauseAfter(failures int64, first, longest time.Duration) time.Duration {
	pause := first
	for range failures - 1 {
		if pause *= 2; pause >= longest {
			return longest
		}
	}
	return pause
}

// Round gives every proven domain the state that its certificate has, and begins to obtain
// those that are missing and to revoke those that no domain has any more. It does not wait
// for the authority.
func (r *Room) Round(ctx context.Context) error {
	proven, err := r.Store.ProvenDomains(ctx)
	if err != nil {
		return err
	}
	if r.Certificates == nil {
		return r.each(ctx, proven, r.settled)
	}
	served, err := r.Store.DomainsServed(ctx, proven)
	if err != nil {
		return err
	}
	// What is begun goes on after the round: it gets the context of that.
	if err := r.each(ctx, served, func(_ context.Context, row *store.Domain) error { return r.certify(ctx, row) }); err != nil {
		return err
	}
	r.certifyOwn(ctx)
	return r.revokeOrphans(ctx)
}

// settled gives a domain the state that it has where no certificates are obtained.
func (r *Room) settled(ctx context.Context, row *store.Domain) error {
	after := *row
	after.Issuer, after.NotBefore, after.NotAfter = "", store.Time{}, store.Time{}
	if r.settle(&after); after.State == row.State && after.Cause == row.Cause && after.Issuer == row.Issuer {
		return nil
	}
	return r.become(ctx, row, func(d *store.Domain) {
		d.Issuer, d.NotBefore, d.NotAfter = "", store.Time{}, store.Time{}
		r.settle(d)
	})
}

// valid reports whether a certificate has not ended.
func (r *Room) valid(c Held) bool { return r.Store.Now().Before(c.NotAfter) }

// certify gives a domain the state of its certificate, and begins to obtain one if there is
// none, or it has ended: people wait for that, who can have it tried again at once, and not
// when the turn of renewals is.
func (r *Room) certify(ctx context.Context, row *store.Domain) error {
	if r.jobs.busy(row.Host) {
		return nil
	}
	c, ok := r.Certificates.Get(row.Host)
	if ok && (row.State == Live || r.valid(c)) {
		if err := r.serves(ctx, row, c); err != nil || r.valid(c) {
			return err
		}
	}
	if r.Store.Now().Before(row.NextAt.Time) {
		return nil
	}
	r.begin(ctx, row.Host, row.WorkspaceID, func(octx context.Context) bool {
		err := r.each(ctx, []store.Domain{*row}, func(ctx context.Context, row *store.Domain) error { return r.obtain(ctx, octx, row) })
		if err != nil && ctx.Err() == nil {
			r.Log.LogAttrs(ctx, slog.LevelWarn, "the state of a domain was not stored: it is tried again", slog.String("domain", row.Host), slog.Any("error", err))
		}
		return err == nil
	})
	return nil
}

// obtain gets the certificate of a domain within octx, and records what became of it.
func (r *Room) obtain(ctx, octx context.Context, row *store.Domain) error {
	if err := r.become(ctx, row, func(d *store.Domain) { d.State, d.Cause = Issuing, "" }); err != nil {
		return err
	}
	err := r.Certificates.Obtain(octx, row.Host)
	if c, ok := r.Certificates.Get(row.Host); err == nil && ok && r.valid(c) {
		return r.serves(ctx, row, c)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = problem.New(problem.Unavailable, "the certificate of %s was obtained and cannot be used", row.Host)
	}
	r.Log.LogAttrs(ctx, slog.LevelWarn, "a certificate could not be obtained", slog.String("domain", row.Host), slog.Any("error", err))
	return r.become(ctx, row, func(d *store.Domain) {
		d.State, d.Cause, d.Attempts = Failed, causeOf(err), d.Attempts+1
		now := r.Store.Now()
		d.NextAt = store.Time{Time: now.Add(retryAfter(err, d.Attempts, longestRetry, now))}
	})
}

// retryAfter is the pause after an authority gave no certificate so often in a row.
func retryAfter(err error, failures int64, longest time.Duration, now time.Time) time.Duration {
	pause := pauseAfter(failures, firstRetry, longest)
	if soon, ok := errors.AsType[*TooSoonError](err); ok {
		pause = max(pause, soon.Until.Sub(now))
	}
	return pause
}

// serves records the certificate of a domain.
func (r *Room) serves(ctx context.Context, row *store.Domain, c Held) error {
	state, cause := Live, ""
	if fault := r.Certificates.Fault(row.Host); fault != nil {
		cause = "the certificate is not renewed: " + causeOf(fault)
	}
	if !r.valid(c) {
		state = Failed
		if cause == "" {
			cause = "the certificate has expired"
		}
	}
	if row.State == state && row.Cause == cause && row.Issuer == c.Issuer && row.NotAfter.Equal(c.NotAfter.Truncate(time.Millisecond)) {
		return nil
	}
	return r.become(ctx, row, func(d *store.Domain) {
		d.State, d.Cause, d.Issuer, d.NotBefore, d.NotAfter = state, cause, c.Issuer, store.Time{Time: c.NotBefore}, store.Time{Time: c.NotAfter}
		d.Attempts, d.NextAt = 0, store.Time{}
	})
}

// become changes a domain, and audits it when its state changes to one that lasts.
func (r *Room) become(ctx context.Context, row *store.Domain, change func(*store.Domain)) error {
	_, err := r.save(ctx, r.Store.Workspace(row.WorkspaceID), row, func(tx *store.Tx, row *store.Domain) error {
		before := row.State
		if change(row); row.State == before || row.State == Issuing || before == Issuing && row.State == Failed && row.Attempts > 1 {
			return nil
		}
		rec := request.Audit(ctx, "domain."+row.State, row.ID)
		rec.After = store.JSON(map[string]any{"host": row.Host, "cause": row.Cause})
		return tx.Audit(ctx, rec)
	})
	return err
}

// revokeOrphans begins to revoke the certificates of domains that were removed.
func (r *Room) revokeOrphans(ctx context.Context) error {
	hosts := r.Certificates.Hosts()
	if len(hosts) == 0 {
		return nil
	}
	proven, err := r.Store.ProvenDomains(ctx) // anew: one that was added meanwhile must stay
	if err != nil {
		return err
	}
	used := make(map[string]bool, len(proven))
	for _, host := range r.Own {
		used[host] = true
	}
	for i := range proven {
		used[proven[i].Host] = true
	}
	for _, host := range hosts {
		if used[host] || r.jobs.waits(host, r.Store.Now()) {
			continue
		}
		r.begin(ctx, host, "", func(octx context.Context) bool {
			err := r.Certificates.Revoke(octx, host)
			if err != nil && ctx.Err() != nil {
				return false
			}
			again := r.jobs.ended(host, err, r.Store.Now(), func(int64) time.Duration { return revokeRetry })
			if err != nil {
				r.Log.LogAttrs(ctx, slog.LevelWarn, "the certificate of a domain that was removed is not revoked: it is tried again",
					slog.String("domain", host), slog.Time("again", again), slog.Any("error", err))
				return true
			}
			r.Log.LogAttrs(ctx, slog.LevelInfo, "the certificate of a domain that was removed is revoked", slog.String("domain", host))
			return true
		})
	}
	return nil
}

// certifyOwn begins to obtain the certificates of the hosts of this installation.
func (r *Room) certifyOwn(ctx context.Context) {
	if r.Edges && !r.told.Load() {
		return
	}
	for _, host := range r.Own {
		if c, ok := r.Certificates.Get(host); ok && r.valid(c) || r.jobs.waits(host, r.Store.Now()) {
			continue
		}
		r.begin(ctx, host, "", func(octx context.Context) bool {
			err := r.Certificates.Obtain(octx, host)
			if err != nil && ctx.Err() != nil {
				return false
			}
			now := r.Store.Now()
			again := r.jobs.ended(host, err, now, func(n int64) time.Duration { return retryAfter(err, n, longestOwn, now) })
			if err != nil {
				r.Log.LogAttrs(ctx, slog.LevelError, "the certificate of the public URL could not be obtained: it is tried again",
					slog.String("host", host), slog.Time("again", again), slog.Any("error", err))
			}
			return true
		})
	}
}

// For returns the certificates that the gateways of a release show, and a text that
// changes with them. Those that do not exist yet are left out.
func (r *Room) For(rel *registry.Release) (list []registry.EdgeCertificate, etag string) {
	h := sha256.New()
	if r.Certificates != nil && rel != nil {
		_, _ = h.Write([]byte(strings.Join(r.Own, " ") + "\n")) // a hash does not fail
		for _, host := range r.hosts(rel) {
			c, ok := r.Certificates.Get(host)
			if !ok {
				continue
			}
			list = append(list, registry.EdgeCertificate{Host: host, PEM: secrets.Wire{Secret: c.PEM}})
			_, _ = h.Write([]byte(host + "\n" + c.PEM.Reveal()))
		}
	}
	return list, hex.EncodeToString(h.Sum(nil)[:16])
}

// hosts are those of which the gateways of a release show certificates.
func (r *Room) hosts(rel *registry.Release) []string {
	out := slices.Clone(r.Own)
	for _, d := range rel.Domains {
		out = append(out, d.Host)
	}
	return out
}

// Challenge returns what an authority asks the gateways of a release to show at a host;
// nil: nothing.
func (r *Room) Challenge(ctx context.Context, rel *registry.Release, host string) (*registry.EdgeChallenge, error) {
	if r.Certificates == nil || rel == nil || !slices.Contains(r.hosts(rel), host) {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	return r.Certificates.Challenge(ctx, host)
}
