package passkey

import (
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/sluicegate/sluice/admin/store"
)

// The answers of authenticators, in bytes of base64url: several times what is seen. An id has
// 1,023 bytes at the most (WebAuthn §4), a user handle 64.
const (
	maxCredential = 1364 // 1,023 bytes
	maxClientData = 4096 // challenge and origin, and what browsers add
	maxAnswer     = 8192 // of an authenticator, without attestation: the largest key has 1,952 bytes
	maxHandle     = 86   // 64 bytes
)

// Passkey is a passkey as it is listed.
type Passkey struct {
	ID        string     `json:"id" example:"pkey_01JD5Z8Q"`
	Name      string     `json:"name" doc:"What its member calls it." example:"Laptop"`
	Host      string     `json:"host" doc:"Host name of the console that it was made at: it signs in there only." example:"sluice.example.com"`
	Synced    bool       `json:"synced" doc:"It is on several devices, or in a cloud that copies it to them."`
	CreatedAt time.Time  `json:"createdAt"`
	UsedAt    *time.Time `json:"usedAt,omitempty" doc:"When it signed in last; absent: never."`
	DoubtedAt *time.Time `json:"doubtedAt,omitempty" doc:"When a login was refused because its counter went back, as that of a copy does: remove it if that was not a mistake. Absent: never."`
}

// Show shows a passkey.
func Show(row *store.Passkey) Passkey {
	out := Passkey{ID: row.ID, Name: row.Name, Host: row.Host, Synced: row.Synced, CreatedAt: row.CreatedAt.Time}
	if !row.UsedAt.IsZero() {
		out.UsedAt = &row.UsedAt.Time
	}
	if !row.DoubtedAt.IsZero() {
		out.DoubtedAt = &row.DoubtedAt.Time
	}
	return out
}

// SignInChallenge is what a browser has signed to sign in: PublicKeyCredentialRequestOptionsJSON.
type SignInChallenge struct {
	Challenge        string `json:"challenge" doc:"32 random bytes in base64url, good once and for five minutes." example:"q0OJmh3wyq3yC6BmSkRcNuJCqo1pC7vWfhvWNYcE3dI"`
	RPID             string `json:"rpId" doc:"Host name of the console." example:"sluice.example.com"`
	Timeout          int    `json:"timeout" doc:"Milliseconds." example:"300000"`
	UserVerification string `json:"userVerification" enum:"required" doc:"That the authenticator asks for a PIN or a fingerprint."`
}

// Assertion is what a passkey signed: the members of an AuthenticatorAssertionResponse, in base64url.
type Assertion struct {
	ID                string `json:"id" maxLength:"1364" doc:"Of the credential." example:"kMUM0SBZKH9Zs5cNzXMc5A"`
	ClientDataJSON    string `json:"clientDataJSON" maxLength:"4096" doc:"What the browser says of the login." example:"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0"`
	AuthenticatorData string `json:"authenticatorData" maxLength:"8192" doc:"What the authenticator says of it." example:"SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ"`
	Signature         string `json:"signature" maxLength:"8192" doc:"Over both." example:"MEUCIQDV1…"`
	UserHandle        string `json:"userHandle" maxLength:"86" doc:"Whose passkey it is." example:"bWVtXzAxSkQ1WjhR"`
}

// NewChallenge is what a browser makes a passkey with: PublicKeyCredentialCreationOptionsJSON.
type NewChallenge struct {
	Challenge              string         `json:"challenge" doc:"32 random bytes in base64url, good once and for five minutes." example:"q0OJmh3wyq3yC6BmSkRcNuJCqo1pC7vWfhvWNYcE3dI"`
	RP                     PasskeyParty   `json:"rp" doc:"The console."`
	User                   PasskeyUser    `json:"user" doc:"The member."`
	PubKeyCredParams       []PasskeyKind  `json:"pubKeyCredParams" doc:"Kinds of keys, those wanted most first."`
	ExcludeCredentials     []PasskeyKnown `json:"excludeCredentials" doc:"Passkeys that the member has: an authenticator with one of them makes no other."`
	AuthenticatorSelection PasskeyWanted  `json:"authenticatorSelection" doc:"What the authenticator must do."`
	Attestation            string         `json:"attestation" enum:"none" doc:"Who made the authenticator is not asked."`
	Timeout                int            `json:"timeout" doc:"Milliseconds." example:"300000"`
}

// PasskeyParty is the relying party of a passkey.
type PasskeyParty struct {
	ID   string `json:"id" example:"sluice.example.com"`
	Name string `json:"name" example:"Sluice"`
}

// PasskeyUser is whose passkey is made.
type PasskeyUser struct {
	ID          string `json:"id" doc:"User handle in base64url." example:"bWVtXzAxSkQ1WjhR"`
	Name        string `json:"name" example:"ada@example.com"`
	DisplayName string `json:"displayName" doc:"What a browser shows of the member." example:"Ada Lovelace"`
}

// PasskeyKind is a kind of keys.
type PasskeyKind struct {
	Type string `json:"type" enum:"public-key"`
	Alg  int    `json:"alg" doc:"COSE algorithm." example:"-7"`
}

// PasskeyKnown is a passkey that there is already.
type PasskeyKnown struct {
	Type       string   `json:"type" enum:"public-key"`
	ID         string   `json:"id" doc:"Of the credential, in base64url." example:"kMUM0SBZKH9Zs5cNzXMc5A"`
	Transports []string `json:"transports,omitempty" doc:"How browsers reach it." example:"[\"internal\"]"`
}

// PasskeyWanted is what an authenticator must do.
type PasskeyWanted struct {
	ResidentKey        string `json:"residentKey" enum:"required" doc:"That the authenticator keeps the passkey, so that a login needs no name."`
	RequireResidentKey bool   `json:"requireResidentKey" doc:"The same for older browsers." example:"true"`
	UserVerification   string `json:"userVerification" enum:"required" doc:"That the authenticator asks for a PIN or a fingerprint."`
}

// Registration is a new passkey: the members of an AuthenticatorAttestationResponse, in base64url.
type Registration struct {
	Name              string   `json:"name" minLength:"1" maxLength:"100" doc:"What its member calls it." example:"Laptop"`
	ID                string   `json:"id" maxLength:"1364" doc:"Of the credential." example:"kMUM0SBZKH9Zs5cNzXMc5A"`
	ClientDataJSON    string   `json:"clientDataJSON" maxLength:"4096" doc:"What the browser says of it." example:"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0"`
	AttestationObject string   `json:"attestationObject" maxLength:"8192" doc:"The public key, and what the authenticator says of it." example:"o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YViU…"`
	Transports        []string `json:"transports,omitempty" maxItems:"8" doc:"How browsers reach it." example:"[\"internal\"]"`
}

// Rename renames a passkey.
type Rename struct {
	Name string `json:"name" minLength:"1" maxLength:"100" doc:"What its member calls it." example:"Old laptop"`
}

// user is a member with their passkeys, as the library wants them.
type user struct {
	id, name, display string
	keys              []store.Passkey
}

// WebAuthnID implements [webauthn.User]: the id of a member says nothing about them.
func (u *user) WebAuthnID() []byte { return []byte(u.id) }

// WebAuthnName implements [webauthn.User].
func (u *user) WebAuthnName() string { return u.name }

// WebAuthnDisplayName implements [webauthn.User].
func (u *user) WebAuthnDisplayName() string { return u.display }

// WebAuthnCredentials implements [webauthn.User].
func (u *user) WebAuthnCredentials() []webauthn.Credential {
	out := make([]webauthn.Credential, len(u.keys))
	for i := range u.keys {
		k := &u.keys[i]
		out[i] = webauthn.Credential{
			ID: k.Credential, PublicKey: k.PublicKey, Authenticator: webauthn.Authenticator{SignCount: uint32(k.SignCount)},
			Flags: webauthn.CredentialFlags{UserPresent: true, UserVerified: true, BackupEligible: k.Syncs, BackupState: k.Synced},
		}
		for _, t := range transports(k) {
			out[i].Transport = append(out[i].Transport, protocol.AuthenticatorTransport(t))
		}
	}
	return out
}

func transports(row *store.Passkey) []string {
	if row.Transports == "" {
		return nil
	}
	return strings.Split(row.Transports, ",")
}
