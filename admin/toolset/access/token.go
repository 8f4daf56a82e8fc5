package access

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"

	"github.com/sluicegate/sluice/internal/secrets"
)

// Prefixes of tokens. An API token is "slu_", 30 random base62 digits (178 bits) and the CRC-32 of
// them in 6 base62 digits, so that secret scanners find it and a typo is seen
// without a look-up.
const (
	tokenPrefix = "slu_"
	EdgePrefix  = "sle_" // of an edge
	JoinPrefix  = "slj_" // of nodes that want to become one
	tokenRandom = 30
	tokenCheck  = 6
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// ToolsetPrefix begins tokens that open one toolset URL and nothing here. The rest of
// their form is the same.
const ToolsetPrefix = "slt_"

// NewToken makes a random API token.
func NewToken() secrets.Secret { return NewTokenFor(tokenPrefix) }

// NewTokenFor makes a random token with a prefix.
func NewTokenFor(prefix string) secrets.Secret {
	digits := make([]byte, 0, tokenRandom)
	var b [64]byte
	for len(digits) < tokenRandom {
		_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
		for _, c := range b {
			// 248 = 4·62: what is above would make some digits likelier.
			if c < 248 && len(digits) < tokenRandom {
				digits = append(digits, base62[c%62])
			}
		}
	}
	return secrets.New(prefix + string(digits) + checkDigits(digits))
}

func checkDigits(digits []byte) string {
	sum := crc32.ChecksumIEEE(digits)
	var out [tokenCheck]byte
	for i := range out {
		out[tokenCheck-1-i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

// ValidToken reports whether a text has the form of an API token.
func ValidToken(t secrets.Secret) bool { return ValidTokenFor(tokenPrefix, t) }

// ValidTokenFor reports whether a text has the form of a token with a prefix.
func ValidTokenFor(prefix string, t secrets.Secret) bool {
	digits, ok := strings.CutPrefix(t.Reveal(), prefix)
	return ok && len(digits) == tokenRandom+tokenCheck && checkDigits([]byte(digits[:tokenRandom])) == digits[tokenRandom:]
}

// HashToken is what is stored of a token. A token has 178 random bits, so a plain
// hash cannot be guessed.
func HashToken(t secrets.Secret) []byte {
	sum := sha256.Sum256([]byte(t.Reveal()))
	return sum[:]
}
