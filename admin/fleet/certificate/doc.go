// Package certificate obtains the certificates of domains from an ACME authority (RFC
// 8555) with certmagic, renews them when the authority's renewal information (RFC 9773) or
// their age says so, and revokes them. What that needs, account and keys among it, is in
// the records of the control plane, sealed.
//
// It answers no challenge itself: gateways do, with what [Authority.Challenge] returns. And
// it decides about no domain; package domain does.
//
// An Authority may be used by many goroutines. See docs/adr/0051.
package certificate
