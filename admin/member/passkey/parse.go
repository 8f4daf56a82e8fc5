package passkey

import (
	"encoding/base64"
	"fmt"

	"github.com/go-webauthn/webauthn/protocol"
)

// part is a member of an answer in base64url, and how long it may be.
type part struct {
	name, text string
	most       int
	to         *protocol.URLEncodedBase64
}

func decode(parts ...part) error {
	for _, p := range parts {
		b, err := base64.RawURLEncoding.DecodeString(p.text)
		if err != nil || len(p.text) > p.most {
			return fmt.Errorf("%s is not base64url of at most %d characters", p.name, p.most)
		}
		*p.to = b
	}
	return nil
}

func credential(id string) protocol.PublicKeyCredential {
	return protocol.PublicKeyCredential{Credential: protocol.Credential{ID: id, Type: string(protocol.PublicKeyCredentialType)}}
}

// parse reads what a passkey signed.
func (a *Assertion) parse() (*protocol.ParsedCredentialAssertionData, error) {
	c := protocol.CredentialAssertionResponse{PublicKeyCredential: credential(a.ID)}
	r := &c.AssertionResponse
	err := decode(
		part{"id", a.ID, maxCredential, &c.RawID}, part{"clientDataJSON", a.ClientDataJSON, maxClientData, &r.ClientDataJSON},
		part{"authenticatorData", a.AuthenticatorData, maxAnswer, &r.AuthenticatorData}, part{"signature", a.Signature, maxAnswer, &r.Signature},
		part{"userHandle", a.UserHandle, maxHandle, &r.UserHandle})
	if err != nil {
		return nil, err
	}
	return c.Parse()
}

// parse reads a new passkey.
func (n *Registration) parse() (*protocol.ParsedCredentialCreationData, error) {
	c := protocol.CredentialCreationResponse{PublicKeyCredential: credential(n.ID)}
	r := &c.AttestationResponse
	err := decode(
		part{"id", n.ID, maxCredential, &c.RawID}, part{"clientDataJSON", n.ClientDataJSON, maxClientData, &r.ClientDataJSON},
		part{"attestationObject", n.AttestationObject, maxAnswer, &r.AttestationObject})
	if err != nil {
		return nil, err
	}
	return c.Parse()
}
