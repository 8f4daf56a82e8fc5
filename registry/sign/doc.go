// Package sign signs and verifies what the control plane publishes, and refuses
// releases that are older than, or contradict, what was accepted before.
//
// Envelopes are DSSE v1 (https://github.com/secure-systems-lab/dsse): the
// signature covers the pre-authentication encoding of payload type and payload,
// so bytes signed for one purpose are never valid for another. Keys are ed25519
// (RFC 8032) in PKCS #8 PEM files of mode 0600; a key id is the lower-case hex
// SHA-256 of the public key's SubjectPublicKeyInfo DER.
//
// It does not move or store envelopes (packages oci and server do) and it does
// not decide by time: a release past its expiry is reported, not refused,
// because an edge that is cut off has to serve on.
//
// Keys, trust sets and verified releases are immutable. A Ratchet may be used by
// many goroutines.
package sign
