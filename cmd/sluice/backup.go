package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/clientconfig"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry/oci"
)

func (a *app) backupCommand() *cobra.Command {
	var recipients []string
	var passphraseFile, identityFile, database, temp string
	var verify bool
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Back up a control plane into one encrypted file, or verify a backup", Args: command.Exactly(1, "one file"),
		Long: `Write the records, the registry and the keys of the control plane in the data
directory into FILE, encrypted with age, for --recipient (age1…, made with
age-keygen) or with a passphrase. The node may run and publish meanwhile: records,
keys and contents are those of one moment. FILE is replaced when the backup is whole,
and - is stdout.

With --verify FILE is restored on trial into a temporary directory instead: every
entry, content, key and live toolset in it is checked as a restore does. Verify each
backup that you count on.

Who opens the file has every key of the control plane.`,
		Example: "  sluice backup sluice.backup --recipient age1…\n  sluice backup sluice.backup --verify --identity key.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			if verify {
				if len(recipients) > 0 || database != "" {
					return exit.Usagef("--recipient and --database are not for --verify: give --identity or --passphrase-file")
				}
				return a.verifyBackup(cmd.Context(), args[0], identityFile, passphraseFile, temp)
			}
			if identityFile != "" || temp != "" {
				return exit.Usagef("--identity and --temp belong to --verify")
			}
			to, err := a.recipients(recipients, passphraseFile)
			if err != nil {
				return err
			}
			open := "--identity KEYFILE"
			if passphraseFile != "" {
				open = "--passphrase-file " + clientconfig.ShellWord(passphraseFile)
			}
			return a.writeBackup(cmd.Context(), args[0], database, open, to)
		},
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&recipients, "recipient", nil, "age public key that can open the backup (may be repeated)")
	fs.StringVar(&passphraseFile, "passphrase-file", "", "file with a passphrase instead, - for stdin")
	fs.StringVar(&database, "database", "", "PostgreSQL database of the records (default: as sluice serve)")
	fs.BoolVar(&verify, "verify", false, "restore FILE on trial and check it")
	fs.StringVar(&identityFile, "identity", "", "verify: file with the age secret key of a recipient, - for stdin")
	fs.StringVar(&temp, "temp", "", "verify: `DIR` for the trial, with room for all of the backup (default: the system's)")
	return cmd
}

// writeBackup writes a backup; open is the flag that opens it again.
func (a *app) writeBackup(ctx context.Context, file, database, open string, to []age.Recipient) error {
	st, err := store.Open(ctx, a.databaseOf(database, true))
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // what was written is committed
	if err := auditBackup(ctx, st, len(to)); err != nil {
		fmt.Fprintf(a.Err, "! the backup is not in the audit log: %v\n", err) // of a directory that cannot be written there is a backup all the same
	}
	o := backup.Options{Store: st, Dir: a.DataDir(), Recipients: to, Program: versionOrDevel(), Now: time.Now().UTC()}
	dir := filepath.Join(o.Dir, datadir.Registry)
	at, err := artifacts.PlacesOf(dir)
	if err != nil {
		return err
	}
	if at.Registry == "" {
		kept, err := a.openArtifacts(ctx, dir, at)
		if err != nil {
			return err
		}
		o.Registry = kept.Files
	}
	if file == "-" {
		a.Streams()
		_, err := backup.Write(ctx, a.Out, o)
		return err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	p, err := atomicfile.Create(atomicfile.OS, path, 0o600)
	if err != nil {
		return problem.New(problem.InvalidArgument, "%s cannot be written", file).Because(err)
	}
	defer p.Discard()
	sum, err := backup.Write(ctx, p, o)
	if err != nil {
		return err
	}
	if err := p.Commit(); err != nil {
		return err
	}
	return a.Object(sum, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s, %s, %s\n", file, terminal.Plural(int(sum.Records), "record"), terminal.Plural(int(sum.Files), "file"), terminal.ByteSize(sum.Bytes))
		sayLeftOut(w, sum)
		fmt.Fprintf(w, "check it: sluice backup %s --verify %s\n", clientconfig.ShellWord(file), open)
	})
}

// auditBackup records that somebody on this machine takes a backup, which holds every
// key of the control plane. The record is in the backup itself too.
func auditBackup(ctx context.Context, st *store.Store, recipients int) error {
	return st.Workspace(datadir.Workspace).Update(ctx, func(tx *store.Tx) error {
		return tx.Audit(ctx, &store.Audit{
			ActorType: "system", ActorID: "command line", Action: "backup", Resource: datadir.Workspace, After: fmt.Sprintf(`{"recipients":%d}`, recipients), Outcome: "ok",
		})
	})
}

// sayLeftOut tells what is not in a backup.
func sayLeftOut(w io.Writer, sum *backup.Summary) {
	if sum.Absent > 0 {
		fmt.Fprintf(w, "! %s of the registry are missing or damaged, none of which a live toolset needs; look with: sluice doctor DIR\n", terminal.Plural(sum.Absent, "content"))
	}
	if len(sum.Outside) > 0 {
		fmt.Fprintf(w, "! its secrets are sealed with a key that is not in it: %s; keep the value of SLUICE_MASTER_KEY\n", strings.Join(sum.Outside, ", "))
	}
}

// openBackup opens a backup; "-" is stdin.
func (a *app) openBackup(file string) (io.Reader, func() error, error) {
	if file == "-" {
		return a.In, func() error { return nil }, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, unreadable(file, err)
	}
	return f, f.Close, nil
}

// givenRing has the key-encryption keys that the environment gives; nil: none.
func (a *app) givenRing() (*secrets.Keyring, error) {
	if a.Env.MasterKey.IsZero() {
		return nil, nil //nolint:nilnil // no key is no fault
	}
	return secrets.Parse(a.Env.MasterKey)
}

func (a *app) verifyBackup(ctx context.Context, file, identityFile, passphraseFile, temp string) error {
	ids, err := a.identities(identityFile, passphraseFile)
	if err != nil {
		return err
	}
	ring, err := a.givenRing()
	if err != nil {
		return err
	}
	in, done, err := a.openBackup(file)
	if err != nil {
		return err
	}
	defer func() { _ = done() }() // only read
	sum, err := backup.Verify(ctx, in, backup.VerifyOptions{Temp: temp, Identities: ids, Ring: ring})
	if err != nil {
		return err
	}
	return a.Object(sum, func(w io.Writer) {
		fmt.Fprintf(w, "%s: whole, and restores: %s, %s, %s of %s\n", file, terminal.Plural(int(sum.Records), "record"), terminal.Plural(int(sum.Files), "file"),
			terminal.ByteSize(sum.Bytes), sum.Made.Local().Format("2006-01-02 15:04"))
		sayLeftOut(w, sum)
	})
}

func (a *app) restoreCommand() *cobra.Command {
	var identityFile, passphraseFile, database string
	var replace bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Restore a control plane from a backup", Args: command.Exactly(1, "one backup"),
		Long: `Restore a control plane from a backup into the data directory (--data, new or empty),
then raise the epoch of its releases, so that edges follow them even if they have seen
later ones. With --replace the present contents of the data directory are moved to a
directory replaced-TIME in it. With --database the records go into that PostgreSQL
database, which must be empty, whichever kind they come from.

Everything is restored beside what is there and checked first, and then changed at
once: a restore that fails, or is interrupted, leaves what was there.

Stop the old control plane first: two of them would publish against each other.`,
		Example: "  sluice restore sluice.backup --identity key.txt --data sluice-data",
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := a.identities(identityFile, passphraseFile)
			if err != nil {
				return err
			}
			o := backup.RestoreOptions{Dir: a.DataDir(), Replace: replace, Database: a.databaseOf(database, false), Identities: ids, Artifacts: a.artifactsOf}
			if o.Ring, err = a.givenRing(); err != nil {
				return err
			}
			in, done, err := a.openBackup(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = done() }() // only read
			sum, err := backup.Restore(cmd.Context(), in, o)
			if err != nil {
				return err
			}
			return a.Object(sum, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %s and %s of %s; releases are in epoch %d now\n", o.Dir, terminal.Plural(int(sum.Records), "record"),
					terminal.Plural(int(sum.Files), "file"), sum.Made.Local().Format("2006-01-02 15:04"), sum.Epoch)
				if sum.Replaced != "" {
					fmt.Fprintf(w, "what was there is in %s\n", sum.Replaced)
				}
				sayLeftOut(w, sum)
				fmt.Fprintf(w, "start it: sluice serve --data %s\n", clientconfig.ShellWord(o.Dir))
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&identityFile, "identity", "", "file with the age secret key of a recipient, - for stdin")
	fs.StringVar(&passphraseFile, "passphrase-file", "", "file with the passphrase instead, - for stdin")
	fs.StringVar(&database, "database", "", "empty PostgreSQL database for the records (default: a file in the data directory)")
	fs.BoolVar(&replace, "replace", false, "move what is in the data directory aside")
	return cmd
}

// databaseOf is where the records are.
func (a *app) databaseOf(flag string, existing bool) store.Options {
	o := store.Options{Existing: existing}
	switch url := cmp.Or(flag, a.Config.Database); {
	case url != "":
		o.URL = url
	case !a.Env.Database.IsZero():
		o.URL = a.Env.Database.Reveal()
	default:
		o.Path = filepath.Join(a.DataDir(), datadir.Database)
	}
	return o
}

// artifactsOf opens the registry of a data directory.
func (a *app) artifactsOf(ctx context.Context, dir string) (oci.Backend, error) {
	dir = filepath.Join(dir, datadir.Registry)
	at, err := artifacts.PlacesOf(dir)
	if err != nil {
		return nil, err
	}
	return a.openArtifacts(ctx, dir, at)
}
