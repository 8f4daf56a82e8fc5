package declare

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// DeclaredConnector is one of the connectors of a toolset that has several, or one
// with settings of its own.
type DeclaredConnector struct {
	Name           string           `json:"name" minLength:"1" maxLength:"63" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" doc:"In the toolset; operations name it."`
	Source         DeclaredSource   `json:"source"`
	BaseURL        string           `json:"baseUrl,omitempty" maxLength:"2048"`
	UpstreamPolicy string           `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow"`
	Stateless      bool             `json:"stateless,omitempty" doc:"The MCP server keeps nothing of a caller between calls: all callers share one session."`
	CatalogEntry   json.RawMessage  `json:"catalogEntry,omitempty" doc:"The entry of the catalog that it was made of and follows, as an export writes it. Absent: it follows none."`
	Answers        *toolset.Answers `json:"answers,omitempty" doc:"Of its tools. Absent: the toolset's."`

	Fixed map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments of its tools that the model does not see."`

	Authentication []DeclaredAuth `json:"authentication,omitempty" maxItems:"16"`
}

// Parts are the connectors of a checked declaration: of the short form one without a
// name.
func (t *DeclaredToolset) Parts() []DeclaredConnector {
	if t.Source == nil {
		return t.Connectors
	}
	return []DeclaredConnector{{Source: *t.Source, BaseURL: t.BaseURL, UpstreamPolicy: t.UpstreamPolicy, Stateless: t.Stateless, CatalogEntry: t.CatalogEntry, Authentication: t.Authentication}}
}

// PointerTo is the JSON pointer of what connector i says of itself.
func (t *DeclaredToolset) PointerTo(i int) string {
	if t.Source != nil {
		return ""
	}
	return "/connectors/" + strconv.Itoa(i)
}

// checkConnectors finds the faults of what a toolset is made of.
func (t *DeclaredToolset) checkConnectors() error {
	if (t.Source == nil) == (len(t.Connectors) == 0) {
		return request.FieldFault("/source", "a toolset needs exactly one of source and connectors")
	}
	if t.Source == nil {
		for at, there := range map[string]bool{
			"/baseUrl": t.BaseURL != "", "/upstreamPolicy": t.UpstreamPolicy != "", "/stateless": t.Stateless, "/catalogEntry": len(t.CatalogEntry) > 0, "/authentication": len(t.Authentication) > 0,
		} {
			if there {
				return request.FieldFault(at, "of a toolset with connectors this belongs into one of them")
			}
		}
	}
	seen := map[string]bool{}
	for i, c := range t.Parts() {
		at := t.PointerTo(i)
		if seen[c.Name] {
			return request.FieldFault(at+"/name", "the connector %.80q is there twice", c.Name)
		}
		seen[c.Name] = true
		if err := source.CheckBaseURL(c.BaseURL, at+"/baseUrl"); err != nil {
			return err
		}
		if err := c.Source.Check(at + "/source"); err != nil {
			return err
		}
		if _, err := catalog.ParseMade(c.CatalogEntry); err != nil {
			return placed(err, at+"/catalogEntry")
		}
		if _, err := c.Answers.Record(at+"/answers", registry.OfConnector); err != nil {
			return err
		}
		if _, err := toolset.RecordFixed(c.Fixed, at+"/fixed"); err != nil {
			return err
		}
	}
	return nil
}

// placed says where in a document a fault is, whose pointers begin there.
func placed(err error, at string) error {
	p := problem.As(err)
	if p == nil {
		return err
	}
	out := p.At("", 0, 0, at+p.Place.Pointer)
	out.Parts = nil
	for _, part := range p.Parts {
		out.Parts = append(out.Parts, part.At("", 0, 0, at+"/entry"+part.Place.Pointer))
	}
	return out
}

// Check finds the faults of a source that is at a place in a document.
func (in *DeclaredSource) Check(at string) error {
	switch {
	case (in.Document == "") == (len(in.Files) == 0):
		return request.FieldFault(at, "a source needs exactly one of document and files")
	case len(in.Files) > 0 && in.Files[in.Main] == "":
		return request.FieldFault(at+"/main", "files have no %.200q", in.Main)
	case registry.IsStdio(in.URL) && in.Kind != store.SourceMCP, in.Command != nil && !registry.IsStdio(in.URL):
		return request.FieldFault(at, "a command is the source of an MCP server, and its URL begins with %s://", registry.SchemeStdio)
	case in.Kind == store.SourceMCP && (in.Document == "" || len(in.Overlays) > 0):
		return request.FieldFault(at, "an MCP server is one document without overlays")
	}
	for i := range in.Overlays {
		if in.Overlays[i].Document == "" {
			return request.FieldFault(fmt.Sprintf("%s/overlays/%d/document", at, i), "an overlay needs its document")
		}
	}
	if in.URL != "" && !registry.IsStdio(in.URL) {
		if _, err := source.CheckURL(in.URL); err != nil {
			return request.FieldFault(at+"/url", "the address is not an http or https URL without credentials")
		}
	}
	if sum := sha256.Sum256([]byte(in.Document)); in.Document != "" && len(in.Overlays) == 0 && in.Digest != "" && in.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
		return request.FieldFault(at+"/digest", "the document has another digest, sha256:%x", sum[:])
	}
	return nil
}

// Same reports whether two sources have the same content and address.
func (in DeclaredSource) Same(other DeclaredSource) bool {
	in.Digest, other.Digest, in.FileName, other.FileName = "", "", "", ""
	in.Command, other.Command = nil, nil // its URL says which
	return reflect.DeepEqual(in, other)
}

// checkOperation refuses an operation of a connector that the document does not have.
func (t *DeclaredToolset) checkOperation(op *toolset.Operation, at string) error {
	if op == nil {
		return nil
	}
	return t.checkConnector(op.Connector, at+"/connector")
}

func (t *DeclaredToolset) checkConnector(name, at string) error {
	if name == "" {
		return nil // the first
	}
	for i := range t.Connectors {
		if t.Connectors[i].Name == name {
			return nil
		}
	}
	return request.FieldFault(at, "the document has no connector %.80q", name)
}

// checkOperations finds operations of connectors that are not there.
func (t *DeclaredToolset) checkOperations() error {
	for i := range t.Plugins {
		p, at := &t.Plugins[i], "/plugins/"+strconv.Itoa(i)
		if err := t.checkConnector(p.Connector, at+"/connector"); err != nil {
			return err
		}
		if err := t.checkOperation(p.Operation, at+"/operation"); err != nil {
			return err
		}
		for name, op := range p.Calls {
			if err := t.checkOperation(&op, at+"/calls/"+name); err != nil {
				return err
			}
		}
	}
	if t.Selection == nil {
		return nil
	}
	for i := range t.Selection.Tools {
		c, at := &t.Selection.Tools[i], fmt.Sprintf("/selection/tools/%d", i)
		if err := t.checkOperation(&c.Operation, at); err != nil {
			return err
		}
		if err := t.checkOperation(c.For, at+"/for"); err != nil {
			return err
		}
	}
	for i := range t.Selection.Examples {
		if err := t.checkOperation(&t.Selection.Examples[i].Operation, fmt.Sprintf("/selection/examples/%d/operation", i)); err != nil {
			return err
		}
	}
	return nil
}

// Normal is t as an export writes it: in the short form where that says the same, and
// else with the connector of every operation. What a plan compares must not depend on
// the form that somebody wrote.
func (t *DeclaredToolset) Normal() DeclaredToolset {
	out := *t
	if len(t.Connectors) == 0 {
		return out
	}
	of := func(op toolset.Operation) toolset.Operation {
		if op.Method != manifest.MethodWorkflow {
			op.Connector = cmp.Or(op.Connector, t.Connectors[0].Name)
		}
		return op
	}
	if c := t.Connectors[0]; len(t.Connectors) == 1 && c.Answers == nil && c.Fixed == nil {
		out.Connectors, out.Source, out.BaseURL, out.UpstreamPolicy, out.Authentication = nil, &c.Source, c.BaseURL, c.UpstreamPolicy, c.Authentication
		out.Stateless, out.CatalogEntry = c.Stateless, c.CatalogEntry
		of = alone
	}
	out.Tools = slices.Clone(t.Tools)
	for i := range out.Tools {
		out.Tools[i].Operation = of(out.Tools[i].Operation)
	}
	out.Plugins = slices.Clone(t.Plugins)
	for i := range out.Plugins {
		p := &out.Plugins[i]
		if p.Operation != nil || out.Source != nil {
			p.Connector = ""
		}
		p.Operation = Mapped(p.Operation, of)
		p.Calls = maps.Clone(p.Calls)
		for name, op := range p.Calls {
			p.Calls[name] = of(op)
		}
	}
	out.Workflows = slices.Clone(t.Workflows)
	for i := range out.Workflows {
		calls := slices.Clone(out.Workflows[i].Calls)
		for j := range calls {
			calls[j].Connector = of(toolset.Operation(calls[j].Operation())).Connector
		}
		out.Workflows[i].Calls = calls
	}
	if t.Selection == nil {
		return out
	}
	sel := *t.Selection
	sel.Tools = slices.Clone(sel.Tools)
	for i := range sel.Tools {
		c := &sel.Tools[i]
		c.Operation, c.For = of(c.Operation), Mapped(c.For, of)
	}
	sel.Examples = slices.Clone(sel.Examples)
	for i := range sel.Examples {
		sel.Examples[i].Operation = of(sel.Examples[i].Operation)
	}
	out.Selection = &sel
	return out
}

// alone is an operation of a toolset that has one connector, whose name is nobody's
// concern.
func alone(op toolset.Operation) toolset.Operation {
	return toolset.Operation{Method: op.Method, Path: op.Path}
}

// Mapped is what of makes of an operation that may not be there.
func Mapped(op *toolset.Operation, of func(toolset.Operation) toolset.Operation) *toolset.Operation {
	if op == nil {
		return nil
	}
	out := of(*op)
	return &out
}

// Names are the names in a draft of the connectors of a declaration, by those
// that it has for them; "" is the first.
type Names map[string]string

// Operation is an operation of a declaration, in the draft.
func (n Names) Operation(op toolset.Operation) toolset.Operation {
	if op.Method == manifest.MethodWorkflow { // the tool of a workflow belongs to no connector
		return op
	}
	return toolset.Operation{Connector: n[op.Connector], Method: op.Method, Path: op.Path}
}

// SetAuth is a list of credentials as a request sets them, without those to skip; nil
// skips none.
func SetAuth(list []DeclaredAuth, skip func(item int) bool) *credential.SetAuth {
	var items []credential.AuthItem
	for k := range list {
		if skip == nil || !skip(k) {
			items = append(items, list[k].AuthItem)
		}
	}
	switch len(items) {
	case 0:
		return &credential.SetAuth{AuthItem: credential.AuthItem{AuthType: registry.AuthNone}}
	case 1:
		return &credential.SetAuth{AuthItem: items[0]}
	}
	return &credential.SetAuth{AuthItem: credential.AuthItem{AuthType: registry.AuthList}, Items: items}
}
