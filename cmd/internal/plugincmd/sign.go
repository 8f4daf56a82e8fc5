package plugincmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry/sign"
)

func (a plugins) pluginSign() *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use:   "sign FILE.wasm|DIR --key FILE",
		Short: "Sign a plugin with a publisher key",
		Long: `Write FILE.wasm.sig, a DSSE envelope over the digest, kind, name and version of the
plugin. The key is made when there is none (ed25519, mode 0600), and FILE.pub beside it
holds the public half for those who verify.`,
		Args: command.Exactly(1, "one plugin"),
		RunE: func(_ *cobra.Command, args []string) error {
			if keyFile == "" {
				return exit.Usagef("--key names the file of the publisher's key, which is made when it is not there: --key publisher.key")
			}
			p, path, err := openPlugin(args[0])
			if err != nil {
				return err
			}
			_, missing := os.Stat(keyFile)
			key, _, err := signPlugin(p, path, keyFile)
			if err != nil {
				return err
			}
			if missing != nil {
				a.Say("made the key %s: keep it to yourself; who verifies needs %[1]s.pub", keyFile)
			}
			a.Say("%s %s signed by %s", p.Manifest.Name, p.Manifest.Version, key)
			return a.Wrote(path + ".sig")
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "file of the private key")
	return cmd
}

// signPlugin signs the plugin in a file and writes the signature and the public key
// beside plugin and key. The key is made when there is none.
func signPlugin(p *guest.Package, path, keyFile string) (*sign.Key, []byte, error) {
	key, err := sign.OpenKey(keyFile)
	if err != nil {
		return nil, nil, err
	}
	env, err := sign.SignPlugin(key, statementOf(p))
	if err != nil {
		return nil, nil, err
	}
	if err := atomicfile.Write(path+".sig", env, 0o644); err != nil {
		return nil, nil, fmt.Errorf("writing %s.sig: %w", path, err)
	}
	if err := atomicfile.Write(keyFile+".pub", key.PublicPEM(), 0o644); err != nil {
		return nil, nil, fmt.Errorf("writing %s.pub: %w", keyFile, err)
	}
	return key, env, nil
}

func statementOf(p *guest.Package) sign.PluginStatement {
	return sign.PluginStatement{Digest: p.Digest, Kind: string(p.Manifest.Kind), Name: p.Manifest.Name, Version: p.Manifest.Version}
}

func (a plugins) pluginVerify() *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use:   "verify FILE.wasm|DIR --key FILE.pub",
		Short: "Verify a plugin's signature and check it against the contract",
		Args:  command.Exactly(1, "one plugin"),
		RunE: func(_ *cobra.Command, args []string) error {
			if keyFile == "" {
				return exit.Usagef("--key names the file of the publisher's public key")
			}
			p, path, err := openPlugin(args[0])
			if err != nil {
				return err
			}
			id, err := verifyPlugin(p, path, keyFile)
			if err != nil {
				return err
			}
			verified := struct {
				sign.PluginStatement
				KeyID string `json:"keyid"`
			}{statementOf(p), id}
			return a.Object(verified, func(w io.Writer) {
				fmt.Fprintf(w, "✓ %s %s, %s, signed by %s\n", p.Manifest.Name, p.Manifest.Version, terminal.ShortDigest(p.Digest), id)
			})
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "file of the public key, PEM")
	return cmd
}

// verifyPlugin returns the id of the key that signed.
func verifyPlugin(p *guest.Package, path, keyFile string) (string, error) {
	raw, err := os.ReadFile(keyFile)
	if err != nil {
		return "", problem.New(problem.NotFound, "the public key %s cannot be read", keyFile).Because(err)
	}
	key, err := sign.ParsePublisherKey(raw)
	if err != nil {
		return "", err
	}
	env, err := os.ReadFile(path + ".sig")
	if err != nil {
		return "", problem.New(problem.NotFound, "there is no signature %s.sig", path).Fix(`sign it: "sluice plugin sign"`).Because(err)
	}
	id, err := sign.VerifyPlugin(env, []*sign.PublisherKey{key}, statementOf(p))
	if errors.Is(err, sign.ErrUnknownSigner) {
		return "", problem.New(problem.InvalidPlugin, "the signature of %s is not by this key", path).Because(err)
	}
	return id, err
}
