package registry

import (
	"crypto/ed25519"
	"encoding/binary"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// The edge protocol: HTTP below /edge/v1 of the admin listener, JSON bodies,
// errors as problem details. An edge authenticates with its token (Bearer here,
// Basic on /v2/); docs/edges.md describes it.
//
//	POST /edge/v1/enrol        EdgeEnrolment → EdgeIdentity      a join token, once
//	POST /edge/v1/token        EdgeRenewal → EdgeIdentity        signed, when the token is old
//	GET  /edge/v1/release      ?known=sha256:…&wait=SECONDS → envelope, or 304
//	GET  /edge/v1/credentials  ?known=ETAG&wait=SECONDS → SealedCredentials, or 304;
//	                           503 and Retry-After while they are not known
//	POST /edge/v1/user         EdgeUserRequest → SealedCredentials of an EdgeUserAnswer
//	GET  /edge/v1/certificates ?known=ETAG&wait=SECONDS → SealedCredentials of EdgeCertificates, or 304
//	POST /edge/v1/challenge    EdgeChallengeRequest → EdgeChallenge, or 404
//	POST /edge/v1/status       EdgeStatus → 204
//	POST /edge/v1/plugins      EdgePlugins → 204
//	POST /edge/v1/usage        UsageReport → UsageReceipt
const (
	EdgeEnrolPath       = "/edge/v1/enrol"
	EdgeTokenPath       = "/edge/v1/token" //nolint:gosec // a path
	EdgeReleasePath     = "/edge/v1/release"
	EdgeCredentialsPath = "/edge/v1/credentials" //nolint:gosec // a path
	EdgeUserPath        = "/edge/v1/user"

	EdgeCertificatesPath = "/edge/v1/certificates"
	EdgeChallengePath    = "/edge/v1/challenge"

	EdgeStatusPath = "/edge/v1/status"
	EdgeUsagePath  = "/edge/v1/usage"
)

// Bounds of the edge protocol.
const (
	// MaxEdgeWait is the longest a question may be held: proxies cut connections
	// that are silent for a minute.
	MaxEdgeWait = 50 * time.Second
	// MaxEdgeMessageBytes of a body an edge sends but usage.
	MaxEdgeMessageBytes = 64 << 10
	// MaxSealedBytes of all credentials of one edge: 20,000 toolsets with a key of
	// 200 bytes each, in base64.
	MaxSealedBytes = 16 << 20
	// EdgeRenewalSkew is how far the clock of an edge that renews its token may be
	// off: such a request is good for this long, and no longer.
	EdgeRenewalSkew = 10 * time.Minute
	// EdgeClockSkew is how far the clock of an edge may be off before it is reported: as far
	// as the expiry of a JSON Web Token is forgiven.
	EdgeClockSkew = time.Minute
)

// EdgeEnrolment asks for an identity. SignKey signs the whole message, which
// proves that the sender has it.
type EdgeEnrolment struct {
	JoinToken secrets.Wire `json:"joinToken"`
	Name      string       `json:"name"`              // for people; a slug
	Version   string       `json:"version,omitempty"` // of the program
	SealKey   []byte       `json:"sealKey"`           // X25519 public key: credentials are sealed to it
	SignKey   []byte       `json:"signKey"`           // ed25519 public key: renewals are signed with it
	Signature []byte       `json:"signature"`         // ed25519 over Signed
}

// Signed is what Signature covers.
func (e *EdgeEnrolment) Signed() []byte {
	return framed("sluice/edge/enrol/1", []byte(e.JoinToken.Reveal()), []byte(e.Name), []byte(e.Version), e.SealKey, e.SignKey)
}

// Verify checks form and signature; refusals are *problem.Error.
func (e *EdgeEnrolment) Verify() error {
	switch {
	case !ValidSlug(e.Name):
		return problem.New(problem.InvalidArgument, "the name %.80q of the edge is not a slug", e.Name).Fix("use a-z, 0-9 and -")
	case len(e.SealKey) != 32 || len(e.SignKey) != ed25519.PublicKeySize || len(e.Version) > 100:
		return problem.New(problem.InvalidArgument, "the keys of the edge do not have the right length")
	case !ed25519.Verify(e.SignKey, e.Signed(), e.Signature):
		return problem.New(problem.Unauthenticated, "the enrolment is not signed with the key it names")
	}
	return nil
}

// EdgeIdentity answers an enrolment or a renewal.
type EdgeIdentity struct {
	Edge    string            `json:"edge"`    // identifier
	Token   secrets.Wire      `json:"token"`   // valid until Expires; shown once
	Expires time.Time         `json:"expires"` // of the token
	Group   string            `json:"group"`   // whose releases it follows
	Labels  map[string]string `json:"labels,omitempty"`
	Trusted []TrustedKey      `json:"trusted"` // of the first start; later the releases say
}

// EdgeRenewal asks for a new token of an edge that is enrolled. It works with an
// expired token or none: the key of the enrolment signs it.
type EdgeRenewal struct {
	Edge      string    `json:"edge"`
	Time      time.Time `json:"time"` // of the edge; see EdgeRenewalSkew
	Signature []byte    `json:"signature"`
}

// Signed is what Signature covers.
func (e *EdgeRenewal) Signed() []byte {
	return framed("sluice/edge/renew/1", []byte(e.Edge), []byte(e.Time.UTC().Format(time.RFC3339Nano)))
}

// EdgeStatus is what a node says of itself.
type EdgeStatus struct {
	Version   string    `json:"version,omitempty"`
	Ready     bool      `json:"ready"`
	Epoch     uint64    `json:"epoch"`
	Revision  uint64    `json:"revision"`
	Release   Digest    `json:"release,omitempty"`
	Toolsets  int       `json:"toolsets"`
	Applied   time.Time `json:"applied,omitzero"`
	Saved     bool      `json:"saved"`               // the release is on disk with everything it needs
	Expired   bool      `json:"expired,omitempty"`   // serving a release past its expiry
	Following string    `json:"following,omitempty"` // what keeps the node from the newest release
	Cache     string    `json:"cache,omitempty"`     // what is wrong with its cache
	Secrets   string    `json:"secrets,omitempty"`   // what keeps it from its credentials
	Usage     string    `json:"usage,omitempty"`     // what keeps it from posting usage
	Disk      string    `json:"disk,omitempty"`      // how little is free on its disk
	// Trials says that the node reads releases with candidates on trial; one from before
	// them refuses such a release.
	Trials bool `json:"trials,omitempty"`
	// Time is the clock of the node when it told this; zero: of a version before this field.
	Time time.Time `json:"time,omitzero"`
}

// ClockOff is how far the clock of the node is ahead of that of the control plane, which took
// the report at a time; negative: behind. known: the node says what its clock is.
func (s *EdgeStatus) ClockOff(taken time.Time) (off time.Duration, known bool) {
	if s.Time.IsZero() {
		return 0, false
	}
	return s.Time.Sub(taken).Round(time.Second), true
}

// Faults are what the node says is wrong with it.
func (s *EdgeStatus) Faults() []string {
	var out []string
	for _, text := range []string{s.Following, s.Cache, s.Disk, s.Secrets, s.Usage} {
		if text != "" {
			out = append(out, text)
		}
	}
	if s.Expired {
		out = append(out, "serving a release past its expiry")
	}
	return out
}

// Ahead says how far a clock is off: 20m0s ahead of, 5s behind.
func Ahead(off time.Duration) string {
	if off < 0 {
		return off.Abs().String() + " behind"
	}
	return off.String() + " ahead of"
}

// SealedCredentials are the credentials of an edge's toolsets, sealed with HPKE
// (RFC 9180: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM) to the key of
// its enrolment. The plain form is an EdgeCredentials document.
type SealedCredentials struct {
	ETag   string `json:"etag"`   // changes with every credential
	Sealed []byte `json:"sealed"` // encapsulated key and ciphertext
}

// EdgeReleaseHeader names, in every answer that depends on it, the release that the
// answer belongs to: "EPOCH.REVISION DIGEST".
const EdgeReleaseHeader = "Sluice-Release"

// EdgeCredentials is what is sealed.
type EdgeCredentials struct {
	Edge        string           `json:"edge"`
	ETag        string           `json:"etag"`
	Credentials []EdgeCredential `json:"credentials"`
	// Release is whose credentials these are: all of them but those in Absent. nil: the
	// control plane is of a version before this field and the list may lack some.
	Release *ReleaseName `json:"release,omitempty"`
	// Absent is an [AbsenceNotice] in a DSSE envelope, or nil when none is absent.
	Absent []byte `json:"absent,omitempty"`
	// Users changes when tokens of single callers were forgotten before their time:
	// an edge asks for all of them again.
	Users uint64 `json:"users,omitempty"`
	// Pool is the key of what the nodes of this control plane share, 32 bytes.
	Pool []byte `json:"pool,omitempty"`
}

// EdgeUserRequest asks for the token of one caller of a toolset that the edge
// serves.
type EdgeUserRequest struct {
	Credential string   `json:"credential"`
	User       User     `json:"user"`
	Rejected   uint64   `json:"rejected,omitempty"` // version that the upstream refused; 0: none
	Scopes     []string `json:"scopes,omitempty"`   // that the upstream wants beyond what the token has
}

// EdgeUserAnswer is what is sealed for it: the token, or how the caller gets one.
type EdgeUserAnswer struct {
	Credential *EdgeCredential `json:"credential,omitempty"`
	Login      string          `json:"login,omitempty"` // page that the caller must open, see LoginError
	Detail     string          `json:"detail,omitempty"`
	Remedy     string          `json:"remedy,omitempty"`
}

// SealUserInfo binds the sealed token of a caller to the edge, the credential and
// the caller that it is for.
func SealUserInfo(edge, credential string, u *User) []byte {
	return framed("sluice/edge/user/1", []byte(edge), []byte(credential), []byte(u.Key()))
}

// EdgeCredential is one credential in the form a gateway applies. It exists in
// memory and sealed only.
type EdgeCredential struct {
	ID      string `json:"id"`
	Version uint64 `json:"version"`
	// Value is the key or token; "user:password" of basic; an access token that the
	// control plane renews; the PEM text of a certificate chain and its private key.
	Value secrets.Wire `json:"value"`
	// Origins are where it may be sent: the gateway puts it on no other request,
	// whatever a bundle says. A credential without origins is sent nowhere.
	Origins Origins `json:"origins"`
	// Expires is when an access token ends, in seconds since 1970; 0: not, or it is
	// not known.
	Expires int64 `json:"expires,omitempty"`
	// Renew is when the access token of a caller is asked for again, in seconds since
	// 1970; 0: when it ends.
	Renew int64 `json:"renew,omitempty"`
}

// String shows the identifier only.
func (c EdgeCredential) String() string { return "credential " + c.ID }

// GoString shows the identifier only.
func (c EdgeCredential) GoString() string { return c.String() }

// SealInfo binds sealed credentials to the edge they are for (the "info" of RFC
// 9180 §5).
func SealInfo(edge string) []byte { return framed("sluice/edge/credentials/1", []byte(edge)) }

// framed joins parts with their lengths, so that no two lists give the same bytes.
func framed(label string, parts ...[]byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(label)))
	out = append(out, label...)
	for _, p := range parts {
		out = binary.BigEndian.AppendUint64(out, uint64(len(p)))
		out = append(out, p...)
	}
	return out
}
