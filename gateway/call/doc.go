// Package call is the path of one tools/call: arguments in, an upstream exchange,
// and the result an agent reads. call.go lists the stages in their order, and
// each stage is a file: decode, build, auth, cache, send, transform, compress,
// result.
//
// It knows neither MCP's wire (package mcp does) nor listeners (package gateway
// does): the control plane runs tests of drafts through the same path.
//
// What an agent can do something about (wrong arguments, an upstream that refuses
// or fails, an answer that is too large) is a result that says so. Only a fault
// of Sluice itself is an error.
//
// A [Caller] is safe for concurrent use. Per call there is one pooled exchange
// that owns all scratch memory. The cached answer of a safe method is served
// without heap allocation.
package call
