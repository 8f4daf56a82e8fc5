// Package access decides who may open a toolset URL: it checks Host and Origin
// against DNS rebinding and cross-site requests ([Guard]), and holds the policy of
// a toolset ([Policy]).
//
// It does not authenticate towards upstreams (package credentials does) and
// resolves no names. The protocol's rules are MCP 2026-07-28 basic/transports
// "Security Warning" and RFC 6454 (origins).
//
// Guards and policies are immutable and safe for concurrent use.
package access
