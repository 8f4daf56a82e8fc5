package transfer

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Every field of a binding is declared.
func TestDeclaredPluginIsWhole(t *testing.T) {
	op := toolset.Operation{Connector: "c", Method: "GET", Path: "/p"}
	b := draft.Binding{
		Plugin: "p", Range: "1", Pinned: "1.0.0", Digest: "d", Kind: "filter", Connector: op.Connector, Method: op.Method, Path: op.Path,
		Config: json.RawMessage(`{"a":1}`), OnError: "fail", Unbind: &registry.UnbindLimits{ErrorPercent: 1, MeanMilliseconds: 2}, Grants: &manifest.Grants{Clock: true}, Calls: []draft.BoundCall{{Name: "call", Operation: op}},
	}
	for f, field := range reflect.ValueOf(b).Fields() {
		if field.IsZero() {
			t.Errorf("the field %s is not tested", f.Name)
		}
	}
	want := declare.DeclaredPlugin{
		Plugin: "p", Range: "1", Version: "1.0.0", Digest: "d", Operation: &op, OnError: "fail", Unbind: &plugin.PluginUnbinding{ErrorPercent: 1, MeanMs: 2},
		Config: b.Config, Grants: &plugin.PluginGrants{Clock: true}, Calls: map[string]toolset.Operation{"call": op},
	}
	if got := declarePlugin(&b); !reflect.DeepEqual(got, want) {
		t.Errorf("declared %+v, want %+v", got, want)
	}
	b.Method, b.Path = "", ""
	if got := declarePlugin(&b); got.Operation != nil || got.Connector != "c" {
		t.Errorf("declared %+v", got)
	}
}
