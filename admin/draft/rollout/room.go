package rollout

import (
	"context"
	"log/slog"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/toolset/grant"
)

// Room tests drafts, deploys them and goes back to older revisions.
type Room struct {
	Drafts    *draft.Room
	Publisher *publish.Publisher
	Logins    *login.Room
	Grants    *grant.Room
	Events    *publish.Events
	Log       *slog.Logger
	Servers   *mcpserver.Room
	// PreviewURL is what the URLs of previews begin with; "": nothing serves them.
	PreviewURL string
	// Tester runs a tool of a draft; nil: nothing can be tested.
	Tester Tester
	// AwaitLive waits until the gateway of this node serves a revision of a toolset, or has
	// dropped it (revision 0); nil: nobody waits.
	AwaitLive func(ctx context.Context, toolset string, revision uint64) error
}
