package transfer

import (
	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/alert"
	"github.com/sluicegate/sluice/admin/binding"
	"github.com/sluicegate/sluice/admin/compile"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/grant"
	"github.com/sluicegate/sluice/admin/local"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/rollout"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/upstream"
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
