package edge

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// fileIdentity holds what a node is to its control plane, with its private keys:
// mode 0600.
const fileIdentity = "identity.json"

// fileJoining holds the keys of a node that has asked to be enrolled, until it is: when the
// answer is lost, the control plane knows it by them.
const fileJoining = "joining.json"

const maxIdentityBytes = 256 << 10 // 64 trusted keys have under 64 KiB

// identity is the content of fileIdentity. Keys are made on the node and never
// leave it.
type identity struct {
	ControlPlane string                `json:"controlPlane"`
	Edge         string                `json:"edge"`
	Token        secrets.Wire          `json:"token"`
	Expires      time.Time             `json:"expires"`
	Obtained     time.Time             `json:"obtained"` // the token
	Group        string                `json:"group"`
	Labels       map[string]string     `json:"labels,omitempty"`
	Trusted      []registry.TrustedKey `json:"trusted"`
	SealKey      []byte                `json:"sealKey"`
	SignSeed     []byte                `json:"signSeed"`
}

func (i *identity) sealKey() (secrets.SealKey, error) { return secrets.ParseSealKey(i.SealKey) }

// take puts what the control plane answered into the identity.
func (i *identity) take(a *registry.EdgeIdentity, now time.Time) {
	i.Edge, i.Token, i.Expires, i.Obtained, i.Group, i.Labels, i.Trusted = a.Edge, a.Token, a.Expires, now, a.Group, a.Labels, a.Trusted
}

// readIdentity returns nil without an error when the node is not enrolled.
func readIdentity(dir string) (*identity, error) {
	path := filepath.Join(dir, fileIdentity)
	b, err := readFile(path, maxIdentityBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // "not enrolled" is an ordinary answer
	}
	if err != nil {
		return nil, err
	}
	i := new(identity)
	if err = i.parse(b); err == nil && (i.Edge == "" || !registry.ValidSlug(i.Group)) {
		err = errors.New("a field is missing")
	}
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the identity of this edge cannot be read").At(path, 0, 0, "").
			Fix("put the file back from a copy; or move it away and enrol again with a new join token").Because(err)
	}
	return i, nil
}

func (i *identity) parse(b []byte) error {
	err := json.Unmarshal(b, i)
	if err == nil && len(i.SignSeed) != ed25519.SeedSize {
		err = errors.New("a field is missing")
	}
	if err == nil {
		_, err = i.sealKey()
	}
	return err
}

func (i *identity) write(dir, name string, sys atomicfile.System) error {
	b, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("encode the identity: %w", err)
	}
	return atomicfile.WriteOn(sys, filepath.Join(dir, name), b, 0o600)
}

// newIdentity makes the node's keys.
func newIdentity(controlPlane string) (*identity, error) {
	seal, err := secrets.NewSealKey()
	if err != nil {
		return nil, err
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of this edge: %w", err)
	}
	return &identity{ControlPlane: controlPlane, SealKey: seal.Bytes(), SignSeed: private.Seed()}, nil
}

// joining is the identity that a node asks to be enrolled with: that of the try before, whose
// answer may have been lost, or a new one, which is on disk before anybody sees its keys.
func joining(dir, controlPlane string, sys atomicfile.System) (*identity, error) {
	i := new(identity)
	if b, err := readFile(filepath.Join(dir, fileJoining), maxIdentityBytes); err == nil && i.parse(b) == nil && i.ControlPlane == controlPlane {
		return i, nil
	}
	i, err := newIdentity(controlPlane)
	if err != nil {
		return nil, err
	}
	return i, i.write(dir, fileJoining, sys)
}

// enrolment shows the keys of an identity that is not enrolled yet.
func (i *identity) enrolment(name, version string, join secrets.Secret) (*registry.EdgeEnrolment, error) {
	seal, err := i.sealKey()
	if err != nil {
		return nil, err
	}
	private := ed25519.NewKeyFromSeed(i.SignSeed)
	e := &registry.EdgeEnrolment{
		JoinToken: secrets.Wire{Secret: join}, Name: name, Version: version, SealKey: seal.Public(), SignKey: private[ed25519.SeedSize:],
	}
	e.Signature = ed25519.Sign(private, e.Signed())
	return e, nil
}
