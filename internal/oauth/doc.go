// Package oauth is a client of authorization servers: discovery of their
// endpoints from an issuer or from the resource that trusts it, registration, the
// client credentials grant, the authorization code grant with PKCE, and refresh.
//
// It is not a server, keeps no tokens and refreshes nothing by itself: who holds
// a token decides when (package admin does, with one request at a time for a
// credential). It does not read the tokens it gets; they are for the API.
//
// It follows RFC 6749 (with the errors of §5.2 and §4.1.2.1), RFC 6750, RFC 7636
// (only S256), RFC 7591, RFC 8414 and OpenID Connect Discovery 1.0, RFC 8707, RFC
// 9207 (iss in the answer), RFC 9728, MCP 2026-07-28 (basic/authorization) and the
// best practice of RFC 9700. Requests go through the http.Client of [Options],
// which is the guarded one; addresses that come out of metadata are not an exception.
//
// A [Client] is safe for concurrent use.
package oauth
