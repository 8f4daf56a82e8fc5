package admin

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// fill gives every field of a struct a value that is not zero.
func fill(t *testing.T, v reflect.Value, skip ...string) {
	t.Helper()
	for f, field := range v.Fields() {
		if slices.Contains(skip, f.Name) {
			continue
		}
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Slice:
			field.Set(reflect.ValueOf([]string{"x"}))
		default:
			t.Fatalf("the field %s of %s is of another kind: say here what it holds", f.Name, v.Type())
		}
	}
}

// What is stored of a credential in the clear is declared, all of it, and compared; what
// a certificate says is made of the certificate.
func TestDeclaredAuthIsWhole(t *testing.T) {
	var sh credential.Shape
	fill(t, reflect.ValueOf(&sh).Elem(), "Certificate")
	a, err := (&Server{}).declareAuth(&store.Credential{AuthType: registry.AuthOAuth2, Shape: store.JSON(sh)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Shape(); !reflect.DeepEqual(got, sh) {
		t.Errorf("declared %+v, want %+v", got, sh)
	}
	public := a.Public()
	if got := public.Shape(); !reflect.DeepEqual(got, sh) {
		t.Errorf("compared %+v, want %+v", got, sh)
	}
}

// Every field of a binding is declared.
func TestDeclaredPluginIsWhole(t *testing.T) {
	op := toolset.Operation{Connector: "c", Method: "GET", Path: "/p"}
	b := boundRecord{
		Plugin: "p", Range: "1", Pinned: "1.0.0", Digest: "d", Kind: "filter", Connector: op.Connector, Method: op.Method, Path: op.Path,
		Config: json.RawMessage(`{"a":1}`), OnError: "fail", Unbind: &registry.UnbindLimits{ErrorPercent: 1, MeanMilliseconds: 2}, Grants: &manifest.Grants{Clock: true}, Calls: []boundCall{{"call", op}},
	}
	for f, field := range reflect.ValueOf(b).Fields() {
		if field.IsZero() {
			t.Errorf("the field %s is not tested", f.Name)
		}
	}
	want := DeclaredPlugin{
		Plugin: "p", Range: "1", Version: "1.0.0", Digest: "d", Operation: &op, OnError: "fail", Unbind: &PluginUnbinding{ErrorPercent: 1, MeanMs: 2},
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
