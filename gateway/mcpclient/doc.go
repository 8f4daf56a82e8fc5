// Package mcpclient speaks to upstream MCP servers: it finds out which era and
// transport a server knows, keeps a session where the server wants one, lists its
// tools and calls them. Answers are the server's own bytes.
//
// The official Go SDK has a client too; docs/adr/0023 says why the data plane does not
// use it.
//
// It decides nothing about toolsets or credentials (package call puts what a call
// needs into a [Target]), and does not interpret results. Connections, the guarded
// dialer, limits and cancellation are package upstream's.
//
// It speaks MCP 2026-07-28 (no session; every request says what it is), the
// revisions with a handshake over Streamable HTTP (2025-11-25, 2025-06-18,
// 2025-03-26), and HTTP with SSE of 2024-11-05. Which of them is found out on the
// first call, in the order of the specification ("Backward Compatibility"), and
// again when the server answers as if it were another. A session that the server
// has forgotten is made anew and the call repeated once: the server said that it
// did not take it.
//
// Requests of a server (sampling, elicitation, roots) go to the caller's client when it
// has a session of its own and said in it what it can be asked ([Call].Ask); otherwise they
// are refused, and no capability is declared. In 2026-07-28 they are results, which are
// passed on.
//
// Where a server reports changes of its list, [Client.Listen] waits for them on a
// stream of its own.
//
// A [Client] is safe for concurrent use. An [Exchange] belongs to one call at a
// time and owns all its buffers. docs/mcp-upstreams.md describes the behaviour.
package mcpclient
