// Package secrets protects secrets: [Secret] is a value that prints, logs and marshals as
// "[redacted]", and [Keyring] seals secrets for storage.
//
// It is not a store (rows are in admin/store), knows no credential types, and is
// no defence against somebody who reads the memory of the process.
//
// Sealing is envelope encryption: every sealed value has its own random AES-256
// data key, encrypted by a key-encryption key of the [Keyring]. Both layers are
// AES-256-GCM (NIST SP 800-38D) and bind the sealed bytes to the record they
// belong to, so that a row copied over another one does not open. Rotating the
// key-encryption key re-wraps the data keys and touches no payload. See
// [Keyring.Seal] for the format.
//
// A Secret is immutable and a Keyring is safe for concurrent use.
package secrets
