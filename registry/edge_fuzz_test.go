package registry_test

import (
	"crypto/ed25519"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/sluicegate/sluice/registry"
)

// FuzzEdgeMessages: what an edge or a control plane sends is read without harm, whoever
// sent it: what is taken keeps its bounds and reads the same again, and nobody enrols
// with a signature of another enrolment.
func FuzzEdgeMessages(f *testing.F) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	e := &registry.EdgeEnrolment{Name: "e", Version: "1", SealKey: make([]byte, 32), SignKey: public}
	e.Signature = ed25519.Sign(private, e.Signed())
	good, err := json.Marshal(e)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		string(good), `{}`, `{"edge":"edge_1","time":"2026-01-01T00:00:00Z","signature":"AAAA"}`, `{"version":"1","ready":true,"epoch":1,"release":"sha256:00"}`,
		`{"calls":[{"workspace":"w","plugin":"p","version":"1.0.0","calls":1}],"unbound":[{"workspace":"w","plugin":"p","version":"1.0.0","reason":"\u0000é","toolset":"t","until":9}]}`,
		`{"edge":"e","etag":"1","certificates":[{"host":"a.example","pem":"x"}]}`, `{"etag":"1","sealed":"AAAA"}`,
		`{"edge":"e","token":"t","expires":"2026-01-01T00:00:00Z","group":"g","trusted":[{"keyid":"k","use":"release","publicKey":"AAAA"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		again := func(v any) bool { // reports whether b is one; it must then read the same once more
			if json.Unmarshal(b, v) != nil {
				return false
			}
			text, err := json.Marshal(v)
			if err != nil {
				return true // a time that cannot be written
			}
			w := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			if err := json.Unmarshal(text, w); err != nil {
				t.Fatalf("%T: %s cannot be read again: %v", v, text, err)
			}
			once, err := json.Marshal(w)
			if err != nil || string(once) != string(text) {
				t.Fatalf("%T: %s became %s, %v", v, text, once, err)
			}
			return true
		}
		var enrolment registry.EdgeEnrolment
		if again(&enrolment) && enrolment.Verify() == nil {
			if !registry.ValidSlug(enrolment.Name) || len(enrolment.SealKey) != 32 {
				t.Fatalf("%+v is taken", enrolment)
			}
			enrolment.Version += "x"
			if enrolment.Verify() == nil {
				t.Fatal("the signature covers no version")
			}
		}
		var plugins registry.EdgePlugins
		if again(&plugins) && plugins.Validate() == nil {
			if len(plugins.Calls) > registry.MaxPluginCounts {
				t.Fatalf("%d counts are taken", len(plugins.Calls))
			}
			for _, u := range plugins.Unbound {
				for _, r := range u.Reason {
					if r < ' ' || r == 0x7f {
						t.Fatalf("the reason %q is shown to people", u.Reason)
					}
				}
				if !utf8.ValidString(u.Reason) {
					t.Fatalf("the reason %q is not text", u.Reason)
				}
			}
		}
		for _, v := range []any{new(registry.EdgeRenewal), new(registry.EdgeStatus), new(registry.EdgeIdentity), new(registry.EdgeCredentials), new(registry.EdgeCertificates), new(registry.SealedCredentials)} {
			again(v)
		}
	})
}
