// Package keyring names the keys of a control plane and rotates the one that seals secrets.
// The sealing itself is the matter of internal/secrets, and the keys of releases that of
// package publish.
package keyring
