// Package session keeps the sessions of clients of the MCP revisions with a handshake
// (2025-11-25 "Session Management" and its predecessors): what a client declared, the
// calls it can cancel, the requests it was sent and has not answered yet, and the events
// that it may ask for again after a lost connection.
//
// A session belongs to one caller at one toolset. Whoever else names its id is told that
// there is none. Sessions are bounded in number, end when they are idle for too long, and
// an idle one costs less than a kilobyte and no goroutine.
//
// It reads no request and writes no connection: package mcp does the first, package
// gateway the second. What a session means for a server behind the gateway is decided in
// package call. A [Table] and its sessions are safe for concurrent use.
//
// docs/adr/0025 says why there are sessions at all, and for which toolsets.
package session
