// Package mcpserver queries MCP servers for their descriptions and lists, with the
// credentials of a draft, and explains failures.
//
// It speaks no MCP itself: what does is given to it. When servers are looked at again is
// decided by package upstream, and it knows nothing of drafts beyond their credentials.
package mcpserver
