package change

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/sluicegate/sluice/admin/change/compile"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
)

// Room takes changes of sources through their stages: read, compile, difference, decide,
// apply.
type Room struct {
	*Reader

	Compiler *compile.Room
	Rollouts *rollout.Room
	Advices  *advice.Room
	Access   *access.Room
	Views    *view.Room
	Events   *publish.Events
	Log      *slog.Logger
	// Work ends when nothing is begun any more, and Go runs a function that is waited for
	// after that.
	Work context.Context //nolint:containedctx // the life of the server, not of a call
	Go   func(func())

	checking atomic.Bool // a round of specifications is on its way
}

// Create makes a toolset of a source, or refreshes the one that has its slug and source.
func (r *Room) Create(ctx context.Context, in *CreateToolset, phase func(string)) (*request.Done, error) {
	return (&change{r: r, ws: r.workspace(ctx), in: in, phase: phase}).run(ctx)
}

// Add makes a source another connector of a toolset, which must be at the version that
// match names.
func (r *Room) Add(ctx context.Context, id string, match *request.MatchInput, in *AddConnector, phase func(string)) (*request.Done, error) {
	ws := r.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := match.Check(ts.Version, false); err != nil {
		return nil, err
	}
	whole := &CreateToolset{
		Slug: ts.Slug, Source: in.Source, BaseURL: in.BaseURL, Tools: in.Tools, Profile: in.Profile, Auth: in.Auth, Policy: in.Policy, Stateless: in.Stateless,
		Test: in.Test, Deploy: in.Deploy,
	}
	return (&change{r: r, ws: ws, in: whole, add: in, match: *match, phase: phase}).run(ctx)
}

func (r *Reader) workspace(ctx context.Context) *store.Workspace {
	return request.Workspace(ctx, r.Drafts.Store)
}
