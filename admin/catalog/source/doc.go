// Package source reads what a connector is made of: a specification by URL, as text or as
// the texts of several files, with its overlays. What was read can be stored and read
// again. It compiles nothing; an MCP server is a source too, which package mcpserver asks.
package source
