package sign

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// FuzzPlainEnvelope: what is read the fast way is what encoding/json reads.
func FuzzPlainEnvelope(f *testing.F) {
	f.Add([]byte(`{"payload":"aGVsbG8=","payloadType":"x/y","signatures":[{"keyid":"a","sig":"AAAA"}]}`))
	f.Add([]byte(`{"payload":"","payloadType":"","signatures":[]}`))
	f.Add([]byte(`{"payload":"aGVsbG8=","Payload":"AAAA","payloadType":"x","signatures":null}`))
	f.Add([]byte(`{"payload":"aGVs\nbG8=","payload":"AAAA","payloadType":"x","signatures":[]}`))
	f.Add([]byte(`{"payload":null,"payloadType":1,"signatures":{}}{}`))
	f.Fuzz(func(t *testing.T, env []byte) {
		got, ok := plainEnvelope(env)
		if !ok {
			return
		}
		var want envelope
		d := json.NewDecoder(bytes.NewReader(env))
		if err := d.Decode(&want); err != nil || d.More() {
			t.Fatalf("%q: read, and encoding/json says %v", env, err)
		}
		if !bytes.Equal(got.Payload, want.Payload) || got.PayloadType != want.PayloadType || len(got.Signatures) != len(want.Signatures) ||
			len(got.Signatures) > 0 && !reflect.DeepEqual(got.Signatures, want.Signatures) {
			t.Fatalf("%q: %+v; want %+v", env, got, want)
		}
	})
}

// TestMaxEnvelopeDepth: what nests deeper than ours is read too, and says the same.
func TestMaxEnvelopeDepth(t *testing.T) {
	for n, fast := range map[int]bool{maxEnvelopeDepth: true, maxEnvelopeDepth + 1: false} {
		deep := n - 3 // around it are the envelope, the list and the signature
		env := `{"payload":"aGVsbG8=","payloadType":"x/y","signatures":[{"keyid":"a","sig":"AAAA","more":` +
			strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}]}`
		if _, ok := plainEnvelope([]byte(env)); ok != fast {
			t.Errorf("%d levels are read the fast way: %v", n, ok)
		}
		e, err := parseEnvelope([]byte(env))
		if err != nil || string(e.Payload) != "hello" || e.PayloadType != "x/y" || len(e.Signatures) != 1 || e.Signatures[0].KeyID != "a" {
			t.Errorf("%d levels: %+v, %v", n, e, err)
		}
	}
}

// TestEnvelopeOfOtherTypes: an envelope whose members are something else is refused as it
// is read; what encoding/json could read of it is not used.
func TestEnvelopeOfOtherTypes(t *testing.T) {
	const sigs = `"signatures":[{"keyid":"a","sig":"AAAA"}]`
	for _, env := range []string{
		`{"payload":7,"payloadType":"x/y",` + sigs + `}`, `{"payload":"aGVsbG8=","payloadType":["x/y"],` + sigs + `}`,
		`{"payload":"aGVsbG8=","payloadType":"x/y","signatures":[{"keyid":1,"sig":"AAAA"}]}`, `{"payload":"a","payloadType":"x/y",` + sigs + `}`,
	} {
		if e, err := parseEnvelope([]byte(env)); !problem.Is(err, problem.InvalidRelease) || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: %+v, %v", env, e, err)
		}
	}
}
