// Package domain decides about the host names of toolsets and workspaces: their owners,
// the DNS records that they need, and the states of their certificates. It asks DNS, and
// has somebody else ask the certificate authority ([Certificates]).
//
// A host belongs to the one workspace that proved it with a TXT record; until then any
// may claim it. A proven host is in the releases of the gateways that serve its toolsets,
// and only then a certificate is obtained. What is removed is freed at once, and its
// certificate is revoked as soon as the authority can be reached.
//
// A Room may be used by many goroutines; Run is one.
package domain
