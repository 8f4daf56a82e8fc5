package sign

import "github.com/sluicegate/sluice/registry"

// SignAccess encodes and signs an access document. Equal arguments give equal
// bytes.
func SignAccess(k *Key, d *registry.AccessDocument) ([]byte, error) { //nolint:revive // sign.Access would read as the noun
	payload, err := d.Encode()
	if err != nil {
		return nil, err
	}
	return Sign(k, PayloadAccess, payload)
}

// VerifyAccess returns the access document in an envelope that a key of the trust
// set signed; refusals are *problem.Error of kind invalid_release. Whether it is
// the newest one is not seen here: only a release that names its artifact says so.
func VerifyAccess(env []byte, trust *Trust) (*registry.AccessDocument, error) {
	payload, _, err := Verify(env, PayloadAccess, trust)
	if err != nil {
		return nil, err
	}
	return registry.ParseAccess(payload)
}
