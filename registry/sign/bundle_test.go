package sign_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// What cosign v2.6.5 wrote for its own key ("cosign sign --key --tlog-upload=false
// --new-bundle-format") verifies.
const (
	cosignKey = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEiVki6UrbpNbJCEnmBnxJKiJhIURi
XFqQGaMMySiMUIfOftJFlY7cfFh+JJpg8IYWO/w/sJ8Vc5rAU5n5UVh74g==
-----END PUBLIC KEY-----
`
	cosignBundle = `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{"hint":"D/iGN+Zinq0/ipfoIFPrHLj/9sJge2eC8r60rIBImoU="}},"dsseEnvelope":{"payload":"eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEiLCJzdWJqZWN0IjpbeyJkaWdlc3QiOnsic2hhMjU2IjoiZGViMGE3OWUyYTNlNzZkMjViZTBlM2ViMzQ4ODYyM2JjMjhlMjlhNWYyODE1OGU4YzNhZmRjYzNlNjU0MjVhZCJ9fV0sInByZWRpY2F0ZVR5cGUiOiJodHRwczovL3NpZ3N0b3JlLmRldi9jb3NpZ24vc2lnbi92MSJ9","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"MEYCIQC9qakkZabLw1N5fMwB6Ydg6oBFGPvRDfhvlErPrfDCnAIhAIR6ZfabgPDfZXXCU2YalWPEqgvCMwJqxrC6L5Np6x4G"}]}}`
	cosignDigest = "sha256:deb0a79e2a3e76d25be0e3eb3488623bc28e29a5f28158e8c3afdcc3e65425ad"
)

func TestVerifyBundleOfCosign(t *testing.T) {
	k, err := sign.ParsePublisherKey([]byte(cosignKey))
	if err != nil {
		t.Fatal(err)
	}
	keys := []*sign.PublisherKey{k}
	if id, err := sign.VerifyBundle([][]byte{[]byte(cosignBundle)}, keys, cosignDigest); err != nil || id != k.ID() {
		t.Fatalf("%s, %v", id, err)
	}
	f := func(what, bundle string, manifest registry.Digest, unknown bool) {
		t.Helper()
		id, err := sign.VerifyBundle([][]byte{[]byte(bundle)}, keys, manifest)
		if id != "" || !problem.Is(err, problem.InvalidPlugin) || errors.Is(err, sign.ErrUnknownSigner) != unknown {
			t.Errorf("%s: %q, %v", what, id, err)
		}
	}
	f("another manifest", cosignBundle, registry.DigestOf([]byte("x")), false)
	f("no digest", cosignBundle, "sha256:1", false)
	f("another type of bundle", strings.Replace(cosignBundle, "v0.3", "v0.1", 1), cosignDigest, true)
	f("another payload type", strings.Replace(cosignBundle, "in-toto", "out-toto", 1), cosignDigest, true)
	f("a changed signature", strings.Replace(cosignBundle, "MEYC", "MEYD", 1), cosignDigest, true)
	f("no JSON", "{", cosignDigest, true)
	f("no envelope", `{"mediaType":"`+sign.MediaTypeBundle+`"}`, cosignDigest, true)
	at := strings.Index(cosignBundle, `"payload":"`) + len(`"payload":"`)
	f("a changed statement", cosignBundle[:at]+base64.StdEncoding.EncodeToString([]byte(`{"_type":`))[:8]+cosignBundle[at+8:at+20]+"AAAA"+cosignBundle[at+24:], cosignDigest, true)
	f("past the limit", cosignBundle+strings.Repeat(" ", sign.MaxBundleBytes+1-len(cosignBundle)), cosignDigest, true)
	atLimit := cosignBundle + strings.Repeat(" ", sign.MaxBundleBytes-len(cosignBundle))
	if _, err := sign.VerifyBundle([][]byte{[]byte("junk"), []byte(atLimit)}, keys, cosignDigest); err != nil {
		t.Errorf("at the limit, behind junk: %v", err)
	}
	if _, err := sign.VerifyBundle(nil, keys, cosignDigest); !errors.Is(err, sign.ErrUnknownSigner) {
		t.Errorf("nothing: %v", err)
	}
}

// Ours verify too; and a statement that says more than "signed" is not a signature.
func TestSignBundle(t *testing.T) {
	k, err := sign.OpenKey(filepath.Join(t.TempDir(), "k"))
	if err != nil {
		t.Fatal(err)
	}
	pub, err := sign.ParsePublisherKey(k.PublicPEM())
	if err != nil {
		t.Fatal(err)
	}
	d := registry.DigestOf([]byte("manifest"))
	b, err := sign.SignBundle(k, d)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := sign.VerifyBundle([][]byte{b}, []*sign.PublisherKey{pub}, d); err != nil || id != k.ID() {
		t.Fatalf("%s, %v", id, err)
	}
	// The signature of another key does not pass because several keys may sign.
	var others []*sign.PublisherKey
	for i := range 2 {
		o, err := sign.OpenKey(filepath.Join(t.TempDir(), fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := sign.ParsePublisherKey(o.PublicPEM())
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, p)
	}
	if id, err := sign.VerifyBundle([][]byte{b}, others, d); !errors.Is(err, sign.ErrUnknownSigner) || id != "" {
		t.Errorf("two other keys: %q, %v", id, err)
	}
	if id, err := sign.VerifyBundle([][]byte{b}, append(others, pub), d); err != nil || id != k.ID() {
		t.Errorf("the last of three keys: %q, %v", id, err)
	}
	if _, err := sign.VerifyBundle([][]byte{b}, []*sign.PublisherKey{pub}, registry.DigestOf([]byte("other"))); err == nil {
		t.Error("the signature of another artifact is taken")
	}
	env, err := sign.Sign(k, "application/vnd.in-toto+json",
		fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":"https://slsa.dev/provenance/v1"}`, d.Hex()))
	if err != nil {
		t.Fatal(err)
	}
	attestation := fmt.Appendf(nil, `{"mediaType":%q,"dsseEnvelope":%s}`, sign.MediaTypeBundle, env)
	if _, err := sign.VerifyBundle([][]byte{attestation}, []*sign.PublisherKey{pub}, d); err == nil || errors.Is(err, sign.ErrUnknownSigner) {
		t.Errorf("an attestation counts as a signature: %v", err)
	}
}
