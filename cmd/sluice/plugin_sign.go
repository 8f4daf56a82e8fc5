package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// payloadPlugin says that a signature is for a plugin (DSSE payload type).
const payloadPlugin = "application/vnd.sluice.plugin.statement.v1+json"

// statement is what a publisher signs: these bytes are this version of that plugin.
type statement struct {
	Digest  string `json:"digest"` // of the module
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (a *app) pluginSign() *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use:   "sign FILE.wasm|DIR --key FILE",
		Short: "Sign a plugin with a publisher key",
		Long: `Write FILE.wasm.sig, a DSSE envelope over the digest, kind, name and version of the
plugin. The key is made when there is none (ed25519, mode 0600), and FILE.pub beside it
holds the public half for those who verify.`,
		Args: exactly(1, "one plugin"),
		RunE: func(_ *cobra.Command, args []string) error {
			if keyFile == "" {
				return usagef("--key names the file of the publisher's key")
			}
			p, path, err := openPlugin(args[0])
			if err != nil {
				return err
			}
			key, err := sign.OpenKey(keyFile)
			if err != nil {
				return err
			}
			body, err := json.Marshal(statementOf(p))
			if err != nil {
				return fmt.Errorf("signing %s: %w", path, err)
			}
			env, err := sign.Sign(key, payloadPlugin, body)
			if err != nil {
				return err
			}
			if err := atomicfile.Write(path+".sig", env, 0o644); err != nil {
				return fmt.Errorf("writing %s.sig: %w", path, err)
			}
			pub := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: key.Trusted(registry.UsePublisher, "").PublicKey})
			if err := atomicfile.Write(keyFile+".pub", pub, 0o644); err != nil {
				return fmt.Errorf("writing %s.pub: %w", keyFile, err)
			}
			a.say("%s %s signed by %s", p.Manifest.Name, p.Manifest.Version, key)
			return a.write([]byte(path + ".sig\n"))
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "file of the private key")
	return cmd
}

func statementOf(p *guest.Package) statement {
	return statement{p.Digest, string(p.Manifest.Kind), p.Manifest.Name, p.Manifest.Version}
}

func (a *app) pluginVerify() *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use:   "verify FILE.wasm|DIR --key FILE.pub",
		Short: "Verify a plugin's signature and check it against the contract",
		Args:  exactly(1, "one plugin"),
		RunE: func(_ *cobra.Command, args []string) error {
			if keyFile == "" {
				return usagef("--key names the file of the publisher's public key")
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
				statement
				KeyID string `json:"keyid"`
			}{statementOf(p), id}
			return a.object(verified, func(w io.Writer) {
				fmt.Fprintf(w, "✓ %s %s, %s, signed by %s\n", p.Manifest.Name, p.Manifest.Version, shortDigest(p.Digest), id)
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
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != "PUBLIC KEY" {
		return "", problem.New(problem.InvalidArgument, "%s is not a public key in PEM", keyFile).Fix("use the .pub file that sluice plugin sign wrote")
	}
	sum := sha256.Sum256(block.Bytes)
	key := registry.TrustedKey{KeyID: hex.EncodeToString(sum[:]), Use: registry.UsePublisher, PublicKey: block.Bytes}
	trust, err := sign.NewTrust([]registry.TrustedKey{key}, registry.UsePublisher)
	if err != nil {
		return "", err
	}
	env, err := os.ReadFile(path + ".sig")
	if err != nil {
		return "", problem.New(problem.NotFound, "there is no signature %s.sig", path).Fix(`sign it: "sluice plugin sign"`).Because(err)
	}
	body, id, err := sign.Verify(env, payloadPlugin, trust)
	if err != nil {
		return "", problem.New(problem.InvalidPlugin, "the signature of %s is not by this key", path).Because(err)
	}
	var s statement
	if err := json.Unmarshal(body, &s); err != nil || s != statementOf(p) {
		return "", problem.New(problem.InvalidPlugin, "the signature of %s is for another plugin: %s %s", path, s.Name, s.Version).Fix("sign it again after each build")
	}
	return id, nil
}
