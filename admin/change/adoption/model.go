package adoption

import (
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/plugins/connector"
)

// UpdateRequest takes the version of an entry over that the catalog has now.
type UpdateRequest struct {
	Connector      string               `json:"connector,omitempty" maxLength:"63" doc:"Which one, of a toolset with several."`
	DryRun         bool                 `json:"dryRun,omitempty" doc:"Say what would change, and change nothing."`
	AcceptBreaking bool                 `json:"acceptBreaking,omitempty" doc:"Test and deploy breaking changes too; without it they wait in the draft."`
	Partial        bool                 `json:"partial,omitempty" doc:"Leave out tools whose operations the connector does not have, instead of failing."`
	Test           *rollout.TestRequest `json:"test,omitempty" doc:"Which tool to test with. Default: the first safe one."`
	Skip           bool                 `json:"skipDeploy,omitempty" doc:"Neither test nor deploy: stay a draft."`
	UntestedReason string               `json:"untestedReason,omitempty" maxLength:"500" doc:"Deploy with this recorded reason when nothing can be tested."`
}

// EntryChange is what a new version of an entry changed besides tools.
type EntryChange struct {
	ID       string             `json:"id" doc:"Of the entry."`
	From     string             `json:"from" doc:"Version that the connector had."`
	To       string             `json:"to"`
	Settings []connector.Detail `json:"settings,omitempty" doc:"Changes of the connector and the toolset: address, authentication, instructions."`
	Yours    []Kept             `json:"yours,omitempty" doc:"Changes of the entry that the operator's own edits override."`
}

// Kept is an edit of the operator that an update did not touch.
type Kept struct {
	Operation *toolset.Operation `json:"operation,omitempty" doc:"Absent: a setting of the connector or the toolset."`
	Tool      string             `json:"tool,omitempty" doc:"Its name."`
	Where     string             `json:"where" doc:"name, title, description, enabled, answers, annotations, fixed, arguments, examples, baseUrl, source, authentication or instructions."`
	Entry     string             `json:"entry,omitempty" doc:"What the entry says now."`
}

// Diff is what an update changes for those who use the tools.
type Diff struct {
	Entry   EntryChange
	Tools   []connector.ToolChange
	Origins *credential.OriginChange // calls go elsewhere; nil: they do not
}

// Count counts tools by what became of them, and differences by their impact.
func (d *Diff) Count() (added, removed, changed, breaking, safe, wording int) {
	impact := func(i connector.Impact) {
		switch i {
		case connector.ImpactBreaking:
			breaking++
		case connector.ImpactSafe:
			safe++
		default:
			wording++
		}
	}
	for i := range d.Tools {
		switch d.Tools[i].Kind {
		case connector.ToolAdded:
			added++
		case connector.ToolRemoved:
			removed++
		default:
			changed++
		}
		impact(d.Tools[i].Impact)
	}
	for i := range d.Entry.Settings {
		impact(d.Entry.Settings[i].Impact)
	}
	return added, removed, changed, breaking, safe, wording
}

// Outcome is what became of an update.
type Outcome struct {
	Diff     *Diff // nil: the toolset has everything of the entry
	Kept     bool  // only the version is new, and was noted
	Deployed bool
	Waiting  string // why the new version stays a draft
	Test     *rollout.TestRun
}
