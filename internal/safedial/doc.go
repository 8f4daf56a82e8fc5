// Package safedial is the only dialer of Sluice: it resolves a name, refuses
// addresses that are not public, and dials exactly the address it checked, so a
// name that answers differently a moment later changes nothing.
//
// It is the guard against server-side request forgery: specifications, base URLs
// and redirects come from outside, and none of them may reach the loopback
// interface, the local network or a cloud's metadata service. What an operator
// trusts is granted here, as a host and port or as a network, and only on this
// node: no release and no specification can widen it.
//
// It speaks no HTTP and knows nothing of TLS; net/http uses [Dialer.DialContext],
// fasthttp [Dialer.Dial]. Redirects need no special care: each hop is a new dial.
//
// The refused ranges follow the IANA special-purpose address registries
// (RFC 6890 and its updates). A Dialer is safe for concurrent use.
package safedial
