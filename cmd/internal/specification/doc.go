// Package specification opens the OpenAPI documents that an operator names on the command
// line: a file with what it refers to, a directory, an archive, stdin or a URL. It checks
// nothing of what is in them; that is done by plugins/openapi, here or on the node.
package specification
