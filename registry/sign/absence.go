package sign

import "github.com/sluicegate/sluice/registry"

// SignAbsence encodes and signs an absence notice. Equal arguments give equal
// bytes.
func SignAbsence(k *Key, n *registry.AbsenceNotice) ([]byte, error) { //nolint:revive // sign.Absence would read as the noun
	payload, err := n.Encode()
	if err != nil {
		return nil, err
	}
	return Sign(k, PayloadAbsence, payload)
}

// VerifyAbsence returns the absence notice in an envelope that a key of the trust
// set signed; refusals are *problem.Error of kind invalid_release. The caller
// compares edge and release.
func VerifyAbsence(env []byte, trust *Trust) (*registry.AbsenceNotice, error) {
	payload, _, err := Verify(env, PayloadAbsence, trust)
	if err != nil {
		return nil, err
	}
	return registry.ParseAbsence(payload)
}
