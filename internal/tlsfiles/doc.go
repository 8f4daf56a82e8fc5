// Package tlsfiles is the TLS of a listener whose certificate, key and authority of
// client certificates are files in PEM. It follows the files: what replaces them is
// served from the next handshake on, and what cannot be used is reported while the old
// certificate stays.
//
// It obtains no certificates and makes no connections: it makes a [tls.Config].
//
// A Source may be used by many goroutines.
package tlsfiles
