package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// PreviewGroup is the group that the release of a preview is of. No edge belongs to
// it, so an edge that is given the release refuses it.
func PreviewGroup(id string) string { return "preview-" + id }

// Preview signs the release of one draft: of its own group, with one toolset, good
// until a time. It is stored nowhere, and nothing of it is live. What a gateway would
// refuse is refused here.
func (p *Publisher) Preview(ctx context.Context, id string, t registry.ReleaseToolset, issued, expires time.Time) (envelope []byte, err error) {
	if err := p.verifyToolset(ctx, t); err != nil {
		return nil, fmt.Errorf("check the preview of toolset %s: %w", t.Slug, err)
	}
	envelope, err = sign.SignRelease(p.opts.ReleaseKey, &registry.Release{
		Group: PreviewGroup(id), Epoch: 1, Revision: 1, Issued: issued, Expires: expires, Trusted: p.Trusted(),
		Toolsets: []registry.ReleaseToolset{t},
	})
	if err != nil {
		return nil, fmt.Errorf("sign the preview of toolset %s: %w", t.Slug, err)
	}
	return envelope, nil
}
