package sign

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

func publisher(t *testing.T, k *Key) *PublisherKey {
	t.Helper()
	p, err := ParsePublisherKey(k.PublicPEM())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newTestKey(t *testing.T) *Key {
	t.Helper()
	k, err := GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestVerifyPlugin(t *testing.T) {
	k, other := newTestKey(t), newTestKey(t)
	s := PluginStatement{Digest: string(registry.DigestOf([]byte("code"))), Kind: "filter", Name: "mask", Version: "1.0.0"}
	env, err := SignPlugin(k, s)
	if err != nil {
		t.Fatal(err)
	}
	keys := []*PublisherKey{publisher(t, other), publisher(t, k)}
	if id, err := VerifyPlugin(env, keys, s); err != nil || id != k.ID() {
		t.Fatalf("%s %v", id, err)
	}
	refused := func(what, want string, env []byte, keys []*PublisherKey, s PluginStatement) {
		t.Helper()
		_, err := VerifyPlugin(env, keys, s)
		if p := problem.As(err); p == nil || p.Kind != problem.InvalidPlugin || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	refused("nobody's", "no publisher key", env, keys[:1], s)
	refused("no keys", "no publisher key", env, nil, s)
	for what, change := range map[string]func(*PluginStatement){
		"another digest":  func(s *PluginStatement) { s.Digest = string(registry.DigestOf(nil)) },
		"another kind":    func(s *PluginStatement) { s.Kind = "projection" },
		"another name":    func(s *PluginStatement) { s.Name = "x" },
		"another version": func(s *PluginStatement) { s.Version = "1.0.1" },
	} {
		changed := s
		change(&changed)
		refused(what, "another plugin", env, keys, changed)
	}
	var opened envelope
	if err := json.Unmarshal(env, &opened); err != nil {
		t.Fatal(err)
	}
	opened.Payload = append(opened.Payload, ' ')
	touched, err := json.Marshal(opened)
	if err != nil {
		t.Fatal(err)
	}
	refused("changed", "names "+k.ID()[:16]+", which is trusted here, and is not what that key signed", touched, keys, s)
	refused("changed, of a stranger", "no publisher key", touched, keys[:1], s)
	wrongType, err := Sign(k, PayloadRelease, []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	refused("a signed release", "not for a plugin", wrongType, keys, s)
	refused("garbage", "cannot be read", []byte("{"), keys, s)
	refused("too long", "the limit is", make([]byte, MaxPluginSignature+1), keys, s)
	atLimit := append(env, []byte(strings.Repeat(" ", MaxPluginSignature-len(env)))...)
	if _, err := VerifyPlugin(atLimit, keys, s); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

// TestCosignKey: what cosign's own keys, ECDSA on P-256, sign is accepted in both forms.
func TestCosignKey(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParsePublisherKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	signed := func(b []byte) []byte {
		sum := sha256.Sum256(b)
		sig, err := ecdsa.SignASN1(rand.Reader, private, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return sig
	}
	s := PluginStatement{Digest: string(registry.DigestOf(nil)), Kind: "filter", Name: "mask", Version: "1.0.0"}
	body, _ := json.Marshal(s)
	env, _ := json.Marshal(envelope{Payload: body, PayloadType: PayloadPlugin, Signatures: []signature{{Sig: signed(preAuth(PayloadPlugin, body))}}})
	if id, err := VerifyPlugin(env, []*PublisherKey{k}, s); err != nil || id != k.ID() || k.Algorithm() != "ecdsa-p256" {
		t.Fatalf("%s %v", id, err)
	}
	manifest := registry.DigestOf([]byte("manifest"))
	payload := []byte(`{"critical":{"identity":{"docker-reference":"localhost:7301/default/plugins/mask"},"image":{"docker-manifest-digest":"` +
		string(manifest) + `"},"type":"cosign container image signature"},"optional":null}`)
	sigs := []CosignSignature{{Payload: []byte("{}"), Signature: []byte("x")}, {Payload: payload, Signature: signed(payload)}}
	if id, err := VerifyCosign(sigs, []*PublisherKey{k}, manifest); err != nil || id != k.ID() {
		t.Fatalf("%s %v", id, err)
	}
	if _, err := VerifyCosign(sigs, []*PublisherKey{k}, registry.DigestOf([]byte("another"))); problem.As(err) == nil {
		t.Error("another artifact is accepted")
	}
	if _, err := VerifyCosign(sigs[:1], []*PublisherKey{k}, manifest); problem.As(err) == nil {
		t.Error("a wrong signature is accepted")
	}
	ours := newTestKey(t)
	c, err := SignCosign(ours, "localhost:7301/default/plugins/mask", manifest)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := VerifyCosign([]CosignSignature{c}, []*PublisherKey{k, publisher(t, ours)}, manifest); err != nil || id != ours.ID() {
		t.Fatalf("%s %v", id, err)
	}
}

func TestParsePublisherKey(t *testing.T) {
	good := newTestKey(t).PublicPEM()
	block, _ := pem.Decode(good)
	if _, err := ParsePublisherKey(block.Bytes); err != nil {
		t.Errorf("DER: %v", err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der := func(public any) []byte {
		b, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for what, text := range map[string][]byte{
		"nothing": nil, "text": []byte("hello"), "RSA": der(&rsaKey.PublicKey), "P-384": der(&p384.PublicKey),
		"two keys": append(good, good...), "a private key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: block.Bytes}),
	} {
		if _, err := ParsePublisherKey(text); problem.As(err) == nil || problem.As(err).Kind != problem.InvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestStatementInPart: what cannot be read to its end says nothing, though it begins as
// it should.
func TestStatementInPart(t *testing.T) {
	want := PluginStatement{Name: "mask", Version: "1"}
	good, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := sameStatement(good, want); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", string(good) + "x", strings.TrimSuffix(string(good), "}") + `,"name":5}`} {
		if err := sameStatement([]byte(bad), want); !problem.Is(err, problem.InvalidPlugin) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
