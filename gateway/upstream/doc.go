// Package upstream exchanges one HTTP request with the REST API behind a tool:
// pooled connections, a deadline over everything, a limit on the body before and
// after decompression, redirects, retries of what is idempotent.
//
// It does not build requests (package operation does), put credentials on them
// (package credentials does) or judge what an answer means (package call does).
// It never chooses an address: every connection is dialed by the function it is
// given, which is the address guard of package safedial.
//
// HTTP is RFC 9110 and RFC 9112 (HTTP/1.1). A [Client] is safe for concurrent
// use; an [Exchange] belongs to one goroutine at a time.
package upstream
