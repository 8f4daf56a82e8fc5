package main

import (
	"bytes"
	"fmt"
	"strings"

	"filippo.io/age"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/secrets"
)

// minPassphrase is the shortest passphrase of a backup, which anybody who has the file
// can guess at.
const minPassphrase = 12

func (a *app) passphrase(file string) (secrets.Secret, error) {
	s, err := a.ReadSecretFile(file)
	if err == nil && len(s.Reveal()) < minPassphrase {
		return s, exit.Usagef("the passphrase is shorter than %d characters", minPassphrase)
	}
	return s, err
}

func (a *app) recipients(keys []string, passphraseFile string) ([]age.Recipient, error) {
	if (len(keys) == 0) == (passphraseFile == "") {
		return nil, exit.Usagef("give --recipient or --passphrase-file: a backup is always encrypted")
	}
	if passphraseFile != "" {
		s, err := a.passphrase(passphraseFile)
		if err != nil {
			return nil, err
		}
		r, err := age.NewScryptRecipient(s.Reveal())
		if err != nil {
			return nil, fmt.Errorf("using the passphrase: %w", err)
		}
		return []age.Recipient{r}, nil
	}
	all, err := age.ParseRecipients(strings.NewReader(strings.Join(keys, "\n")))
	if err != nil {
		return nil, exit.Usagef("--recipient is not an age public key (age1…); make one with age-keygen")
	}
	return all, nil
}

func (a *app) identities(file, passphraseFile string) ([]age.Identity, error) {
	if (file == "") == (passphraseFile == "") {
		return nil, exit.Usagef("give --identity or --passphrase-file")
	}
	if passphraseFile != "" {
		s, err := a.passphrase(passphraseFile)
		if err != nil {
			return nil, err
		}
		id, err := age.NewScryptIdentity(s.Reveal())
		if err != nil {
			return nil, fmt.Errorf("using the passphrase: %w", err)
		}
		return []age.Identity{id}, nil
	}
	s, err := a.ReadSecretText(file)
	if err != nil {
		return nil, err
	}
	ids, err := age.ParseIdentities(bytes.NewReader(s.AppendTo(nil)))
	if err != nil {
		return nil, exit.Usagef("%s holds no age secret key (AGE-SECRET-KEY-1…)", terminal.Printable(file))
	}
	return ids, nil
}
