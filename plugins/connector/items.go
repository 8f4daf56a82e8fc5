package connector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// appendItems appends what a server has besides tools to its document. A server that
// has nothing else has the document that it had before there were such lists.
func (s *MCPServer) appendItems(dst []byte) []byte {
	for kind, definitions := range s.Items {
		if len(definitions) > 0 {
			dst = appendDefinitions(dst, manifest.ItemKind(kind).List(), definitions)
		}
	}
	if s.Completions {
		dst = append(dst, `,"completions":true`...)
	}
	if s.Subscribe {
		dst = append(dst, `,"subscribe":true`...)
	}
	if s.Reads {
		dst = append(dst, `,"reads":true`...)
	}
	if s.EmptyPrompts {
		dst = append(dst, `,"emptyPrompts":true`...)
	}
	if s.Tasks {
		dst = append(dst, `,"tasks":true`...)
	}
	if s.CallTasks {
		dst = append(dst, `,"callTasks":true`...)
	}
	if s.CancelTasks {
		dst = append(dst, `,"cancelTasks":true`...)
	}
	if len(s.Needs) == 0 {
		return dst
	}
	dst = append(dst, `,"needs":{`...)
	for i, name := range slices.Sorted(maps.Keys(s.Needs)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendStringOf(dst, name), ':', '[')
		for j, capability := range s.Needs[name] {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = jsonscan.AppendStringOf(dst, capability)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// keyMCP is what names a prompt, resource or resource template: the member of its
// definition that calls have; "" when it has none.
func keyMCP(kind manifest.ItemKind, definition []byte) string {
	v := jsonscan.Trusted(definition).Get(kind.KeyName())
	if v.Kind() != jsonscan.String {
		return ""
	}
	return string(v.AppendText(nil))
}

// items puts the items of s into the manifest, and returns those that cannot be served.
func (s *MCPServer) items(m *manifest.Manifest) (refused []Refused) {
	for kind := range manifest.ItemKinds {
		known := map[string]bool{}
		for i, raw := range s.Items[kind] {
			item, err := readItem(kind, raw)
			switch {
			case err != nil:
			case known[item.Key]:
				err = fmt.Errorf("the server lists a %s of this %s twice", kind, kind.KeyName())
			case len(m.Items[kind]) == manifest.MaxMCPItems:
				err = fmt.Errorf("the server has more than %d", manifest.MaxMCPItems)
			}
			if err != nil {
				refused = append(refused, Refused{kind.List(), i, cut(keyMCP(kind, raw), manifest.MaxText), err.Error()})
				continue
			}
			known[item.Key] = true
			m.Items[kind] = append(m.Items[kind], item)
		}
	}
	return refused
}

// readItem reads a definition (MCP 2026-07-28 "Prompt", "Resource", "ResourceTemplate"),
// all of which is kept.
func readItem(kind manifest.ItemKind, raw []byte) (manifest.Item, error) {
	v := jsonscan.Trusted(raw)
	if v.Kind() != jsonscan.Object {
		return manifest.Item{}, fmt.Errorf("it is not an object")
	}
	for it := v.Members(); it.Next(); {
		if it.KeyEqual(kind.KeyName()) || it.KeyEqual("name") {
			if it.Value().Kind() != jsonscan.String || it.Value().EqualText("") {
				return manifest.Item{}, fmt.Errorf("its %s is not text", it.KeyText(nil))
			}
		}
	}
	item := manifest.Item{Key: keyMCP(kind, raw), Hash: hashMCP(raw), Definition: jsonscan.AppendMinified(nil, raw)}
	switch {
	case item.Key == "" || len(item.Key) >= manifest.MaxPath:
		return item, fmt.Errorf("its %s is missing, or longer than %d bytes", kind.KeyName(), manifest.MaxPath-1)
	case !v.Get("name").Exists():
		return item, fmt.Errorf("its name is missing")
	case len(item.Definition) > manifest.MaxMCPItem:
		return item, fmt.Errorf("its definition has %d bytes, more than %d", len(item.Definition), manifest.MaxMCPItem)
	}
	return item, nil
}

// Items are the prompts, resources or resource templates of an MCP server; they are not
// to be changed.
func (c *Connector) Items(kind manifest.ItemKind) []manifest.Item { return c.head().Items[kind] }

// detach copies what is a view of the module.
func detach(items *[manifest.ItemKinds][]manifest.Item) {
	for kind := range items {
		for i := range items[kind] {
			it := &items[kind][i]
			it.Definition = bytes.Clone(it.Definition)
		}
	}
}

// items makes the definitions of what s has besides tools fit to be stored and served,
// as Accept does those of tools, and returns those that are taken out.
func (a *acceptor) items(s *MCPServer) (refused []Refused) {
	for kind := range manifest.ItemKinds {
		kept := make([]json.RawMessage, 0, len(s.Items[kind]))
		for i, raw := range s.Items[kind] {
			a.at = "/" + kind.List() + "/" + strconv.Itoa(i)
			clean, err := a.item(kind, raw)
			if err != nil {
				refused = append(refused, Refused{kind.List(), i, textfilter.Visible(keyMCP(kind, raw), MaxServerTitle), err.Error()})
				continue
			}
			kept = append(kept, clean)
		}
		s.Items[kind] = kept
	}
	return refused
}

// item is a definition as it may be served: what names it, and the arguments that calls
// have, must be as the server has them.
func (a *acceptor) item(kind manifest.ItemKind, raw []byte) ([]byte, error) {
	v := jsonscan.Trusted(raw)
	if v.Kind() != jsonscan.Object {
		return raw, nil // readItem says so
	}
	v = a.formed(itemForm, v)
	if key := v.Get(kind.KeyName()); key.Kind() == jsonscan.String {
		if text := string(key.AppendText(nil)); textfilter.Clean(text) != text || textfilter.IndexJSON(key.Raw()) >= 0 {
			return nil, fmt.Errorf("its %s has hidden characters: \"%s\"", kind.KeyName(), textfilter.Visible(text, MaxServerTitle))
		}
	}
	for it := v.Get("arguments").Elements(); it.Next(); {
		if name := it.Value().Get("name"); textfilter.IndexJSON(name.Raw()) >= 0 {
			return nil, fmt.Errorf("an argument has hidden characters in its name: \"%s\"", textfilter.Visible(string(name.Raw()), MaxServerTitle))
		}
	}
	out := []byte{'{'}
	for m := v.Members(); m.Next(); {
		if textfilter.IndexJSON(m.Key()) >= 0 {
			a.note(CodeHidden, a.at, remedyHidden, "a member with hidden characters in its name: \"%s\"", textfilter.Visible(string(m.KeyText(nil)), MaxServerTitle))
			continue
		}
		var err error
		if out, err = a.member(jsonscan.AppendKey(out, 1, m.Key()), string(m.KeyText(nil)), m.Value()); err != nil {
			return nil, err
		}
	}
	if out = append(out, '}'); len(out) > manifest.MaxMCPItem {
		return nil, fmt.Errorf("its definition has %d bytes, more than %d", len(out), manifest.MaxMCPItem)
	}
	return out, nil
}

// itemChanges compares what two servers have besides tools.
func itemChanges(was, is *manifest.Manifest) (out []ToolChange) {
	for kind := range manifest.ItemKinds {
		old := make(map[string]*manifest.Item, len(was.Items[kind]))
		for i := range was.Items[kind] {
			old[was.Items[kind][i].Key] = &was.Items[kind][i]
		}
		for i := range is.Items[kind] {
			n := &is.Items[kind][i]
			c := ToolChange{Kind: ToolChanged, Method: kind.Method(), Path: "/" + n.Key, Tool: n.Key}
			o := old[n.Key]
			delete(old, n.Key)
			d := differ{details: []Detail{}}
			if o == nil {
				c.Kind, c.Impact = ToolAdded, ImpactSafe
				o = &manifest.Item{Definition: []byte(`{}`)}
				d.itemInstructions(o, n)
			} else if o.Hash == n.Hash && bytes.Equal(o.Definition, n.Definition) {
				continue
			} else {
				d.item(o, n)
			}
			if c.Details = d.details; len(d.details) > 0 {
				c.Impact = d.worst()
			}
			out = append(out, c)
		}
		for i := range was.Items[kind] {
			if key := was.Items[kind][i].Key; old[key] != nil {
				out = append(out, ToolChange{Kind: ToolRemoved, Impact: ImpactBreaking, Method: kind.Method(), Path: "/" + key, Tool: key, Details: []Detail{}})
			}
		}
	}
	return out
}

// item compares two definitions of one item.
func (d *differ) item(o, n *manifest.Item) {
	d.itemInstructions(o, n)
	was, is := jsonscan.Trusted(o.Definition), jsonscan.Trusted(n.Definition)
	d.arguments(was.Get("arguments"), is.Get("arguments"))
	for _, text := range []string{"title", "description"} {
		if !bytes.Equal(was.Get(text).Raw(), is.Get(text).Raw()) {
			d.texts(ImpactWording, text, "the "+text+" changed", string(was.Get(text).AppendText(nil)), string(is.Get(text).AppendText(nil)))
		}
	}
	if len(d.details) == 0 {
		d.texts(ImpactWording, "definition", "its definition changed in what is passed on as it is", string(o.Definition), string(n.Definition))
	}
}

// arguments compares the arguments of two prompts.
func (d *differ) arguments(o, n jsonscan.Value) {
	type argument struct{ was, is, mustBefore, must bool }
	all := map[string]*argument{}
	var names []string
	note := func(list jsonscan.Value, set func(*argument, bool)) {
		for it := list.Elements(); it.Next(); {
			name := string(it.Value().Get("name").AppendText(nil))
			if all[name] == nil {
				all[name] = &argument{}
				names = append(names, name)
			}
			must, _ := it.Value().Get("required").Bool()
			set(all[name], must)
		}
	}
	note(o, func(a *argument, must bool) { a.was, a.mustBefore = true, must })
	note(n, func(a *argument, must bool) { a.is, a.must = true, must })
	for _, name := range names {
		switch a := all[name]; {
		case a.was && !a.is:
			d.add(ImpactBreaking, "input", "the argument %.80q is gone", name)
		case a.must && !a.mustBefore:
			d.add(ImpactBreaking, "input", "the argument %.80q is required now", name)
		case !a.was:
			d.add(ImpactSafe, "input", "the argument %.80q is new", name)
		case a.must != a.mustBefore:
			d.add(ImpactSafe, "input", "the argument %.80q may be left out now", name)
		}
	}
}

// itemInstructions is instructions for an item.
func (d *differ) itemInstructions(o, n *manifest.Item) {
	old := textfilter.FindJSON(o.Definition)
	for _, f := range textfilter.FindJSON(n.Definition) {
		if !slices.ContainsFunc(old, func(was textfilter.Finding) bool { return was.Kind == f.Kind && was.Quote == f.Quote }) {
			d.add(ImpactBreaking, WhereInstructions, "it is written for a model (%s): \"%s\"", f.Kind, f.Quote)
		}
	}
}
