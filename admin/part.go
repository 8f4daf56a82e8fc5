package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/choice"
	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/upstream"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// part is one connector of a draft: where it comes from, how it is called and what
// its tools are.
type part struct {
	row     store.ToolsetConnector
	version *store.ConnectorVersion
	report  *Report
	conn    *toolset.Generated // nil in an outline
	creds   []credential.Draft
	made    *compiled // the source that conn was compiled from just now; nil: conn is stored
}

// loadPart reads a connector of a toolset, without its tools.
func loadPart(ctx context.Context, ws *store.Workspace, row *store.ToolsetConnector) (p *part, err error) {
	p = &part{row: *row}
	if p.version, err = ws.ConnectorVersion(ctx, row.Connector, row.ConnectorDigest); err != nil {
		return nil, err
	}
	if p.report, err = reportOf(p.version); err != nil {
		return nil, err
	}
	p.creds, err = credential.Load(ctx, ws, row.ToolsetID, row.Name)
	return p, err
}

// baseURL is where calls are sent; empty when nothing is known.
func (p *part) baseURL() string {
	if p.row.BaseURL != "" {
		return p.row.BaseURL
	}
	return p.report.BaseURL
}

// policy is what happens to changes of an MCP server.
func (p *part) policy() string {
	if p.row.UpstreamPolicy == "" {
		return upstream.Pin
	}
	return p.row.UpstreamPolicy
}

// checkStateless refuses the word about a connector that has no sessions.
func checkStateless(row *store.ToolsetConnector, pointer string) error {
	if row.Stateless && row.SourceKind != store.SourceMCP {
		return request.FieldFault(pointer, "only an MCP server can be stateless: calls of APIs have no session")
	}
	return nil
}

// sent says which header carried the credential, never its value.
func (p *part) sent() string {
	if len(p.creds) == 0 {
		return "no credential was sent, because none is configured"
	}
	a, err := credential.Show(p.creds, p.creds[0].Row.RotatedAt.Time)
	if err != nil {
		return "a credential was sent"
	}
	return "what was sent is " + a.Preview
}

// ref is the connector as a bundle names it.
func (p *part) ref() (registry.ConnectorRef, error) {
	auth, err := credential.BundleShape(p.creds)
	if err != nil {
		return registry.ConnectorRef{}, err
	}
	answers, err := toolset.AnswersOf(p.row.Answers)
	if err != nil {
		return registry.ConnectorRef{}, err
	}
	fixed, err := toolset.FixedOf(p.row.Fixed)
	return registry.ConnectorRef{
		Name: p.row.Name, Repository: p.version.Repository, Manifest: registry.Digest(p.version.Manifest), Digest: registry.Digest(p.version.Digest),
		BaseURL: p.row.BaseURL, Auth: auth, Answers: answers, Fixed: fixed, Stateless: p.row.Stateless, Local: registry.IsStdio(p.row.SourceURL),
	}, err
}

// is reports whether p was made of a source.
func (p *part) is(src *source.Source) bool {
	return p.row.SourceKind == src.Kind() && p.row.SourceURL == src.URL && (src.URL != "" || p.row.SourceTitle == src.Title)
}

// named finds a connector of the draft; nil: there is none of that name.
func (d *draft) named(name string) *part {
	for _, p := range d.parts {
		if p.row.Name == name {
			return p
		}
	}
	return nil
}

// names lists the connectors of the draft, for people.
func (d *draft) names() string {
	names := make([]string, len(d.parts))
	for i, p := range d.parts {
		names[i] = p.row.Name
	}
	return strings.Join(names, ", ")
}

// focus makes the draft be about one of its connectors. "" is the only one; with
// several it fails with [problem.Conflict], and for a name that none has with
// [problem.NotFound].
func (d *draft) focus(name string) error {
	if name == "" && len(d.parts) == 1 {
		return nil
	}
	if name == "" {
		return problem.New(problem.Conflict, "toolset %s has several connectors: %s", d.ts.Slug, d.names()).Fix("name one of them")
	}
	p := d.named(name)
	if p == nil {
		return problem.New(problem.NotFound, "toolset %s has no connector %.80q", d.ts.Slug, name).Fix("it has %s", d.names())
	}
	d.part = p
	return nil
}

// rows are the records of the draft's connectors.
func (d *draft) rows() []store.ToolsetConnector {
	out := make([]store.ToolsetConnector, len(d.parts))
	for i, p := range d.parts {
		out[i] = p.row
	}
	return out
}

// allCreds are the credentials of every connector of the draft.
func (d *draft) allCreds() []credential.Draft {
	var out []credential.Draft
	for _, p := range d.parts {
		out = append(out, p.creds...)
	}
	return out
}

// connectors are the opened connectors, by their names in the toolset.
func (d *draft) connectors() map[string]*connector.Connector {
	out := make(map[string]*connector.Connector, len(d.parts))
	for _, p := range d.parts {
		out[p.row.Name] = p.conn.Opened
	}
	return out
}

// generated finds what an operation's tool is made of; nil: the draft does not have it.
func (d *draft) generated(op toolset.Operation) (*part, *toolset.GeneratedTool) {
	p := d.named(op.Connector)
	if p == nil {
		return nil, nil
	}
	i, ok := p.conn.ByOp[toolset.Operation{Method: op.Method, Path: op.Path}]
	if !ok {
		return nil, nil
	}
	return p, &p.conn.Tools[i]
}

// has reports whether the draft has an operation, or what an MCP server has besides tools.
func (d *draft) has(op toolset.Operation) bool {
	_, g := d.generated(op)
	return g != nil || d.hasItem(op)
}

// operation is the operation with a method and path of the first connector that has
// it: what is kept by these alone belongs to that.
func (d *draft) operation(method, path string) toolset.Operation {
	op := toolset.Operation{Connector: d.parts[0].row.Name, Method: method, Path: path}
	for _, p := range d.parts {
		if other := (toolset.Operation{Connector: p.row.Name, Method: method, Path: path}); d.has(other) {
			return other
		}
	}
	return op
}

// bind makes the compiled connector that of the part the draft is about. The name of
// a connector in a toolset stays, also when a refreshed specification has another.
func (d *draft) bind(c *compiled) {
	name, r := connectorName(c.pushed, d.ts.WorkspaceID), c.report
	d.made, d.conn, d.report = c, c.conn, r
	d.version = &store.ConnectorVersion{
		Connector: name, Digest: string(c.pushed.Module), Manifest: string(c.pushed.Manifest), Repository: c.pushed.Repository, Tag: c.pushed.Tag,
		Version: r.Version, SpecDigest: r.SpecDigest, Tools: int64(r.ToolCount), Report: store.JSON(r),
	}
	d.row.Connector, d.row.ConnectorDigest = name, string(c.pushed.Module)
	if d.row.Name == "" {
		d.row.Name = d.freeName(name)
	}
}

// toolsOf are the tools of one connector.
func (d *draft) toolsOf(connector string) []toolset.Tool {
	return slices.DeleteFunc(d.tools(false), func(t toolset.Tool) bool { return t.Operation.Connector != connector })
}

// known are the tools of a draft whose new connector is not bound yet.
func (d *draft) known() []toolset.Tool {
	bound := &draft{ts: d.ts, edits: d.edits}
	for _, p := range d.parts {
		if p.conn != nil {
			bound.parts = append(bound.parts, p)
		}
	}
	return bound.tools(false)
}

// freeName is a name for another connector of the draft, want or one like it.
func (d *draft) freeName(want string) string {
	name := want[:min(len(want), registry.MaxSlugBytes)]
	for n := 2; d.named(name) != nil; n++ {
		suffix := fmt.Sprintf("-%d", n)
		name = want[:min(len(want), registry.MaxSlugBytes-len(suffix))] + suffix
	}
	return strings.Trim(name, "-")
}

// settle makes the names of tools unique without renaming what agents know: before
// are the tools as they were. A tool that is new, or would be named otherwise, and
// whose name is taken gets its connector's name in front, by an edit: so the name
// outlives what it made room for. It returns the tools it renamed.
func (d *draft) settle(before []toolset.Tool) []KeptName {
	if len(d.parts) < 2 {
		return nil
	}
	known := make(map[toolset.Operation]string, len(before))
	for i := range before {
		known[before[i].Operation] = before[i].Name
	}
	tools, taken := d.tools(false), map[string]bool{}
	isTaken := func(name string) bool { return taken[strings.ToLower(name)] }
	var renamed []KeptName
	for _, old := range []bool{true, false} {
		for i := range tools {
			t := &tools[i]
			if name, ok := known[t.Operation]; (ok && name == t.Name) != old {
				continue
			}
			if isTaken(t.Name) && !old {
				name := registry.PrefixedName(t.Operation.Connector, t.Name, isTaken)
				d.edit(t.Operation, func(e *store.ToolEdit) { e.Name = &name })
				renamed = append(renamed, KeptName{Operation: t.Operation, Name: name, Generated: t.OriginalName})
				t.Name = name
			}
			taken[strings.ToLower(t.Name)] = true
		}
	}
	return renamed
}

// drop takes the connector that the draft is about out of it, with everything that is
// said about its tools.
func (d *draft) drop() error {
	name := d.row.Name
	if len(d.parts) == 1 {
		return problem.New(problem.Conflict, "%s is the only connector of toolset %s", name, d.ts.Slug).Fix("add another one first, or delete the toolset")
	}
	d.edits = slices.DeleteFunc(d.edits, func(e store.ToolEdit) bool { return e.Connector == name })
	c, err := choice.Of(d.ts)
	if err != nil {
		return err
	}
	c.Drop(name)
	c.Keep(d.ts)
	bound, err := bindingsOf(d.ts.Plugins)
	if err != nil {
		return err
	}
	bound = slices.DeleteFunc(bound, func(b boundRecord) bool { return b.Connector == name })
	if d.ts.Plugins = ""; len(bound) > 0 {
		d.ts.Plugins = store.JSON(bound)
	}
	d.parts = slices.DeleteFunc(d.parts, func(p *part) bool { return p.row.Name == name })
	d.part = d.parts[0]
	if enabledCount(d.tools(false)) == 0 {
		return problem.New(problem.Conflict, "without connector %s toolset %s has no enabled tool", name, d.ts.Slug).Fix("enable tools of another connector first")
	}
	return nil
}

// takes reports whether a tool of the connector takes an argument.
func (p *part) takes(name string) bool {
	return slices.ContainsFunc(p.conn.Tools, func(g toolset.GeneratedTool) bool { return g.Takes(name) })
}

// checkFixed tries the fixed values of a bundle on the tools that take them: the API
// may have come to accept others.
func (d *draft) checkFixed(t *registry.Toolset) error {
	of := map[toolset.Operation]*registry.ToolEdit{}
	for i := range t.Tools {
		e := &t.Tools[i]
		of[toolset.Operation{Connector: e.Connector, Method: e.Method, Path: e.Path}] = e
	}
	for i, p := range d.parts {
		for n := range p.conn.Tools {
			g := &p.conn.Tools[n]
			e := of[toolset.Operation{Connector: p.row.Name, Method: g.Method, Path: g.Path}]
			fixed := e.FixedOver(t.Connectors[i].Fixed)
			if len(fixed) == 0 || e != nil && e.Disabled {
				continue
			}
			tool, err := p.conn.Opened.Tool(n)
			if err != nil {
				return err
			}
			if _, err := tool.Fix(fixed); err != nil {
				return problem.As(err).InTool(g.Name)
			}
		}
	}
	return nil
}

// follow moves what the draft keeps by operation: edits, the selection with its
// examples, and bindings of plugins.
func (d *draft) follow(m toolset.Moves) error {
	if len(m) == 0 {
		return nil
	}
	for from, to := range m { // an edit that waited there gives way to the one in use
		if slices.ContainsFunc(d.edits, func(e store.ToolEdit) bool { return toolset.OperationOf(&e) == from }) {
			d.edits = slices.DeleteFunc(d.edits, func(e store.ToolEdit) bool { return toolset.OperationOf(&e) == to })
		}
	}
	for i := range d.edits {
		d.edits[i].Path = m.Of(toolset.OperationOf(&d.edits[i])).Path
	}
	c, err := choice.Of(d.ts)
	if err != nil {
		return err
	}
	c.Follow(m)
	c.Keep(d.ts)
	bound, err := bindingsOf(d.ts.Plugins)
	if err != nil || len(bound) == 0 {
		return err
	}
	for i := range bound {
		b := &bound[i]
		b.Path = m.Of(toolset.Operation{Connector: b.Connector, Method: b.Method, Path: b.Path}).Path
		for j := range b.Calls {
			b.Calls[j].Operation = m.Of(b.Calls[j].Operation)
		}
	}
	d.ts.Plugins = store.JSON(bound)
	return nil
}

// KeptName is a tool whose name a refresh did not change.
type KeptName struct {
	Operation toolset.Operation `json:"operation"`
	Name      string            `json:"name"`
	Generated string            `json:"generated" doc:"Name by the new version."`
}

// calls is where the draft sends requests of the connector.
func (p *part) calls() credential.Calls {
	c := credential.CallsOf(p.row.Name, p.row.BaseURL, p.conn)
	for i := range p.creds {
		c.Credentials = append(c.Credentials, p.creds[i].Row.ID)
	}
	return c
}
