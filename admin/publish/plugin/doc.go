// Package plugin publishes third-party plugins: it checks the signature of a version and
// runs its golden cases, keeps what nodes count of its calls, and keeps the keys of
// publishers. Which toolset binds a plugin is decided elsewhere, and calls run it in the
// gateway.
//
// A [Room] may be used by many goroutines.
package plugin
