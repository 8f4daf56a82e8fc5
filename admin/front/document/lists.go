package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/listing"
	"github.com/sluicegate/sluice/admin/toolset"
)

// listSpecs are what can be done with each list, by its operation.
var listSpecs = map[string]*listing.Spec{
	"list-toolsets": store.ToolsetList, "list-revisions": store.RevisionList, "list-published": store.PublishedList, "list-changes": store.ChangeList, "list-tools": &toolset.ToolList.Spec,
	"list-items": &toolset.ItemList.Spec, "list-access-tokens": store.AccessTokenList, "list-connectors": store.ConnectorList,
	"list-connector-versions": store.ConnectorVersionList, "list-catalog": &catalog.EntryList.Spec, "list-connector-requests": store.ConnectorRequestList,
	"list-plugins": store.PluginList, "list-publisher-keys": store.PublisherKeyList, "list-jobs": store.JobList, "list-audit": store.AuditList,
	"list-members": store.MemberList, "list-tokens": store.TokenList, "list-sessions": store.SessionList, "list-passkeys": store.PasskeyList, "list-member-passkeys": store.PasskeyList, "list-edges": store.EdgeList,
	"list-join-tokens": store.JoinTokenList, "list-alerts": store.AlertList, "list-channels": store.ChannelList, "list-deliveries": store.DeliveryList,
	"list-alert-rules": &alert.RuleList.Spec, "list-calls": store.CallList, "list-workspaces": store.WorkspaceList, "list-domains": store.DomainList, "list-toolset-domains": store.DomainList,
}

// documentLists says of each list which fields it can be searched, filtered and sorted by.
func documentLists(api *huma.OpenAPI) {
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		op := api.Paths[path].Get
		if op == nil || listSpecs[op.OperationID] == nil {
			continue
		}
		spec := listSpecs[op.OperationID]
		for i, p := range op.Parameters {
			own := *p // operations share what they have in common
			switch {
			case p.In != "query":
				continue
			case p.Name == "q" && op.OperationID != "list-catalog":
				own.Description += " Searched: " + strings.Join(spec.SearchedNames(), ", ") + "."
			case p.Name == "filter":
				own.Description += " Fields: " + strings.Join(described(spec), ", ") + "."
			case p.Name == "orderBy":
				own.Description += " Fields: " + strings.Join(spec.Sorted(), ", ") + "."
			default:
				continue
			}
			schema := *p.Schema
			schema.Description = own.Description
			own.Schema = &schema
			op.Parameters[i] = &own
		}
	}
}

// described are the fields of a list with the few values that some have.
func described(s *listing.Spec) []string {
	out := make([]string, len(s.Fields))
	for i := range s.Fields {
		f := &s.Fields[i]
		switch out[i] = f.Name; {
		case len(f.Values) > 0:
			out[i] += " (" + strings.Join(f.Values, ", ") + ")"
		case f.Kind == listing.Bool:
			out[i] += " (true, false)"
		case f.Kind == listing.Time:
			out[i] += " (time)"
		case f.Kind == listing.Number:
			out[i] += " (number)"
		}
	}
	return out
}
