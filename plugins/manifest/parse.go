package manifest

import (
	"errors"
	"regexp"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// Parse reads a whole manifest. b is kept: raw members are views of it. It fails
// with [problem.InvalidPlugin] and names the place by JSON pointer.
func Parse(b []byte) (*Manifest, error) {
	m, raw, err := ParseHead(b)
	if err != nil || len(raw) == 0 {
		return m, err
	}
	m.Tools = make([]Tool, len(raw))
	names := make(map[string]int, len(raw))
	for i, t := range raw {
		d := decoder{}
		d.enter("tools")
		d.enter(strconv.Itoa(i))
		m.Tools[i] = d.tool(jsonscan.Trusted(t))
		if first, taken := names[m.Tools[i].Name]; taken {
			d.fail("the tool name %q is taken by tool %d", m.Tools[i].Name, first)
		}
		if d.err != nil {
			return nil, d.err
		}
		names[m.Tools[i].Name] = i
	}
	return m, nil
}

// ParseHead reads everything but the tools. It checks the syntax of the whole
// document and returns the bytes of each tool, views of b, to be read by
// [ParseTool] when they are needed. Errors are those of [Parse].
func ParseHead(b []byte) (*Manifest, [][]byte, error) {
	d := decoder{}
	if len(b) > MaxBytes {
		d.fail("it has %d bytes, the limit is %d", len(b), MaxBytes)
		return nil, nil, d.err
	}
	v, err := jsonscan.Parse(b, MaxDepth)
	if err != nil {
		if _, ok := errors.AsType[*jsonscan.SyntaxError](err); ok {
			d.fail("it is not JSON: %s", err)
		} else {
			d.fail("it is nested deeper than %d levels", MaxDepth)
		}
		return nil, nil, d.err
	}
	m, tools := d.manifest(v)
	if d.err != nil {
		return nil, nil, d.err
	}
	return m, tools, nil
}

// ParseTool reads one tool from the bytes that [ParseHead] gave. raw is kept.
// Errors are those of [Parse].
func ParseTool(raw []byte) (Tool, error) {
	d := decoder{}
	t := d.tool(jsonscan.Trusted(raw))
	if d.err != nil {
		return Tool{}, d.err
	}
	return t, nil
}

func (d *decoder) manifest(v jsonscan.Value) (*Manifest, [][]byte) {
	m := &Manifest{}
	var tools [][]byte
	hasTools := false
	d.object(v, []member{
		{"formatVersion", true, func(v jsonscan.Value) {
			m.FormatVersion = d.integer(v, 1, 1<<30)
			if m.FormatVersion != FormatVersion && d.err == nil {
				d.fail("format version %d is not known, this version of Sluice reads %d", m.FormatVersion, FormatVersion)
			}
		}},
		{"kind", true, func(v jsonscan.Value) { m.Kind = Kind(d.oneOf(v, kinds)) }},
		{"name", true, func(v jsonscan.Value) { m.Name = d.match(v, MaxName, slug, "a slug of a-z, 0-9 and -") }},
		{"version", true, func(v jsonscan.Value) {
			if m.Version = d.text(v, 1, MaxText); textfilter.Clean(m.Version) != m.Version {
				d.fail("%q has characters that nobody sees", cut(m.Version))
			}
		}},
		{"title", false, func(v jsonscan.Value) { m.Title = d.text(v, 0, MaxText) }},
		{"description", false, func(v jsonscan.Value) { m.Description = d.text(v, 0, MaxDescription) }},
		{"generator", false, func(v jsonscan.Value) { m.Generator = d.text(v, 0, MaxText) }},
		{"upstream", false, func(v jsonscan.Value) { m.Upstream = d.upstream(v) }},
		{"tools", false, func(v jsonscan.Value) { tools, hasTools = d.toolIndex(v), true }},
		{"prompts", false, func(v jsonscan.Value) { m.Items[Prompts] = d.items(v, Prompts) }},
		{"resources", false, func(v jsonscan.Value) { m.Items[Resources] = d.items(v, Resources) }},
		{"resourceTemplates", false, func(v jsonscan.Value) { m.Items[Templates] = d.items(v, Templates) }},
		{"toolset", false, func(v jsonscan.Value) { m.Toolset = d.rawObject(v, MaxBytes) }},
		{"entry", false, func(v jsonscan.Value) { m.Entry = d.text(v, 1, MaxText) }},
		{"capabilities", false, func(v jsonscan.Value) { m.Capabilities = d.capabilities(v) }},
		{"limits", false, func(v jsonscan.Value) { m.Limits = d.limits(v) }},
		{"input", false, func(v jsonscan.Value) { m.Input = d.input(v) }},
		{"output", false, func(v jsonscan.Value) { m.Output = d.output(v) }},
		{"tool", false, func(v jsonscan.Value) { m.Tool = d.offeredTool(v) }},
		{"config", false, func(v jsonscan.Value) { m.Config = d.rawObject(v, MaxSchema) }},
	})
	if d.err != nil {
		return nil, nil
	}
	third := m.Kind != Connector && m.Kind != Toolset
	need := func(name string, has, wanted bool) {
		switch {
		case wanted && !has:
			d.fail("a %s needs %q", m.Kind, name)
		case has && !wanted:
			d.fail("a %s must not have %q", m.Kind, name)
		}
	}
	need("upstream", m.Upstream != nil, m.Kind == Connector)
	need("tools", hasTools, m.Kind == Connector)
	need("toolset", m.Toolset != nil, m.Kind == Toolset)
	for kind, items := range m.Items {
		if m.Upstream == nil || m.Upstream.MCP == nil {
			need(ItemKind(kind).List(), items != nil, false)
		}
	}
	if m.Kind != Filter && m.Kind != Projection {
		need("input", m.Input != nil, false)
		need("output", m.Output != nil, false)
	}
	if m.Kind != Auth && m.Capabilities != nil {
		need("capabilities/signing", m.Capabilities.Signing != nil, false)
	}
	need("tool", m.Tool != nil, m.Kind == Workflow)
	need("capabilities/tools", m.Capabilities != nil && m.Capabilities.Tools != nil, m.Kind == Workflow)
	if m.Kind != Workflow && m.Limits != nil {
		need("limits/calls", m.Limits.Calls != 0, false)
	}
	if !third {
		need("entry", m.Entry != "", false)
		need("capabilities", m.Capabilities != nil, false)
		need("limits", m.Limits != nil, false)
		need("config", m.Config != nil, false)
	}
	return m, tools
}

func (d *decoder) toolIndex(v jsonscan.Value) [][]byte {
	if v.Kind() != jsonscan.Array {
		d.fail("expected an array, got %s", v.Kind())
		return nil
	}
	tools := make([][]byte, 0, 16)
	for it := v.Elements(); it.Next(); {
		if len(tools) == MaxTools {
			d.fail("more than %d tools", MaxTools)
			return nil
		}
		tools = append(tools, it.Value().Raw())
	}
	return tools
}

func (d *decoder) tool(v jsonscan.Value) Tool {
	t := Tool{Program: -1}
	d.object(v, []member{
		{"name", true, func(v jsonscan.Value) {
			t.Name = d.match(v, MaxMCPToolName, mcpToolName, "a lower-case letter, then letters, digits and _")
		}},
		{"title", false, func(v jsonscan.Value) { t.Title = d.text(v, 0, MaxText) }},
		{"description", true, func(v jsonscan.Value) { t.Description = d.text(v, 0, MaxMCPDescription) }},
		{"method", true, func(v jsonscan.Value) { t.Method = d.match(v, MaxToolName, methodToken, "an HTTP method") }},
		{"path", true, func(v jsonscan.Value) { t.Path = d.match(v, MaxPath, rooted, "a path that starts with /") }},
		{"operationId", false, func(v jsonscan.Value) { t.OperationID = d.text(v, 0, MaxText) }},
		{"pointer", false, func(v jsonscan.Value) { t.Pointer = d.text(v, 0, MaxPath) }},
		{"tags", false, func(v jsonscan.Value) { t.Tags = d.texts(v) }},
		{"deprecated", false, func(v jsonscan.Value) { t.Deprecated = d.boolean(v) }},
		{"annotations", true, func(v jsonscan.Value) { t.Annotations = d.annotations(v) }},
		{"inputSchema", true, func(v jsonscan.Value) { t.InputSchema = d.rawObject(v, MaxSchema) }},
		{"outputSchema", false, func(v jsonscan.Value) { t.OutputSchema = d.rawObject(v, MaxSchema) }},
		{"request", false, func(v jsonscan.Value) { t.Request = d.rawObject(v, MaxPlan) }},
		{"mcp", false, func(v jsonscan.Value) { t.MCP = d.mcpTool(v) }},
		{"program", false, func(v jsonscan.Value) { t.Program = d.integer(v, 0, MaxTools) }},
		{"security", false, func(v jsonscan.Value) { t.Security = d.alternatives(v) }},
		{"servers", false, func(v jsonscan.Value) { t.Servers = list(d, v, d.server) }},
	})
	d.kindOfTool(&t)
	return t
}

// kindOfTool applies the rules that an operation of an HTTP API and a tool of an
// MCP server do not share.
func (d *decoder) kindOfTool(t *Tool) {
	in := func(name string, ok bool, format string, args ...any) {
		if d.err == nil && !ok {
			d.enter(name)
			d.fail(format, args...)
		}
	}
	if t.MCP != nil {
		in("request", t.Request == nil, "a tool of an MCP server has no request plan")
		in("method", t.Method == MethodMCP, "the method of a tool of an MCP server is %s", MethodMCP)
		in("path", t.Path == "/"+t.MCP.Name, "the path of a tool of an MCP server is / and its name")
		return
	}
	if d.err == nil && t.Request == nil {
		d.fail("the member %q is missing", "request")
	}
	in("name", len(t.Name) <= MaxToolName, "the text has %d bytes, allowed are 1 to %d", len(t.Name), MaxToolName)
	in("name", t.Name != "" && toolName(t.Name), "%q is not a lower-case letter, then letters, digits and _", cut(t.Name))
	in("description", len(t.Description) <= MaxDescription, "the text has %d bytes, allowed are 0 to %d", len(t.Description), MaxDescription)
}

func (d *decoder) mcpTool(v jsonscan.Value) *MCPTool {
	m := &MCPTool{}
	d.object(v, []member{
		{"name", true, func(v jsonscan.Value) { m.Name = d.text(v, 1, MaxText) }},
		{"hash", true, func(v jsonscan.Value) { m.Hash = d.match(v, MaxText, hash, "sha256: and 64 hexadecimal digits") }},
		{"extra", false, func(v jsonscan.Value) { m.Extra = d.rawObject(v, MaxSchema) }},
		{"needs", false, func(v jsonscan.Value) {
			m.Needs = list(d, v, func(v jsonscan.Value) string { return d.oneOf(v, ClientCapabilities) })
			if d.err == nil && len(m.Needs) > len(ClientCapabilities) {
				d.fail("%d capabilities, allowed are %d", len(m.Needs), len(ClientCapabilities))
			}
		}},
		{"task", false, func(v jsonscan.Value) { m.Task = d.boolean(v) }},
		{"mayTask", false, func(v jsonscan.Value) { m.MayTask = d.boolean(v) }},
	})
	return m
}

func (d *decoder) mcpServer(v jsonscan.Value) *MCPServer {
	m := &MCPServer{}
	d.object(v, []member{
		{"transport", true, func(v jsonscan.Value) {
			m.Transport = d.oneOf(v, []string{TransportStreamable, TransportSSE})
		}},
		{"protocol", true, func(v jsonscan.Value) { m.Protocol = d.text(v, 1, MaxToolName) }},
		{"completions", false, func(v jsonscan.Value) { m.Completions = d.boolean(v) }},
		{"subscribe", false, func(v jsonscan.Value) { m.Subscribe = d.boolean(v) }},
		{"reads", false, func(v jsonscan.Value) { m.Reads = d.boolean(v) }},
		{"emptyPrompts", false, func(v jsonscan.Value) { m.EmptyPrompts = d.boolean(v) }},
		{"tasks", false, func(v jsonscan.Value) { m.Tasks = d.boolean(v) }},
		{"callTasks", false, func(v jsonscan.Value) { m.CallTasks = d.boolean(v) }},
		{"cancelTasks", false, func(v jsonscan.Value) { m.CancelTasks = d.boolean(v) }},
	})
	return m
}

func (d *decoder) annotations(v jsonscan.Value) Annotations {
	var a Annotations
	d.object(v, []member{
		{"readOnlyHint", true, func(v jsonscan.Value) { a.ReadOnly = d.boolean(v) }},
		{"destructiveHint", true, func(v jsonscan.Value) { a.Destructive = d.boolean(v) }},
		{"idempotentHint", true, func(v jsonscan.Value) { a.Idempotent = d.boolean(v) }},
		{"openWorldHint", true, func(v jsonscan.Value) { a.OpenWorld = d.boolean(v) }},
	})
	return a
}

func (d *decoder) upstream(v jsonscan.Value) *Upstream {
	u := &Upstream{}
	d.object(v, []member{
		{"servers", false, func(v jsonscan.Value) { u.Servers = list(d, v, d.server) }},
		{"schemes", false, func(v jsonscan.Value) { u.Schemes = list(d, v, d.scheme) }},
		{"security", false, func(v jsonscan.Value) { u.Security = d.alternatives(v) }},
		{"mcp", false, func(v jsonscan.Value) { u.MCP = d.mcpServer(v) }},
	})
	return u
}

func (d *decoder) server(v jsonscan.Value) Server {
	var s Server
	d.object(v, []member{
		{"url", true, func(v jsonscan.Value) { s.URL = d.text(v, 1, MaxPath) }},
		{"description", false, func(v jsonscan.Value) { s.Description = d.text(v, 0, MaxPath) }},
		{"variables", false, func(v jsonscan.Value) { s.Variables = list(d, v, d.variable) }},
	})
	return s
}

func (d *decoder) variable(v jsonscan.Value) Variable {
	var x Variable
	d.object(v, []member{
		{"name", true, func(v jsonscan.Value) { x.Name = d.text(v, 1, MaxText) }},
		{"default", true, func(v jsonscan.Value) { x.Default = d.text(v, 0, MaxPath) }},
		{"enum", false, func(v jsonscan.Value) { x.Enum = d.texts(v) }},
		{"description", false, func(v jsonscan.Value) { x.Description = d.text(v, 0, MaxPath) }},
	})
	return x
}

func (d *decoder) scheme(v jsonscan.Value) Scheme {
	var s Scheme
	d.object(v, []member{
		{"id", true, func(v jsonscan.Value) { s.ID = d.text(v, 1, MaxText) }},
		{"type", true, func(v jsonscan.Value) { s.Type = d.text(v, 1, MaxText) }},
		{"in", false, func(v jsonscan.Value) { s.In = d.text(v, 0, MaxText) }},
		{"name", false, func(v jsonscan.Value) { s.Name = d.text(v, 0, MaxText) }},
		{"scheme", false, func(v jsonscan.Value) { s.Scheme = d.text(v, 0, MaxText) }},
		{"bearerFormat", false, func(v jsonscan.Value) { s.BearerFormat = d.text(v, 0, MaxText) }},
		{"openIdConnectUrl", false, func(v jsonscan.Value) { s.OpenIDURL = d.text(v, 0, MaxPath) }},
		{"flows", false, func(v jsonscan.Value) { s.Flows = list(d, v, d.flow) }},
		{"description", false, func(v jsonscan.Value) { s.Description = d.text(v, 0, MaxPath) }},
	})
	return s
}

func (d *decoder) flow(v jsonscan.Value) Flow {
	var f Flow
	d.object(v, []member{
		{"grant", true, func(v jsonscan.Value) { f.Grant = d.text(v, 1, MaxText) }},
		{"authorizationUrl", false, func(v jsonscan.Value) { f.AuthorizationURL = d.text(v, 0, MaxPath) }},
		{"tokenUrl", false, func(v jsonscan.Value) { f.TokenURL = d.text(v, 0, MaxPath) }},
		{"refreshUrl", false, func(v jsonscan.Value) { f.RefreshURL = d.text(v, 0, MaxPath) }},
		{"scopes", false, func(v jsonscan.Value) { f.Scopes = d.texts(v) }},
	})
	return f
}

func (d *decoder) capabilities(v jsonscan.Value) *Capabilities {
	c := &Capabilities{}
	d.object(v, []member{
		{"hosts", false, func(v jsonscan.Value) { c.Hosts = d.hosts(v) }},
		{"clock", false, func(v jsonscan.Value) { c.Clock = d.boolean(v) }},
		{"random", false, func(v jsonscan.Value) { c.Random = d.boolean(v) }},
		{"signing", false, func(v jsonscan.Value) { c.Signing = d.signing(v) }},
		{"tools", false, func(v jsonscan.Value) { c.Tools = d.calledTools(v) }},
	})
	return c
}

// hosts are those that a plugin asks for.
func (d *decoder) hosts(v jsonscan.Value) []string {
	hosts := list(d, v, func(v jsonscan.Value) string {
		return d.match(v, MaxHost, validHost, "a host name in lower case, *.example.com, or either with a port")
	})
	if len(hosts) > MaxHosts {
		d.fail("%d hosts are more than %d", len(hosts), MaxHosts)
	}
	for i, h := range hosts {
		if slices.Contains(hosts[:i], h) {
			d.fail("%q is named twice", cut(h))
		}
	}
	return hosts
}

func (d *decoder) calledTools(v jsonscan.Value) []string {
	names := list(d, v, func(v jsonscan.Value) string {
		return d.match(v, MaxMCPToolName, mcpToolName, "a letter, then letters, digits, _ and -")
	})
	if n := len(names); d.err == nil && (n == 0 || n > MaxCalledTools) {
		d.fail("a workflow calls 1 to %d tools, not %d", MaxCalledTools, n)
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			d.fail("%q is named twice", cut(n))
		}
	}
	return names
}

func (d *decoder) offeredTool(v jsonscan.Value) *OfferedTool {
	t := &OfferedTool{}
	d.object(v, []member{
		{"name", true, func(v jsonscan.Value) {
			t.Name = d.match(v, MaxToolName, toolName, "a lower-case letter, then letters, digits and _")
		}},
		{"title", false, func(v jsonscan.Value) { t.Title = d.text(v, 0, MaxText) }},
		{"description", true, func(v jsonscan.Value) { t.Description = d.text(v, 1, MaxDescription) }},
		{"annotations", true, func(v jsonscan.Value) { t.Annotations = d.annotations(v) }},
		{"inputSchema", true, func(v jsonscan.Value) { t.InputSchema = d.rawObject(v, MaxSchema) }},
		{"outputSchema", false, func(v jsonscan.Value) { t.OutputSchema = d.rawObject(v, MaxSchema) }},
	})
	return t
}

func (d *decoder) signing(v jsonscan.Value) *Signing {
	s := &Signing{}
	d.object(v, []member{
		{"algorithm", true, func(v jsonscan.Value) { s.Algorithm = d.oneOf(v, SigningAlgorithms) }},
		{"derivations", false, func(v jsonscan.Value) { s.Derivations = d.integer(v, 0, MaxDerivations) }},
	})
	if d.err == nil && Asymmetric(s.Algorithm) && s.Derivations > 0 {
		d.fail("%s signs with a private key, from which no key is derived", s.Algorithm)
	}
	return s
}

func (d *decoder) limits(v jsonscan.Value) *Limits {
	l := &Limits{}
	d.object(v, []member{
		{"memoryBytes", false, func(v jsonscan.Value) { l.MemoryBytes = d.integer(v, 1, MaxMemory) }},
		{"deadlineMs", false, func(v jsonscan.Value) { l.DeadlineMS = d.integer(v, 1, MaxDeadline) }},
		{"calls", false, func(v jsonscan.Value) { l.Calls = d.integer(v, 1, MaxCalls) }},
	})
	return l
}

var mediaRange = regexp.MustCompile(`^(\*/\*|[a-z0-9][a-z0-9.+_-]*/(\*|[a-z0-9][a-z0-9.+_-]*))$`).MatchString

func (d *decoder) input(v jsonscan.Value) *Input {
	in := &Input{}
	d.object(v, []member{
		{"types", true, func(v jsonscan.Value) {
			in.Types = list(d, v, func(v jsonscan.Value) string {
				return d.match(v, MaxName, mediaRange, "a media type in lower case, type/* or */*")
			})
			if n := len(in.Types); d.err == nil && (n == 0 || n > MaxInputTypes) {
				d.fail("a plugin reads 1 to %d media types, not %d", MaxInputTypes, n)
			}
			for i, t := range in.Types {
				if slices.Contains(in.Types[:i], t) {
					d.fail("%q is named twice", cut(t))
				}
			}
		}},
		{"errors", false, func(v jsonscan.Value) {
			errors := d.boolean(v)
			in.Errors = &errors
		}},
	})
	return in
}

func (d *decoder) output(v jsonscan.Value) *Output {
	o := &Output{}
	d.object(v, []member{
		{"effect", true, func(v jsonscan.Value) {
			o.Effect = d.oneOf(v, []string{EffectSubset, EffectReplace, EffectText})
		}},
		{"schema", false, func(v jsonscan.Value) { o.Schema = d.rawObject(v, MaxSchema) }},
		{"redacts", false, func(v jsonscan.Value) {
			redacts := d.boolean(v)
			o.Redacts = &redacts
		}},
	})
	if has := o.Schema != nil; has != (o.Effect == EffectReplace) && d.err == nil {
		d.fail("an output has a schema when its effect is %q, and only then", EffectReplace)
	}
	return o
}
