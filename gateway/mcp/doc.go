// Package mcp is the server side of the Model Context Protocol over Streamable
// HTTP: it reads a POST, applies the rules of the client's protocol era, and
// writes the answer. What a toolset is and how a tool is called it asks of the
// [Toolset] it is given.
//
// Both eras are served at one URL: 2026-07-28, where every request says in _meta and
// in headers what it is, and the revisions with an initialize handshake (2025-11-25,
// 2025-06-18, 2025-03-26, 2024-11-05). The latter get sessions where the [Toolset] has
// them, with GET for their stream and DELETE for their end; elsewhere both are 405, which
// every revision allows. modern.go and legacy.go hold what differs, in the order in
// which the specification wants it checked.
//
// It is not a client of MCP servers, opens no listener, and does not decide who
// may call (package access does, before). Answers are application/json. Only a
// call that has something to tell before its result, to a client that asked for it
// and accepts a stream, is answered with server-sent events (sse.go); for
// subscriptions/listen it makes the messages, and the caller keeps the connection
// (listen.go).
//
// Requests are scanned in place (package jsonscan): method, id, tool name and
// arguments are views of the request body and valid until [Request].Done.
// Scanning and writing allocate nothing once the pools are warm. A Server is safe
// for concurrent use.
//
// Standard: https://modelcontextprotocol.io/specification/2026-07-28 and its
// predecessors; JSON-RPC 2.0.
package mcp
