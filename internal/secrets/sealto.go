package secrets

import (
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/rand"
	"fmt"
)

// SealKey is the private half of a node's X25519 key: what is sealed to its
// public half with [SealTo] opens with it only. It prints as "[redacted]".
type SealKey struct{ key *ecdh.PrivateKey }

// NewSealKey makes a random key.
func NewSealKey() (SealKey, error) {
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return SealKey{}, fmt.Errorf("making a seal key: %w", err)
	}
	return SealKey{k}, nil
}

// ParseSealKey reads what Bytes returned.
func ParseSealKey(b []byte) (SealKey, error) {
	k, err := ecdh.X25519().NewPrivateKey(b)
	if err != nil {
		return SealKey{}, ErrSealed
	}
	return SealKey{k}, nil
}

// Bytes is the private key, 32 bytes, for a file that only its owner reads.
func (k SealKey) Bytes() []byte { return k.key.Bytes() }

// Public is the public key, 32 bytes.
func (k SealKey) Public() []byte { return k.key.PublicKey().Bytes() }

// String returns "[redacted]".
func (k SealKey) String() string { return Redacted }

// GoString returns the same as String.
func (k SealKey) GoString() string { return Redacted }

// SealTo encrypts plain to the owner of an X25519 public key with HPKE (RFC 9180,
// base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM). info must be
// the same at Open; it binds the text to what it is for.
func SealTo(public, info, plain []byte) ([]byte, error) {
	p, err := ecdh.X25519().NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("sealing to a node: %w", err)
	}
	pk, err := hpke.NewDHKEMPublicKey(p)
	if err != nil {
		return nil, fmt.Errorf("sealing to a node: %w", err)
	}
	out, err := hpke.Seal(pk, hpke.HKDFSHA256(), hpke.AES256GCM(), info, plain)
	if err != nil {
		return nil, fmt.Errorf("sealing to a node: %w", err)
	}
	return out, nil
}

// Open decrypts what SealTo made for this key with the same info. It fails with
// [ErrSealed].
func (k SealKey) Open(info, sealed []byte) ([]byte, error) {
	sk, err := hpke.NewDHKEMPrivateKey(k.key)
	if err != nil {
		return nil, fmt.Errorf("opening what was sealed to this node: %w", err)
	}
	plain, err := hpke.Open(sk, hpke.HKDFSHA256(), hpke.AES256GCM(), info, sealed)
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}
