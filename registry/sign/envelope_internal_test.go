package sign

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
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
