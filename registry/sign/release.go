package sign

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Release is a release whose signature was verified. Only this package makes
// one. Immutable.
type Release struct {
	release  *registry.Release
	envelope []byte
	digest   registry.Digest
	signer   registry.TrustedKey
}

// Release is the content; it must not be changed.
func (r *Release) Release() *registry.Release { return r.release }

// Envelope is the signed form as received; it must not be changed.
func (r *Release) Envelope() []byte { return r.envelope }

// Digest is the digest of Envelope: the layer digest of the release's artifact.
func (r *Release) Digest() registry.Digest { return r.digest }

// Signer is the key that signed, as the trust set listed it.
func (r *Release) Signer() registry.TrustedKey { return r.signer }

// Expired reports whether the release is past its expiry at a time. It is a
// reason to warn, never to stop serving.
func (r *Release) Expired(now time.Time) bool { return now.After(r.release.Expires) }

// SignRelease encodes and signs a release.
func SignRelease(k *Key, r *registry.Release) ([]byte, error) { //nolint:revive // sign.Release would read as the noun
	payload, err := r.Encode()
	if err != nil {
		return nil, err
	}
	return Sign(k, PayloadRelease, payload)
}

// VerifyRelease returns the release in an envelope that a key of the trust set
// signed; refusals are *problem.Error of kind invalid_release. It keeps env.
func VerifyRelease(env []byte, trust *Trust) (*Release, error) {
	return verifyRelease(env, trust, registry.ParseRelease)
}

// VerifyNextRelease is [VerifyRelease] of one release after the other of a group: what was in
// the one before is not read again.
func VerifyNextRelease(env []byte, trust *Trust, parser *registry.ReleaseParser) (*Release, error) {
	return verifyRelease(env, trust, parser.Parse)
}

func verifyRelease(env []byte, trust *Trust, parse func([]byte) (*registry.Release, error)) (*Release, error) {
	payload, keyID, err := Verify(env, PayloadRelease, trust)
	if err != nil {
		return nil, err
	}
	r, err := parse(payload)
	if err != nil {
		return nil, err
	}
	// A list of keys nobody can read would lock this node out at the next release.
	if _, err := NewTrust(r.Trusted, registry.UseRelease); err != nil {
		return nil, err
	}
	return &Release{release: r, envelope: env, digest: registry.DigestOf(env), signer: trust.keys[keyID].listed}, nil
}

// Mark is the highest position a key has signed.
type Mark struct {
	Epoch    uint64          `json:"epoch"`
	Revision uint64          `json:"revision"`
	Digest   registry.Digest `json:"digest"` // of the envelope
}

// State is what a node remembers of the releases it accepted. It is kept in the
// node's own files and believed as they are.
type State struct {
	Group   string                `json:"group"`
	Trusted []registry.TrustedKey `json:"trusted"` // of the last accepted release
	Marks   map[string]Mark       `json:"marks"`   // by key id
}

// Ratchet accepts releases in order. It starts from anchor keys; each accepted
// release replaces the trusted keys by its own list, so trust changes only
// through a release that a key trusted before has signed.
//
// Positions are kept per key: a release must be above the mark of its own key and
// of every key it still trusts. A stolen key that signed a very high revision is
// overcome by a release of another trusted key that no longer lists it. Marks of
// keys that are no longer trusted are kept, so that a key that returns does not
// bring its old releases back.
type Ratchet struct {
	mu    sync.Mutex
	trust *Trust
	state State
	// parser reads releases; entries that were in the last one are not read again.
	parser registry.ReleaseParser
}

// NewRatchet makes a ratchet for a group of edges. remembered is the State of a
// former run; nil at the first, and then the anchors are trusted. Anchors that
// were replaced by a release stay replaced.
func NewRatchet(group string, anchors []registry.TrustedKey, remembered *State) (*Ratchet, error) {
	r := &Ratchet{state: State{Group: group, Trusted: slices.Clone(anchors), Marks: make(map[string]Mark)}}
	if remembered != nil {
		if remembered.Group != group {
			return nil, problem.New(problem.InvalidRelease, "the remembered releases are of group %.80q, this node belongs to %q", remembered.Group, group)
		}
		if len(remembered.Trusted) > 0 {
			r.state.Trusted = slices.Clone(remembered.Trusted)
		}
		maps.Copy(r.state.Marks, remembered.Marks)
	}
	var err error
	if r.trust, err = NewTrust(r.state.Trusted, registry.UseRelease); err != nil {
		return nil, err
	}
	if r.trust.Len() == 0 {
		return nil, problem.New(problem.InvalidRelease, "no key is trusted to sign releases").
			Fix("give this node the public key of its control plane")
	}
	return r, nil
}

// Accept verifies an envelope, refuses it when it belongs to another group, is
// older than one accepted before or differs from one of the same position, and
// otherwise remembers it. The same release may be accepted again. Refusals are
// *problem.Error of kind invalid_release. It keeps env.
func (r *Ratchet) Accept(env []byte) (*Release, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := verifyRelease(env, r.trust, r.parser.Parse)
	if err != nil {
		return nil, err
	}
	rel := next.release
	if rel.Group != r.state.Group {
		return nil, problem.New(problem.InvalidRelease, "the release is for group %.80q, this node belongs to %q", rel.Group, r.state.Group)
	}
	trust, err := NewTrust(rel.Trusted, registry.UseRelease)
	if err != nil {
		return nil, err
	}
	for id, m := range r.state.Marks {
		if _, still := trust.keys[id]; !still && id != next.signer.KeyID {
			continue
		}
		switch registry.Compare(rel.Epoch, rel.Revision, m.Epoch, m.Revision) {
		case -1:
			return nil, problem.New(problem.InvalidRelease, "release %d.%d is older than %d.%d, which was accepted before",
				rel.Epoch, rel.Revision, m.Epoch, m.Revision).
				Fix("to go back publish the old content as a new release; after a restore raise the epoch")
		case 0:
			if m.Digest != next.digest {
				return nil, problem.New(problem.InvalidRelease, "two different releases are both %d.%d: %s was accepted before, this is %s",
					rel.Epoch, rel.Revision, m.Digest.Short(), next.digest.Short()).
					Fix("look for a second control plane or a restored backup that signs with the same key")
			}
		}
	}
	r.trust = trust
	r.state.Trusted = rel.Trusted
	r.state.Marks[next.signer.KeyID] = Mark{Epoch: rel.Epoch, Revision: rel.Revision, Digest: next.digest}
	return next, nil
}

// State returns a copy of what is remembered, to be kept over a restart.
func (r *Ratchet) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.state
	s.Trusted, s.Marks = slices.Clone(s.Trusted), maps.Clone(s.Marks)
	return s
}
