package registry

import (
	"errors"

	"github.com/sluicegate/sluice/internal/problem"
)

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

// Damage returns what err says of content that a registry lost or changed, as a problem
// that names it and what the operator can do; nil when err reports nothing of the kind.
func Damage(err error) *problem.Error {
	const remedy = "restore a backup: sluice restore --help; edges serve the copies that they have until then"
	switch {
	case errors.Is(err, ErrCorrupt):
		return problem.New(problem.Unavailable, "the registry has damaged content: %v", err).Fix(remedy).Because(err)
	case errors.Is(err, ErrNotFound):
		return problem.New(problem.Unavailable, "the registry lacks content: %v", err).Fix(remedy).Because(err)
	}
	return nil
}
