// Package access decides who may use a toolset URL and how often: it checks Host and
// Origin against DNS rebinding and cross-site requests ([Guard]), admits a request by the
// policy of its toolset ([Policy]: open, access tokens, or JSON Web Tokens of an
// authorization server whose [Keys] it finds), counts it against the limits, and
// identifies the caller ([Principal]).
//
// It does not authenticate towards upstreams (package credentials does), issues no
// tokens and knows no HTTP server: package gateway asks it for each request. The
// client's credential goes no further than here. The rules are those of MCP
// 2026-07-28 basic/transports "Security Warning" and basic/authorization: RFC 6750
// (Bearer), RFC 7519 (JWT), RFC 8414 (metadata of the issuer), RFC 8707 (audience),
// RFC 9728 (metadata of the toolset URL), and RFC 6454 (origins).
//
// Guards are immutable. Everything here is safe for concurrent use.
package access
