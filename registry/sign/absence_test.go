package sign

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// TestAbsence: only a key that may sign releases signs absence notices, and an
// access document is none.
func TestAbsence(t *testing.T) {
	k, other := key(t), key(t)
	n := &registry.AbsenceNotice{
		Edge: "edge_1", Release: registry.ReleaseName{Epoch: 1, Revision: 1, Digest: registry.DigestOf(nil)},
		Absent: []registry.Absence{{Credential: "cred_1", Reason: registry.AbsentDeleted}},
	}
	env, err := SignAbsence(k, n)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := VerifyAbsence(env, trust(t, k)); err != nil || len(got.Absent) != 1 || got.Edge != "edge_1" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := VerifyAbsence(env, trust(t, other)); !problem.Is(err, problem.InvalidRelease) || !strings.Contains(err.Error(), "sign") {
		t.Errorf("another key's signature: %v, want to be told that it is the signature", err)
	}
	payload, err := n.Encode()
	if err != nil {
		t.Fatal(err)
	}
	access, err := Sign(k, PayloadAccess, payload)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := VerifyAbsence(access, trust(t, k)); err == nil {
		t.Error("an access document was taken for an absence notice")
	}
	if _, err := SignAbsence(k, &registry.AbsenceNotice{}); err == nil {
		t.Error("a notice that is not valid was signed")
	}
}
