package passkey

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/sluicegate/sluice/internal/problem"
)

// Site is where a console is: passkeys belong to its host name, and are used at its origin.
type Site struct {
	Host   string // relying party id
	Origin string
}

// SiteOf is the site of a console at scheme and host. It fails with [problem.Conflict] where
// no browser lets passkeys be used: at an IP address, and without TLS beyond localhost.
func SiteOf(base string) (Site, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return Site{}, problem.New(problem.Conflict, "the address of the console, %.200q, has no host name", base)
	}
	host := strings.ToLower(u.Hostname())
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if _, err := netip.ParseAddr(host); err == nil {
		return Site{}, problem.New(problem.Conflict, "passkeys belong to a host name, and %s is an IP address", host).
			Fix("open the console at its host name; on this machine that is localhost, beyond it the one of --admin-public-url")
	}
	if u.Scheme != "https" && !local {
		return Site{}, problem.New(problem.Conflict, "browsers use passkeys over https only, and the console is at %s", base).
			Fix("serve it with TLS, or behind a proxy that does, and say so with --admin-public-url")
	}
	return Site{Host: host, Origin: u.Scheme + "://" + u.Host}, nil
}

// algorithms that a passkey may have, those wanted most first: what phones and computers make,
// security keys with Edwards curves, and Windows without a newer TPM.
var algorithms = []webauthncose.COSEAlgorithmIdentifier{webauthncose.AlgES256, webauthncose.AlgEdDSA, webauthncose.AlgRS256}

// partyAt is the site of a console, and the relying party there.
func partyAt(base string) (Site, *webauthn.WebAuthn, error) {
	site, err := SiteOf(base)
	if err != nil {
		return site, nil, err
	}
	party, err := site.party()
	return site, party, err
}

// party is the relying party of a site.
func (s Site) party() (*webauthn.WebAuthn, error) {
	return webauthn.New(&webauthn.Config{
		RPID: s.Host, RPDisplayName: "Sluice", RPOrigins: []string{s.Origin}, AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(), UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{
			Login:        webauthn.TimeoutConfig{Timeout: Life, TimeoutUVD: Life},
			Registration: webauthn.TimeoutConfig{Timeout: Life, TimeoutUVD: Life},
		},
	})
}

func parameters() []protocol.CredentialParameter {
	out := make([]protocol.CredentialParameter, len(algorithms))
	for i, a := range algorithms {
		out[i] = protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType, Algorithm: a}
	}
	return out
}
