package admin

import (
	"context"

	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/secrets"
)

// drafts loads drafts, makes their bundles and writes their records.
type drafts struct {
	Store     *store.Store
	Keyring   *secrets.Keyring
	Publisher *publish.Publisher
	Opened    *toolset.Connectors
	// Origins decides where credentials may be sent.
	Origins *login.Origins
}

func (r *drafts) workspace(ctx context.Context) *store.Workspace {
	return request.Workspace(ctx, r.Store)
}
