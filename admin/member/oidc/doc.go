// Package oidc signs members in to the console at an OpenID provider: it leads a browser
// there (authorization code with PKCE, state and nonce), checks the ID token that comes
// back, and finds the member with its verified e-mail address, whose role may follow the
// groups that the provider names. It opens no sessions, which package session does, and
// keeps no token: the login is all that it wants.
//
// It follows OpenID Connect Core 1.0 and Discovery 1.0, and RFC 9700 for the browser.
package oidc
