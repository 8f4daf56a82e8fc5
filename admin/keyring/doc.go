// Package keyring lists the keys of the control plane and rotates the one that seals
// secrets. The keys themselves are in [secrets.Keyring], and with the publisher.
//
// A [Room] may be used by many goroutines.
package keyring
