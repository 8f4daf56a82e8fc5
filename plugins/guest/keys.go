package guest

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // OAuth 1.0a and older APIs sign with HMAC-SHA-1, whose weakness is not the hash's
	"crypto/sha256"
	"crypto/sha512"
	"hash"

	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
)

const (
	// MaxSecrets of one call: as many as a toolset has credentials.
	MaxSecrets = 16
	// maxKeys that one call may derive, and maxSignatures that it may make: AWS needs
	// four and one.
	maxKeys       = 64
	maxSignatures = 16
	// maxSigned is the longest message of one derivation or signature.
	maxSigned = 1 << 20
)

// Keys are the secrets of one call of an auth plugin, which it reaches by handles:
// 1 is the first secret. A handle can be derived from and, after as many derivations
// as the manifest says, signed with; nothing but signatures comes out. It belongs to
// one call.
type Keys struct {
	rule    *manifest.Signing // nil: nothing may be done
	keys    []key
	given   int // of keys: the secrets
	derived int
	made    int // signatures
	held    int // tokens
	tokens  *tokens
}

type key struct {
	bytes []byte
	depth int
	token bool // it can be put on the request, and nothing be made of it
}

// NewKeys makes the handles of a call from its secrets. At most [MaxSecrets] are
// taken. Wipe them when the call has ended.
func NewKeys(p *Package, list ...secrets.Secret) *Keys {
	k := &Keys{}
	if c := p.Manifest.Capabilities; c != nil {
		k.rule = c.Signing
	}
	for _, s := range list[:min(len(list), MaxSecrets)] {
		k.keys = append(k.keys, key{bytes: []byte(s.Reveal())})
	}
	k.given = len(k.keys)
	return k
}

// Wipe overwrites the keys.
func (k *Keys) Wipe() {
	for i := range k.keys {
		clear(k.keys[i].bytes)
	}
	k.keys = nil
}

var hashes = map[string]func() hash.Hash{"hmac-sha256": sha256.New, "hmac-sha384": sha512.New384, "hmac-sha512": sha512.New, "hmac-sha1": sha1.New}

func mac(algorithm string, secret, message []byte) []byte {
	h := hmac.New(hashes[algorithm], secret)
	_, _ = h.Write(message) // never fails
	return h.Sum(nil)
}

// find returns the key of a handle, or why there is none.
func (k *Keys) find(handle uint64) (*key, string) {
	switch {
	case k == nil || k.rule == nil:
		return nil, "it uses a key, and its manifest does not ask for signing"
	case handle == 0 || handle > uint64(len(k.keys)):
		return nil, "it uses a key that it was not given"
	case k.keys[handle-1].token:
		return nil, "it uses a token as a key"
	}
	return &k.keys[handle-1], ""
}

// derive makes a key: the keyed hash of message with prefix and key as its secret.
func (k *Keys) derive(handle uint64, prefix, message []byte) (uint64, string) {
	from, refusal := k.find(handle)
	switch {
	case refusal != "":
		return 0, refusal
	case k.made > 0:
		return 0, "it derives a key after it signed"
	case from.depth >= k.rule.Derivations:
		return 0, "it derives a key more often than its manifest says"
	case len(prefix) > 0 && from.depth > 0:
		return 0, "it puts a prefix before a key that is derived"
	case k.derived == maxKeys:
		return 0, "it derives too many keys"
	case len(message) > maxSigned:
		return 0, "it derives a key of too long a message"
	}
	secret := append(append(make([]byte, 0, len(prefix)+len(from.bytes)), prefix...), from.bytes...)
	defer clear(secret)
	k.derived++
	k.keys = append(k.keys, key{bytes: mac(k.rule.Algorithm, secret, message), depth: from.depth + 1})
	return uint64(len(k.keys)), ""
}

// sign returns the keyed hash of message.
func (k *Keys) sign(handle uint64, message []byte) ([]byte, string) {
	with, refusal := k.find(handle)
	switch {
	case refusal != "":
		return nil, refusal
	case with.depth != k.rule.Derivations:
		// The result could be the next key.
		return nil, "it signs with a key that is not derived as often as its manifest says"
	case k.made == maxSignatures:
		return nil, "it makes too many signatures"
	case len(message) > maxSigned:
		return nil, "it signs too long a message"
	}
	k.made++
	if manifest.Asymmetric(k.rule.Algorithm) {
		return signWith(k.rule.Algorithm, with.bytes, message)
	}
	return mac(k.rule.Algorithm, with.bytes, message), ""
}

// The host functions of auth plugins (docs/plugins/contract.md, "Auth plugins").
const (
	deriveFunction = "sluice_derive"
	signFunction   = "sluice_sign"
)

// Functions are the host functions that packages may need. A host that is to run all
// kinds of plugins is made with them.
func Functions() []extism.Function {
	return append(append(signingFunctions(), tokenFunctions()...), extism.Function{Name: callFunction, Params: 1, Results: 1, Call: callTools})
}

func signingFunctions() []extism.Function {
	keysOf := func(c *extism.Caller) *Keys {
		k, _ := c.Data().(*Keys)
		return k
	}
	read := func(c *extism.Caller, at uint64) []byte {
		if at == 0 {
			return nil
		}
		return c.Read(at)
	}
	return []extism.Function{
		{Name: deriveFunction, Params: 3, Results: 1, Call: func(c *extism.Caller, stack []uint64) {
			handle, refusal := keysOf(c).derive(stack[0], read(c, stack[1]), read(c, stack[2]))
			if refusal != "" {
				c.Stop(refusal)
			}
			stack[0] = handle
		}},
		{Name: signFunction, Params: 2, Results: 1, Call: func(c *extism.Caller, stack []uint64) {
			signature, refusal := keysOf(c).sign(stack[0], read(c, stack[1]))
			if refusal != "" {
				c.Stop(refusal)
			}
			stack[0] = c.Write(signature)
		}},
	}
}
