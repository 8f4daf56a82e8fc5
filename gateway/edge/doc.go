// Package edge follows the signed releases of a control plane and keeps this
// node serving the last good one, whatever happens to the control plane, the way
// to it, or the node's own cache.
//
// The order is fixed: verify the signature and the position, fetch what is not
// loaded yet, check every hash, open every module, swap, and only then persist.
// A release that fails at any step changes nothing. At start the persisted
// release goes through the same verification; without one that verifies the node
// is not ready. A signed release without toolsets is obeyed.
//
// It does not serve requests or know a transport: a Source brings releases and
// artifacts, and Apply gets each new State, which compiles into the snapshot that a
// gateway serves. It never imports the control plane. The files of the cache are described in
// docs/releases.md.
//
// A Follower has one goroutine, Run; its other methods may be called from any.
package edge
