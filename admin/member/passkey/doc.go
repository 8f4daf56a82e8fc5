// Package passkey registers the passkeys of members and checks what they sign (WebAuthn
// Level 3): it makes challenges, which are good once, for five minutes and for the browser
// that asked, verifies the answers for the host name of the console, and keeps the public
// keys. A passkey signs in alone, so its authenticator must have verified its user. It opens
// no sessions, which package session does, and asks for no attestation: whose make an
// authenticator is does not matter here.
package passkey
