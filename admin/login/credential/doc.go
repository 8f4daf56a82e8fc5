// Package credential models the credentials of upstreams: the configuration that the API
// takes and shows, its checks, the records of a connector's credentials with their tokens
// and clients, and the origins that each may be sent to.
//
// It asks nobody for tokens and serves no browser, which package login does, and it knows
// nothing of drafts, releases or HTTP.
package credential
