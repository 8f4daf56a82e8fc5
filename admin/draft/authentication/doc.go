// Package authentication sets and removes the authentication of a connector: the draft that
// asks for it, its records, and the secrets that go. What a credential is, is of
// [credential]; how its tokens are got, of [login].
package authentication
