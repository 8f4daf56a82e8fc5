// Package secretstest searches what a program wrote, said or holds in memory for a
// secret, in every form in which one gets written down by accident: plain, hex,
// base64, URL- and JSON-encoded, and as the words of a stack trace.
//
// It is for tests only. It does not know forms that are made on purpose: what was
// compressed or encrypted has to be opened before it is searched.
//
// Its functions are pure and safe for concurrent use.
package secretstest
