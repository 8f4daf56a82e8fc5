package transfer

import (
	"github.com/sluicegate/sluice/admin/change/compile"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/admin/login/upstream"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/admin/toolset/grant"
)

// Room writes toolsets as documents and makes them what documents say.
type Room struct {
	Store     *store.Store
	Publisher *publish.Publisher
	Drafts    *draft.Room
	Compiler  *compile.Room
	Rollouts  *rollout.Room
	Bound     *binding.Room
	Logins    *login.Room
	Grants    *grant.Room
	Access    *access.Room
	Upstreams *upstream.Room
	Local     *local.Room
	Alerts    *alert.Room
	Notify    *notify.Room
	// Closed says that a toolset that a document does not open needs a token.
	Closed bool
}
