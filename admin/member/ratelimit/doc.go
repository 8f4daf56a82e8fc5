// Package ratelimit counts attempts in buckets that fill up again: how often a client's
// address, an account or everybody together may do something. It knows nothing of requests
// and is not the rate limit of toolsets, which is package gateway/access.
//
// A [Limiter] may be used by many goroutines.
package ratelimit
