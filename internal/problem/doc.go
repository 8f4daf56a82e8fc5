// Package problem is the error a person may read: what was wrong, where, and
// what to do about it. The admin API renders it as RFC 9457 problem details, the
// gateway as an MCP error or tool error, the CLI as text.
//
// It is not a wrapper for every error: anything that is not a [*Error] leaves
// the process as "internal error" with a request id and is logged inside.
//
// An Error is immutable once returned and safe for concurrent use.
package problem
