package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// Toolset is one toolset URL. Its exported fields are not changed.
type Toolset struct {
	ID       string
	Slug     string
	Name     string
	Revision uint64
	Digest   registry.Digest
	Access   *access.Policy
	Capture  metering.Capture // what the call log keeps of calls
	CacheTTL time.Duration    // 0: answers are not cached
	Bindings []*Binding       // in the order of the bundle

	bundle       *registry.Toolset
	programs     [][]byte
	plugins      []*Plugin
	stored       []byte // index of the tools
	meter        *metering.Meter
	accessDigest registry.Digest

	finding struct { // written once by finder
		once sync.Once
		f    *finder
		err  error
	}

	tools attempt
	index struct { // written once by tools
		list   []*Tool
		fetch  *Tool // nil: no answer is ever cut
		script *Tool // nil: no scripts are run
		batch  *Tool // nil: it is not offered
		byName map[string]*Tool
		needs  mcp.Capabilities // of any tool
		// byOperation are the tools that workflows call.
		byOperation map[registry.SelectedTool]*Tool
	}
	lists lists

	trial *Trial              // nil: no candidate is on trial
	side  *metering.TrialSide // of a canary, also of its candidate; nil: none

	info  mcp.Info  // without what is known of the connectors
	card  *mcp.Card // of a toolset that has tools only
	items items
}

// Binding is a connector in a toolset: where its requests go and how they
// authenticate. Its fields are not changed.
type Binding struct {
	Name      string // in the toolset
	Connector *connector.Connector
	Digest    string // of the connector
	// Override is the operator's base URL. Its zero value lets the
	// specification's servers decide.
	Override upstream.Base
	url      string            // Override as it is written
	Rules    credentials.Rules // everything that is configured; a tool's own are in [Ready]
	Meter    *metering.Connector
	answers  *registry.Answers // nil: those of the toolset
	fixed    registry.Fixed    // values of arguments that the model does not see
	// stateless is the operator's word that the MCP server keeps nothing of a caller.
	stateless bool

	ifMatch func() bool // reads all tools, once
}

// IfMatch reports whether a tool of the API takes the version of what it changes (RFC
// 9110 §13.1.1), so that a caller needs the ETag of an answer.
func (b *Binding) IfMatch() bool { return b.ifMatch() }

var separators = strings.NewReplacer("_", "", "-", "")

// takesIfMatch looks for an argument of that name.
func takesIfMatch(c *connector.Connector) bool {
	for i := range c.Len() {
		head, err := c.Head(i)
		if err != nil {
			return false // its tools cannot be called either
		}
		for it := jsonscan.Trusted(head.InputSchema).Get("properties").Members(); it.Next(); {
			if strings.EqualFold(separators.Replace(string(it.KeyText(nil))), "ifmatch") {
				return true
			}
		}
	}
	return false
}

// newToolset makes a toolset. prev is what its slug served before; nil: nothing.
func newToolset(in *ToolsetInput, all *Input, prev *Toolset) (*Toolset, error) {
	b, meter := in.Bundle, all.Meter
	var before *access.Policy
	if prev != nil && prev.ID == in.ID {
		before = prev.Access
	}
	policy, err := access.Compile(b.Access, in.Access, in.ID, all.Keys, all.Counter, before)
	if err != nil {
		return nil, err
	}
	ts := &Toolset{
		ID: in.ID, Slug: in.Slug, Name: b.Name, Revision: in.Revision, Digest: in.Digest,
		Access: policy,
		bundle: b, programs: in.Programs, stored: in.Index, meter: meter, accessDigest: in.AccessDigest,
	}
	if in.Access != nil {
		ts.Capture = metering.CaptureOf(in.Access.Capture)
	}
	if b.Cache != nil {
		ts.CacheTTL = time.Duration(b.Cache.TTLSeconds) * time.Second
	}
	for i := range b.Connectors {
		ref := &b.Connectors[i]
		binding, err := newBinding(in, ref, meter)
		if err != nil {
			return nil, fmt.Errorf("binding connector %s: %w", ref.Name, err)
		}
		ts.Bindings = append(ts.Bindings, binding)
	}
	if ts.plugins, err = newPlugins(in); err != nil {
		return nil, err
	}
	ts.info = mcp.Info{Name: in.Slug, Title: b.Name, Version: fmt.Sprintf("%d", in.Revision), Instructions: instructions(b)}
	ts.card = mcp.NewCard(ts.info)
	return ts, nil
}

// tableGuide tells an agent how to read table text (docs/table.md).
const tableGuide = "Long answers are table text: \"#A id name state=open user(B)\" names the columns of type A and \"[A\" begins a list " +
	"with an object of it in each row, cells in that order. name=value holds for every row and has no cell; name=<@t> is a time without " +
	"its punctuation, <id> the row's id; (…) is an object of the type its column names; no cell: no such member. " +
	"The argument \"fields\" chooses members of the answer, id,owner.login or items(id,name); * brings back what was left out."

// HasServers reports whether one of the connectors is an MCP server, which may ask its
// client for something and may remember it.
func (ts *Toolset) HasServers() bool {
	for _, b := range ts.Bindings {
		if b.Connector.MCP() != nil {
			return true
		}
	}
	return false
}

// Workspace is whose the toolset is.
func (ts *Toolset) Workspace() string { return ts.bundle.Workspace }

// instructions are the operator's, and how to read answers where they may be
// written as table text.
func instructions(b *registry.Toolset) string {
	if !writesTables(b) {
		return b.Instructions
	}
	return strings.TrimPrefix(b.Instructions+"\n\n"+tableGuide, "\n\n")
}

// writesTables reports whether the answers of some connector may be table text.
func writesTables(b *registry.Toolset) bool {
	for i := range b.Connectors {
		profile, format := b.EffectiveProfile(), ""
		for _, a := range []*registry.Answers{b.Answers, b.Connectors[i].Answers} {
			if a != nil && a.Profile != "" {
				profile = a.Profile
			}
			if a != nil && a.Format != "" {
				format = a.Format
			}
		}
		if f := answer.FormatOf(format); profile != registry.ProfileOff && (f == answer.FormatAuto || f == answer.FormatTable) {
			return true
		}
	}
	return false
}

func newBinding(in *ToolsetInput, ref *registry.ConnectorRef, meter *metering.Meter) (*Binding, error) {
	c := in.Connectors[ref.Name]
	if c == nil {
		return nil, fmt.Errorf("it is not among the connectors of the release")
	}
	rules, err := credentials.Compile(ref.Auth)
	if err != nil {
		return nil, err
	}
	b := &Binding{Name: ref.Name, Connector: c, Digest: string(ref.Digest), Rules: rules, Meter: meter.Connector(in.Slug, ref.Name), answers: ref.Answers, fixed: ref.Fixed, stateless: ref.Stateless}
	b.ifMatch = sync.OnceValue(func() bool { return takesIfMatch(c) })
	if ref.BaseURL != "" {
		if b.Override, err = upstream.ParseBase(ref.BaseURL); err != nil {
			return nil, err
		}
		b.url = ref.BaseURL
	}
	return b, nil
}

// base is where requests go whose operation names no other server, and the only
// origin that gets the credential. It is zero when there is none.
func (b *Binding) base() upstream.Base {
	if !b.Override.Zero() {
		return b.Override
	}
	return firstServer(b.Connector.Servers())
}

// endpoint is where the MCP server of the binding is.
func (b *Binding) endpoint() (*mcpclient.Endpoint, error) {
	at := b.url
	if servers := b.Connector.Servers(); at == "" && len(servers) > 0 {
		at = servers[0].URL
	}
	return mcpclient.ParseEndpoint(at)
}

// Tools are the API's tools that are served, in the order of tools/list.
func (ts *Toolset) Tools() ([]*Tool, error) {
	if err := ts.tools.do(ts.makeIndex); err != nil {
		return nil, err
	}
	return ts.index.list, nil
}

// Tool finds a tool by its name; nil if there is none.
func (ts *Toolset) Tool(name []byte) (*Tool, error) {
	if err := ts.tools.do(ts.makeIndex); err != nil {
		return nil, err
	}
	return ts.index.byName[string(name)], nil
}

func (ts *Toolset) makeIndex() error {
	ts.index.byOperation = map[registry.SelectedTool]*Tool{}
	connectors := make(map[string]*connector.Connector, len(ts.Bindings))
	for _, b := range ts.Bindings {
		connectors[b.Name] = b.Connector
	}
	var tools []*Tool
	var needs mcp.Capabilities
	selected, called := ts.selected(), ts.called()
	for e, err := range ts.bundle.EditedTools(connectors) {
		if err != nil {
			return err
		}
		listed := selected == nil || selected[e.Operation]
		if e.Disabled() || !listed && !called[e.Operation] {
			continue
		}
		t := &Tool{Name: e.Generated.Name, Toolset: ts, Binding: ts.Bindings[e.Connector], index: e.Index, edit: e.Edit}
		if e.Edit != nil && e.Edit.Name != nil {
			t.Name, t.named = *e.Edit.Name, true
		}
		if e.Generated.MCP != nil {
			t.needs, t.mayTask = mcp.CapabilitiesNamed(e.Generated.MCP.Needs), e.Generated.MCP.MayTask
		}
		if called[e.Operation] {
			ts.index.byOperation[e.Operation] = t
		}
		if listed {
			tools = append(tools, t)
			needs |= t.needs
		}
	}
	ts.index.needs = needs
	tools = append(tools, ts.workflows()...)
	ts.index.list, ts.index.byName = tools, settleNames(tools)
	// Calls of a batch share one budget, and what a script gives no specification describes.
	shared := ts.bundle.Selection != nil && ts.bundle.Selection.Batch || ts.Codes()
	if slices.ContainsFunc(tools, func(t *Tool) bool { return t.mayBeCut(shared) }) {
		ts.index.fetch = &Tool{Name: ts.ownName(FetchTool), Toolset: ts, Fetch: true}
		ts.index.byName[ts.index.fetch.Name] = ts.index.fetch
	}
	if ts.bundle.Selection != nil && ts.bundle.Selection.Batch {
		ts.index.batch = &Tool{Name: ts.ownName(BatchTool), Toolset: ts, Batch: true}
		ts.index.byName[ts.index.batch.Name] = ts.index.batch
	}
	if ts.Codes() {
		ts.index.script = &Tool{Name: ts.ownName(RunCode), Toolset: ts, Script: true}
		ts.index.byName[ts.index.script.Name] = ts.index.script
	}
	return nil
}

// attempt does something once, but again when it failed: what a connector lacks may
// be there at the next call.
type attempt struct {
	mu   sync.Mutex
	done atomic.Bool
}

func (a *attempt) do(f func() error) error {
	if a.done.Load() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done.Load() {
		return nil
	}
	if err := f(); err != nil {
		return err
	}
	a.done.Store(true)
	return nil
}

// mayBeCut reports whether an answer of the tool can be over its budget. What the
// specification says is believed as long as the budget is no less than usual and its own.
func (t *Tool) mayBeCut(shared bool) bool {
	switch budget := answer.Budget(t.settings()); {
	case budget <= 0:
		return false
	case shared || budget < registry.DefaultTokenBudget || t.Workflow != nil:
		return true
	}
	head, err := t.head()
	return err != nil || head.MCP != nil || !head.Structured || answer.MayBeLong(head.OutputSchema, head.Annotations.ReadOnly)
}

// FetchTool is the name of the tool that gives the rest of an answer.
const FetchTool = "fetch_result"

// ownName is a name for a tool of Sluice's, or a longer one when the API has a tool of
// that name.
func (ts *Toolset) ownName(name string) string {
	for slices.ContainsFunc(ts.index.list, func(t *Tool) bool { return strings.EqualFold(t.Name, name) }) {
		name = "sluice_" + name
	}
	return name
}

// Fetch is the tool that gives the rest of an answer that was cut; nil when no tool of the
// toolset has a budget, or as far as the specifications tell an answer that is over it.
func (ts *Toolset) Fetch() *Tool {
	if _, err := ts.Tools(); err != nil {
		return nil
	}
	return ts.index.fetch
}

// The description of the tool that gives the rest of an answer: it is part of
// every list.
const (
	fetchDescription = "Get more of a cut answer, as its last line says"
	fetchSchema      = `{"type":"object","properties":{"handle":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"},` +
		`"fields":{"type":"string"},"grep":{"type":"string"}},"required":["handle"]}`
)

// settleNames makes the names of tools unique without regard to case and returns
// the tools by name. Names an operator chose come first, then the order of
// connectors and operations, then those of workflows: so a connector that is added
// behind the others, or a workflow, never renames what is there. A tool whose name is
// taken gets its connector's or plugin's name in front ([registry.PrefixedName]). The
// control plane writes such names of connectors' tools into the bundle, so that they
// outlive what they made room for; this is for a bundle that does not.
func settleNames(tools []*Tool) map[string]*Tool {
	byName := make(map[string]*Tool, len(tools))
	taken := make(map[string]bool, len(tools))
	isTaken := func(name string) bool { return taken[strings.ToLower(name)] }
	for _, named := range []bool{true, false} {
		for _, t := range tools {
			if t.named != named {
				continue
			}
			if isTaken(t.Name) {
				t.Name = registry.PrefixedName(t.group(), t.Name, isTaken)
			}
			taken[strings.ToLower(t.Name)] = true
			byName[t.Name] = t
		}
	}
	return byName
}

// Count is how many tools the toolset serves, without making them ready.
func (ts *Toolset) Count() int {
	n := len(ts.workflowPlugins()) + len(ts.bundle.Workflows)
	if s := ts.bundle.Selection; s != nil && s.Mode == registry.SelectUseCase {
		return n + len(s.Tools)
	}
	for _, b := range ts.Bindings {
		n += b.Connector.Len()
	}
	for i := range ts.bundle.Tools {
		if ts.bundle.Tools[i].Disabled {
			n--
		}
	}
	return max(n, 0)
}
