// Package artifact decides about the artifacts of a control plane: who may pull, push and
// delete them below /v2/, and which of them nothing needs any more. It stores none: that is
// registry/server.
//
// A [Room] may be used by many goroutines.
package artifact
