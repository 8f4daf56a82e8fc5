// Package streamable speaks MCP over Streamable HTTP for the command line. A [Client]
// calls a toolset URL with the client of the MCP SDK, and a [Bridge] joins a client on
// stdio to a toolset URL without changing its messages. Both read answers with the
// reader of this package: the SDK bounds neither JSON bodies nor event streams, and it
// decodes results into types that lose unknown members and the digits of large numbers.
//
// It is not the client of the data plane, which serves many sessions at once: that is
// package gateway/mcpclient.
package streamable
