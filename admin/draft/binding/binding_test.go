package binding

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Equal configurations give equal bundles.
func TestCompactJSON(t *testing.T) {
	for in, want := range map[string]string{"": "null", " { \"a\" : [1, 2] }\n": `{"a":[1,2]}`, "null": "null", "{": "null"} {
		if got := CompactJSON(json.RawMessage(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Who may not grant may keep what was granted, and nothing more.
func TestAllowGrants(t *testing.T) {
	as := func(role string) *request.Request { return &request.Request{Token: &store.Token{Role: role}} }
	had := []draft.Binding{{Plugin: "mask", Connector: "shop", Grants: &manifest.Grants{Clock: true}}}
	for name, c := range map[string]struct {
		binding draft.Binding
		role    string
		ok      bool
	}{
		"none":                       {draft.Binding{Plugin: "mask", Connector: "shop"}, store.RoleEditor, true},
		"what it had":                {draft.Binding{Plugin: "mask", Connector: "shop", Grants: &manifest.Grants{Clock: true}}, store.RoleEditor, true},
		"another place":              {draft.Binding{Plugin: "mask", Connector: "pets", Grants: &manifest.Grants{Clock: true}}, store.RoleEditor, false},
		"another plugin":             {draft.Binding{Plugin: "other", Connector: "shop", Grants: &manifest.Grants{Clock: true}}, store.RoleEditor, false},
		"another place, by an admin": {draft.Binding{Plugin: "mask", Connector: "pets", Grants: &manifest.Grants{Clock: true}}, store.RoleAdmin, true},
	} {
		err := AllowGrants(request.With(t.Context(), as(c.role)), had, &c.binding)
		if (err == nil) != c.ok || err != nil && !problem.Is(err, problem.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A workflow keeps the operation of a call whose tool is gone; a name that nothing ever
// had is refused.
func TestResolveCalls(t *testing.T) {
	d := &draft.Draft{Toolset: &store.Toolset{Slug: "shop"}}
	g := &guest.Package{Manifest: &manifest.Manifest{Kind: manifest.Workflow}}
	g.Manifest.Capabilities = &manifest.Capabilities{Tools: []string{"list_pets"}}
	in := &PluginBinding{Plugin: "report"}
	if _, err := ResolveCalls(d, g, nil, in, "/plugins/0"); problem.As(err) == nil || problem.As(err).Place.Pointer != "/plugins/0/calls/list_pets" {
		t.Errorf("no tool: %v", err)
	}
	old := draft.BoundCall{Name: "list_pets", Operation: toolset.Operation{Connector: "shop", Method: "GET", Path: "/pets"}}
	before := []draft.Binding{{Plugin: "report", Calls: []draft.BoundCall{old}}}
	in.Calls = map[string]string{"list_pets": old.String()}
	if calls, err := ResolveCalls(d, g, before, in, ""); err != nil || len(calls) != 1 || calls[0] != old {
		t.Errorf("a tool that is gone: %+v, %v", calls, err)
	}
	in.Calls = map[string]string{"delete_pets": "x"}
	if _, err := ResolveCalls(d, g, nil, in, ""); problem.As(err) == nil {
		t.Errorf("a call that the workflow does not make: %v", err)
	}
	if _, err := ResolveCalls(d, g, nil, &PluginBinding{Plugin: "report", Tool: "list_pets"}, ""); problem.As(err) == nil {
		t.Errorf("a workflow of one tool: %v", err)
	}
	in = &PluginBinding{Plugin: "report", Connector: "pets", Calls: map[string]string{"list_pets": old.String()}}
	if _, err := ResolveCalls(d, g, before, in, ""); problem.As(err) == nil || !strings.Contains(err.Error(), "the connector pets has no tool") {
		t.Errorf("a call of another connector: %v", err)
	}
	g.Manifest.Kind = manifest.Filter
	if _, err := ResolveCalls(d, g, nil, in, ""); problem.As(err) == nil {
		t.Errorf("a filter that calls: %v", err)
	}
}
