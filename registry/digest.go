package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Digest is the SHA-256 of some bytes as "sha256:" and 64 lower-case hex digits,
// the form of the OCI image specification ("Digests"). Other algorithms are
// refused. The zero value is "no digest" and not valid.
type Digest string

// ErrDigest is in the chain of every error about a digest that is not of the
// form [Digest] describes.
var ErrDigest = errors.New("not a sha256 digest")

const (
	digestPrefix = "sha256:"
	digestLength = len(digestPrefix) + 2*sha256.Size
)

// DigestOf is the digest of b.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return DigestOfSum(sum[:])
}

// DigestOfSum is the digest for a finished SHA-256 sum of 32 bytes.
func DigestOfSum(sum []byte) Digest {
	var text [digestLength]byte
	copy(text[:], digestPrefix)
	hex.Encode(text[len(digestPrefix):], sum)
	return Digest(text[:])
}

// ParseDigest returns s as a Digest, or an error with [ErrDigest].
func ParseDigest(s string) (Digest, error) {
	if !isDigest(s) {
		return "", fmt.Errorf("%w: %.80q", ErrDigest, s)
	}
	return Digest(s), nil
}

// Valid reports whether d has the form of a digest.
func (d Digest) Valid() bool { return isDigest(string(d)) }

// Hex is the part behind "sha256:"; empty when d is not valid.
func (d Digest) Hex() string {
	if !d.Valid() {
		return ""
	}
	return string(d[len(digestPrefix):])
}

// Short is the first 12 hex digits, for people; empty when d is not valid.
func (d Digest) Short() string {
	if h := d.Hex(); h != "" {
		return h[:12]
	}
	return ""
}

// Matches reports whether d is the digest of b.
func (d Digest) Matches(b []byte) bool { return d == DigestOf(b) }

// UnmarshalText is used by encoding/json: a digest inside a document that is not one is
// refused while the document is parsed.
func (d *Digest) UnmarshalText(text []byte) error {
	v, err := ParseDigest(string(text))
	if err != nil {
		return err
	}
	*d = v
	return nil
}

func isDigest(s string) bool {
	if len(s) != digestLength || s[:len(digestPrefix)] != digestPrefix {
		return false
	}
	for i := len(digestPrefix); i < len(s); i++ {
		if !hexDigit[s[i]] {
			return false
		}
	}
	return true
}

// hexDigit is a table: which digit comes next cannot be predicted, and a release
// has thousands.
var hexDigit = [256]bool{
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true,
	'a': true, 'b': true, 'c': true, 'd': true, 'e': true, 'f': true,
}
