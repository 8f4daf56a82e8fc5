package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// Defaults of Options.
const (
	// DefaultGroup is the group of edges when there is only one.
	DefaultGroup = "default"
	// DefaultLifetime is how long a release is current: three renewals.
	DefaultLifetime = 72 * time.Hour
	// RenewAfter is the age at which a release is made again although nothing
	// changed, so that edges can tell "nothing new" from "cut off".
	RenewAfter = 24 * time.Hour
	// retryRenewal is the pause after a renewal that did not succeed.
	retryRenewal = time.Minute
)

// Records knows what is live.
type Records interface {
	// Live lists the toolsets the next release of a group has to list, in any
	// order. What it returned is durable: a release is only ever made from
	// acknowledged records.
	Live(ctx context.Context, group string) ([]registry.ReleaseToolset, error)
}

// Options configure a Publisher.
type Options struct {
	Store        *oci.Store    // registry that edges read. Required
	Records      Records       // Required
	ReleaseKey   *sign.Key     // signs releases. Required
	WorkspaceKey *sign.Key     // listed as the signer of generated connectors. nil: none is listed
	Group        string        // group of edges. Default: DefaultGroup
	Lifetime     time.Duration // until a release expires, at least RenewAfter. Default: DefaultLifetime
	Notify       func()        // called after a release became the newest. nil: nobody is told
	Logger       *slog.Logger  // Default: discard
}

func (o *Options) validate() error {
	var errs []error
	if o.Store == nil {
		errs = append(errs, errors.New("publish: no registry is given"))
	}
	if o.Records == nil {
		errs = append(errs, errors.New("publish: no records are given"))
	}
	if o.ReleaseKey == nil {
		errs = append(errs, errors.New("publish: no release key is given"))
	}
	if o.Group == "" {
		o.Group = DefaultGroup
	}
	if !registry.ValidSlug(o.Group) {
		errs = append(errs, fmt.Errorf("publish: group %.80q is not a slug", o.Group))
	}
	if o.Lifetime == 0 {
		o.Lifetime = DefaultLifetime
	}
	if o.Lifetime < RenewAfter {
		errs = append(errs, fmt.Errorf("publish: a lifetime of %s is shorter than the %s between renewals", o.Lifetime, RenewAfter))
	}
	if o.Notify == nil {
		o.Notify = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return errors.Join(errs...)
}

// Publisher publishes for one group of edges.
type Publisher struct {
	opts    Options
	log     *slog.Logger
	turn    chan struct{} // holds one token: whoever has it makes the next release
	current atomic.Pointer[sign.Release]
}

// New reads the newest release, or signs the first one, revision 1 and empty,
// when the group has none. It refuses a newest release that the release key did
// not sign: another control plane, or a replaced key file.
func New(ctx context.Context, opts Options) (*Publisher, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	p := &Publisher{
		opts: opts, turn: make(chan struct{}, 1),
		log: opts.Logger.With(slog.String("component", "publish"), slog.String("group", opts.Group)),
	}
	p.turn <- struct{}{}
	newest, err := p.newest(ctx)
	switch {
	case errors.Is(err, registry.ErrNotFound) && newest == "":
		_, err = p.make(ctx, nil, 1)
		return p, err
	case err != nil:
		return nil, err
	}
	return p, nil
}

// newest loads the release the tag points at. The digest is empty when there is
// no such tag.
func (p *Publisher) newest(ctx context.Context) (registry.Digest, error) {
	repository := oci.ReleaseRepository(p.opts.Group)
	d, err := p.opts.Store.Resolve(ctx, repository, oci.TagLatest)
	if err != nil {
		return "", err
	}
	a, err := p.opts.Store.Pull(ctx, repository, d, oci.KindRelease)
	if err != nil {
		return d, fmt.Errorf("read the newest release: %w", err)
	}
	trust, err := sign.NewTrust(p.Trusted(), registry.UseRelease)
	if err != nil {
		return d, err
	}
	r, err := sign.VerifyRelease(a.Layer(), trust)
	if err != nil {
		return d, problem.New(problem.InvalidRelease, "the newest release was not signed with this control plane's release key").
			Because(err).Fix("put the key file back that belongs to this data directory, or restore from a backup")
	}
	p.current.Store(r)
	return d, nil
}

// Trusted lists the keys a node has to trust at its first start.
func (p *Publisher) Trusted() []registry.TrustedKey {
	keys := []registry.TrustedKey{p.opts.ReleaseKey.Trusted(registry.UseRelease, "")}
	if p.opts.WorkspaceKey != nil {
		keys = append(keys, p.opts.WorkspaceKey.Trusted(registry.UseWorkspace, ""))
	}
	return keys
}

// Current is the newest release.
func (p *Publisher) Current() *sign.Release { return p.current.Load() }

// Release makes the release of what is live now and returns it once it is
// durable and visible to edges. When nothing changed and the newest one is
// younger than [RenewAfter], that one is returned and none is made.
//
// A toolset whose bundle or connector is missing, damaged or another than the
// records say is refused with an error that names it; the newest release stays.
func (p *Publisher) Release(ctx context.Context) (*sign.Release, error) {
	return p.release(ctx, false)
}

// NewEpoch makes a release of what is live now in a new epoch. It is for a
// control plane restored from a backup, whose edges may have seen higher
// revisions.
func (p *Publisher) NewEpoch(ctx context.Context) (*sign.Release, error) {
	return p.release(ctx, true)
}

func (p *Publisher) release(ctx context.Context, raise bool) (*sign.Release, error) {
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	toolsets, err := p.opts.Records.Live(ctx, p.opts.Group)
	if err != nil {
		return nil, fmt.Errorf("list the live toolsets: %w", err)
	}
	now := p.current.Load()
	if err := p.verify(ctx, now.Release(), toolsets); err != nil {
		return nil, err
	}
	epoch := now.Release().Epoch
	if raise {
		epoch++
	}
	return p.make(ctx, toolsets, epoch)
}

// make signs and pushes the release after the current one. The caller has the
// turn, or nobody else knows p yet.
func (p *Publisher) make(ctx context.Context, toolsets []registry.ReleaseToolset, epoch uint64) (*sign.Release, error) {
	now := time.Now().UTC()
	next := &registry.Release{
		Group: p.opts.Group, Epoch: epoch, Revision: 1, Issued: now, Expires: now.Add(p.opts.Lifetime),
		Trusted: p.Trusted(), Toolsets: toolsets,
	}
	if current := p.current.Load(); current != nil {
		r := current.Release()
		next.Revision = r.Revision + 1
		if r.Epoch == epoch && now.Sub(r.Issued) < RenewAfter && !now.Before(r.Issued) {
			same, err := sameAs(r, next)
			if err != nil {
				return nil, err
			}
			if same {
				return current, nil
			}
		}
	}
	env, err := sign.SignRelease(p.opts.ReleaseKey, next)
	if err != nil {
		return nil, fmt.Errorf("sign release %d: %w", next.Revision, err)
	}
	trust, err := sign.NewTrust(p.Trusted(), registry.UseRelease)
	if err != nil {
		return nil, err
	}
	// Nothing goes out that a node would refuse.
	signed, err := sign.VerifyRelease(env, trust)
	if err != nil {
		return nil, fmt.Errorf("check release %d: %w", next.Revision, err)
	}
	a, err := oci.New(oci.KindRelease, env, nil)
	if err != nil {
		return nil, err
	}
	repository := oci.ReleaseRepository(p.opts.Group)
	if err := p.opts.Store.Push(ctx, repository, fmt.Sprintf("%d.%d", epoch, next.Revision), a); err != nil {
		return nil, err
	}
	if err := p.opts.Store.Push(ctx, repository, oci.TagLatest, a); err != nil {
		return nil, err
	}
	p.current.Store(signed)
	p.log.LogAttrs(ctx, slog.LevelInfo, "release published", slog.String("release", signed.Digest().Short()),
		slog.Uint64("epoch", epoch), slog.Uint64("revision", next.Revision), slog.Int("toolsets", len(toolsets)))
	p.opts.Notify()
	return signed, nil
}

// sameAs compares a release with one that was not encoded yet.
func sameAs(r, next *registry.Release) (bool, error) {
	b, err := next.Encode()
	if err != nil {
		return false, err
	}
	n, err := registry.ParseRelease(b)
	if err != nil {
		return false, err
	}
	return r.SameContent(n), nil
}

// Run renews the release whenever it is [RenewAfter] old, until ctx ends; it
// returns ctx's error.
func (p *Publisher) Run(ctx context.Context) error {
	for {
		wait := time.Until(p.current.Load().Release().Issued.Add(RenewAfter))
		t := time.NewTimer(max(wait, 0))
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		before := p.current.Load()
		r, err := p.Release(ctx)
		if err != nil && ctx.Err() == nil {
			p.log.LogAttrs(ctx, slog.LevelError, "release cannot be renewed", slog.Any("error", err))
		}
		if err != nil || r == before {
			t := time.NewTimer(retryRenewal)
			select {
			case <-ctx.Done():
			case <-t.C:
			}
			t.Stop()
		}
	}
}
