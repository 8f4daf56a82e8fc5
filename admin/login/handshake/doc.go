// Package handshake reports the steps of connecting to an MCP server as they happen:
// whether the server is reached, which transport and revision it speaks, which
// authentication it wants, and what it lists. It decides which step a cause belongs to; it
// connects to nothing itself.
//
// A [Watch] belongs to one goroutine.
package handshake
