package sign

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// cosign's bundle form: a Sigstore bundle (github.com/sigstore/protobuf-specs, v0.3)
// that holds a DSSE envelope of an in-toto statement, whose subject is the manifest.
const (
	// MediaTypeBundle is the type of a Sigstore bundle.
	MediaTypeBundle = "application/vnd.dev.sigstore.bundle.v0.3+json"
	// PredicateSign is what a statement says that is a mere signature.
	PredicateSign = "https://sigstore.dev/cosign/sign/v1"
	payloadInToto = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	// MaxBundleBytes of one bundle: one of cosign with a key has 700 bytes; with a
	// transparency log's proof, some thousand.
	MaxBundleBytes = 64 << 10
)

type bundle struct {
	MediaType string `json:"mediaType"`
	Material  struct {
		PublicKey struct {
			Hint string `json:"hint"` // base64 of the SHA-256 of the key's DER
		} `json:"publicKey"`
	} `json:"verificationMaterial"`
	Envelope json.RawMessage `json:"dsseEnvelope"`
}

// statement is the part of an in-toto statement that means something here.
type statement struct {
	Type    string `json:"_type"`
	Subject []struct {
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	PredicateType string `json:"predicateType"`
}

// SignBundle signs the digest of an OCI manifest as cosign does with a key and
// --new-bundle-format.
func SignBundle(k *Key, manifest registry.Digest) ([]byte, error) { //nolint:revive // sign.Bundle would read as the noun
	payload := fmt.Appendf(nil, `{"_type":%q,"subject":[{"digest":{"sha256":%q}}],"predicateType":%q}`, statementType, manifest.Hex(), PredicateSign)
	// Without a key id: cosign passes over signatures whose id is not one of its own.
	env, err := json.Marshal(&envelope{
		Payload: payload, PayloadType: payloadInToto, Signatures: []signature{{Sig: ed25519.Sign(k.private, preAuth(payloadInToto, payload))}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode a bundle: %w", err)
	}
	sum := sha256.Sum256(k.der)
	var b bundle
	b.MediaType, b.Envelope, b.Material.PublicKey.Hint = MediaTypeBundle, env, base64.StdEncoding.EncodeToString(sum[:])
	out, err := json.Marshal(&b)
	if err != nil {
		return nil, fmt.Errorf("encode a bundle: %w", err)
	}
	return out, nil
}

// VerifyBundle checks that one of the keys signed the OCI manifest in one of the
// bundles, and returns that key's id. Certificates and proofs of a transparency log in
// them are not looked at: who may sign is decided by the keys alone. It fails with a
// [problem.InvalidPlugin], whose cause is [ErrUnknownSigner] when none of them did.
func VerifyBundle(bundles [][]byte, keys []*PublisherKey, manifest registry.Digest) (keyID string, err error) {
	for _, raw := range bundles {
		id, payload := signerOf(raw, keys)
		if id == "" {
			continue
		}
		var s statement
		if json.Unmarshal(payload, &s) != nil || s.Type != statementType || s.PredicateType != PredicateSign || !s.about(manifest) {
			return "", problem.New(problem.InvalidPlugin, "the signature is for another artifact, or is not a mere signature").Fix("sign it again: cosign sign --key …")
		}
		return id, nil
	}
	return "", unknownSigner("")
}

// signerOf returns the id of the key that signed a bundle and what it signed; ""
// when none of the keys did.
func signerOf(raw []byte, keys []*PublisherKey) (id string, payload []byte) {
	var b bundle
	if len(raw) > MaxBundleBytes || json.Unmarshal(raw, &b) != nil || b.MediaType != MediaTypeBundle {
		return "", nil
	}
	e, err := parseEnvelope(b.Envelope)
	if err != nil || e.PayloadType != payloadInToto {
		return "", nil
	}
	signed := preAuth(e.PayloadType, e.Payload)
	for _, s := range e.Signatures {
		for _, k := range keys {
			if k.verify(signed, s.Sig) {
				return k.id, e.Payload
			}
		}
	}
	return "", nil
}

func (s *statement) about(manifest registry.Digest) bool {
	if sum, err := hex.DecodeString(manifest.Hex()); err != nil || len(sum) != sha256.Size {
		return false
	}
	for _, x := range s.Subject {
		if x.Digest["sha256"] == manifest.Hex() {
			return true
		}
	}
	return false
}
