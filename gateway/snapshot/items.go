package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Item is a prompt, a resource or a resource template of an MCP server. A [Tool] that
// has one is called as a tool of the server is: with the same credential, limits and
// session.
type Item struct {
	Kind manifest.ItemKind
	Key  string // as the server calls it; "" for whatever else the server may have to read
	Name string // as clients of the toolset do

	definition []byte
	pattern    *template // of a template
}

// Prefixes of the names under which access rules, logs and metrics know items.
const (
	PromptPrefix   = "prompt:"
	ResourcePrefix = "resource:"
)

// items are what the toolset has besides tools, made on first use.
type items struct {
	made    attempt
	all     [manifest.ItemKinds][]*Tool // in the order of the lists
	servers []*itemServer               // that have any
	prompts map[string]*Tool
	uris    map[string]*Tool // resources, by the URI that clients know

	card *mcp.Card

	mu    sync.Mutex
	lists [manifest.ItemKinds]map[string]*List // guarded by mu; by selection

	versions Versions // guarded by mu; "": not made
}

// itemServer is an MCP server that has resources.
type itemServer struct {
	binding   *Binding
	resources map[string]*Tool // by its own URI
	templates []*Tool
	hidden    map[string]bool // URIs that the operator disabled
	partly    bool            // the operator disabled a resource or template
	open      *Tool           // reads what it does not list
	tells     bool            // of changes of a resource
}

// Card describes the toolset to clients, with what it has besides tools as far as its
// connectors can be opened.
func (ts *Toolset) Card() *mcp.Card {
	if ts.items.made.do(ts.makeItems) != nil {
		return ts.card
	}
	return ts.items.card
}

// Items are the prompts, resources or templates that are served, in the order of their
// list.
func (ts *Toolset) Items(kind manifest.ItemKind) ([]*Tool, error) {
	if err := ts.items.made.do(ts.makeItems); err != nil {
		return nil, err
	}
	return ts.items.all[kind], nil
}

// Prompt finds a prompt by its name; nil: there is none.
func (ts *Toolset) Prompt(name []byte) (*Tool, error) {
	if err := ts.items.made.do(ts.makeItems); err != nil {
		return nil, err
	}
	return ts.items.prompts[string(name)], nil
}

func (ts *Toolset) makeItems() error {
	in := &ts.items
	in.all, in.servers = [manifest.ItemKinds][]*Tool{}, nil
	in.prompts, in.uris = map[string]*Tool{}, map[string]*Tool{}
	edits := make(map[registry.SelectedTool]*registry.ToolEdit, len(ts.bundle.Tools))
	for i := range ts.bundle.Tools {
		e := &ts.bundle.Tools[i]
		edits[registry.SelectedTool{Connector: e.Connector, Method: e.Method, Path: e.Path}] = e
	}
	info := ts.info
	for _, b := range ts.Bindings {
		if err := b.Connector.Load(); err != nil {
			return fmt.Errorf("opening connector %s: %w", b.Name, err)
		}
		how := b.Connector.MCP()
		if how == nil || ts.withholds(b) {
			continue
		}
		info.Completions, info.Tasks, info.Prompts = info.Completions || how.Completions, info.Tasks || how.Tasks, info.Prompts || how.EmptyPrompts
		info.CallTasks, info.CancelTasks = info.CallTasks || how.CallTasks, info.CancelTasks || how.CancelTasks
		s := &itemServer{binding: b, resources: map[string]*Tool{}, hidden: map[string]bool{}}
		for kind := range manifest.ItemKinds {
			for _, it := range b.Connector.Items(kind) {
				edit := edits[registry.SelectedTool{Connector: b.Name, Method: kind.Method(), Path: "/" + it.Key}]
				if edit != nil && edit.Disabled {
					s.hidden[it.Key], s.partly = true, s.partly || kind != manifest.Prompts
					continue
				}
				t := &Tool{Toolset: ts, Binding: b, edit: edit, Item: &Item{Kind: kind, Key: it.Key, Name: it.Key, definition: it.Definition}}
				in.add(s, t)
			}
		}
		if len(s.resources) > 0 || len(s.templates) > 0 || how.Reads {
			s.open = &Tool{Name: ResourcePrefix + "*", Toolset: ts, Binding: b, Item: &Item{Kind: manifest.Resources}}
			// In a session that all callers share nobody is told for himself.
			s.tells = how.Subscribe && (!b.stateless || how.Protocol >= mcp.V20260728.String())
			in.servers = append(in.servers, s)
			info.Subscribe = info.Subscribe || s.tells
		}
	}
	in.settlePrompts()
	info.Prompts, info.Resources = info.Prompts || len(in.all[manifest.Prompts]) > 0, len(in.servers) > 0
	info.Completions = info.Completions && (info.Prompts || info.Resources)
	in.card = ts.card
	if info.Prompts || info.Resources || info.Tasks || info.CallTasks {
		in.card = mcp.NewCard(info)
	}
	return nil
}

// MakesTasks reports whether the tool's server may answer with a task (extension
// io.modelcontextprotocol/tasks), which the toolset declares.
func (t *Tool) MakesTasks() bool {
	if t.Binding == nil {
		return false
	}
	how := t.Binding.Connector.MCP()
	return how != nil && how.Tasks && !t.Toolset.withholds(t.Binding)
}

// MayTask reports whether clients of 2025-11-25 may make a call of the tool a task, which the
// toolset declares.
func (t *Tool) MayTask() bool {
	if t.Binding == nil || !t.mayTask {
		return false
	}
	how := t.Binding.Connector.MCP()
	return how != nil && how.CallTasks && !t.Toolset.withholds(t.Binding)
}

// withholds reports whether something has to see every byte of the answers of a
// connector's tools: prompts and resources are passed on as they are, and so are not
// served then.
func (ts *Toolset) withholds(b *Binding) bool {
	for _, a := range []*registry.Answers{ts.bundle.Answers, b.answers} {
		if a != nil && a.Redact {
			return true
		}
	}
	for _, p := range ts.plugins {
		if p.Redacts && (p.Ref.Connector == "" || p.Ref.Connector == b.Name) {
			return true
		}
	}
	for i := range ts.bundle.Tools {
		if e := &ts.bundle.Tools[i]; e.Connector == b.Name && e.Answers != nil && e.Answers.Redact {
			return true
		}
	}
	return false
}

// Redacts reports whether something has to see all that an agent reads of a tool of the
// toolset.
func (ts *Toolset) Redacts() bool {
	redacts := func(a *registry.Answers) bool { return a != nil && a.Redact }
	return redacts(ts.bundle.Answers) ||
		slices.ContainsFunc(ts.plugins, func(p *Plugin) bool { return p.Redacts }) ||
		slices.ContainsFunc(ts.Bindings, func(b *Binding) bool { return redacts(b.answers) }) ||
		slices.ContainsFunc(ts.bundle.Tools, func(e registry.ToolEdit) bool { return redacts(e.Answers) })
}

// add puts an item of a server behind those of the servers before it, which keep their
// URIs: where the same URI would mean something of two servers, that of the later one
// has [ForeignScheme] in front.
func (in *items) add(s *itemServer, t *Tool) {
	it := t.Item
	switch it.Kind {
	case manifest.Prompts:
		if t.edit != nil && t.edit.Name != nil {
			it.Name, t.named = *t.edit.Name, true
		}
	case manifest.Resources:
		if in.claimed(it.Key) {
			it.Name = foreign(s.binding, it.Key)
		}
		s.resources[it.Key], in.uris[it.Name] = t, t
	case manifest.Templates:
		it.pattern = newTemplate(it.Key)
		if in.overlaps(it.pattern) {
			it.Name = foreign(s.binding, it.Key)
		}
		s.templates = append(s.templates, t)
	}
	if it.Kind != manifest.Prompts {
		t.Name = ResourcePrefix + it.Name
	}
	in.all[it.Kind] = append(in.all[it.Kind], t)
}

// claimed reports whether a URI is one of a server that was added before.
func (in *items) claimed(uri string) bool {
	for _, s := range in.servers {
		if s.find(uri) != nil || s.hidden[uri] {
			return true
		}
	}
	return false
}

func (in *items) overlaps(p *template) bool {
	for _, s := range in.servers {
		for _, t := range s.templates {
			if t.Item.pattern.overlaps(p) {
				return true
			}
		}
		for uri := range s.resources {
			if p.match(uri) {
				return true
			}
		}
	}
	return false
}

// find is what the server lists for one of its own URIs; nil: nothing.
func (s *itemServer) find(uri string) *Tool {
	if t := s.resources[uri]; t != nil {
		return t
	}
	for _, t := range s.templates {
		if !s.hidden[uri] && t.Item.pattern.match(uri) {
			return t
		}
	}
	return nil
}

// read is what reads one of the server's own URIs: also one that is not listed, as a
// result of a tool may name it, unless the operator disabled something of the server.
func (s *itemServer) read(uri string) *Tool {
	if t := s.find(uri); t != nil {
		return t
	}
	if s.partly {
		return nil
	}
	return s.open
}

// settlePrompts makes the names of prompts unique: first come those that the operator
// chose, then the order of connectors.
func (in *items) settlePrompts() {
	for _, named := range []bool{true, false} {
		for _, t := range in.all[manifest.Prompts] {
			if t.named != named {
				continue
			}
			if in.prompts[t.Item.Name] != nil {
				t.Item.Name = registry.PrefixedName(t.Binding.Name, t.Item.Name, func(name string) bool { return in.prompts[name] != nil })
			}
			in.prompts[t.Item.Name] = t
			t.Name = PromptPrefix + t.Item.Name
		}
	}
}

// ItemList returns the list of one kind, of what sees is true for; nil: of all.
// selection names what it selects.
func (ts *Toolset) ItemList(kind manifest.ItemKind, selection string, sees func(name string) bool) (*List, error) {
	all, err := ts.Items(kind)
	if err != nil {
		return nil, err
	}
	in := &ts.items
	in.mu.Lock()
	defer in.mu.Unlock()
	if l := in.lists[kind][selection]; l != nil {
		return l, nil
	}
	l := &List{prefix: cursorPrefix(ts, kind.List()+"\x00"+selection)}
	out, count := []byte{'['}, 0
	for _, t := range all {
		if sees != nil && !sees(t.Name) {
			continue
		}
		if count == pageTools || len(out) > pageBytes {
			l.pages = append(l.pages, append(out, ']'))
			out, count = []byte{'['}, 0
		}
		if count > 0 {
			out = append(out, ',')
		}
		out = t.appendItem(out)
		count++
	}
	l.pages = append(l.pages, append(out, ']'))
	if in.lists[kind] == nil || len(in.lists[kind]) >= maxSelections {
		in.lists[kind] = map[string]*List{}
	}
	in.lists[kind][selection] = l
	return l, nil
}

// appendItem appends the definition as clients see it.
func (t *Tool) appendItem(dst []byte) []byte {
	it, e := t.Item, cmp.Or(t.edit, &registry.ToolEdit{})
	changed := map[string]*string{}
	if it.Name != it.Key {
		changed[it.Kind.KeyName()] = &it.Name
	}
	for name, text := range map[string]*string{"title": e.Title, "description": e.Description} {
		if text != nil {
			changed[name] = text
		}
	}
	if it.Kind != manifest.Prompts && e.Name != nil {
		changed["name"] = e.Name
	}
	if len(changed) == 0 {
		return append(dst, it.definition...)
	}
	dst = append(dst, '{')
	mark := len(dst)
	for m := jsonscan.Trusted(it.definition).Members(); m.Next(); {
		name := string(m.KeyText(nil))
		if text := changed[name]; text != nil {
			dst = jsonscan.AppendStringOf(jsonscan.AppendKey(dst, mark, m.Key()), *text)
			delete(changed, name)
			continue
		}
		dst = jsonscan.AppendMember(dst, mark, m.Key(), m.Value().Raw())
	}
	for _, name := range []string{"title", "description"} {
		if text := changed[name]; text != nil {
			dst = jsonscan.AppendStringOf(jsonscan.AppendKey(dst, mark, []byte(name)), *text)
		}
	}
	return append(dst, '}')
}

// loadItem makes an item ready.
func (t *Tool) loadItem() error {
	r, b := &t.ready.Ready, t.Binding
	r.Answer = &answer.Plan{Profile: registry.ProfileOff, Program: &answer.Program{}}
	for _, a := range t.settings() {
		r.Answer.KeepHidden = r.Answer.KeepHidden || a.KeepHidden
	}
	at, err := b.endpoint()
	if err != nil {
		return fmt.Errorf("address of the MCP server of %s: %w", t.Name, err)
	}
	r.Method, r.Path = t.Item.Kind.Method(), "/"+t.Item.Key
	r.MCP = &MCP{Tool: t.Item.Key, Endpoint: at, Hint: *b.Connector.MCP(), Owner: t.Toolset.ID, Stateless: b.stateless, Repeatable: true}
	r.Rules, r.Meter = b.Rules, t.Toolset.meter.Tool(t.meterID())
	return nil
}
