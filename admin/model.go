package admin

import (
	"encoding/json"
	"time"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/advice"
	"github.com/sluicegate/sluice/admin/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/playground"
	"github.com/sluicegate/sluice/admin/rollout"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/view"
)

// CreatedToolset answers the creation of a toolset.
type CreatedToolset struct {
	view.ToolsetDetail
	Created bool                    `json:"created" doc:"false: the toolset was there with the same source and was refreshed."`
	Tools   []toolset.Tool          `json:"tools"`
	Tokens  int                     `json:"definitionTokens" doc:"What a client pays for the list of tools as it gets it, in tokens."`
	Advice  *advice.SelectionAdvice `json:"advice,omitempty" doc:"With more than 40 tools: what each selection would cost."`
	Granted []string                `json:"granted,omitempty" doc:"Private addresses the toolset may now call from this node, because the operator named them on this machine."`
	Changes *difference.Changes     `json:"changes,omitempty" doc:"What a refresh changed; absent: nothing, or the toolset is new."`
	// Token is in no stored job.
	Token *access.CreatedAccessToken `json:"accessToken,omitempty" doc:"What opens the URL of the new toolset, shown once. Absent: everybody may open it, or the toolset was there before, or the creation ended as a job; then make one."`
}

// TestAnswer answers a test.
type TestAnswer struct {
	rollout.TestRun
	Deployed   bool                   `json:"deployed" doc:"The test passed and the tested digest is live now."`
	Toolset    view.Toolset           `json:"toolset"`
	Inspection *playground.Inspection `json:"inspection,omitempty" doc:"What was sent and received; only where it was asked for."`
}

// Preview is a specification compiled and not stored.
type Preview struct {
	Name   string         `json:"name" doc:"Name the connector would get."`
	Report draft.Report   `json:"report"`
	Tools  []toolset.Tool `json:"tools"`
}

// Job is work that outlasts its request.
type Job struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind"`
	State     string          `json:"state" enum:"running,succeeded,failed"`
	Phase     string          `json:"phase,omitempty" doc:"What it does at the moment."`
	Resource  string          `json:"resource,omitempty" doc:"Path of what it made or changed."`
	Result    json.RawMessage `json:"result,omitempty" doc:"The answer the request would have had."`
	Error     *Problem        `json:"error,omitempty"`
	StartedAt time.Time       `json:"startedAt"`
	UpdatedAt time.Time       `json:"updatedAt"`
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
