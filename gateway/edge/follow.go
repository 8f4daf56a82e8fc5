package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// quickAnswer: a source that says "unchanged" faster than this did not wait, so
// the next question does.
const quickAnswer = time.Second

// Run loads the persisted release and then follows the source until ctx ends. It
// returns ctx's error only; everything else is in the status and is tried again.
func (f *Follower) Run(ctx context.Context) error {
	if !f.loaded {
		if err := f.Load(ctx); err != nil && ctx.Err() == nil {
			f.log.LogAttrs(ctx, slog.LevelWarn, "start without the newest persisted release", slog.Any("error", err))
		}
	}
	f.settle(ctx)
	if f.live != nil {
		f.save(ctx) // notes that were damaged: the next answer may be a long time away
	}
	pause := retry.Backoff{First: f.opts.MinRetry, Longest: f.opts.MaxRetry, Jitter: f.opts.Jitter}
	for ctx.Err() == nil {
		asked := time.Now()
		switch err := f.step(ctx); {
		case ctx.Err() != nil:
		case errors.Is(err, registry.ErrUnchanged):
			pause.Reset()
			if time.Since(asked) < quickAnswer {
				_ = retry.Sleep(ctx, f.opts.MinRetry) // the loop looks at ctx
			}
		case err != nil:
			if f.setFollowing(err) {
				f.log.LogAttrs(ctx, slog.LevelWarn, "release not followed, serving the previous one",
					slog.Uint64("revision", f.revision()), slog.Any("error", err))
			}
			_ = pause.Wait(ctx) // the loop looks at ctx
		default:
			pause.Reset()
		}
	}
	return ctx.Err()
}

// step asks the source once and follows what it says: nil when a release became
// live, registry.ErrUnchanged when nothing is new, otherwise why it did not.
func (f *Follower) step(ctx context.Context) error {
	known := f.refused
	if known == "" && f.live != nil {
		known = f.live.Digest()
	}
	poll, cancel := context.WithTimeout(ctx, f.opts.PollTimeout)
	env, err := f.opts.Source.Release(poll, known)
	timedOut := poll.Err() != nil
	cancel()
	switch {
	case errors.Is(err, registry.ErrUnchanged):
		f.contact()
		if f.refused == "" {
			f.recovered(ctx)
		}
		f.save(ctx)
		return err
	case err != nil && timedOut && ctx.Err() == nil:
		return fmt.Errorf("ask for the newest release: no answer within %s", f.opts.PollTimeout)
	case err != nil:
		return fmt.Errorf("ask for the newest release: %w", err)
	}
	f.contact()
	r, err := f.ratchet.Accept(env)
	if err != nil {
		f.refused = registry.DigestOf(env)
		return fmt.Errorf("release %s is refused: %w", f.refused.Short(), err)
	}
	f.refused = ""
	if f.live != nil && f.live.Digest() == r.Digest() {
		f.recovered(ctx)
		return registry.ErrUnchanged
	}
	next, err := f.loader.load(ctx, r.Release(), r.Digest(), true)
	if err == nil {
		err = f.opts.Prepare(ctx, next.state)
	}
	if err == nil {
		err = f.apply(r, next)
	}
	if err != nil {
		return fmt.Errorf("release %d.%d: %w", r.Release().Epoch, r.Release().Revision, err)
	}
	f.log.LogAttrs(ctx, slog.LevelInfo, "release live", slog.String("release", r.Digest().Short()),
		slog.Uint64("epoch", r.Release().Epoch), slog.Uint64("revision", r.Release().Revision),
		slog.Int("toolsets", len(next.state.Toolsets)))
	f.save(ctx)
	return nil
}

// recovered clears the fault of following.
func (f *Follower) recovered(ctx context.Context) {
	if f.setFollowing(nil) {
		f.log.LogAttrs(ctx, slog.LevelInfo, "following releases again")
	}
}

// apply swaps to a loaded release. A panic below is a refusal of the release.
func (f *Follower) apply(r *sign.Release, next *loaded) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("BUG: applying the release panicked: %v", v)
		}
	}()
	if err := f.opts.Apply(next.state); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	f.loader.keep(next)
	f.live, f.dirty = r, true
	maps.Copy(f.unsaved, f.loader.take())
	maps.DeleteFunc(f.unsaved, func(d registry.Digest, _ *oci.Artifact) bool { return !f.loader.needs(d) })
	rel := r.Release()
	f.mu.Lock()
	f.status.Epoch, f.status.Revision, f.status.Release = rel.Epoch, rel.Revision, r.Digest()
	f.status.Issued, f.status.Expires = rel.Issued, rel.Expires
	f.status.Toolsets, f.status.Applied = len(next.state.Toolsets), time.Now()
	// Together: a status that names the new release with the fault of the one before
	// would tell an operator that the new one is not followed.
	recovered := f.status.Following != nil
	f.status.Following = nil
	f.mu.Unlock()
	if recovered {
		f.log.LogAttrs(context.Background(), slog.LevelInfo, "following releases again")
	}
	f.ready.Store(true)
	if r.Expired(f.opts.Now()) {
		f.log.LogAttrs(context.Background(), slog.LevelWarn, "release is past its expiry, serving on",
			slog.Uint64("revision", rel.Revision), slog.Time("expires", rel.Expires))
	}
	return nil
}

// save persists the live release when it is not on disk. A failure is reported
// and does not keep the node from serving.
func (f *Follower) save(ctx context.Context) {
	if !f.dirty {
		return
	}
	err := f.persist()
	if f.setCache(err) {
		f.log.LogAttrs(ctx, slog.LevelWarn, "release cannot be persisted, a restart would need the control plane", slog.Any("error", err))
	}
}

func (f *Follower) revision() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status.Revision
}
