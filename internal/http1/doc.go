// Package http1 stands between a TCP listener and an HTTP/1.1 server. It reads each
// request's header block itself, strictly as RFC 9112 has it, before the server
// behind it sees a byte; it decides where each request ends; and it bounds what
// clients can make the process hold: connections, and bytes of bodies, for all and
// for each address.
//
// Servers of other people read leniently (a bare LF, a folded line, both kinds of
// framing at once), each in its own way, and two that disagree about where a request
// ends let one caller put words into another's connection. What this package lets
// through can be read in one way only.
//
// It is not an HTTP server: it routes nothing, answers nothing but refusals of
// connections, and leaves everything that is not framing to the server behind it.
//
// A [Conn] is used by one goroutine at a time, except Close and the deadlines.
package http1
