package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
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
	// groupCheck is how often the releases of groups are compared with the records,
	// for one that could not be made when it was due.
	groupCheck = 10 * time.Minute
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

// GroupRecords is implemented by records that know more groups of edges than
// [Options].Group; each gets releases of its own.
type GroupRecords interface {
	// Groups lists the groups that need releases.
	Groups(ctx context.Context) ([]string, error)
}

// DomainRecords is implemented by records that know domains.
type DomainRecords interface {
	// ReleaseDomains lists the proven domains of toolsets that a release has, and of their
	// workspaces. What it returned is durable.
	ReleaseDomains(ctx context.Context, toolsets []registry.ReleaseToolset) ([]registry.ReleaseDomain, error)
}

// Options configure a Publisher.
type Options struct {
	Store        *oci.Store    // registry that edges read. Required
	Records      Records       // Required
	ReleaseKey   *sign.Key     // signs releases. Required
	WorkspaceKey *sign.Key     // listed as the signer of generated connectors. nil: none is listed
	Group        string        // group of edges. Default: DefaultGroup
	Lifetime     time.Duration // until a release expires, at least RenewAfter. Default: DefaultLifetime
	// May is asked before each release whether this process may publish; its error is
	// the answer. nil: it may.
	May    func(ctx context.Context) error
	Notify func()       // called after a release became the newest. nil: nobody is told
	Logger *slog.Logger // Default: discard
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
	if o.May == nil {
		o.May = func(context.Context) error { return nil }
	}
	if o.Notify == nil {
		o.Notify = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return errors.Join(errs...)
}

// Publisher publishes for the groups of edges of one control plane.
type Publisher struct {
	changed Bell // rings for every new release
	opts    Options
	log     *slog.Logger
	turn    chan struct{} // holds one token: whoever has it makes the next release
	// failed holds a token when a release that was due could not be made: Run tries again.
	failed chan struct{}

	mu      sync.Mutex
	groups  map[string]*atomic.Pointer[sign.Release] // guarded by mu; newest release by group
	content map[registry.Digest]*Content             // guarded by mu; by bundle
	stopped map[string]error                         // guarded by mu; by group: why nothing is published for it
	lost    map[string]bool                          // guarded by mu; groups whose newest release the registry lost
	damage  error                                    // guarded by mu; what Inspect found last
	parsers map[string]*registry.ReleaseParser       // guarded by mu, each used by who has the turn; by group
}

// New reads the newest release, or signs the first one, revision 1 and empty,
// when the group has none. It refuses a newest release that the release key did
// not sign: another control plane, or a replaced key file.
func New(ctx context.Context, opts Options) (*Publisher, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	p := &Publisher{
		opts: opts, turn: make(chan struct{}, 1), failed: make(chan struct{}, 1), log: opts.Logger.With(slog.String("component", "publish")),
		groups: make(map[string]*atomic.Pointer[sign.Release]), content: make(map[registry.Digest]*Content),
		stopped: make(map[string]error), lost: make(map[string]bool), parsers: make(map[string]*registry.ReleaseParser),
	}
	p.turn <- struct{}{}
	return p, p.open(ctx, opts.Group)
}

// open reads the newest release of a group, or signs its first.
func (p *Publisher) open(ctx context.Context, group string) error {
	found, err := p.newest(ctx, group)
	if err == nil && !found {
		var live []registry.ReleaseToolset
		if p.hasLost(group) { // its edges have one: an empty release would take their toolsets away
			if live, err = p.opts.Records.Live(ctx, group); err != nil {
				return fmt.Errorf("list the live toolsets: %w", err)
			}
			if err := p.verify(ctx, &registry.Release{}, live); err != nil {
				return err
			}
		}
		_, err = p.make(ctx, group, live, 1)
	}
	if err == nil && p.hasLost(group) {
		p.replaceLost(ctx, group)
	}
	return err
}

// slot is where the newest release of a group is kept.
func (p *Publisher) slot(group string) *atomic.Pointer[sign.Release] {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.groups[group]
	if s == nil {
		s = &atomic.Pointer[sign.Release]{}
		p.groups[group] = s
	}
	return s
}

// parser reads what was signed for a group. The caller has the turn.
func (p *Publisher) parser(group string) *registry.ReleaseParser {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.parsers[group]
	if r == nil {
		r = new(registry.ReleaseParser)
		p.parsers[group] = r
	}
	return r
}

// newest loads the newest release that the registry has, if there is one.
func (p *Publisher) newest(ctx context.Context, group string) (found bool, err error) {
	a, err := p.find(ctx, group)
	if err != nil || a == nil {
		return false, err
	}
	trust, err := sign.NewTrust(p.Trusted(), registry.UseRelease)
	if err != nil {
		return false, err
	}
	r, err := sign.VerifyRelease(a.Layer(), trust)
	if err != nil {
		return false, problem.New(problem.InvalidRelease, "the newest release was not signed with this control plane's release key").
			Because(err).Fix("put the key file back that belongs to this data directory, or restore from a backup")
	}
	if err := p.compare(ctx, group, r); err != nil {
		return false, err
	}
	p.slot(group).CompareAndSwap(nil, r) // a release made meanwhile is newer
	return true, nil
}

// KeysChanged reports whether the release key was replaced since the newest release,
// or one that signed beside it was removed: what it signed has to be signed again
// before the next release, which lists the keys of now.
func (p *Publisher) KeysChanged() bool {
	listed := func(keys []registry.TrustedKey) (ids []string) {
		for _, k := range keys {
			if k.Use == registry.UseRelease {
				ids = append(ids, k.KeyID)
			}
		}
		slices.Sort(ids)
		return ids
	}
	return !slices.Equal(listed(p.Current().Release().Trusted), listed(p.Trusted()))
}

// Trusted lists the keys a node has to trust at its first start.
func (p *Publisher) Trusted() []registry.TrustedKey {
	return Trusted(p.opts.ReleaseKey, p.opts.WorkspaceKey)
}

// Trusted lists the keys a node has to trust at its first start to follow a
// publisher with these keys; workspace may be nil.
func Trusted(release, workspace *sign.Key) []registry.TrustedKey {
	keys := release.TrustedAll(registry.UseRelease, "")
	if workspace != nil {
		keys = append(keys, workspace.Trusted(registry.UseWorkspace, ""))
	}
	return keys
}

// Current is the newest release of [Options].Group.
func (p *Publisher) Current() *sign.Release { return p.slot(p.opts.Group).Load() }

// Newest is the newest release of a group; nil when none was made yet.
func (p *Publisher) Newest(group string) *sign.Release { return p.slot(group).Load() }

// Changed returns a channel that is closed when a release of any group is made.
func (p *Publisher) Changed() <-chan struct{} { return p.changed.Wait() }

// Release makes the releases of what is live now and returns that of
// [Options].Group once it is durable and visible to edges. Where nothing changed
// and the newest one is younger than [RenewAfter], none is made.
//
// A toolset whose bundle or connector is missing, damaged or another than the
// records say is refused with an error that names it; the newest releases stay.
// A release of another group that cannot be made is logged and tried again by
// Run: it must not undo what is live already.
func (p *Publisher) Release(ctx context.Context) (*sign.Release, error) {
	return p.release(ctx, false)
}

// NewEpoch makes releases of what is live now in a new epoch. It is for a
// control plane restored from a backup, whose edges may have seen higher
// revisions.
func (p *Publisher) NewEpoch(ctx context.Context) (*sign.Release, error) {
	return p.release(ctx, true)
}

// ReleaseGroup makes the release of one group, which may be new, if one is due. One that cannot be
// made is made by Run, soon: the newest one may be older than what was revoked meanwhile.
func (p *Publisher) ReleaseGroup(ctx context.Context, group string) (*sign.Release, error) {
	if !registry.ValidSlug(group) {
		return nil, fmt.Errorf("publish: group %.80q is not a slug", group)
	}
	if err := p.take(ctx); err != nil {
		return nil, err
	}
	defer func() { p.turn <- struct{}{} }()
	made, err := p.releaseGroup(ctx, group, false)
	if err != nil {
		p.tryAgain(group)
	}
	return made, err
}

// Latest returns the newest release of a group, reading it from the registry when
// this process has not read it yet. It makes none: a group that has no release is
// registry.ErrNotFound.
func (p *Publisher) Latest(ctx context.Context, group string) (*sign.Release, error) {
	if r := p.Newest(group); r != nil {
		return r, nil
	}
	if !registry.ValidSlug(group) {
		return nil, fmt.Errorf("publish: group %.80q is not a slug", group)
	}
	found, err := p.newest(ctx, group)
	if err == nil && !found {
		err = fmt.Errorf("the newest release of %s: %w", group, registry.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return p.Newest(group), nil
}

// Between runs f while no release is made. f must not make one.
func (p *Publisher) Between(ctx context.Context, f func()) error {
	if err := p.take(ctx); err != nil {
		return err
	}
	defer func() { p.turn <- struct{}{} }()
	f()
	return nil
}

func (p *Publisher) take(ctx context.Context) error {
	select {
	case <-p.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Publisher) release(ctx context.Context, raise bool) (*sign.Release, error) {
	if err := p.take(ctx); err != nil {
		return nil, err
	}
	defer func() { p.turn <- struct{}{} }()
	first, err := p.releaseGroup(ctx, p.opts.Group, raise)
	if err != nil {
		p.tryAgain(p.opts.Group)
		return nil, err
	}
	others, err := p.otherGroups(ctx)
	if err != nil {
		p.tryAgain(p.opts.Group)
		p.log.LogAttrs(ctx, slog.LevelError, "groups of edges cannot be listed, they keep their releases", slog.Any("error", err))
	}
	for _, g := range others {
		if _, err := p.releaseGroup(ctx, g, raise); err != nil {
			p.tryAgain(g)
			p.log.LogAttrs(ctx, slog.LevelError, "release of a group cannot be made, its edges keep the newest one",
				slog.String("group", g), slog.Any("error", err))
		}
	}
	return first, nil
}

// tryAgain has Run make the release of a group soon. Where the operator has to decide
// first it does not.
func (p *Publisher) tryAgain(group string) {
	if p.Stopped(group) != nil {
		return
	}
	select {
	case p.failed <- struct{}{}:
	default: // it will
	}
}

func (p *Publisher) otherGroups(ctx context.Context) ([]string, error) {
	records, ok := p.opts.Records.(GroupRecords)
	if !ok {
		return nil, nil
	}
	names, err := records.Groups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the groups of edges: %w", err)
	}
	return slices.DeleteFunc(names, func(g string) bool { return g == p.opts.Group || !registry.ValidSlug(g) }), nil
}

// releaseGroup makes the next release of a group. The caller has the turn.
func (p *Publisher) releaseGroup(ctx context.Context, group string, raise bool) (*sign.Release, error) {
	if p.slot(group).Load() == nil {
		if err := p.open(ctx, group); err != nil {
			return nil, err
		}
	}
	if !raise {
		// The database may have failed over since to a replica that lacks the newest writes.
		if now := p.slot(group).Load(); now != nil && p.Stopped(group) == nil {
			if err := p.compare(ctx, group, now); err != nil {
				return nil, err
			}
		}
		if err := p.Stopped(group); err != nil {
			return nil, err
		}
	}
	toolsets, err := p.opts.Records.Live(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("list the live toolsets: %w", err)
	}
	now := p.slot(group).Load()
	if err := p.verify(ctx, now.Release(), toolsets); err != nil {
		return nil, err
	}
	epoch := now.Release().Epoch
	if raise {
		marked, _, err := p.mark(ctx, group)
		if err != nil {
			return nil, err
		}
		// Of the time, so that two restores of one backup do not make the same epoch.
		epoch = max(epoch+1, marked+1, uint64(time.Now().Unix()))
	}
	made, err := p.make(ctx, group, toolsets, epoch)
	if err == nil && raise {
		p.resumed(group)
	}
	return made, err
}

// make signs and pushes the release after the current one. The caller has the
// turn, or nobody else knows p yet.
func (p *Publisher) make(ctx context.Context, group string, toolsets []registry.ReleaseToolset, epoch uint64) (*sign.Release, error) {
	now := time.Now().UTC()
	next := &registry.Release{
		Group: group, Epoch: epoch, Revision: 1, Issued: now, Expires: now.Add(p.opts.Lifetime),
		Trusted: p.Trusted(), Toolsets: toolsets,
	}
	if records, ok := p.opts.Records.(DomainRecords); ok {
		var err error
		if next.Domains, err = records.ReleaseDomains(ctx, toolsets); err != nil {
			return nil, fmt.Errorf("list the domains: %w", err)
		}
	}
	if current := p.slot(group).Load(); current != nil {
		r := current.Release()
		next.Revision = r.Revision + 1
		if r.Epoch == epoch && now.Sub(r.Issued) < RenewAfter && !now.Before(r.Issued) {
			if r.SameContent(next.Sorted()) && !p.hasLost(group) {
				return current, nil
			}
		}
	}
	// A number that was used once, perhaps for a release whose push failed half way, is
	// never used for other content.
	markedEpoch, marked, err := p.mark(ctx, group)
	if err != nil {
		return nil, err
	}
	if epoch = max(epoch, markedEpoch); epoch == markedEpoch && next.Revision <= marked {
		next.Revision = marked + 1
	}
	next.Epoch = epoch
	env, err := sign.SignRelease(p.opts.ReleaseKey, next)
	if err != nil {
		return nil, fmt.Errorf("sign release %d: %w", next.Revision, err)
	}
	trust, err := sign.NewTrust(p.Trusted(), registry.UseRelease)
	if err != nil {
		return nil, err
	}
	// Nothing goes out that a node would refuse.
	signed, err := sign.VerifyNextRelease(env, trust, p.parser(group))
	if err != nil {
		return nil, fmt.Errorf("check release %d: %w", next.Revision, err)
	}
	a, err := oci.New(oci.KindRelease, env, nil)
	if err != nil {
		return nil, err
	}
	if err := p.opts.May(ctx); err != nil {
		return nil, err
	}
	if err := p.note(ctx, group, epoch, next.Revision); err != nil {
		return nil, err
	}
	repository := oci.ReleaseRepository(group)
	if err := p.opts.Store.Push(ctx, repository, numberOf(epoch, next.Revision), a); err != nil {
		return nil, err
	}
	if err := p.opts.Store.Tag(ctx, repository, oci.TagLatest, a); err != nil {
		return nil, err
	}
	p.slot(group).Store(signed)
	p.setLost(group, false)
	p.changed.Ring()
	p.log.LogAttrs(ctx, slog.LevelInfo, "release published", slog.String("group", group), slog.String("release", signed.Digest().Short()),
		slog.Uint64("epoch", epoch), slog.Uint64("revision", next.Revision), slog.Int("toolsets", len(toolsets)))
	p.opts.Notify()
	return signed, nil
}

// Run renews each release whenever it is [RenewAfter] old, and makes those that
// could not be made before, a minute later and then every minute, until ctx ends; it
// returns ctx's error. What a toolset's owner was told, such as that a token is revoked,
// must not wait for the next renewal to reach the edges.
func (p *Publisher) Run(ctx context.Context) error {
	soon := false // something that is due could not be made
	for {
		wait, err := p.due(ctx)
		if soon || err != nil {
			wait = retryRenewal
		}
		t := time.NewTimer(max(wait, 0))
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-p.failed:
			t.Stop()
			soon = true
			continue
		case <-t.C:
		}
		if _, err = p.Release(ctx); err != nil && ctx.Err() == nil {
			p.log.LogAttrs(ctx, slog.LevelError, "release cannot be renewed", slog.Any("error", err))
		}
		soon = err != nil
		select {
		case <-p.failed:
			soon = true
		default:
		}
		if wait, err := p.due(ctx); err != nil || wait <= 0 {
			soon = true
		}
	}
}

// due is how long it is until the first release has to be renewed. A group
// without a release is looked for every [groupCheck].
func (p *Publisher) due(ctx context.Context) (time.Duration, error) {
	groups, err := p.otherGroups(ctx)
	wait := time.Until(p.Current().Release().Issued.Add(RenewAfter))
	for _, g := range groups {
		r := p.Newest(g)
		if r == nil {
			return 0, err
		}
		wait = min(wait, time.Until(r.Release().Issued.Add(RenewAfter)))
	}
	if len(groups) > 0 {
		wait = min(wait, groupCheck)
	}
	return wait, err
}
