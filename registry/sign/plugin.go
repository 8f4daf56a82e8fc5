package sign

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// PayloadPlugin says that a signature is for a plugin (DSSE payload type).
const PayloadPlugin = "application/vnd.sluice.plugin.statement.v1+json"

// MaxPluginSignature is the size of the envelope of one plugin: a statement of
// 200 bytes and a few signatures.
const MaxPluginSignature = 16 << 10

// ErrUnknownSigner is the cause when none of the keys made a signature.
var ErrUnknownSigner = errors.New("no given key made the signature")

// PluginStatement is what a publisher signs: these bytes are this version of that
// plugin.
type PluginStatement struct {
	Digest  string `json:"digest"` // of the module
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// SignPlugin returns the DSSE envelope of a statement. Equal arguments give equal
// bytes.
func SignPlugin(k *Key, s PluginStatement) ([]byte, error) { //nolint:revive // sign.Plugin would read as the noun
	body, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the statement of plugin %s: %w", s.Name, err)
	}
	return Sign(k, PayloadPlugin, body)
}

// PublicPEM is the public half of k in PEM, as [ParsePublisherKey] reads it.
func (k *Key) PublicPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.der})
}

// PublisherKey is a public key that signs plugins: ed25519, or ECDSA on P-256,
// which cosign makes. Immutable.
type PublisherKey struct {
	id    string
	der   []byte
	ed    ed25519.PublicKey // one of the two
	ecdsa *ecdsa.PublicKey
}

// ParsePublisherKey reads a public key: PEM of type PUBLIC KEY, or its DER (PKIX).
// It fails with a [problem.InvalidArgument].
func ParsePublisherKey(text []byte) (*PublisherKey, error) {
	der := text
	if block, rest := pem.Decode(text); block != nil {
		if block.Type != "PUBLIC KEY" || len(bytes.TrimSpace(rest)) > 0 {
			return nil, badPublisherKey("the file does not hold exactly one PEM block %q", "PUBLIC KEY")
		}
		der = block.Bytes
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, badPublisherKey("it is not a public key in PEM or DER (PKIX)")
	}
	k := &PublisherKey{id: keyID(der), der: bytes.Clone(der)}
	switch key := parsed.(type) {
	case ed25519.PublicKey:
		k.ed = key
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return nil, badPublisherKey("its curve is %s, not P-256", key.Params().Name)
		}
		k.ecdsa = key
	default:
		return nil, badPublisherKey("it is neither an ed25519 nor an ECDSA key")
	}
	return k, nil
}

func badPublisherKey(format string, args ...any) error {
	return problem.New(problem.InvalidArgument, "the publisher's key cannot be used: "+format, args...).
		Fix("use the .pub file that sluice plugin sign wrote, or cosign.pub")
}

// ID is the key's id: the lower-case hex SHA-256 of its DER.
func (k *PublisherKey) ID() string { return k.id }

// DER is the key in PKIX form; it must not be changed.
func (k *PublisherKey) DER() []byte { return k.der }

// Algorithm is "ed25519" or "ecdsa-p256".
func (k *PublisherKey) Algorithm() string {
	if k.ecdsa != nil {
		return "ecdsa-p256"
	}
	return "ed25519"
}

// verify reports whether sig is k's signature of message.
func (k *PublisherKey) verify(message, sig []byte) bool {
	if k.ecdsa != nil {
		sum := sha256.Sum256(message)
		return ecdsa.VerifyASN1(k.ecdsa, sum[:], sig)
	}
	return len(sig) == ed25519.SignatureSize && ed25519.Verify(k.ed, message, sig)
}

// VerifyPlugin checks that one of the keys signed exactly the statement want in a
// DSSE envelope, and returns that key's id. It fails with a
// [problem.InvalidPlugin].
func VerifyPlugin(env []byte, keys []*PublisherKey, want PluginStatement) (keyID string, err error) {
	if len(env) > MaxPluginSignature {
		return "", problem.New(problem.InvalidPlugin, "the signature has %d bytes, the limit is %d", len(env), MaxPluginSignature)
	}
	e, err := parseEnvelope(env)
	if err != nil {
		return "", problem.New(problem.InvalidPlugin, "the signature cannot be read: %v", err)
	}
	if e.PayloadType != PayloadPlugin {
		return "", problem.New(problem.InvalidPlugin, "the signature is for %.80q, not for a plugin", e.PayloadType)
	}
	signed := preAuth(e.PayloadType, e.Payload)
	for _, s := range e.Signatures {
		for _, k := range keys {
			// The id is only a hint (DSSE, "keyid"), and other signers write others.
			if !k.verify(signed, s.Sig) {
				continue
			}
			return k.id, sameStatement(e.Payload, want)
		}
	}
	if id := named(e.Signatures, keys); id != "" {
		return "", problem.New(problem.InvalidPlugin, "the signature names %s, which is trusted here, and is not what that key signed: it was changed, or damaged", id[:16]).
			Fix("have its publisher sign it again, and look who else may write there").Because(ErrUnknownSigner)
	}
	return "", unknownSigner(signerNames(e.Signatures))
}

// named is the id of a key that signatures name, of which none verified; "" if they name
// none of the keys.
func named(sigs []signature, keys []*PublisherKey) string {
	for _, s := range sigs {
		for _, k := range keys {
			if s.KeyID == k.id {
				return k.id
			}
		}
	}
	return ""
}

func sameStatement(payload []byte, want PluginStatement) error {
	var got PluginStatement
	if err := json.Unmarshal(payload, &got); err != nil || got != want {
		return problem.New(problem.InvalidPlugin, "the signature is for another plugin: %.80s %.80s, %.20s", got.Name, got.Version, got.Digest).
			Fix("sign it again after each build")
	}
	return nil
}

func unknownSigner(names string) error {
	if names != "" {
		names = ": " + names
	}
	return problem.New(problem.InvalidPlugin, "no publisher key of this workspace signed the plugin%s", names).
		Fix("have an administrator add the key: sluice plugin key add FILE.pub").Because(ErrUnknownSigner)
}

// CosignSignature is one signature of an OCI artifact in cosign's tag form: the
// payload ("simple signing") and its signature.
type CosignSignature struct{ Payload, Signature []byte }

// cosignPayload is the part of a simple signing document that means something
// here (github.com/sigstore/cosign, specs/SIGNATURE_SPEC.md).
type cosignPayload struct {
	Critical struct {
		Type  string `json:"type"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
	} `json:"critical"`
	Optional map[string]any `json:"optional"`
}

const cosignType = "cosign container image signature"

// SignCosign signs the digest of an OCI manifest as cosign does with a key. The
// reference is the repository with its host; nothing is decided by it.
func SignCosign(k *Key, reference string, manifest registry.Digest) (CosignSignature, error) { //nolint:revive // sign.Cosign would read as the tool
	var p cosignPayload
	p.Critical.Type, p.Critical.Image.Digest, p.Critical.Identity.Reference = cosignType, string(manifest), reference
	b, err := json.Marshal(&p)
	if err != nil {
		return CosignSignature{}, fmt.Errorf("encode a cosign payload: %w", err)
	}
	return CosignSignature{Payload: b, Signature: ed25519.Sign(k.private, b)}, nil
}

// VerifyCosign checks that one of the keys signed the OCI manifest in one of the
// signatures, and returns that key's id. It fails with a [problem.InvalidPlugin].
func VerifyCosign(sigs []CosignSignature, keys []*PublisherKey, manifest registry.Digest) (keyID string, err error) {
	for _, s := range sigs {
		for _, k := range keys {
			if !k.verify(s.Payload, s.Signature) {
				continue
			}
			var p cosignPayload
			if err := json.Unmarshal(s.Payload, &p); err != nil || p.Critical.Type != cosignType || p.Critical.Image.Digest != string(manifest) {
				return "", problem.New(problem.InvalidPlugin, "the signature is for another artifact").Fix("sign it again: cosign sign --key …")
			}
			return k.id, nil
		}
	}
	return "", unknownSigner("")
}
