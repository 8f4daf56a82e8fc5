package registry

import "errors"

var (
	// ErrNotFound is in the chain of an error when a registry does not have a
	// repository, tag, manifest or blob.
	ErrNotFound = errors.New("not found in the registry")
	// ErrCorrupt is in the chain of an error when stored or received bytes do not
	// have the digest they were asked for by.
	ErrCorrupt = errors.New("content does not match its digest")
	// ErrUnchanged is returned by a source of releases that was asked for
	// something newer and has nothing yet.
	ErrUnchanged = errors.New("the release has not changed")
)
