// Package oauthtest is a real authorization server for tests: the OpenID provider
// of zitadel/oidc with its example storage, in this process. It knows a public and
// a confidential client, a service and a user, and tells which access tokens are
// good.
//
// It is for tests only and nothing of it is a mock: tokens, PKCE and rotation are
// the library's.
//
// A [Server] is safe for concurrent use; it ends with its test.
package oauthtest
