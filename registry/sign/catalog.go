package sign

import (
	"github.com/sluicegate/sluice/internal/problem"
)

// PayloadCatalog says that a signature is for a catalog (DSSE payload type).
const PayloadCatalog = "application/vnd.sluice.catalog.v1+json"

// SignCatalog returns the DSSE envelope of a catalog. Equal arguments give equal bytes.
func SignCatalog(k *Key, catalog []byte) ([]byte, error) { //nolint:revive // sign.Catalog would read as the noun
	return Sign(k, PayloadCatalog, catalog)
}

// VerifyCatalog returns the catalog in a DSSE envelope that one of the keys signed, and
// that key's id. Nothing of an envelope that fails is returned. It fails with
// [problem.Forbidden] where nobody who is trusted signed it, and with
// [problem.InvalidArgument] where it cannot be read.
func VerifyCatalog(env []byte, keys []*PublisherKey) (catalog []byte, keyID string, err error) {
	e, err := parseEnvelope(env)
	if err != nil {
		return nil, "", problem.New(problem.InvalidArgument, "the catalog cannot be read: %v", err).Because(ErrUnknownSigner)
	}
	if e.PayloadType != PayloadCatalog {
		return nil, "", problem.New(problem.InvalidArgument, "the signature is for %.80q, not for a catalog", e.PayloadType)
	}
	signed := preAuth(e.PayloadType, e.Payload)
	for _, s := range e.Signatures {
		for _, k := range keys {
			if k.verify(signed, s.Sig) { // the id is only a hint (DSSE, "keyid")
				return e.Payload, k.id, nil
			}
		}
	}
	if id := named(e.Signatures, keys); id != "" {
		return nil, "", problem.New(problem.Forbidden, "the catalog names %s, which is trusted here, and is not what that key signed: it was changed, or damaged", id[:16]).
			Fix("have its publisher push it again, and look who else may write there").Because(ErrUnknownSigner)
	}
	return nil, "", problem.New(problem.Forbidden, "no publisher that is trusted here signed the catalog: %s", signerNames(e.Signatures)).
		Fix("if you trust them, give their public key: --catalog-key FILE.pub, or --key FILE.pub of verify and pull").Because(ErrUnknownSigner)
}
