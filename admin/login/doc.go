// Package login gets, keeps, renews, revokes and shows the tokens of upstream credentials,
// of MCP servers and of single callers, and serves the logins in browsers that they come
// from: [Room] the logins, [Secrets] what gateways apply, [Clients] the clients at
// authorization servers, [Origins] where a credential may be sent
// (docs/adr/0010-credentials-are-bound-to-origins.md).
//
// It knows nothing of drafts and serves no route: package admin registers the operations,
// finds the toolset that a request is about, and writes pages and problems. What a
// credential is, package credential says.
package login
