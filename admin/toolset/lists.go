package toolset

import "github.com/sluicegate/sluice/admin/store/listing"

// ToolList is what can be done with the list of tools, whose own order is that of the
// connectors and their specifications.
var ToolList = &listing.Memory[Tool]{
	Spec: listing.Spec{Fields: []listing.Field{
		{Name: "name", Kind: listing.Text, Search: true},
		{Name: "originalName", Kind: listing.Text, Search: true},
		{Name: "title", Kind: listing.Text, Search: true},
		{Name: "description", Kind: listing.Text, Search: true},
		{Name: "enabled", Kind: listing.Bool},
		{Name: "tokens", Kind: listing.Number},
		{Name: "connector"},
		{Name: "method"},
		{Name: "path", Kind: listing.Text, Search: true},
		{Name: "readOnly", Kind: listing.Bool},
		{Name: "destructive", Kind: listing.Bool},
	}},
	Key: func(t *Tool) string { return t.Operation.Connector + " " + t.Operation.Method + " " + t.Operation.Path },
	Get: func(t *Tool, field string) any {
		switch field {
		case "name":
			return t.Name
		case "originalName":
			return t.OriginalName
		case "title":
			return t.Title
		case "description":
			return t.Description
		case "enabled":
			return t.Enabled
		case "tokens":
			return t.Tokens
		case "connector":
			return t.Operation.Connector
		case "method":
			return t.Operation.Method
		case "path":
			return t.Operation.Path
		case "readOnly":
			return t.Annotations.ReadOnly
		case "destructive":
			return t.Annotations.Destructive
		}
		return nil
	},
}

// ItemList is what can be done with the list of prompts, resources and resource templates.
var ItemList = &listing.Memory[Item]{
	Spec: listing.Spec{Fields: []listing.Field{
		{Name: "name", Kind: listing.Text, Search: true},
		{Name: "title", Kind: listing.Text, Search: true},
		{Name: "description", Kind: listing.Text, Search: true},
		{Name: "key", Kind: listing.Text, Search: true},
		{Name: "kind", Values: kindNames[:]},
		{Name: "connector"},
		{Name: "enabled", Kind: listing.Bool},
	}},
	Key: func(it *Item) string { return it.Connector + " " + it.Kind + " " + it.Key },
	Get: func(it *Item, field string) any {
		switch field {
		case "name":
			return it.Name
		case "title":
			return it.Title
		case "description":
			return it.Description
		case "key":
			return it.Key
		case "kind":
			return it.Kind
		case "connector":
			return it.Connector
		case "enabled":
			return it.Enabled
		}
		return nil
	},
}
