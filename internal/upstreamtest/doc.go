// Package upstreamtest is a real HTTP server that behaves as a test tells it:
// it answers, stalls, resets, truncates, lies about lengths, sends too much or
// never ends. Tests of the gateway, the control plane and the program use it in
// place of mocks.
//
// It is for tests only and knows nothing of OpenAPI.
//
// A [Server] is safe for concurrent use; it ends with its test.
package upstreamtest
