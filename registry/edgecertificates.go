package registry

import (
	"github.com/sluicegate/sluice/internal/secrets"
)

// EdgeCertificates are the certificates of the domains of an edge's release, as far as
// there are any. On the way and on the edge's disk they are sealed as credentials are, for
// [CertificateSealInfo].
type EdgeCertificates struct {
	Edge         string            `json:"edge"`    // whom they were sealed for
	ETag         string            `json:"etag"`    // of this list
	Release      *ReleaseName      `json:"release"` // whose domains they are of
	Certificates []EdgeCertificate `json:"certificates"`
	// Own are hosts of the installation, such as that of its public URL. They are no domains
	// of a release; certificates of them are obtained and shown all the same.
	Own []string `json:"own,omitempty"`
}

// EdgeCertificate is what a gateway shows at a domain.
type EdgeCertificate struct {
	Host string `json:"host"`
	// PEM is the chain, its own certificate first, and the private key.
	PEM secrets.Wire `json:"pem"`
}

// String shows the host only.
func (c EdgeCertificate) String() string { return "certificate of " + c.Host }

// GoString shows the host only.
func (c EdgeCertificate) GoString() string { return c.String() }

// Kinds of challenges that gateways answer (RFC 8555 §8.3, RFC 8737 §3).
const (
	ChallengeHTTP    = "http-01"
	ChallengeTLSALPN = "tls-alpn-01"
)

// EdgeChallengeRequest asks for the challenge of a domain of the edge's release.
type EdgeChallengeRequest struct {
	Host string `json:"host"`
}

// EdgeChallenge is what a certificate authority asks a gateway to show at a domain.
type EdgeChallenge struct {
	Type             string `json:"type"`             // ChallengeHTTP, ChallengeTLSALPN
	Token            string `json:"token"`            // last part of the path of ChallengeHTTP
	KeyAuthorization string `json:"keyAuthorization"` // the answer. It is public
}

// CertificateSealInfo binds sealed certificates to the edge they are for (the "info" of
// RFC 9180 §5).
func CertificateSealInfo(edge string) []byte {
	return framed("sluice/edge/certificates/1", []byte(edge))
}
