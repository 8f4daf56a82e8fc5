package backup

import (
	"bytes"
	"fmt"
	"io"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/sluicegate/sluice/internal/problem"
)

// maxSealed is the longest text that [OpenText] reads: a certificate chain with its key
// is a tenth of it.
const maxSealed = 1 << 20

// ParseRecipient reads an age public key, age1…; others are a [problem.InvalidArgument].
func ParseRecipient(s string) (age.Recipient, error) {
	r, err := age.ParseX25519Recipient(s)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the recipient is not an age public key").Fix("give one that age-keygen printed: age1…")
	}
	return r, nil
}

// SealText encrypts a text for a recipient, as the armored text of age. The same text
// gives another one each time.
func SealText(to age.Recipient, plain []byte) (string, error) {
	var b bytes.Buffer
	a := armor.NewWriter(&b)
	w, err := age.Encrypt(a, to)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		return "", fmt.Errorf("seal a secret: %w", err)
	}
	return b.String(), nil
}

// OpenText decrypts what [SealText] made. It fails with [problem.InvalidArgument] when
// none of the keys opens it.
func OpenText(sealed string, keys ...age.Identity) ([]byte, error) {
	r, err := age.Decrypt(armor.NewReader(bytes.NewReader([]byte(sealed))), keys...)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the sealed secret cannot be opened with this key").Fix("give the identity of the recipient it was sealed for").Because(err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxSealed+1))
	if err != nil || len(plain) > maxSealed {
		return nil, problem.New(problem.InvalidArgument, "the sealed secret is damaged or longer than %d bytes", maxSealed).Because(err)
	}
	return plain, nil
}
