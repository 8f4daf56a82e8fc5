package draft

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/upstream"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// Part is one connector of a draft: where it comes from, how it is called and what
// its tools are.
type Part struct {
	Row     store.ToolsetConnector
	Version *store.ConnectorVersion
	Report  *Report
	Conn    *toolset.Generated // nil in an outline
	Creds   []credential.Draft
	Made    *Compiled // the source that conn was compiled from just now; nil: conn is stored
}

// loadPart reads a connector of a toolset, without its tools.
func loadPart(ctx context.Context, records Records, row *store.ToolsetConnector) (p *Part, err error) {
	p = &Part{Row: *row}
	if p.Version, err = records.ConnectorVersion(ctx, row.Connector, row.ConnectorDigest); err != nil {
		return nil, err
	}
	if p.Report, err = ReportOf(p.Version); err != nil {
		return nil, err
	}
	p.Creds, err = credential.Load(ctx, records, row.ToolsetID, row.Name)
	return p, err
}

// BaseURL is where calls are sent; empty when nothing is known.
func (p *Part) BaseURL() string {
	if p.Row.BaseURL != "" {
		return p.Row.BaseURL
	}
	return p.Report.BaseURL
}

// Policy is what happens to changes of an MCP server.
func (p *Part) Policy() string {
	if p.Row.UpstreamPolicy == "" {
		return upstream.Pin
	}
	return p.Row.UpstreamPolicy
}

// CheckStateless refuses the word about a connector that has no sessions.
func CheckStateless(row *store.ToolsetConnector, pointer string) error {
	if row.Stateless && row.SourceKind != store.SourceMCP {
		return request.FieldFault(pointer, "only an MCP server can be stateless: calls of APIs have no session")
	}
	return nil
}

// Sent says which header carried the credential, never its value.
func (p *Part) Sent() string {
	if len(p.Creds) == 0 {
		return "no credential was sent, because none is configured"
	}
	a, err := credential.Show(p.Creds, p.Creds[0].Row.RotatedAt.Time)
	if err != nil {
		return "a credential was sent"
	}
	return "what was sent is " + a.Preview
}

// ref is the connector as a bundle names it.
func (p *Part) ref() (registry.ConnectorRef, error) {
	auth, err := credential.BundleShape(p.Creds)
	if err != nil {
		return registry.ConnectorRef{}, err
	}
	answers, err := toolset.AnswersOf(p.Row.Answers)
	if err != nil {
		return registry.ConnectorRef{}, err
	}
	fixed, err := toolset.FixedOf(p.Row.Fixed)
	return registry.ConnectorRef{
		Name: p.Row.Name, Repository: p.Version.Repository, Manifest: registry.Digest(p.Version.Manifest), Digest: registry.Digest(p.Version.Digest),
		BaseURL: p.Row.BaseURL, Auth: auth, Answers: answers, Fixed: fixed, Stateless: p.Row.Stateless, Local: registry.IsStdio(p.Row.SourceURL),
	}, err
}

// Is reports whether p was made of a source.
func (p *Part) Is(src *source.Source) bool {
	return p.Row.SourceKind == src.Kind() && p.Row.SourceURL == src.URL && (src.URL != "" || p.Row.SourceTitle == src.Title)
}

// Named finds a connector of the draft; nil: there is none of that name.
func (d *Draft) Named(name string) *Part {
	for _, p := range d.Parts {
		if p.Row.Name == name {
			return p
		}
	}
	return nil
}

// Names lists the connectors of the draft, for people.
func (d *Draft) Names() string {
	names := make([]string, len(d.Parts))
	for i, p := range d.Parts {
		names[i] = p.Row.Name
	}
	return strings.Join(names, ", ")
}

// Focus makes the draft be about one of its connectors. "" is the only one; with
// several it fails with [problem.Conflict], and for a name that none has with
// [problem.NotFound].
func (d *Draft) Focus(name string) error {
	if name == "" && len(d.Parts) == 1 {
		return nil
	}
	if name == "" {
		return problem.New(problem.Conflict, "toolset %s has several connectors: %s", d.Toolset.Slug, d.Names()).Fix("name one of them")
	}
	p := d.Named(name)
	if p == nil {
		return problem.New(problem.NotFound, "toolset %s has no connector %.80q", d.Toolset.Slug, name).Fix("it has %s", d.Names())
	}
	d.Part = p
	return nil
}

// Rows are the records of the draft's connectors.
func (d *Draft) Rows() []store.ToolsetConnector {
	out := make([]store.ToolsetConnector, len(d.Parts))
	for i, p := range d.Parts {
		out[i] = p.Row
	}
	return out
}

// AllCreds are the credentials of every connector of the draft.
func (d *Draft) AllCreds() []credential.Draft {
	var out []credential.Draft
	for _, p := range d.Parts {
		out = append(out, p.Creds...)
	}
	return out
}

// Connectors are the opened connectors, by their names in the toolset.
func (d *Draft) Connectors() map[string]*connector.Connector {
	out := make(map[string]*connector.Connector, len(d.Parts))
	for _, p := range d.Parts {
		out[p.Row.Name] = p.Conn.Opened
	}
	return out
}

// Generated finds what an operation's tool is made of; nil: the draft does not have it.
func (d *Draft) Generated(op toolset.Operation) (*Part, *toolset.GeneratedTool) {
	p := d.Named(op.Connector)
	if p == nil {
		return nil, nil
	}
	i, ok := p.Conn.ByOp[toolset.Operation{Method: op.Method, Path: op.Path}]
	if !ok {
		return nil, nil
	}
	return p, &p.Conn.Tools[i]
}

// has reports whether the draft has an operation, or what an MCP server has besides tools.
func (d *Draft) has(op toolset.Operation) bool {
	_, g := d.Generated(op)
	return g != nil || hasItem(d, op)
}

// operation is the operation with a method and path of the first connector that has
// it: what is kept by these alone belongs to that.
func (d *Draft) operation(method, path string) toolset.Operation {
	op := toolset.Operation{Connector: d.Parts[0].Row.Name, Method: method, Path: path}
	for _, p := range d.Parts {
		if other := (toolset.Operation{Connector: p.Row.Name, Method: method, Path: path}); d.has(other) {
			return other
		}
	}
	return op
}

// Bind makes the compiled connector that of the part the draft is about. The name of
// a connector in a toolset stays, also when a refreshed specification has another.
func (d *Draft) Bind(c *Compiled) {
	name, r := ConnectorName(c.Pushed, d.Toolset.WorkspaceID), c.Report
	d.Made, d.Conn, d.Report = c, c.Conn, r
	d.Version = &store.ConnectorVersion{
		Connector: name, Digest: string(c.Pushed.Module), Manifest: string(c.Pushed.Manifest), Repository: c.Pushed.Repository, Tag: c.Pushed.Tag,
		Version: r.Version, SpecDigest: r.SpecDigest, Tools: int64(r.ToolCount), Report: store.JSON(r),
	}
	d.Row.Connector, d.Row.ConnectorDigest = name, string(c.Pushed.Module)
	if d.Row.Name == "" {
		d.Row.Name = freeName(d, name)
	}
}

// ToolsOf are the tools of one connector.
func (d *Draft) ToolsOf(connector string) []toolset.Tool {
	return slices.DeleteFunc(d.Tools(false), func(t toolset.Tool) bool { return t.Operation.Connector != connector })
}

// Known are the tools of a draft whose new connector is not bound yet.
func Known(d *Draft) []toolset.Tool {
	bound := &Draft{Toolset: d.Toolset, Edits: d.Edits}
	for _, p := range d.Parts {
		if p.Conn != nil {
			bound.Parts = append(bound.Parts, p)
		}
	}
	return bound.Tools(false)
}

// freeName is a name for another connector of the draft, want or one like it.
func freeName(d *Draft, want string) string {
	name := want[:min(len(want), registry.MaxSlugBytes)]
	for n := 2; d.Named(name) != nil; n++ {
		suffix := fmt.Sprintf("-%d", n)
		name = want[:min(len(want), registry.MaxSlugBytes-len(suffix))] + suffix
	}
	return strings.Trim(name, "-")
}

// Settle makes the names of tools unique without renaming what agents know: before
// are the tools as they were. A tool that is new, or would be named otherwise, and
// whose name is taken gets its connector's name in front, by an edit: so the name
// outlives what it made room for. It returns the tools it renamed.
func (d *Draft) Settle(before []toolset.Tool) []KeptName {
	if len(d.Parts) < 2 {
		return nil
	}
	known := make(map[toolset.Operation]string, len(before))
	for i := range before {
		known[before[i].Operation] = before[i].Name
	}
	tools, taken := d.Tools(false), map[string]bool{}
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
				d.Edit(t.Operation, func(e *store.ToolEdit) { e.Name = &name })
				renamed = append(renamed, KeptName{Operation: t.Operation, Name: name, Generated: t.OriginalName})
				t.Name = name
			}
			taken[strings.ToLower(t.Name)] = true
		}
	}
	return renamed
}

// Drop takes the connector that the draft is about out of it, with everything that is
// said about its tools.
func (d *Draft) Drop() error {
	name := d.Row.Name
	if len(d.Parts) == 1 {
		return problem.New(problem.Conflict, "%s is the only connector of toolset %s", name, d.Toolset.Slug).Fix("add another one first, or delete the toolset")
	}
	d.Edits = slices.DeleteFunc(d.Edits, func(e store.ToolEdit) bool { return e.Connector == name })
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return err
	}
	c.Drop(name)
	c.Keep(d.Toolset)
	bound, err := BindingsOf(d.Toolset.Plugins)
	if err != nil {
		return err
	}
	bound = slices.DeleteFunc(bound, func(b Binding) bool { return b.Connector == name })
	if d.Toolset.Plugins = ""; len(bound) > 0 {
		d.Toolset.Plugins = store.JSON(bound)
	}
	d.Parts = slices.DeleteFunc(d.Parts, func(p *Part) bool { return p.Row.Name == name })
	d.Part = d.Parts[0]
	if EnabledCount(d.Tools(false)) == 0 {
		return problem.New(problem.Conflict, "without connector %s toolset %s has no enabled tool", name, d.Toolset.Slug).Fix("enable tools of another connector first")
	}
	return nil
}

// Takes reports whether a tool of the connector takes an argument.
func (p *Part) Takes(name string) bool {
	return slices.ContainsFunc(p.Conn.Tools, func(g toolset.GeneratedTool) bool { return g.Takes(name) })
}

// checkFixed tries the fixed values of a bundle on the tools that take them: the API
// may have come to accept others.
func checkFixed(d *Draft, t *registry.Toolset) error {
	of := map[toolset.Operation]*registry.ToolEdit{}
	for i := range t.Tools {
		e := &t.Tools[i]
		of[toolset.Operation{Connector: e.Connector, Method: e.Method, Path: e.Path}] = e
	}
	for i, p := range d.Parts {
		for n := range p.Conn.Tools {
			g := &p.Conn.Tools[n]
			e := of[toolset.Operation{Connector: p.Row.Name, Method: g.Method, Path: g.Path}]
			fixed := e.FixedOver(t.Connectors[i].Fixed)
			if len(fixed) == 0 || e != nil && e.Disabled {
				continue
			}
			tool, err := p.Conn.Opened.Tool(n)
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

// Follow moves what the draft keeps by operation: edits, the selection with its
// examples, and bindings of plugins.
func (d *Draft) Follow(m toolset.Moves) error {
	if len(m) == 0 {
		return nil
	}
	for from, to := range m { // an edit that waited there gives way to the one in use
		if slices.ContainsFunc(d.Edits, func(e store.ToolEdit) bool { return toolset.OperationOf(&e) == from }) {
			d.Edits = slices.DeleteFunc(d.Edits, func(e store.ToolEdit) bool { return toolset.OperationOf(&e) == to })
		}
	}
	for i := range d.Edits {
		d.Edits[i].Path = m.Of(toolset.OperationOf(&d.Edits[i])).Path
	}
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return err
	}
	c.Follow(m)
	c.Keep(d.Toolset)
	bound, err := BindingsOf(d.Toolset.Plugins)
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
	d.Toolset.Plugins = store.JSON(bound)
	return nil
}

// KeptName is a tool whose name a refresh did not change.
type KeptName struct {
	Operation toolset.Operation `json:"operation"`
	Name      string            `json:"name"`
	Generated string            `json:"generated" doc:"Name by the new version."`
}

// Calls is where the draft sends requests of the connector.
func (p *Part) Calls() credential.Calls {
	c := credential.CallsOf(p.Row.Name, p.Row.BaseURL, p.Conn)
	for i := range p.Creds {
		c.Credentials = append(c.Credentials, p.Creds[i].Row.ID)
	}
	return c
}
