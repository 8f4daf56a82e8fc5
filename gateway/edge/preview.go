package edge

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// OpenPreview verifies and opens the release of a preview: one that a key in keys
// signed for exactly this group, and that has not expired at now. A preview is never
// followed and never persisted, and unlike a live release it is refused when its time
// is over. Refusals are *problem.Error of kind [problem.InvalidRelease].
func OpenPreview(ctx context.Context, envelope []byte, group string, keys []registry.TrustedKey, source Source, now time.Time) (*State, error) {
	ratchet, err := sign.NewRatchet(group, keys, nil)
	if err != nil {
		return nil, err
	}
	r, err := ratchet.Accept(envelope)
	if err != nil {
		return nil, err
	}
	if r.Expired(now) {
		return nil, problem.New(problem.InvalidRelease, "the preview has ended").Fix("make a new one")
	}
	opened, err := newLoader(nil, source).load(ctx, r.Release(), r.Digest(), true)
	if err != nil {
		return nil, err
	}
	return opened.state, nil
}
