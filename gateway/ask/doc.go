// Package ask puts the questions of MCP servers to the clients of a gateway: to the client of a
// session as a request on its stream, and to a client of 2026-07-28, which has no session, as a
// result that it answers with another request while the call goes on ([Paused]). It also passes
// on what a server says outside of calls ([Hearing]).
//
// It makes no call by itself and knows no tool: package call does. How many calls wait, for how
// long and for whom is bounded.
package ask
