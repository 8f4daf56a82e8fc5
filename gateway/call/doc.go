// Package call is the path of one tools/call: arguments in, an upstream exchange,
// and the result an agent reads. call.go has a table of steps for each kind of tool: an
// operation of an HTTP API, a tool of an MCP server, a workflow, and the tool that
// fetches the rest of an answer. Each stage is a file: decode, build, auth, cache, send,
// transform, plugins, compress, result.
//
// A call has four parts: the input, which no step changes; what goes out; what was
// received; and its rendering, which makes of that what the agent reads. Each step of a
// table shows what it reads and what it leaves.
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
