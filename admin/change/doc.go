// Package change creates and refreshes toolsets from sources: it reads and compiles a
// source, finds the difference, decides about it, and applies the decision. Creating a
// toolset, adding a connector, reading a source again, by a person, on a schedule or
// because an MCP server changed, are one pipeline. How a connector is compiled
// ([compile]), compared ([difference]), tested and deployed ([rollout]) is not here.
package change
