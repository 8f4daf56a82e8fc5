package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/backup"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// minPassphrase is the shortest passphrase of a backup, which anybody who has the file
// can guess at.
const minPassphrase = 12

func (a *app) backupCommand() *cobra.Command {
	var recipients []string
	var passphraseFile, database string
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write a control plane into one encrypted file", Args: exactly(1, "one file"),
		Long: `Write the records, the registry and the keys of the control plane in the data
directory into FILE, encrypted with age, for --recipient (age1…, made with
age-keygen) or with a passphrase. The node may run meanwhile: records are those of one
moment. FILE is replaced when the backup is whole, and - is stdout.

Who opens the file has every key of the control plane.`,
		Example: "  sluice backup sluice.backup --recipient age1…\n  sluice backup sluice.backup --passphrase-file pass.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := a.recipients(recipients, passphraseFile)
			if err != nil {
				return err
			}
			st, err := store.Open(cmd.Context(), a.databaseOf(database, true))
			if err != nil {
				return err
			}
			defer func() { _ = st.Close() }() // only read
			o := backup.Options{Store: st, Dir: a.dataDir(), Recipients: to, Program: versionOrDevel(), Now: time.Now().UTC()}
			at, err := placesOf(filepath.Join(o.Dir, registryDir))
			if err != nil {
				return err
			}
			if at.blobs != "" {
				if o.Content, err = a.openBucket(cmd.Context(), at.blobs); err != nil {
					return err
				}
			}
			o.Elsewhere = at.registry != ""
			if args[0] == "-" {
				_, err := backup.Write(cmd.Context(), a.stdout, o)
				return err
			}
			path, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("writing the backup: %w", err)
			}
			p, err := atomicfile.Create(atomicfile.OS, path, 0o600)
			if err != nil {
				return problem.New(problem.InvalidArgument, "%s cannot be written", args[0]).Because(err)
			}
			defer p.Discard()
			sum, err := backup.Write(cmd.Context(), p, o)
			if err != nil {
				return err
			}
			if err := p.Commit(); err != nil {
				return err
			}
			return a.object(sum, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %s, %s, %s\n", args[0], plural(int(sum.Records), "record"), plural(int(sum.Files), "file"), byteSize(sum.Bytes))
			})
		},
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&recipients, "recipient", nil, "age public key that can open the backup (may be repeated)")
	fs.StringVar(&passphraseFile, "passphrase-file", "", "file with a passphrase instead, - for stdin")
	fs.StringVar(&database, "database", "", "PostgreSQL database of the records (default: as sluice serve)")
	return cmd
}

func (a *app) restoreCommand() *cobra.Command {
	var identityFile, passphraseFile, database string
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Make a control plane of a backup", Args: exactly(1, "one backup"),
		Long: `Make the data directory (--data, new or empty) and the records of a backup, then
raise the epoch of its releases, so that edges follow them although they may have seen
later ones. With --database the records go into that PostgreSQL database, which must
be empty, whichever kind they come from.

Stop the old control plane first: two of them would publish against each other.`,
		Example: "  sluice restore sluice.backup --identity key.txt --data sluice-data",
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := a.identities(identityFile, passphraseFile)
			if err != nil {
				return err
			}
			in := a.stdin
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return problem.New(problem.InvalidArgument, "%s cannot be read", args[0]).Because(err)
				}
				defer func() { _ = f.Close() }() // only read
				in = f
			}
			o := backup.RestoreOptions{Dir: a.dataDir(), Database: a.databaseOf(database, false), Identities: ids}
			sum, err := backup.Restore(cmd.Context(), in, o)
			if err != nil {
				return err
			}
			epoch, err := a.raiseEpoch(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.object(sum, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %s and %s of %s; releases are in epoch %d now\n", o.Dir, plural(int(sum.Records), "record"),
					plural(int(sum.Files), "file"), sum.Made.Local().Format("2006-01-02 15:04"), epoch)
				fmt.Fprintf(w, "start it: sluice serve --data %s\n", shellWord(o.Dir))
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&identityFile, "identity", "", "file with the age secret key of a recipient, - for stdin")
	fs.StringVar(&passphraseFile, "passphrase-file", "", "file with the passphrase instead, - for stdin")
	fs.StringVar(&database, "database", "", "empty PostgreSQL database for the records (default: a file in the data directory)")
	return cmd
}

// databaseOf is where the records are.
func (a *app) databaseOf(flag string, existing bool) store.Options {
	o := store.Options{Existing: existing}
	switch url := first(flag, a.config.Database); {
	case url != "":
		o.URL = url
	case !a.env.database.IsZero():
		o.URL = a.env.database.Reveal()
	default:
		o.Path = filepath.Join(a.dataDir(), databaseFile)
	}
	return o
}

func (a *app) passphrase(file string) (secrets.Secret, error) {
	s, err := a.readSecretFile(file)
	if err == nil && len(s.Reveal()) < minPassphrase {
		return s, usagef("the passphrase is shorter than %d characters", minPassphrase)
	}
	return s, err
}

func (a *app) recipients(keys []string, passphraseFile string) ([]age.Recipient, error) {
	if (len(keys) == 0) == (passphraseFile == "") {
		return nil, usagef("give --recipient or --passphrase-file: a backup is always encrypted")
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
		return nil, usagef("--recipient is not an age public key (age1…); make one with age-keygen")
	}
	return all, nil
}

func (a *app) identities(file, passphraseFile string) ([]age.Identity, error) {
	if (file == "") == (passphraseFile == "") {
		return nil, usagef("give --identity or --passphrase-file")
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
	s, err := a.readSecretText(file)
	if err != nil {
		return nil, err
	}
	ids, err := age.ParseIdentities(bytes.NewReader(s.AppendTo(nil)))
	if err != nil {
		return nil, usagef("%s holds no age secret key (AGE-SECRET-KEY-1…)", printable(file))
	}
	return ids, nil
}

// raiseEpoch signs the releases of a restored control plane in a new epoch.
func (a *app) raiseEpoch(ctx context.Context, o backup.RestoreOptions) (epoch uint64, err error) {
	st, err := store.Open(ctx, o.Database)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	path := func(name string) string { return filepath.Join(o.Dir, filepath.FromSlash(name)) }
	release, err := sign.OpenReleaseKey(path(releaseKeyFile))
	if err != nil {
		return 0, err
	}
	workspaceKey, err := sign.OpenKey(path(workspaceKeyFile))
	if err != nil {
		return 0, err
	}
	at, err := placesOf(path(registryDir))
	if err != nil {
		return 0, err
	}
	kept, err := a.openArtifacts(ctx, path(registryDir), at, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, err
	}
	p, err := publish.New(ctx, publish.Options{Store: oci.NewStore(kept), Records: st, ReleaseKey: release, WorkspaceKey: workspaceKey})
	if err != nil {
		return 0, err
	}
	r, err := p.NewEpoch(ctx)
	if err != nil {
		return 0, err
	}
	return r.Release().Epoch, nil
}
