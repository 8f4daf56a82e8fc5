// Package publish turns the records of the control plane into releases for edges: a
// specification into a connector in the registry, a toolset into a bundle, and the list
// of live toolsets into the next signed release.
//
// It does not decide what is live (the records do, behind [Records]), test
// anything, or serve it (gateway/edge follows the release like every other node).
//
// Everything is written before it is named: blobs before manifests, manifests
// before the tag. The newest release is what the tag "latest" of the group's
// repository points at, and that tag is replaced atomically, so a process that
// is killed at any point leaves the last good release live and the next start
// goes on from it. The revision is counted from that release, not from a counter
// that could differ.
//
// A Publisher may be used by many goroutines; releases are made one at a time.
// Only one process may publish for a group.
package publish
