// Package bounds holds a rule of this module as a test: every bound of untrusted
// input has a test. It does not check what those tests assert. It has no code of
// its own and nothing imports it. See docs/testing.md.
package bounds
