package admin

import (
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/playground"
	"github.com/sluicegate/sluice/admin/draft/rollout"
)

// TestAnswer answers a test.
type TestAnswer struct {
	rollout.TestRun
	Deployed   bool                   `json:"deployed" doc:"The test passed and the tested digest is live now."`
	Toolset    view.Toolset           `json:"toolset"`
	Inspection *playground.Inspection `json:"inspection,omitempty" doc:"What was sent and received; only where it was asked for."`
}

// Me is who asks.
type Me struct {
	Workspace string `json:"workspace"`
	TokenID   string `json:"tokenId"`
	Name      string `json:"name"`
	Role      string `json:"role" doc:"What the token may do now."`
	Member    string `json:"member,omitempty" doc:"Address of the member it belongs to."`
	Version   string `json:"version" doc:"Version of the server."`
}

// List is one page of a list.
type List[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor,omitempty" doc:"Absent on the last page."`
}
