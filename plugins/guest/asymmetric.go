package guest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"

	"github.com/sluicegate/sluice/plugins/manifest"
)

// minRSABits of a key that signs (RFC 7518 §3.3), and maxRSABits: a longer one takes more
// of a processor for one signature than a plugin has for a call.
const (
	minRSABits = 2048
	maxRSABits = 8192
)

// signWith signs a message with a private key, in the form of a JSON Web Signature (RFC
// 7518 §3, RFC 8037). A refusal says nothing of the key.
func signWith(algorithm string, secret, message []byte) (signature []byte, refusal string) {
	key := parsePrivateKey(secret)
	switch algorithm {
	case manifest.RS256:
		k, ok := key.(*rsa.PrivateKey)
		if !ok || k.N.BitLen() < minRSABits || k.N.BitLen() > maxRSABits {
			return nil, "its credential is not an RSA private key of 2048 to 8192 bits: PKCS #8 or PKCS #1, as PEM or base64"
		}
		sum := sha256.Sum256(message)
		out, err := rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, sum[:])
		if err != nil {
			return nil, "its credential is an RSA private key that cannot sign"
		}
		return out, ""
	case manifest.ES256:
		k, ok := key.(*ecdsa.PrivateKey)
		if !ok || k.Curve != elliptic.P256() {
			return nil, "its credential is not a private key of the curve P-256: PKCS #8 or SEC 1, as PEM or base64"
		}
		sum := sha256.Sum256(message)
		// Without random numbers the signature is that of RFC 6979: the same each time, so that
		// a golden case can say what it is.
		der, err := k.Sign(nil, sum[:], crypto.SHA256)
		var pair struct{ R, S *big.Int }
		if err == nil {
			_, err = asn1.Unmarshal(der, &pair)
		}
		if err != nil {
			return nil, "its credential is a private key of the curve P-256 that cannot sign"
		}
		out := make([]byte, 64)
		pair.R.FillBytes(out[:32])
		pair.S.FillBytes(out[32:])
		return out, ""
	default:
		k, ok := key.(ed25519.PrivateKey)
		if !ok {
			return nil, "its credential is not an Ed25519 private key: PKCS #8, as PEM or base64"
		}
		return ed25519.Sign(k, message), ""
	}
}

// parsePrivateKey reads a private key: PEM, also with its line breaks written as \n, as
// files of service accounts have it, or the base64 of its DER form; nil when it is none.
func parsePrivateKey(secret []byte) any {
	text := strings.ReplaceAll(strings.TrimSpace(string(secret)), `\n`, "\n")
	var der []byte
	block, rest := pem.Decode([]byte(text))
	if block != nil && block.Type == "EC PARAMETERS" { // openssl writes the curve before the key
		block, _ = pem.Decode(rest)
	}
	if block != nil {
		der = block.Bytes
	} else if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
		der = raw
	}
	defer clear(der)
	if k, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return k
	}
	if k, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return k
	}
	if k, err := x509.ParseECPrivateKey(der); err == nil {
		return k
	}
	return nil
}
