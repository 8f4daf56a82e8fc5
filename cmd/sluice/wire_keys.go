package main

import (
	"cmp"
	"os"
	"strings"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// kekOptions say where the key-encryption keys are. Zero: in a file of the data
// directory.
type kekOptions struct {
	value   secrets.Secret // the keys themselves
	command []string       // program that wraps them, and its arguments
}

// kekOptions are those of a flag, else of the environment, else of the configuration.
func (a *app) kekOptions(flag string) kekOptions {
	return kekOptions{value: a.Env.MasterKey, command: strings.Fields(cmp.Or(flag, a.Env.KEK, a.Config.KEKCommand))}
}

// open opens the keyring: plain is the file of keys in the clear, wrapped the one of
// keys that the command wrapped.
func (o kekOptions) open(plain, wrapped string) (*secrets.Keyring, error) {
	_, err := os.Stat(wrapped)
	switch {
	case !o.value.IsZero() && len(o.command) > 0:
		return nil, exit.Usagef("SLUICE_MASTER_KEY gives the keys, and --kek-command wraps them: use one")
	case len(o.command) > 0:
		return secrets.OpenWrapped(wrapped, plain, &secrets.Command{Args: o.command})
	case err == nil:
		return nil, problem.New(problem.InvalidArgument, "the keys of this data directory are wrapped by a command").At(wrapped, 0, 0, "").
			Fix("give it with --kek-command or SLUICE_KEK_COMMAND")
	case !o.value.IsZero():
		return secrets.Parse(o.value)
	}
	return secrets.OpenFile(plain)
}

// keyring checks that the key-encryption keys can be had.
func (d *doctor) keyring(plain, wrapped string) {
	o := d.kekOptions("")
	_, plainErr := os.Stat(plain)
	_, wrappedErr := os.Stat(wrapped)
	switch {
	case len(o.command) > 0 && wrappedErr == nil:
		ring, err := o.open(plain, wrapped)
		if err != nil {
			d.failErr("key command", err)
			return
		}
		d.ok("key command", "unwraps %s", terminal.Plural(len(ring.IDs()), "key"))
	case wrappedErr == nil:
		d.warn("key command", "the keys are wrapped by a command, which was not tried", "set SLUICE_KEK_COMMAND, or kek-command in the configuration file, and look again")
	case plainErr == nil && !o.value.IsZero():
		d.warn("keys", "SLUICE_MASTER_KEY is set, and there is a key file too", "remove "+plain+" when everything is sealed under the key of the environment")
	}
}
