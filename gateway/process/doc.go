// Package process runs MCP servers that speak stdio as processes of this machine, and
// puts each behind an HTTP front in memory that speaks Streamable HTTP: package
// mcpclient talks to them as to any other server. See docs/adr/0027.
//
// A [Servers] starts a process when a session begins (initialize, or server/discover)
// and ends it with the session, when it was idle for long, or when the node stops. One
// process serves one session, so what a server remembers of one caller no other reads.
//
// Between the node and the command stands a keeper, a second copy of the program (see
// [Keep]): it starts the command in a process group of its own, watches the memory and
// the number of its processes, and ends all of them, also when the node was killed.
//
// A command runs with the rights of the node's user; this is not a sandbox. Who may add
// one is decided by the control plane (docs/threat-model.md), not here.
package process
