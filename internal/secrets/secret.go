package secrets

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what every form of a [Secret] but [Secret.Reveal] shows.
const Redacted = "[redacted]"

// MaxBytes is the largest secret that is accepted from outside: a certificate
// chain with its private key is under 20 KB.
const MaxBytes = 64 << 10

// MaxSealedText is the longest text that [Keyring.SealBytes] takes: the answer about
// a toolset of a thousand tools has some megabytes.
const MaxSealedText = 16 << 20

// minLast4 is the shortest secret whose last four characters are shown: of a
// shorter one they would be too large a part.
const minLast4 = 12

// ErrTooLarge is returned for a secret above [MaxBytes].
var ErrTooLarge = errors.New("the secret is larger than 64 KiB")

// ErrRedacted is returned when somebody sends back the text "[redacted]" that
// they were shown, which would replace the real secret with that word.
var ErrRedacted = errors.New("the value is the redaction mark, not a secret")

// Secret is a value that does not show itself: fmt, log/slog, encoding/json and
// every encoder that asks for text see "[redacted]". Only [Secret.Reveal] and
// [Secret.AppendTo] give the value. The zero Secret is absent.
//
// It cannot be compared with ==, which would leak through timing; use
// [Secret.Equal].
type Secret struct {
	_ [0]func() // not comparable

	// A pointer, because fmt cannot call methods on unexported fields of another
	// struct: it then prints the address of a nested pointer, never the value.
	p *string
}

// New makes a Secret of s. An empty s is the zero Secret.
func New(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{p: &s}
}

// IsZero reports whether the secret is absent.
func (s Secret) IsZero() bool { return s.p == nil }

// Reveal returns the value. Each caller is a place that a reviewer looks at.
func (s Secret) Reveal() string {
	if s.p == nil {
		return ""
	}
	return *s.p
}

// AppendTo appends the value to dst, without allocation when dst has room.
func (s Secret) AppendTo(dst []byte) []byte {
	if s.p == nil {
		return dst
	}
	return append(dst, *s.p...)
}

// Last4 returns the last four bytes for people to recognise a key by, or "" when
// the secret is shorter than 12 bytes or they are not printable ASCII.
func (s Secret) Last4() string {
	v := s.Reveal()
	if len(v) < minLast4 {
		return ""
	}
	v = v[len(v)-4:]
	for i := range len(v) {
		if v[i] <= ' ' || v[i] > '~' {
			return ""
		}
	}
	return v
}

// Equal compares in a time that depends on the lengths only.
func (s Secret) Equal(o Secret) bool {
	a, b := sha256.Sum256([]byte(s.Reveal())), sha256.Sum256([]byte(o.Reveal()))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// String returns "[redacted]", or "" for the zero Secret.
func (s Secret) String() string {
	if s.p == nil {
		return ""
	}
	return Redacted
}

// GoString returns the same as String.
func (s Secret) GoString() string { return s.String() }

// Format prints the redaction whatever the verb, so that %x and %q do not show
// the value either.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, s.String()) // a fmt.State reports write errors itself
}

// LogValue redacts in log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText redacts in every encoder that asks for text (YAML, XML, JSON keys).
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON redacts in JSON; the zero Secret is null.
func (s Secret) MarshalJSON() ([]byte, error) {
	if s.p == nil {
		return []byte("null"), nil
	}
	return []byte(`"` + Redacted + `"`), nil
}

// Wire is a [Secret] whose JSON is its value, for messages and files that are protected
// as a whole: sealed, sent over TLS to whom the secret belongs, or readable by its owner
// only. fmt and log/slog redact it as they do a Secret; a JSON log of a struct with one
// would show it.
type Wire struct{ Secret }

// MarshalJSON returns the value.
func (w Wire) MarshalJSON() ([]byte, error) { return json.Marshal(w.Reveal()) }

// UnmarshalText takes a secret from outside. It fails with [ErrTooLarge] and
// [ErrRedacted]; no error holds the value. JSON strings arrive here too.
func (s *Secret) UnmarshalText(b []byte) error {
	switch {
	case len(b) > MaxBytes:
		return ErrTooLarge
	case string(b) == Redacted:
		return ErrRedacted
	}
	*s = New(string(b))
	return nil
}
