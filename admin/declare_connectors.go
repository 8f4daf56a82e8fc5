package admin

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
	"strings"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/toolset"
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
	Answers        *toolset.Answers `json:"answers,omitempty" doc:"Of its tools. Absent: the toolset's."`

	Fixed map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments of its tools that the model does not see."`

	Authentication []DeclaredAuth `json:"authentication,omitempty" maxItems:"16"`
}

// parts are the connectors of a checked declaration: of the short form one without a
// name.
func (t *DeclaredToolset) parts() []DeclaredConnector {
	if t.Source == nil {
		return t.Connectors
	}
	return []DeclaredConnector{{Source: *t.Source, BaseURL: t.BaseURL, UpstreamPolicy: t.UpstreamPolicy, Stateless: t.Stateless, Authentication: t.Authentication}}
}

// pointerTo is the JSON pointer of what connector i says of itself.
func (t *DeclaredToolset) pointerTo(i int) string {
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
			"/baseUrl": t.BaseURL != "", "/upstreamPolicy": t.UpstreamPolicy != "", "/stateless": t.Stateless, "/authentication": len(t.Authentication) > 0,
		} {
			if there {
				return request.FieldFault(at, "of a toolset with connectors this belongs into one of them")
			}
		}
	}
	seen := map[string]bool{}
	for i, c := range t.parts() {
		at := t.pointerTo(i)
		if seen[c.Name] {
			return request.FieldFault(at+"/name", "the connector %.80q is there twice", c.Name)
		}
		seen[c.Name] = true
		if err := checkBaseURL(c.BaseURL, at+"/baseUrl"); err != nil {
			return err
		}
		if err := c.Source.check(at + "/source"); err != nil {
			return err
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

func (in *DeclaredSource) check(at string) error {
	switch {
	case (in.Document == "") == (len(in.Files) == 0):
		return request.FieldFault(at, "a source needs exactly one of document and files")
	case len(in.Files) > 0 && in.Files[in.Main] == "":
		return request.FieldFault(at+"/main", "files have no %.200q", in.Main)
	case registry.IsStdio(in.URL) && in.Kind != kindMCP, in.Command != nil && !registry.IsStdio(in.URL):
		return request.FieldFault(at, "a command is the source of an MCP server, and its URL begins with %s://", registry.SchemeStdio)
	case in.Kind == kindMCP && (in.Document == "" || len(in.Overlays) > 0):
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

// same reports whether two sources have the same content and address.
func (in DeclaredSource) same(other DeclaredSource) bool {
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

// normal is t as an export writes it: in the short form where that says the same, and
// else with the connector of every operation. What a plan compares must not depend on
// the form that somebody wrote.
func (t *DeclaredToolset) normal() DeclaredToolset {
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
		out.Stateless = c.Stateless
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
		p.Operation = mapOperation(p.Operation, of)
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
		c.Operation, c.For = of(c.Operation), mapOperation(c.For, of)
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

func mapOperation(op *toolset.Operation, of func(toolset.Operation) toolset.Operation) *toolset.Operation {
	if op == nil {
		return nil
	}
	out := of(*op)
	return &out
}

// partOf finds the connector of a draft that connector i of a declaration is; nil: none.
// A single one is the one of that source, whatever it is called here, else the first:
// its credential stays.
func (d *draft) partOf(t *DeclaredToolset, i int, have []DeclaredSource) *part {
	parts := t.parts()
	if p := d.named(parts[i].Name); p != nil {
		return p
	}
	if len(parts) > 1 || len(d.parts) == 0 {
		return nil
	}
	for k := range have {
		if have[k].URL == parts[i].Source.URL && have[k].Kind == parts[i].Source.Kind && have[k].FileName == parts[i].Source.FileName {
			return d.parts[k]
		}
	}
	return d.parts[0]
}

// declaredNames are the names in a draft of the connectors of a declaration, by those
// that it has for them; "" is the first.
type declaredNames map[string]string

func (n declaredNames) operation(op toolset.Operation) toolset.Operation {
	if op.Method == manifest.MethodWorkflow { // the tool of a workflow belongs to no connector
		return op
	}
	return toolset.Operation{Connector: n[op.Connector], Method: op.Method, Path: op.Path}
}

// misses reports whether the secret of an item of connector i is neither given nor
// stored.
func (x *importing) misses(i, item int) bool {
	at := fmt.Sprintf("%s/authentication/%d/", x.want.pointerTo(i), item)
	return slices.ContainsFunc(x.planned.Missing, func(m string) bool { return strings.HasPrefix(m, at) })
}

// auth is the authentication configuration of connector i without the items whose
// secret is missing.
func (x *importing) auth(i int) *SetAuth {
	return setAuth(x.want.parts()[i].Authentication, func(item int) bool { return x.misses(i, item) })
}

// setAuth is a list of credentials as a request sets them, without those to skip; nil
// skips none.
func setAuth(list []DeclaredAuth, skip func(item int) bool) *SetAuth {
	var items []AuthItem
	for k := range list {
		if skip == nil || !skip(k) {
			items = append(items, list[k].AuthItem)
		}
	}
	switch len(items) {
	case 0:
		return &SetAuth{AuthItem: AuthItem{AuthType: authNone}}
	case 1:
		return &SetAuth{AuthItem: items[0]}
	}
	return &SetAuth{AuthItem: AuthItem{AuthType: authList}, Items: items}
}
