package toolset

import (
	"cmp"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Item is a prompt, resource or resource template of a toolset, with the toolset's edits
// applied.
type Item struct {
	Kind         string `json:"kind" enum:"prompt,resource,resourceTemplate"`
	Key          string `json:"key" doc:"As the server has it: the name of a prompt, a URI, or a URI template."`
	Connector    string `json:"connector" doc:"Name of the connector in the toolset."`
	Name         string `json:"name" doc:"Of several prompts with one name clients see all but the first with the connector's name in front."`
	OriginalName string `json:"originalName" doc:"As the server has it."`
	Title        string `json:"title,omitempty"`
	Description  string `json:"description,omitempty"`
	Enabled      bool   `json:"enabled"`
}

var kindNames = [manifest.ItemKinds]string{manifest.Prompts: "prompt", manifest.Resources: "resource", manifest.Templates: "resourceTemplate"}

// Operation is what its edit is keyed by.
func (it *Item) Operation() Operation {
	op := Operation{Connector: it.Connector, Path: "/" + it.Key}
	for kind, name := range kindNames {
		if name == it.Kind {
			op.Method = manifest.ItemKind(kind).Method()
		}
	}
	return op
}

// AppendItems appends the items of a connector's server, in the order of its lists, prompts
// first. name is that of the connector in the toolset.
func AppendItems(out []Item, name string, c *connector.Connector, edits map[Operation]*store.ToolEdit) []Item {
	for kind := range manifest.ItemKinds {
		for _, item := range c.Items(kind) {
			it := Item{Kind: kindNames[kind], Key: item.Key, Connector: name, Enabled: true}
			definition := jsonscan.Trusted(item.Definition)
			text := func(member string) string { return string(definition.Get(member).AppendText(nil)) }
			it.OriginalName = cmp.Or(text("name"), item.Key)
			it.Name, it.Title, it.Description = it.OriginalName, text("title"), text("description")
			if e := edits[it.Operation()]; e != nil {
				it.Enabled = !e.Disabled
				for to, from := range map[*string]*string{&it.Name: e.Name, &it.Title: e.Title, &it.Description: e.Description} {
					if from != nil {
						*to = *from
					}
				}
			}
			out = append(out, it)
		}
	}
	return out
}
