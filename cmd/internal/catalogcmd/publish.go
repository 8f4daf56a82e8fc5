package catalogcmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/catalog/follow"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	entries "github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// Published are "catalog push", "catalog verify" and "catalog pull". open makes what opens
// registries.
func Published(s *command.Session, open func() (artifacts.Opener, error)) []*cobra.Command {
	p := published{s, open}
	return []*cobra.Command{p.push(), p.verify(), p.pull()}
}

type published struct {
	*command.Session

	open func() (artifacts.Opener, error)
}

// PushedCatalog is what "catalog push" and "catalog verify" print.
type PushedCatalog struct {
	Reference string    `json:"reference"`
	Digest    string    `json:"digest"` // of the OCI manifest
	KeyID     string    `json:"keyId"`
	IssuedAt  time.Time `json:"issuedAt"`
	Entries   []string  `json:"entries"` // ids
}

func (p published) push() *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use: "push DIR oci://REF --key FILE", Short: "Publish a folder of entries as a signed catalog", Args: command.Exactly(2, "a folder of entries and where it goes"),
		Long: `Check the entries of a folder, sign them with a publisher's key, and push them to an OCI
registry, with the credentials of Docker's configuration. The key is made when there is none
(ed25519, mode 0600), and FILE.pub beside it holds the public half for those who trust it:
sluice serve --catalog oci://REF --catalog-key FILE.pub`,
		Example: "  sluice catalog push ./catalog oci://registry.example/team/catalog:latest --key publisher.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			if keyFile == "" {
				return exit.Usagef("--key names the file of the publisher's key, which is made when it is not there: --key publisher.key")
			}
			return p.pushDir(cmd.Context(), args[0], args[1], keyFile)
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "file of the publisher's private key")
	return cmd
}

func (p published) pushDir(ctx context.Context, dir, reference, keyFile string) error {
	o, err := p.open()
	if err != nil {
		return err
	}
	st, repository, tag, err := o.Reference(reference)
	if err != nil {
		return err
	}
	if !oci.ValidTag(tag) {
		return exit.Usagef("%s names a digest: a catalog is pushed to a tag", reference)
	}
	if err := lintAll(p.Session, []string{dir}); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return problem.New(problem.NotFound, "the folder %s cannot be read", dir).Because(err)
	}
	defer root.Close()
	pack, err := entries.PackDir(root.FS(), time.Now())
	if err != nil {
		return err
	}
	key, err := sign.OpenKey(keyFile)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(keyFile+".pub", key.PublicPEM(), 0o644); err != nil {
		return fmt.Errorf("writing %s.pub: %w", keyFile, err)
	}
	envelope, err := sign.SignCatalog(key, pack)
	if err != nil {
		return err
	}
	a, err := oci.New(oci.KindCatalog, envelope, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	if err := st.Push(ctx, repository, tag, a); err != nil {
		return err
	}
	pub, err := sign.ParsePublisherKey(key.PublicPEM())
	if err != nil {
		return err
	}
	c, _, err := (&follow.Source{Name: reference, Store: st, Repository: repository, At: string(a.Digest()), Keys: []*sign.PublisherKey{pub}}).Pull(ctx, "")
	if err != nil {
		return err
	}
	return p.print(reference, c, "is published, signed by")
}

// pushTimeout of a push or a pull: a catalog has some hundred kilobytes.
const pushTimeout = time.Minute

func (p published) print(reference string, c *follow.Catalog, what string) error {
	out := PushedCatalog{Reference: reference, Digest: string(c.Digest), KeyID: c.KeyID, IssuedAt: c.IssuedAt, Entries: []string{}}
	for _, e := range c.Entries {
		out.Entries = append(out.Entries, e.ID)
	}
	for _, fault := range c.Faults {
		p.Report(fault)
	}
	return p.Object(out, func(w io.Writer) {
		fmt.Fprintf(w, "✓ %s %s %s: %s\n", terminal.Printable(reference), what, out.KeyID[:16], terminal.Plural(len(out.Entries), "connector"))
		fmt.Fprintf(w, "  digest   %s\n  issued   %s\n", out.Digest, out.IssuedAt.Format(time.RFC3339))
	})
}

// source is the catalog that a reference names, for those who trust the keys in files.
func (p published) source(reference string, keyFiles []string) (*follow.Source, error) {
	if len(keyFiles) == 0 {
		return nil, exit.Usagef("--key names the file of a publisher's public key")
	}
	o, err := p.open()
	if err != nil {
		return nil, err
	}
	s := &follow.Source{Name: reference}
	if s.Store, s.Repository, s.At, err = o.Reference(reference); err != nil {
		return nil, err
	}
	for _, file := range keyFiles {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, problem.New(problem.NotFound, "the public key %s cannot be read", file).Because(err)
		}
		key, err := sign.ParsePublisherKey(raw)
		if err != nil {
			return nil, err
		}
		s.Keys = append(s.Keys, key)
	}
	return s, nil
}

func (p published) verify() *cobra.Command {
	var keys []string
	cmd := &cobra.Command{
		Use: "verify oci://REF --key FILE.pub", Short: "Verify who signed a catalog in a registry, and check its entries", Args: command.Exactly(1, "a catalog in a registry"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.fetch(cmd.Context(), args[0], keys)
			if err != nil {
				return err
			}
			if err := p.print(args[0], c, "is signed by"); err != nil {
				return err
			}
			return faulty(c)
		},
	}
	cmd.Flags().StringSliceVar(&keys, "key", nil, "`FILE` of a publisher's public key, PEM")
	return cmd
}

// faulty ends a command whose catalog has entries that cannot be used.
func faulty(c *follow.Catalog) error {
	if len(c.Faults) > 0 {
		return exit.SilentError(exit.Invalid)
	}
	return nil
}

func (p published) fetch(ctx context.Context, reference string, keys []string) (*follow.Catalog, error) {
	s, err := p.source(reference, keys)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	c, _, err := s.Pull(ctx, "")
	return c, err
}

func (p published) pull() *cobra.Command {
	var keys []string
	var to string
	cmd := &cobra.Command{
		Use: "pull oci://REF --key FILE.pub --to DIR", Short: "Write the entries of a catalog in a registry into a folder", Args: command.Exactly(1, "a catalog in a registry"),
		Long: "Verify a catalog and write its entries into a folder, such as for a node without a way to the registry. Entries that cannot be used are left out.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return exit.Usagef("--to names the folder for the entries")
			}
			c, err := p.fetch(cmd.Context(), args[0], keys)
			if err != nil {
				return err
			}
			if err := writeEntries(to, c); err != nil {
				return err
			}
			if err := p.print(args[0], c, "is written to "+to+", signed by"); err != nil {
				return err
			}
			return faulty(c)
		},
	}
	cmd.Flags().StringSliceVar(&keys, "key", nil, "`FILE` of a publisher's public key, PEM")
	cmd.Flags().StringVar(&to, "to", "", "`DIR` for the files of the entries; those that are there are replaced")
	return cmd
}

// writeEntries writes the files of the entries that can be used, whose ids are checked: a
// name never leads out of the folder.
func writeEntries(dir string, c *follow.Catalog) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("making the folder %s: %w", dir, err)
	}
	good := map[string]bool{}
	for _, e := range c.Entries {
		good[e.ID] = true
	}
	for i := range c.Files {
		f := &c.Files[i]
		if !good[f.ID] || strings.ContainsAny(f.ID, `/\`) {
			continue
		}
		good[f.ID] = false // a second one of the id was refused
		if err := atomicfile.Write(filepath.Join(dir, f.ID+".yaml"), []byte(f.Text), 0o644); err != nil {
			return fmt.Errorf("writing the entry %s: %w", f.ID, err)
		}
	}
	return nil
}
