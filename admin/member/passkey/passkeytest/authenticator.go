// Package passkeytest is an authenticator in memory for tests: it makes passkeys and signs with
// them as WebAuthn Level 3 says, and does wrong what a test asks for.
package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/sluicegate/sluice/admin/member/passkey"
)

// Flags of an authenticator's data.
const (
	present  = 1 << 0
	verified = 1 << 2
	syncs    = 1 << 3
	attested = 1 << 6
)

// Authenticator has one passkey.
type Authenticator struct {
	// Origin and Host are where the browser is.
	Origin, Host string
	// Count is the counter that it signs with next; 0 stays 0, as with keys that sync.
	Count uint32
	// Unverified does not verify its user.
	Unverified bool
	// Syncs makes a passkey that syncs.
	Syncs bool
	// ID of the credential. Default: random, when it is made.
	ID []byte

	key    *ecdsa.PrivateKey
	handle string
}

var b64 = base64.RawURLEncoding.EncodeToString

func (a *Authenticator) client(kind, challenge string) []byte {
	text, _ := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.Origin, "crossOrigin": false})
	return text
}

func (a *Authenticator) data(more byte, rest ...byte) []byte {
	host := sha256.Sum256([]byte(a.Host))
	flags := present | more
	if !a.Unverified {
		flags |= verified
	}
	if a.Syncs {
		flags |= syncs
	}
	out := append(host[:], flags)
	out = binary.BigEndian.AppendUint32(out, a.Count)
	if a.Count > 0 {
		a.Count++
	}
	return append(out, rest...)
}

// Make makes a passkey.
func (a *Authenticator) Make(t *testing.T, c *passkey.NewChallenge, name string) *passkey.Registration {
	t.Helper()
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	if a.ID == nil {
		a.ID = make([]byte, 32)
		_, _ = rand.Read(a.ID)
	}
	a.handle = c.User.ID
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	// RFC 9052: {1: EC2, 3: ES256, -1: P-256, -2: x, -3: y}.
	cose := append([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32}, point[1:33]...)
	cose = append(append(cose, 0x22, 0x58, 32), point[33:]...)
	rest := binary.BigEndian.AppendUint16(make([]byte, 16), uint16(len(a.ID)))
	data := a.data(attested, append(append(rest, a.ID...), cose...)...)
	object := append([]byte{0xa3}, "\x63fmt\x64none\x67attStmt\xa0\x68authData\x59"...)
	object = append(binary.BigEndian.AppendUint16(object, uint16(len(data))), data...)
	return &passkey.Registration{
		Name: name, ID: b64(a.ID), ClientDataJSON: b64(a.client("webauthn.create", c.Challenge)), AttestationObject: b64(object), Transports: []string{"internal", "hybrid", "pigeon", "internal"},
	}
}

// Sign signs a challenge.
func (a *Authenticator) Sign(t *testing.T, challenge string) *passkey.Assertion {
	t.Helper()
	client, data := a.client("webauthn.get", challenge), a.data(0)
	sum := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), sum[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return &passkey.Assertion{ID: b64(a.ID), ClientDataJSON: b64(client), AuthenticatorData: b64(data), Signature: b64(signature), UserHandle: a.handle}
}
