package snapshot

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// Tool is one tool of a toolset. Its exported fields are not changed.
type Tool struct {
	Name    string // as published
	Toolset *Toolset
	Binding *Binding

	// Fetch says that this is not an operation of an API but the tool that gives the
	// rest of an answer that was cut: its Ready has a Meter only.
	Fetch bool
	// Script says that this is the tool that runs scripts, which call the others.
	Script bool
	// Batch says that this is the tool that makes many calls of the others at once.
	Batch bool
	// Workflow is not nil for a tool that a plugin offers, which calls other tools: it
	// has no Binding, and its Ready has neither Plan nor Base.
	Workflow *Workflow
	// Item is not nil for what is not a tool but a prompt, resource or resource template of
	// an MCP server: its Ready has no Plan.
	Item *Item

	index   int              // in the connector
	named   bool             // the operator chose the name
	needs   mcp.Capabilities // without which clients do not list it
	mayTask bool             // clients of 2025-11-25 may make a call of it a task
	edit    *registry.ToolEdit
	known   atomic.Pointer[nature]

	once  sync.Once
	ready struct { // written once
		Ready
		err error
	}
}

// Ready is what a call of a tool needs. Its fields are not changed.
type Ready struct {
	Plan   *operation.Compiled
	Method string
	Path   string // template
	Safe   bool   // GET or HEAD
	JSON   bool   // the operation announces JSON answers
	Answer *answer.Plan
	// Base is where the request goes; zero when it is not known.
	Base upstream.Base
	// Rules are the credentials of the call; none when the specification says that
	// the operation needs none.
	Rules credentials.Rules
	// Elsewhere says that Base is of another origin than the toolset's base URL: a
	// credential that is not for it is left out there.
	Elsewhere bool
	Headers   []mcp.HeaderParam
	Meter     *metering.Tool
	Plugins   []*Plugin // third parties', in the order they run on answers
	Arguments []*Plugin // and on arguments
	Auth      *Plugin   // third party's that signs requests; nil: credentials are put on them
	// MCP is not nil for a tool of an MCP server; Plan and Base are nothing then.
	MCP *MCP
}

// MCP is what a call of a tool of an MCP server needs.
type MCP struct {
	Tool     string // as the server calls it
	Endpoint *mcpclient.Endpoint
	Hint     manifest.MCPServer
	// Owner of the session with the server: the toolset. Calls with a credential add
	// its version; at a server that keeps sessions each caller has one of their own.
	Owner string
	// Stateless is the operator's word that they need not.
	Stateless bool
	// Repeatable says that calling twice does no harm, as far as the server tells.
	Repeatable bool
	// Task says that the server runs it as a task only.
	Task bool
	// Headers repeat arguments for the server, fixed ones too.
	Headers []mcp.HeaderParam

	fixed registry.Fixed  // values of arguments that go into every call; nil: none
	given *connector.Head // the tool as the server describes it, where there are any
}

// Origin is the origin of the server, as credentials name it.
func (m *MCP) Origin() string {
	at := m.Endpoint.Base()
	return at.Key()
}

// Arguments are those of a call with the fixed values, in the place of what was given
// for them.
func (m *MCP) Arguments(given jsonscan.Value) jsonscan.Value {
	if len(m.fixed) == 0 {
		return given
	}
	return m.given.FixArguments(given, m.fixed)
}

// Redacts reports whether something has to see every byte of the tool's answers: a
// third-party plugin, or the operator's own settings.
func (r *Ready) Redacts() bool {
	if r.Answer.Redact {
		return true
	}
	for _, p := range r.Plugins {
		if p.Redacts {
			return true
		}
	}
	return false
}

// Load makes the tool ready on first use.
func (t *Tool) Load() (*Ready, error) {
	t.once.Do(func() { t.ready.err = t.load() })
	if t.ready.err != nil {
		return nil, t.ready.err
	}
	return &t.ready.Ready, nil
}

func (t *Tool) load() error {
	if t.Script {
		return t.loadScript()
	}
	if t.Batch {
		return t.loadBatch()
	}
	if t.Fetch {
		t.ready.Meter = t.Toolset.meter.Tool(t.meterID())
		return nil
	}
	if t.Workflow != nil {
		return t.loadWorkflow()
	}
	if t.Item != nil {
		return t.loadItem()
	}
	c := t.Binding.Connector
	tool, err := c.Tool(t.index)
	if err != nil {
		return fmt.Errorf("reading tool %s: %w", t.Name, err)
	}
	r := &t.ready.Ready
	given := tool.Head
	if fixed := t.fixed(); len(fixed) > 0 {
		if tool, err = tool.Fix(fixed); err != nil {
			return fmt.Errorf("fixed values of tool %s: %w", t.Name, err)
		}
	}
	if tool.MCP != nil {
		return t.loadMCP(tool, &given)
	}
	r.Plan = tool.Plan
	r.Method, r.Path = tool.Method, tool.Path
	r.Safe = r.Method == http.MethodGet || r.Method == http.MethodHead
	r.JSON = tool.Structured || tool.Accept == ""
	r.Plugins = t.Toolset.pluginsOf(t.Binding.Name, r.Method, r.Path)
	r.Arguments = t.Toolset.argumentsOf(t.Binding.Name, r.Method, r.Path)
	if r.Answer, err = t.answer(tool); err != nil {
		return err
	}
	base := t.Binding.base()
	r.Base = base
	if len(tool.Servers) > 0 && t.Binding.Override.Zero() {
		if b := firstServer(tool.Servers); !b.Zero() {
			r.Base = b
		}
	}
	security := c.Security()
	if tool.Security != nil {
		security = tool.Security
	}
	r.Elsewhere = r.Base.Key() != base.Key()
	// Another origin than the base's gets credentials only where the specification
	// asks for them there, and those that are for it.
	if !r.Elsewhere || len(security) > 0 && c.HasSchemes() {
		r.Rules = t.Binding.Rules.For(security, c.HasSchemes())
	}
	if !r.Elsewhere || len(r.Rules) > 0 {
		r.Auth = t.Toolset.authOf(t.Binding.Name, r.Method, r.Path)
	}
	if r.Headers, err = mcp.HeaderParams(tool.InputSchema); err != nil {
		r.Headers = nil // a mark that breaks the rules is one that clients ignore
	}
	r.Meter = t.Toolset.meter.Tool(t.meterID())
	return nil
}

func (t *Tool) meterID() metering.ToolID {
	return metering.ToolID{Workspace: t.Toolset.bundle.Workspace, Toolset: t.Toolset.ID, Slug: t.Toolset.Slug, Tool: t.Name}
}

// answer compiles what becomes of the tool's answers.
func (t *Tool) answer(c *connector.Tool) (*answer.Plan, error) {
	packages := make([]*guest.Package, len(t.ready.Plugins))
	for i, p := range t.ready.Plugins {
		packages[i] = p.Package
	}
	plan, err := answer.Compile(answer.Settings{Tool: c, Profile: t.Toolset.bundle.EffectiveProfile(), Answers: t.settings(), Programs: t.Toolset.programs, Plugins: packages})
	if err != nil {
		return nil, fmt.Errorf("settings of the answers of tool %s: %w", t.Name, err)
	}
	return plan, nil
}

// settings are the operator's of answers, the widest first.
func (t *Tool) settings() []*registry.Answers {
	var out []*registry.Answers
	if s := t.Toolset.bundle.Answers; s != nil {
		out = append(out, s)
	}
	if t.Binding != nil && t.Binding.answers != nil {
		out = append(out, t.Binding.answers)
	}
	if t.edit != nil && t.edit.Answers != nil {
		out = append(out, t.edit.Answers)
	}
	return out
}

// Limits are how long one call may take, without progress, and how large the answer of
// its upstream may be.
func (t *Tool) Limits() (timeout time.Duration, maxBody int64) {
	timeout, maxBody = upstream.DefaultTimeout, upstream.DefaultMaxBody
	set := func(a *registry.Answers) {
		if a != nil && a.TimeoutMilliseconds > 0 {
			timeout = time.Duration(a.TimeoutMilliseconds) * time.Millisecond
		}
		if a != nil && a.ResponseBytes > 0 {
			maxBody = min(a.ResponseBytes, upstream.HardMaxBody)
		}
	}
	set(t.Toolset.bundle.Answers)
	if t.Binding != nil {
		set(t.Binding.answers)
	}
	if t.edit != nil {
		set(t.edit.Answers)
	}
	return timeout, maxBody
}

// Own reports whether the tool is Sluice's and not the operator's to open or close:
// what it gives or calls is checked when that is known.
func (t *Tool) Own() bool { return t.Fetch || t.Script || t.Batch }

// Remote reports whether a tool that was loaded is one of an MCP server.
func (t *Tool) Remote() bool { return t.ready.MCP != nil }

// fixed are the values of arguments that the model does not see.
func (t *Tool) fixed() registry.Fixed { return t.edit.FixedOver(t.Binding.fixed) }

// loadMCP makes a tool of an MCP server ready; given is what the server says of it.
func (t *Tool) loadMCP(tool *connector.Tool, given *connector.Head) error {
	r, b := &t.ready.Ready, t.Binding
	r.Method, r.Path = tool.Method, tool.Path
	r.Plugins = t.Toolset.pluginsOf(b.Name, r.Method, r.Path)
	if p := t.Toolset.authOf(b.Name, r.Method, r.Path); p != nil {
		return problem.New(problem.Unsupported, "the plugin %s signs requests to HTTP APIs, and tool %s is one of an MCP server", p.Ref.Name, t.Name)
	}
	var err error
	if r.Answer, err = t.answer(tool); err != nil {
		return err
	}
	at, err := b.endpoint()
	if err != nil {
		return fmt.Errorf("address of the MCP server of tool %s: %w", t.Name, err)
	}
	r.MCP = &MCP{
		Tool: tool.MCP.Name, Endpoint: at, Hint: *b.Connector.MCP(), Owner: t.Toolset.ID, Stateless: b.stateless,
		Repeatable: tool.Annotations.ReadOnly || tool.Annotations.Idempotent, Task: tool.MCP.Task,
	}
	if fixed := t.fixed(); len(fixed) > 0 {
		r.MCP.given, r.MCP.fixed = given, fixed
	}
	if r.MCP.Headers, err = mcp.HeaderParams(given.InputSchema); err != nil {
		r.MCP.Headers = nil // a mark that breaks the rules is one that clients ignore
	}
	r.Rules = b.Rules
	if r.Headers, err = mcp.HeaderParams(tool.InputSchema); err != nil {
		r.Headers = nil // a mark that breaks the rules is one that clients ignore
	}
	r.Meter = t.Toolset.meter.Tool(t.meterID())
	return nil
}

// firstServer is the first server that is an absolute URL, its variables filled
// in with their defaults; zero when there is none.
func firstServer(servers []operation.Server) upstream.Base {
	for i := range servers {
		s := servers[i].URL
		for _, v := range servers[i].Variables {
			s = strings.ReplaceAll(s, "{"+v.Name+"}", v.Default)
		}
		if b, err := upstream.ParseBase(s); err == nil {
			return b
		}
	}
	return upstream.Base{}
}
