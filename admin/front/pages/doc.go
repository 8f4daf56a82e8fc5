// Package pages is what browsers see beside the console: where a login comes back to, what
// is behind the link of a login or a reminder, and logins at an OpenID provider. What a login
// is, is of [login], [oidc] and [session].
package pages
