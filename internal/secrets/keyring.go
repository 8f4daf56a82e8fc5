package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sync/atomic"

	"github.com/sluicegate/sluice/internal/problem"
)

// Sizes of the sealed form, in bytes; see [Keyring.Seal].
const (
	keyBytes    = 32 // AES-256
	idBytes     = 8
	gcmOverhead = 12 + 16 // random nonce and tag
	wrappedAt   = 1 + idBytes
	payloadAt   = wrappedAt + keyBytes + gcmOverhead
	minSealed   = payloadAt + gcmOverhead
	sealVersion = 1
)

// maxKeys is how many keys a keyring may hold: the current one and those that
// wait for re-wrapping. A file with more was not written by Sluice.
const maxKeys = 16

// ErrSealed is returned when sealed bytes do not open: they were changed, cut,
// or belong to another record or version.
var ErrSealed = errors.New("cannot open the sealed value: it was changed, or belongs to another record")

// UnknownKeyError is returned when sealed bytes name a key-encryption key that
// the keyring does not have: the key file was lost or replaced.
type UnknownKeyError struct{ ID string }

// Error names the missing key by its id, which is no secret.
func (e *UnknownKeyError) Error() string {
	return "sealed with key " + e.ID + ", which this keyring does not have"
}

// Record is what a sealed value belongs to. Both fields are authenticated, so
// sealed bytes moved to another record or back to an older version do not open.
type Record struct {
	Key     string // unique name of the record, such as "workspaces/ws_1/credentials/cred_2"
	Version uint64 // version of the value in that record
}

// kek is one key-encryption key.
type kek struct {
	id     [idBytes]byte
	key    [keyBytes]byte
	aead   cipher.AEAD
	prints []byte // key of the fingerprints, derived
	pool   []byte // see PoolKey, derived
	// wrapped is its form in the file of a keyring with a command; "" not made yet.
	wrapped string
}

// Keyring holds the key-encryption keys: one current, which seals, and those
// that still open. It is safe for concurrent use, also while it is rotated.
type Keyring struct {
	path    string   // file it was opened from; empty: from a value, which cannot rotate here
	command *Command // wraps the keys in the file; nil: they are plain
	keys    atomic.Pointer[[]*kek]
}

func newKEK(key []byte) *kek {
	k := &kek{}
	copy(k.key[:], key)
	k.aead = gcm(k.key[:])
	// The id and the fingerprint key are derived by HKDF, so neither tells about
	// the key nor can be computed from the other.
	copy(k.id[:], derive(k.key[:], "sluice key id v1", idBytes))
	k.prints = derive(k.key[:], "sluice fingerprints v1", keyBytes)
	k.pool = derive(k.key[:], "sluice pool v1", keyBytes)
	return k
}

// derive makes n bytes of a key-encryption key for a use.
func derive(key []byte, use string, n int) []byte {
	return must(hkdf.Key(sha256.New, key, nil, use, n))
}

// gcm is the cipher of a key of keyBytes. It makes the nonces itself.
func gcm(key []byte) cipher.AEAD {
	return must(cipher.NewGCMWithRandomNonce(must(aes.NewCipher(key))))
}

// must is for what fails for lengths only that are fixed here.
func must[T any](v T, err error) T {
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return v
}

// Parse makes a keyring of keys given as a value, as from the environment: one
// or more keys of 32 bytes in base64 or hexadecimal, separated by white space or
// commas. The first one seals, the others only open. It fails with
// [problem.InvalidArgument].
func Parse(keys Secret) (*Keyring, error) {
	list, err := parseKeys(keys.Reveal())
	if err != nil {
		return nil, err
	}
	k := &Keyring{}
	k.keys.Store(&list)
	return k, nil
}

func parseKeys(text string) ([]*kek, error) {
	var list []*kek
	for _, field := range keyFields(text) {
		raw, err := decodeKey(field)
		if err != nil {
			return nil, problem.New(problem.InvalidArgument, "key %d of the key-encryption keys is not 32 bytes in base64 or hexadecimal", len(list)+1).
				Fix("make one with: head -c 32 /dev/urandom | base64")
		}
		next := newKEK(raw)
		for _, have := range list {
			if have.id == next.id {
				return nil, problem.New(problem.InvalidArgument, "key %d of the key-encryption keys is listed twice", len(list)+1).Fix("remove one of the two")
			}
		}
		if list = append(list, next); len(list) > maxKeys {
			return nil, problem.New(problem.InvalidArgument, "more than %d key-encryption keys", maxKeys).Fix("remove the oldest ones after re-wrapping")
		}
	}
	if len(list) == 0 {
		return nil, problem.New(problem.InvalidArgument, "there is no key-encryption key").Fix("make one with: head -c 32 /dev/urandom | base64")
	}
	return list, nil
}

func decodeKey(s string) ([]byte, error) {
	if len(s) == 2*keyBytes {
		return hex.DecodeString(s)
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err == nil && len(raw) != keyBytes {
		err = errors.New("wrong length")
	}
	return raw, err
}

// Current returns the id of the key that seals.
func (k *Keyring) Current() string { return idText((*k.keys.Load())[0].id) }

// IDs returns the ids of all keys, the current one first.
func (k *Keyring) IDs() []string {
	var ids []string
	for _, key := range *k.keys.Load() {
		ids = append(ids, idText(key.id))
	}
	return ids
}

func idText(id [idBytes]byte) string { return hex.EncodeToString(id[:]) }

// KeyID returns the id of the key-encryption key that sealed bytes name, without
// opening them. It fails with [ErrSealed].
func KeyID(sealed []byte) (string, error) {
	if len(sealed) < minSealed || sealed[0] != sealVersion {
		return "", ErrSealed
	}
	return hex.EncodeToString(sealed[1:wrappedAt]), nil
}

// SealedHead is how many bytes at the beginning of sealed bytes name their key.
const SealedHead = wrappedAt

// SealedBy returns the id of the key-encryption key that the first [SealedHead] bytes
// of a sealed value name, and whether they are of one.
func SealedBy(head []byte) (id string, ok bool) {
	if len(head) < SealedHead || head[0] != sealVersion {
		return "", false
	}
	return hex.EncodeToString(head[1:wrappedAt]), true
}

// Seal encrypts s for rec under a fresh data key. The form is, in bytes:
//
//	1   format version, 1
//	8   id of the key-encryption key
//	60  data key: random nonce 12, AES-256 key 32, tag 16
//	    authenticated: "sluice/wrap/1", rec and the key id
//	…   value: random nonce 12, value, tag 16
//	    authenticated: "sluice/seal/1" and rec
//
// The value's authenticated data holds no key id, so that [Keyring.Rewrap] need
// not touch it.
func (k *Keyring) Seal(rec Record, s Secret) ([]byte, error) {
	value := s.Reveal()
	if len(value) > MaxBytes {
		return nil, ErrTooLarge
	}
	return k.seal(rec, []byte(value)), nil
}

// SealBytes is Seal for a text that may hold secrets and is longer than one, such as
// an answer that shows a new token. It keeps neither slice and fails with
// [ErrTooLarge] above [MaxSealedText].
func (k *Keyring) SealBytes(rec Record, text []byte) ([]byte, error) {
	if len(text) > MaxSealedText {
		return nil, ErrTooLarge
	}
	return k.seal(rec, text), nil
}

func (k *Keyring) seal(rec Record, value []byte) []byte {
	var dek [keyBytes]byte
	_, _ = rand.Read(dek[:]) // never fails: crypto/rand ends the process instead
	data := gcm(dek[:])
	cur := (*k.keys.Load())[0]
	out := make([]byte, 0, minSealed+len(value))
	out = append(out, sealVersion)
	out = append(out, cur.id[:]...)
	out = cur.aead.Seal(out, nil, dek[:], aad("sluice/wrap/1", rec, cur.id[:])) //nolint:gosec // G407: the AEAD makes its own random nonce
	return data.Seal(out, nil, value, aad("sluice/seal/1", rec, nil))           //nolint:gosec // G407: the AEAD makes its own random nonce
}

// Open decrypts what Seal made for the same record. It fails with [ErrSealed]
// and [*UnknownKeyError].
func (k *Keyring) Open(rec Record, sealed []byte) (Secret, error) {
	value, err := k.OpenBytes(rec, sealed)
	if err != nil {
		return Secret{}, err
	}
	return New(string(value)), nil
}

// OpenBytes decrypts what SealBytes or Seal made for the same record; the caller owns
// the result. It fails with [ErrSealed] and [*UnknownKeyError].
func (k *Keyring) OpenBytes(rec Record, sealed []byte) ([]byte, error) {
	dek, err := k.unwrap(rec, sealed)
	if err != nil {
		return nil, err
	}
	value, err := gcm(dek).Open(nil, nil, sealed[payloadAt:], aad("sluice/seal/1", rec, nil))
	if err != nil {
		return nil, ErrSealed
	}
	return value, nil
}

// Rewrap returns the sealed bytes with their data key under the current
// key-encryption key, and whether that changed anything. The value itself is
// neither decrypted nor changed. sealed is not modified.
func (k *Keyring) Rewrap(rec Record, sealed []byte) (out []byte, changed bool, err error) {
	cur := (*k.keys.Load())[0]
	dek, err := k.unwrap(rec, sealed)
	if err != nil {
		return nil, false, err
	}
	if string(sealed[1:wrappedAt]) == string(cur.id[:]) {
		return sealed, false, nil
	}
	out = make([]byte, 0, len(sealed))
	out = append(out, sealVersion)
	out = append(out, cur.id[:]...)
	out = cur.aead.Seal(out, nil, dek, aad("sluice/wrap/1", rec, cur.id[:])) //nolint:gosec // G407: the AEAD makes its own random nonce
	return append(out, sealed[payloadAt:]...), true, nil
}

func (k *Keyring) unwrap(rec Record, sealed []byte) ([]byte, error) {
	id, err := KeyID(sealed)
	if err != nil {
		return nil, err
	}
	for _, key := range *k.keys.Load() {
		if idText(key.id) != id {
			continue
		}
		dek, err := key.aead.Open(nil, nil, sealed[wrappedAt:payloadAt], aad("sluice/wrap/1", rec, key.id[:]))
		if err != nil {
			return nil, ErrSealed
		}
		return dek, nil
	}
	return nil, &UnknownKeyError{ID: id}
}

// PoolKey is the key of what the nodes of a control plane share outside of their data
// directories: 32 bytes, derived from the key that seals. It changes when that is rotated.
func (k *Keyring) PoolKey() []byte { return (*k.keys.Load())[0].pool }

// Fingerprint names a secret in the audit log: 16 hexadecimal digits, the same
// for the same value while the first key lives. It is keyed, so a short secret
// cannot be guessed from it without the key file.
func (k *Keyring) Fingerprint(s Secret) string { return (*k.keys.Load())[0].fingerprint(s) }

// HasFingerprint reports whether fingerprint is that of s under any key of the
// keyring: one that was made before a rotation is still known after it.
func (k *Keyring) HasFingerprint(s Secret, fingerprint string) bool {
	for _, key := range *k.keys.Load() {
		if hmac.Equal([]byte(key.fingerprint(s)), []byte(fingerprint)) {
			return true
		}
	}
	return false
}

func (k *kek) fingerprint(s Secret) string {
	mac := hmac.New(sha256.New, k.prints)
	mac.Write([]byte(s.Reveal()))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// aad is the authenticated data: every part with its length before it, so that
// no two records give the same bytes.
func aad(label string, rec Record, id []byte) []byte {
	out := make([]byte, 0, len(label)+len(rec.Key)+len(id)+28)
	for _, part := range [][]byte{[]byte(label), []byte(rec.Key), id} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(part))) // labels and keys are short
		out = append(out, part...)
	}
	return binary.BigEndian.AppendUint64(out, rec.Version)
}
