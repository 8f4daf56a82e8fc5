// Package snapshot compiles a release into an immutable routing table: host and
// path to toolset, name to tool, and the bytes of tools/list. A request loads the
// current table once and uses it to its end, so a release that arrives meanwhile
// is never seen half applied.
//
// It does no I/O (package edge brings releases) and calls nothing (package call
// does). A toolset that did not change between two releases is shared by both
// snapshots with everything it has made ready.
//
// Compiling is cheap on purpose: names, tools/list and request plans are made on
// first use or by [Snapshot.Warm], because a node with a thousand toolsets must
// answer its first call about as soon as a node with one.
//
// Snapshots are safe for concurrent use. [Holder] is the one mutable thing: an
// atomic pointer.
package snapshot
