// Package requestpage is the public page of connector requests: a list, requests and votes of
// people who have no login but confirmed an e-mail address. It is written on the server, has
// no script, and is served by a listener of its own, which has nothing else.
//
// What a request is, who is notified of it and how many there may be is package connectorrequest's;
// what mail is, package notify's. E-mail addresses are kept sealed and shown to nobody.
//
// A [Room] may be used by many goroutines.
package requestpage
