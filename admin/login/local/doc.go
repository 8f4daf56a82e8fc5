// Package local decides about MCP servers that are commands of the node's machine: who
// may add one, and what the node must offer for it. It runs nothing: package process of
// the gateway does, and the node joins the two. See docs/adr/0027.
package local
