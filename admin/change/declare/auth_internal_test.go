package declare

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/store"
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
	a, err := AuthOf(&store.Credential{AuthType: registry.AuthOAuth2, Shape: store.JSON(sh)}, nil, nil)
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
