package node

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/gateway"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// maxOpenPreviews are kept open; beyond that all are opened again when they are asked
// for.
const maxOpenPreviews = 100

// openPreviewTimeout of one preview: its artifacts are near.
const openPreviewTimeout = time.Minute

// previews opens the drafts behind preview URLs as a gateway opens a release: signature,
// group, every hash. The records are asked with every request, so that a preview that
// was ended is gone at once.
type previews struct {
	release func(ctx context.Context, id string) ([]byte, error)
	source  edge.Source
	keys    []registry.TrustedKey

	flights singleflight.Group
	mu      sync.Mutex
	open    map[string]*snapshot.Toolset // guarded by mu; by id, which is never used twice
}

var _ gateway.Previews = (*previews)(nil)

// Preview implements [gateway.Previews].
func (p *previews) Preview(ctx context.Context, id string) (*snapshot.Toolset, error) {
	envelope, err := p.release(ctx, id)
	if err != nil {
		p.keep(id, nil)
		if problem.Is(err, problem.NotFound) {
			return nil, nil //nolint:nilnil // no preview is no fault
		}
		return nil, err
	}
	p.mu.Lock()
	ts := p.open[id]
	p.mu.Unlock()
	if ts != nil {
		return ts, nil
	}
	v, err, _ := p.flights.Do(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(ctx, openPreviewTimeout)
		defer cancel()
		state, err := edge.OpenPreview(ctx, envelope, publish.PreviewGroup(id), p.keys, p.source, time.Now())
		if err != nil {
			return nil, err
		}
		snap, err := state.Compile(nil, nil, nil, nil)
		if err != nil {
			return nil, err
		}
		ts := snap.Toolsets()[0]
		p.keep(id, ts)
		return ts, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*snapshot.Toolset), nil //nolint:forcetypeassert // the function above
}

// keep remembers what was opened; nil forgets it.
func (p *previews) keep(id string, ts *snapshot.Toolset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ts == nil {
		delete(p.open, id)
		return
	}
	if p.open == nil || len(p.open) >= maxOpenPreviews {
		p.open = map[string]*snapshot.Toolset{}
	}
	p.open[id] = ts
}
