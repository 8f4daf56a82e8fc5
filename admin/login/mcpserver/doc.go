// Package mcpserver asks MCP servers what they are and what they have, with the
// credentials of a draft, and says why one could not be asked.
//
// It speaks no MCP itself: what does is given to it. When servers are looked at again is
// decided by package upstream, and it knows nothing of drafts beyond their credentials.
package mcpserver
