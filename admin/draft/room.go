package draft

import (
	"context"

	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Room loads drafts, makes their bundles and writes their records.
type Room struct {
	Store     *store.Store
	Keyring   *secrets.Keyring
	Publisher *publish.Publisher
	Opened    *toolset.Connectors
	// Origins decides where credentials may be sent.
	Origins *login.Origins
}

func (r *Room) workspace(ctx context.Context) *store.Workspace {
	return request.Workspace(ctx, r.Store)
}
