// Package session decides who is signed in to the console: it opens sessions for one-time
// login links, passwords and passkeys (which package passkey checks), ends them, and makes the links. A session stands for a member of
// a workspace or, where somebody signed in before there were members, for an API token; its
// role is the one that member or token has now. It is not HTTP: package admin keeps the
// secret of a session in a cookie and checks where requests come from with [SameOrigin].
//
// Only hashes of secrets are stored: SHA-256 of links and sessions, which are random, and
// argon2id (RFC 9106) of passwords.
package session
