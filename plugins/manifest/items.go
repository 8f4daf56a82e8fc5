package manifest

import (
	"encoding/json"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Bounds of the prompts, resources and resource templates of an MCP server.
const (
	// MaxMCPItems of one kind: clients show such a list to a person.
	MaxMCPItems = 10_000
	// MaxMCPItem is the size of one definition, as of a tool of such a server.
	MaxMCPItem = 64 << 10
)

// Methods under which edits and changes name what an MCP server has besides tools. The
// path is "/" and the key of the item.
const (
	MethodPrompt   = "PROMPT"
	MethodResource = "RESOURCE"
	MethodTemplate = "TEMPLATE"
)

// ItemKind is a kind of what an MCP server has besides tools.
type ItemKind uint8

// The kinds, in the order in which they are listed.
const (
	Prompts ItemKind = iota
	Resources
	Templates
	// ItemKinds is their number.
	ItemKinds
)

var itemKinds = [ItemKinds]struct{ list, key, method, noun string }{
	Prompts:   {"prompts", "name", MethodPrompt, "prompt"},
	Resources: {"resources", "uri", MethodResource, "resource"},
	Templates: {"resourceTemplates", "uriTemplate", MethodTemplate, "resource template"},
}

// List is the name of the list in the protocol and in a manifest: "resourceTemplates".
func (k ItemKind) List() string { return itemKinds[k].list }

// KeyName is the member of a definition that names the item: "uriTemplate".
func (k ItemKind) KeyName() string { return itemKinds[k].key }

// Method is how edits and changes name the kind: [MethodTemplate].
func (k ItemKind) Method() string { return itemKinds[k].method }

// String is what people call it: "resource template".
func (k ItemKind) String() string { return itemKinds[k].noun }

// Item is a prompt, a resource or a resource template of an MCP server.
type Item struct {
	Key string // the prompt's name, the URI, or the URI template, as the server has it
	// Hash is "sha256:…" of the minified definition as the server gave it.
	Hash string
	// Definition is the object of the server's list, an object.
	Definition json.RawMessage
}

func (m *Manifest) writeItems(dst []byte) []byte {
	for kind, items := range m.Items {
		if len(items) == 0 {
			continue
		}
		w := writer{dst: append(dst, ',')}
		w.dst = append(jsonscan.AppendStringOf(w.dst, ItemKind(kind).List()), ':')
		w.list(len(items), func(i int) {
			w.dst = append(w.dst, '{')
			w.must("key", items[i].Key)
			w.must("hash", items[i].Hash)
			w.raw("definition", items[i].Definition)
			w.close()
		})
		dst = w.dst
	}
	return dst
}

// items reads one of the lists.
func (d *decoder) items(v jsonscan.Value, kind ItemKind) []Item {
	known := map[string]bool{}
	return listOf(d, v, MaxMCPItems, func(v jsonscan.Value) Item {
		var it Item
		d.object(v, []member{
			{"key", true, func(v jsonscan.Value) { it.Key = d.text(v, 1, MaxPath-1) }},
			{"hash", true, func(v jsonscan.Value) { it.Hash = d.match(v, MaxText, hash, "sha256: and 64 hexadecimal digits") }},
			{"definition", true, func(v jsonscan.Value) { it.Definition = d.rawObject(v, MaxMCPItem) }},
		})
		if d.err == nil && known[it.Key] {
			d.fail("the %s %q is there twice", kind, cut(it.Key))
		}
		known[it.Key] = true
		return it
	})
}
