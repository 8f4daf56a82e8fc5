package catalog

import "github.com/sluicegate/sluice/admin/store/listing"

// EntryList is what can be done with the list of entries. Words are searched by the catalog
// itself, which ranks them.
var EntryList = &listing.Memory[EntryOutline]{
	Spec: listing.Spec{Fields: []listing.Field{
		{Name: "id"},
		{Name: "name", Kind: listing.Text, Search: true},
		{Name: "summary", Kind: listing.Text, Search: true},
		{Name: "category"},
		{Name: "kind", Values: []string{"openapi", "mcp"}},
		{Name: "from", Values: []string{"built-in", "operator"}},
		{Name: "verified", Kind: listing.Bool},
		{Name: "tools", Kind: listing.Number},
		{Name: "tokens", Kind: listing.Number},
		{Name: "savedPercent", Kind: listing.Number},
	}},
	Key: func(e *EntryOutline) string { return e.ID },
	Get: func(e *EntryOutline, field string) any {
		switch field {
		case "id":
			return e.ID
		case "name":
			return e.Name
		case "summary":
			return e.Summary
		case "category":
			return e.Category
		case "kind":
			return e.Kind
		case "from":
			return e.From
		case "verified":
			return e.Verified
		case "tools":
			return e.Tools
		case "tokens":
			return e.Tokens
		case "savedPercent":
			return e.Saved
		}
		return nil
	},
}
