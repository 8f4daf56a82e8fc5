// Package compile makes connectors from sources: OpenAPI documents, and the lists of MCP
// servers. It reads no source ([source]) and stores nothing; what a connector changes in a
// toolset is decided above.
package compile
