// Package pages serves the browser pages beside the console: the callback of upstream
// logins, the pages of login and reminder links, and sign-in at an OpenID provider. What a
// login is, is of [login], [oidc] and [session].
package pages
