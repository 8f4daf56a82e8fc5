package pool

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"
)

const (
	namePrefix = "sluice:" // of each key at the server

	keyBytes = 32 // how long the key of a pool is
	// settleFor is how long a node goes on with the key of before when it is told of another:
	// then all nodes know both.
	settleFor = 5 * time.Second
	// keepFor is how long what the nodes named by the key of before is found after that: as long as
	// results live.
	keepFor = 10 * time.Minute
)

// keys derives what seals and names from the key of the pool. Nodes are told of a new key one
// after the other. Until all were, each goes on with the key of before and finds what others
// named by the new one; then it is the other way round.
type keys struct {
	source func() []byte
	clock  func() time.Time
	last   atomic.Pointer[derivedKeys]
	mu     sync.Mutex // of who makes last
}

// derivedKeys are those that a node uses at a time.
type derivedKeys struct {
	*derived          // names and seals
	other    *derived // what is looked for under this one as well; nil: nothing
	newest   *derived
	until    time.Time // when others are used. Zero: when there is a new key
}

type derived struct {
	from    []byte
	aead    cipher.AEAD
	names   []byte
	answers []byte // what the key of each answer is made of
}

// now returns nil while there is no key.
func (k *keys) now() *derivedKeys {
	key := k.source()
	if len(key) != keyBytes {
		return nil
	}
	if d := k.last.Load(); d.holds(key, k.clock) {
		return d
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.last.Load()
	switch {
	case d.holds(key, k.clock):
		return d
	case d == nil:
		first := derive(key)
		d = &derivedKeys{derived: first, newest: first}
	case !bytes.Equal(d.newest.from, key):
		next := derive(key)
		d = &derivedKeys{derived: d.derived, other: next, newest: next, until: k.clock().Add(settleFor)}
	case d.derived != d.newest:
		d = &derivedKeys{derived: d.newest, other: d.derived, newest: d.newest, until: k.clock().Add(keepFor)}
	default:
		d = &derivedKeys{derived: d.newest, newest: d.newest}
	}
	k.last.Store(d)
	return d
}

// holds reports whether the keys are those to use, where key is the newest.
func (d *derivedKeys) holds(key []byte, clock func() time.Time) bool {
	return d != nil && bytes.Equal(d.newest.from, key) && (d.until.IsZero() || clock().Before(d.until))
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
	return namePrefix + kind + ":{" + hex.EncodeToString(h.Sum(nil)[:16]) + "}"
}

// seal binds a value to its name.
func (d *derived) seal(name string, value []byte) []byte {
	return d.aead.Seal(nil, nil, value, []byte(name)) //nolint:gosec // the nonce is random: NewGCMWithRandomNonce
}

func (d *derived) open(name string, sealed []byte) ([]byte, error) {
	return d.aead.Open(nil, nil, sealed, []byte(name))
}
