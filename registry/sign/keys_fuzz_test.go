package sign_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// FuzzParsePublisherKey: a key has one form, so one id: a publisher is not counted twice.
// What is refused is refused with a word.
func FuzzParsePublisherKey(f *testing.F) {
	k, err := sign.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	der := k.TrustedAll(registry.UsePublisher, "")[0].PublicKey
	f.Add(der)
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	if der, err = x509.MarshalPKIXPublicKey(other.Public()); err != nil {
		f.Fatal(err)
	}
	f.Add(der)
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := sign.ParsePublisherKey(text)
		if err != nil {
			if p := problem.As(err); p == nil || p.Kind != problem.InvalidArgument || p.Remedy == "" || k != nil {
				t.Fatalf("%v", err)
			}
			return
		}
		parsed, err := x509.ParsePKIXPublicKey(k.DER())
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKIXPublicKey(parsed)
		if err != nil || !bytes.Equal(der, k.DER()) {
			t.Fatalf("the key %x has another form %x, %v", k.DER(), der, err)
		}
		again, err := sign.ParsePublisherKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.DER()}))
		if err != nil || again.ID() != k.ID() || again.Algorithm() != k.Algorithm() {
			t.Fatalf("read again: %v", err)
		}
	})
}
