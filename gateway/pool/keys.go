package pool

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"
)

// keyBytes is how long the key of a pool is.
const keyBytes = 32

// keys derives what seals and names from the key of the pool, again when that changed.
type keys struct {
	source func() []byte
	last   atomic.Pointer[derived]
}

type derived struct {
	from    []byte
	aead    cipher.AEAD
	names   []byte
	answers []byte // what the key of each answer is made of
}

// now returns nil while there is no key.
func (k *keys) now() *derived {
	key := k.source()
	if len(key) != keyBytes {
		return nil
	}
	if d := k.last.Load(); d != nil && bytes.Equal(d.from, key) {
		return d
	}
	d := derive(key)
	k.last.Store(d)
	return d
}

// derive cannot fail with a key of keyBytes.
func derive(key []byte) *derived {
	seal, _ := hkdf.Key(sha256.New, key, nil, "sluice pool values v1", keyBytes)
	names, _ := hkdf.Key(sha256.New, key, nil, "sluice pool names v1", keyBytes)
	answers, _ := hkdf.Key(sha256.New, key, nil, "sluice pool answers v1", keyBytes)
	block, _ := aes.NewCipher(seal)
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	return &derived{from: bytes.Clone(key), aead: aead, names: names, answers: answers}
}

// name is the keyed hash of what a key of the server is about. It stands in braces, so
// that all keys of one name are in one slot of a cluster.
func (d *derived) name(kind, of string) string {
	h := hmac.New(sha256.New, d.names)
	_, _ = h.Write([]byte(kind + "\x00" + of))
	return "sluice:" + kind + ":{" + hex.EncodeToString(h.Sum(nil)[:16]) + "}"
}

// seal binds a value to its name.
func (d *derived) seal(name string, value []byte) []byte {
	return d.aead.Seal(nil, nil, value, []byte(name)) //nolint:gosec // the nonce is random: NewGCMWithRandomNonce
}

func (d *derived) open(name string, sealed []byte) ([]byte, error) {
	return d.aead.Open(nil, nil, sealed, []byte(name))
}
