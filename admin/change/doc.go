// Package change takes a source into a toolset: read it, compile it, find the difference,
// decide what becomes of it, and apply that. Creating a toolset, adding a connector,
// reading a source again, by a person, on a schedule or because an MCP server changed, are
// one pipeline. How a connector is compiled ([compile]), compared ([difference]), tested and
// deployed ([rollout]) is not here.
package change
