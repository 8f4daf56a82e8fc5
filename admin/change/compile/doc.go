// Package compile makes connectors of sources: of OpenAPI documents and of what MCP
// servers say of themselves. It reads no source ([source]) and stores nothing; what a
// connector changes in a toolset is decided above.
package compile
