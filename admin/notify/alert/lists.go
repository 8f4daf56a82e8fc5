package alert

import (
	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/store/listing"
)

// RuleList is what can be done with the list of rules.
var RuleList = &listing.Memory[Rule]{
	Spec: listing.Spec{Fields: []listing.Field{
		{Name: "name", Kind: listing.Text, Search: true},
		{Name: "about", Kind: listing.Text, Search: true},
		{Name: "preset", Kind: listing.Bool},
		{Name: "changed", Kind: listing.Bool},
		{Name: "enabled", Kind: listing.Bool},
		{Name: "toolset"},
		{Name: "toolsetId"},
		{Name: "metric"},
		{Name: "connector"},
		{Name: "tool"},
		{Name: "caller"},
		{Name: "each", Values: rule.Eaches},
		{Name: "severity", Values: []string{"info", "warning", "critical"}},
		{Name: "threshold", Kind: listing.Number},
		{Name: "minCalls", Kind: listing.Number},
		{Name: "updatedAt", Kind: listing.Time},
	}},
	Key: func(r *Rule) string { return r.Name + "/" + r.ToolsetID },
	Get: func(r *Rule, field string) any {
		switch field {
		case "name":
			return r.Name
		case "about":
			return r.About
		case "preset":
			return r.Preset
		case "changed":
			return r.Changed
		case "enabled":
			return r.Enabled == nil || *r.Enabled
		case "toolset":
			return r.Toolset
		case "toolsetId":
			return r.ToolsetID
		case "metric":
			return r.Metric
		case "connector":
			return r.Connector
		case "tool":
			return r.Tool
		case "caller":
			return r.Caller
		case "each":
			return r.Each
		case "severity":
			return r.Severity
		case "threshold":
			return number(r.Threshold)
		case "minCalls":
			return number(r.MinCalls)
		case "updatedAt":
			return r.UpdatedAt
		}
		return nil
	},
}

func number[N float64 | uint64](n *N) float64 {
	if n == nil {
		return 0
	}
	return float64(*n)
}
