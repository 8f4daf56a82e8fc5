package connector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Connector is an opened connector, or one that is opened when it is first used.
type Connector struct {
	open func() (*Connector, error) // nil for one that [Open] made
	mu   sync.Mutex                 // held while open runs
	at   atomic.Pointer[contents]   // nil until it is open
}

// contents are copies of what the module holds besides the engine's code.
type contents struct {
	head     *manifest.Manifest
	tools    *texts
	ready    []atomic.Pointer[Tool]
	programs [][]byte
}

// nothing is what a connector that cannot be opened holds.
var nothing = &contents{head: &manifest.Manifest{Upstream: &manifest.Upstream{}}, tools: &texts{}}

// Later is a connector that open opens when it is first used, so that a start does
// not wait for connectors that nobody calls. open runs again at the next use when it
// failed, and may be called from any goroutine, from one at a time. Who uses the
// connector calls [Connector.Load] first: the methods without an error answer as
// one without tools when it cannot be opened.
func Later(open func() (*Connector, error)) *Connector { return &Connector{open: open} }

// Load opens a connector that [Later] made; it returns the error of its open.
func (c *Connector) Load() error {
	_, err := c.contents()
	return err
}

func (c *Connector) contents() (*contents, error) {
	if p := c.at.Load(); p != nil {
		return p, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.at.Load(); p != nil {
		return p, nil
	}
	o, err := c.open()
	if err != nil {
		return nothing, err
	}
	p := o.at.Load()
	c.at.Store(p)
	return p, nil
}

func (c *Connector) head() *manifest.Manifest {
	p, _ := c.contents()
	return p.head
}

// Open takes apart a module that a [Builder] made. It does not keep module, most of
// which is the engine's code. Nothing in it is trusted: the engine's code must be ours, the programs are
// checked, the manifest is read strictly. What belongs to one tool is read when the
// tool is first used, so that a start with thousands of tools is fast. It fails with
// [problem.InvalidPlugin].
func Open(module []byte) (*Connector, error) {
	linked, err := engine.Open(module, manifest.Section)
	if err != nil {
		return nil, err
	}
	linked.Detach()
	head, tools, err := manifest.ParseHead(linked.Manifest)
	if err != nil {
		return nil, err
	}
	if head.Kind != manifest.Connector {
		return nil, problem.New(problem.InvalidPlugin, "the plugin is a %s, not a connector", head.Kind)
	}
	head.Config = bytes.Clone(head.Config) // this and the items are views of the module
	detach(&head.Items)
	c := &Connector{}
	c.at.Store(&contents{head: head, tools: packTexts(tools), ready: make([]atomic.Pointer[Tool], len(tools)), programs: linked.Programs})
	return c, nil
}

// Name is the slug of the API.
func (c *Connector) Name() string { return c.head().Name }

// Version is info.version of the specification.
func (c *Connector) Version() string { return c.head().Version }

// Title is the API's title.
func (c *Connector) Title() string { return c.head().Title }

// Description is the API's description, plain text.
func (c *Connector) Description() string { return c.head().Description }

// Servers are the API's base URLs; the caller owns the list.
func (c *Connector) Servers() []operation.Server { return serversBack(c.head().Upstream.Servers) }

// Schemes are the API's security schemes; the caller owns the list.
func (c *Connector) Schemes() []operation.SecurityScheme {
	var out []operation.SecurityScheme
	for _, s := range c.head().Upstream.Schemes {
		o := operation.SecurityScheme{
			ID: s.ID, Type: s.Type, In: s.In, Name: s.Name, Scheme: s.Scheme,
			BearerFormat: s.BearerFormat, OpenIDURL: s.OpenIDURL, Description: s.Description,
		}
		for _, f := range s.Flows {
			o.Flows = append(o.Flows, operation.Flow(f))
		}
		out = append(out, o)
	}
	return out
}

// HasSchemes reports whether the API declares security schemes.
func (c *Connector) HasSchemes() bool { return len(c.head().Upstream.Schemes) > 0 }

// MCP is how the MCP server behind the connector was spoken to; nil: it is an HTTP
// API.
func (c *Connector) MCP() *manifest.MCPServer { return c.head().Upstream.MCP }

// Security is what applies to tools that do not say; nil: not said.
func (c *Connector) Security() []operation.Requirement {
	return requirementsBack(c.head().Upstream.Security)
}

// Len is the number of tools.
func (c *Connector) Len() int {
	p, _ := c.contents()
	return p.tools.len()
}

// Head is what a list of tools shows of one.
type Head struct {
	Name, Title, Description string
	Method, Path             string
	Deprecated               bool
	Tags                     []string
	Annotations              operation.Annotations
	// InputSchema and OutputSchema are not to be changed; OutputSchema may be nil.
	InputSchema, OutputSchema json.RawMessage
	// Structured says that the answers are JSON, as far as the specification tells.
	Structured bool
	// MCP is not nil for a tool of an MCP server; its Extra is a view of the module.
	MCP *manifest.MCPTool
}

// Tool is one tool, ready to serve.
type Tool struct {
	Head
	OperationID string
	Pointer     string // into the specification
	// Plan checks arguments and builds requests; nil for a tool of an MCP server.
	Plan    *operation.Compiled
	Accept  string
	Program []byte // response program; nil: minify only
	// Security overrides the connector's when not nil.
	Security []operation.Requirement
	// Servers override the connector's when not empty.
	Servers []operation.Server
}

// Head reads what a list shows of tool i. It decodes on each call and keeps nothing.
func (c *Connector) Head(i int) (Head, error) {
	p, err := c.contents()
	if err != nil {
		return Head{}, err
	}
	t, err := p.tool(i)
	if err != nil {
		return Head{}, inTool(err, c, i)
	}
	return headOf(&t), nil
}

func headOf(t *manifest.Tool) Head {
	return Head{
		Name: t.Name, Title: t.Title, Description: t.Description, Method: t.Method, Path: t.Path, Deprecated: t.Deprecated,
		Tags: t.Tags, Annotations: operation.Annotations(t.Annotations), InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
		Structured: t.MCP == nil && (len(t.OutputSchema) > 0 || acceptsJSON(t.Request)), MCP: t.MCP,
	}
}

// acceptsJSON reports whether a request plan asks for JSON.
func acceptsJSON(plan json.RawMessage) bool {
	return bytes.Contains(jsonscan.Trusted(plan).Get("accept").Raw(), []byte("json"))
}

// Tool reads tool i and compiles its plan, once; later calls give the same. It
// fails with [problem.InvalidPlugin].
func (c *Connector) Tool(i int) (*Tool, error) {
	p, err := c.contents()
	if err != nil {
		return nil, err
	}
	if t := p.ready[i].Load(); t != nil {
		return t, nil
	}
	t, err := p.load(i)
	if err != nil {
		return nil, inTool(err, c, i)
	}
	// Two goroutines may both have made it: all use the one that is stored.
	if !p.ready[i].CompareAndSwap(nil, t) {
		return p.ready[i].Load(), nil
	}
	return t, nil
}

// tool reads tool i of the manifest.
func (p *contents) tool(i int) (manifest.Tool, error) {
	text, err := p.tools.text(i)
	if err != nil {
		return manifest.Tool{}, err
	}
	return manifest.ParseTool(text)
}

func (p *contents) load(i int) (*Tool, error) {
	m, err := p.tool(i)
	if err != nil {
		return nil, err
	}
	if (m.MCP != nil) != (p.head.Upstream.MCP != nil) {
		return nil, errors.New("it is of another kind than its upstream")
	}
	if m.MCP != nil {
		return &Tool{Head: headOf(&m), Security: requirementsBack(m.Security)}, nil
	}
	plan, err := operation.DecodePlan(m.Request)
	if err != nil {
		return nil, err
	}
	plan.Promises = nil // for the comparison of versions, not for calls
	if b := plan.Body; b != nil && b.Arg == "" && b.Schema != nil && b.Schema.XML == nil && b.Schema.Name == "" {
		b.Schema = nil // likewise
	}
	compiled, err := plan.Compile()
	if err != nil {
		return nil, err
	}
	t := &Tool{
		Head: headOf(&m), OperationID: m.OperationID, Pointer: m.Pointer, Plan: compiled, Accept: plan.Accept,
		Security: requirementsBack(m.Security), Servers: serversBack(m.Servers),
	}
	if m.Program >= 0 {
		if m.Program >= len(p.programs) {
			return nil, fmt.Errorf("program %d of %d", m.Program, len(p.programs))
		}
		t.Program = p.programs[m.Program]
	}
	return t, nil
}

// Program is the response program of tool i; nil when it has none or the tool is
// malformed.
func (c *Connector) Program(i int) []byte {
	t, err := c.Tool(i)
	if err != nil {
		return nil
	}
	return t.Program
}

// inTool names the connector and tool in an error that may be shown.
func inTool(err error, c *Connector, i int) error {
	if problem.Is(err, problem.InvalidPlugin) {
		return fmt.Errorf("connector %s, tool %d: %w", c.Name(), i, err)
	}
	return problem.New(problem.InvalidPlugin, "connector %s, tool %d: %s", c.Name(), i, err).Because(err).
		Fix("generate the connector again with this version of Sluice")
}

func requirementsBack(in [][]string) []operation.Requirement {
	if in == nil {
		return nil
	}
	out := make([]operation.Requirement, len(in))
	for i, r := range in {
		out[i] = operation.Requirement(r)
	}
	return out
}

func serversBack(in []manifest.Server) []operation.Server {
	var out []operation.Server
	for _, s := range in {
		o := operation.Server{URL: s.URL, Description: s.Description}
		for _, v := range s.Variables {
			o.Variables = append(o.Variables, operation.ServerVariable(v))
		}
		out = append(out, o)
	}
	return out
}
