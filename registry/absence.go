package registry

import (
	"fmt"

	"github.com/sluicegate/sluice/internal/problem"
)

// ReleaseName says which release an answer of the edge protocol belongs to.
type ReleaseName struct {
	Epoch    uint64 `json:"epoch"`
	Revision uint64 `json:"revision"`
	Digest   Digest `json:"digest"` // of the release's envelope
}

// Before reports whether n is of an older release than o.
func (n ReleaseName) Before(o ReleaseName) bool {
	return n.Epoch < o.Epoch || n.Epoch == o.Epoch && n.Revision < o.Revision
}

// String is "EPOCH.REVISION".
func (n ReleaseName) String() string { return fmt.Sprintf("%d.%d", n.Epoch, n.Revision) }

// Reasons for which an edge is not sent a credential that its release names.
const (
	// AbsentDeleted says that the credential was deleted: the edge drops its copy.
	AbsentDeleted = "deleted"
	// AbsentUnavailable says that the control plane has no valid access token at the
	// moment: the edge keeps what it has.
	AbsentUnavailable = "unavailable"
)

// Bounds of an absence notice.
const (
	// MaxAbsences is one for each toolset of the largest release, and some to spare.
	MaxAbsences = 2 * MaxReleaseToolsets
	// MaxAbsenceBytes is MaxAbsences entries of about 150 bytes.
	MaxAbsenceBytes = MaxAbsences * 150
	// AbsenceFormat is the version of the notice that this package reads and writes.
	AbsenceFormat = 1
)

// AbsenceNotice names the credentials that an edge's release uses and that the
// control plane does not send, with the reason. It is only ever believed as the
// verified payload of a DSSE envelope that a release key signed: without it, an
// answer that lacks a credential is incomplete.
type AbsenceNotice struct {
	FormatVersion int         `json:"formatVersion"` // AbsenceFormat
	Edge          string      `json:"edge"`          // the edge that the notice is for
	Release       ReleaseName `json:"release"`       // whose credentials these are
	Absent        []Absence   `json:"absent"`
}

// Absence is one credential that is not sent.
type Absence struct {
	Credential string `json:"credential"`
	Reason     string `json:"reason"` // AbsentDeleted, AbsentUnavailable
}

// Validate reports every fault of n as one *problem.Error of kind
// [problem.InvalidArgument]; nil when there is none.
func (n *AbsenceNotice) Validate() error {
	f := &faults{kind: problem.InvalidArgument}
	f.check(n.FormatVersion == AbsenceFormat, "/formatVersion", "format version %d is not known", n.FormatVersion)
	f.check(validID(n.Edge), "/edge", "edge %.80q is not an identifier", n.Edge)
	f.check(n.Release.Digest.Valid(), "/release/digest", "the release is not named by a digest")
	f.check(len(n.Absent) <= MaxAbsences, "/absent", "%d absences are more than %d", len(n.Absent), MaxAbsences)
	seen := make(map[string]bool, len(n.Absent))
	for i := range n.Absent {
		if f.full() {
			break
		}
		a, at := &n.Absent[i], fmt.Sprintf("/absent/%d", i)
		f.check(validID(a.Credential) && !seen[a.Credential], at+"/credential", "credential %.80q is not an identifier or named twice", a.Credential)
		f.check(a.Reason == AbsentDeleted || a.Reason == AbsentUnavailable, at+"/reason", "reason %.80q is none of deleted, unavailable", a.Reason)
		seen[a.Credential] = true
	}
	return f.err("the absence notice is not valid")
}

// Encode validates n and returns its document. The caller owns the bytes.
func (n *AbsenceNotice) Encode() ([]byte, error) {
	c := *n
	c.FormatVersion = AbsenceFormat
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return encode(&c, MaxAbsenceBytes, problem.TooLarge, "absence notice")
}

// ParseAbsence reads an absence notice from verified bytes. It refuses unknown
// fields, duplicate fields, trailing bytes, more than [MaxAbsenceBytes] and
// whatever Validate refuses, as *problem.Error. It does not keep b.
func ParseAbsence(b []byte) (*AbsenceNotice, error) {
	n := new(AbsenceNotice)
	if err := decode(b, n, MaxAbsenceBytes, problem.InvalidRelease, "absence notice"); err != nil {
		return nil, err
	}
	if err := n.Validate(); err != nil {
		return nil, err
	}
	return n, nil
}
