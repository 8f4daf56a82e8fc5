package access

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"testing"
)

// FuzzParseKeys: whatever an authorization server publishes, a key that is taken is one
// that signatures may be checked with.
func FuzzParseKeys(f *testing.F) {
	for _, c := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		key := publicJWK(f, "1", ecKeyOf(f, c))
		b, err := json.Marshal(map[string]any{"keys": []any{key, map[string]any{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "key_ops": []string{"verify"}}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","x":"","y":""},{"kty":"oct","k":"AA"},null]}`))
	f.Add([]byte(`{"keys":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := parseKeys(data)
		if (err == nil) != (len(keys) > 0) || len(keys) > maxKeys {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for _, k := range keys {
			switch public := k.public.(type) {
			case *rsa.PublicKey:
				if n := public.N.BitLen(); n < minRSABits || n > 8*minRSABits || public.E < 3 {
					t.Errorf("an RSA key of %d bits with exponent %d", n, public.E)
				}
			case *ecdsa.PublicKey:
				if _, err := public.Bytes(); err != nil {
					t.Errorf("a point that is not on its curve: %v", err)
				}
			case ed25519.PublicKey:
				if len(public) != ed25519.PublicKeySize {
					t.Errorf("an Ed25519 key of %d bytes", len(public))
				}
			default:
				t.Errorf("a key of type %T", public)
			}
		}
	})
}
