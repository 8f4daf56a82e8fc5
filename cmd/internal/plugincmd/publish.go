package plugincmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// publishFlags are those of "plugin publish".
type publishFlags struct{ key, oci, cases, cosign string }

func (a plugins) pluginPublish() *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "publish [DIR|FILE.wasm] [--key FILE] | --oci NAME:TAG [--cases DIR]",
		Short: "Publish a version of a plugin in the workspace",
		Long: `Send a plugin with its signature and its golden cases to the control plane, which checks
all of them before the version can be bound. With --key it is signed first, and a
signature for cosign is stored beside it in the registry. With --oci it is a module that was pushed to the registry before, as
<workspace>/plugins/NAME; its signature is FILE.sig, or what cosign stored beside it.`,
		Example: `  sluice plugin publish mask --key publisher.key
  oras push localhost:7301/default/plugins/mask:1.0.0 --artifact-type application/vnd.sluice.plugin.v1 …
  sluice plugin publish --oci mask:1.0.0 --cases mask/testdata`,
		Args: command.Between(0, 1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.cosign != cosignTag && f.cosign != cosignBundle && f.cosign != cosignNone {
				return exit.Usagef("--cosign %s is not one of tag, bundle, none", terminal.Printable(f.cosign))
			}
			path := "."
			if len(args) == 1 {
				path = args[0]
			}
			in, err := a.readPublication(path, len(args) == 1, &f)
			if err != nil {
				return err
			}
			c := a.Client()
			var out plugin.PluginVersion
			if err := publishPlugin(cmd.Context(), c, in, &out); err != nil {
				return err
			}
			if f.key != "" && f.cosign != cosignNone {
				if err := pushCosign(cmd.Context(), c, f.key, f.cosign, &out); err != nil {
					a.Say("! cosign's signature was not stored beside it: %s", err)
				}
			}
			a.Say("✓ %s %s is published. Next: sluice plugin bind TOOLSET %s", out.Name, out.Version, out.Name)
			return a.Object(out, func(w io.Writer) { printPluginVersion(w, &out) })
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.key, "key", "", "sign with this private key first (default: FILE.wasm.sig is there)")
	fs.StringVar(&f.oci, "oci", "", "`NAME:TAG` or NAME@DIGEST of what was pushed to the registry")
	fs.StringVar(&f.cosign, "cosign", cosignTag, "with --key, the form of the signature that is stored beside it for cosign: tag, bundle, none")
	command.MustComplete(cmd, "cosign", []string{cosignTag, cosignBundle, cosignNone})
	fs.StringVar(&f.cases, "cases", "", "`DIR` of the golden cases (default: testdata beside the plugin)")
	return cmd
}

// publication is what "plugin publish" sends; empty members are left out.
type publication struct {
	module, signature []byte
	oci               string
	cases             []string // files
}

func (a plugins) readPublication(path string, named bool, f *publishFlags) (*publication, error) {
	in := &publication{oci: f.oci}
	cases := f.cases
	if f.oci == "" || named {
		p, file, err := openPlugin(path)
		if err != nil {
			return nil, err
		}
		if f.oci == "" {
			in.module = p.Code
		}
		if f.key != "" {
			if _, in.signature, err = signPlugin(p, file, f.key); err != nil {
				return nil, err
			}
		} else if in.signature, err = os.ReadFile(file + ".sig"); err != nil && f.oci == "" {
			return nil, problem.New(problem.NotFound, "there is no signature %s.sig", file).Fix(`sign it: "sluice plugin sign", or give --key`).Because(err)
		}
		cases = cmp.Or(cases, filepath.Join(filepath.Dir(file), "testdata"))
	}
	if cases == "" {
		return nil, exit.Usagef("--cases names the directory of the golden cases")
	}
	if _, err := golden.Read(cases); err != nil { // here its errors name files
		return nil, err
	}
	var err error
	in.cases, err = filepath.Glob(filepath.Join(cases, "*.json"))
	return in, err
}

// publish sends a publication and waits for what becomes of it.
func publishPlugin(ctx context.Context, c *client.Client, in *publication, out *plugin.PluginVersion) error {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	add := func(name, file string, content []byte) error {
		if len(content) == 0 {
			return nil
		}
		part, err := w.CreateFormFile(name, file)
		if err != nil {
			return fmt.Errorf("writing the request: %w", err)
		}
		_, err = part.Write(content)
		return err
	}
	if err := add("module", "plugin.wasm", in.module); err != nil {
		return err
	}
	if err := add("signature", "plugin.sig", in.signature); err != nil {
		return err
	}
	if in.oci != "" {
		if err := w.WriteField("oci", in.oci); err != nil {
			return fmt.Errorf("writing the request: %w", err)
		}
	}
	for _, f := range in.cases {
		b, err := os.ReadFile(f)
		if err != nil {
			return fmt.Errorf("reading %s: %w", f, err)
		}
		if err := add("case", filepath.Base(f), b); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("writing the request: %w", err)
	}
	_, err := c.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/plugins", Out: out, Wait: true, Body: body.Bytes(), ContentType: w.FormDataContentType()})
	return err
}

// Forms of a signature for cosign. Where both are, cosign takes the bundle, and asks
// for a trusted root even when a key is all it verifies with; so the tag is the default.
const (
	cosignTag    = "tag"
	cosignBundle = "bundle"
	cosignNone   = "none"
)

// pushCosign signs a published version as cosign does, so that "cosign verify --key
// FILE.pub" accepts it. The registry that the control plane serves keeps the signature.
func pushCosign(ctx context.Context, c *client.Client, keyFile, form string, v *plugin.PluginVersion) error {
	key, err := sign.OpenKey(keyFile)
	if err != nil {
		return err
	}
	backend, err := oci.NewRemote(oci.RemoteOptions{URL: c.Base, Client: c.HTTP, Authorize: oci.Basic("sluice", func() secrets.Secret { return c.Token })})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	st, manifest := oci.NewStore(backend), registry.Digest(v.Manifest)
	raw, err := backend.FetchManifest(ctx, v.Repository, manifest, oci.MaxManifestBytes)
	if err != nil {
		return err
	}
	if form == cosignBundle {
		bundle, err := sign.SignBundle(key, manifest)
		if err != nil {
			return err
		}
		return st.PushBundle(ctx, v.Repository, manifest, int64(len(raw)), bundle)
	}
	_, host, _ := strings.Cut(c.Base, "://")
	sig, err := sign.SignCosign(key, host+"/"+v.Repository, manifest)
	if err != nil {
		return err
	}
	return st.PushCosign(ctx, v.Repository, manifest, sig)
}

// pluginVersionPath is the path of NAME@VERSION; without a version it is that of
// the plugin.
func pluginVersionPath(ref string, more ...string) (path, name, version string) {
	name, version, _ = strings.Cut(ref, "@")
	path = "/v1/plugins/" + url.PathEscape(name)
	if version != "" {
		path += "/versions/" + url.PathEscape(version)
	}
	for _, m := range more {
		path += "/" + m
	}
	return path, name, version
}

func (a plugins) pluginList() *cobra.Command {
	var filter *command.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the published plugins with their latest versions", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			items, raw, err := client.All[plugin.Plugin](cmd.Context(), c, filter.Of("/v1/plugins"))
			if err != nil {
				return err
			}
			if len(items) == 0 && !filter.Any() {
				a.Say("no plugin is published. Publish one: sluice plugin publish DIR --key FILE")
			}
			now := time.Now()
			newest := func(p plugin.Plugin) plugin.PluginVersion { return p.Versions[0] }
			return terminal.List(&a.Terminal, items, raw, []terminal.Column[plugin.Plugin]{
				{Header: "name", Value: func(p plugin.Plugin) string { return p.Name }},
				{Header: "latest", Value: func(p plugin.Plugin) string { return cmp.Or(p.Latest, "all yanked") }},
				{Header: "kind", Value: func(p plugin.Plugin) string { return p.Kind }},
				{Header: "publisher", Value: func(p plugin.Plugin) string { return terminal.Printable(newest(p).Signature.Publisher) }},
				{Header: "tokens", Value: func(p plugin.Plugin) string {
					m := newest(p).Measured
					return fmt.Sprintf("%s → %s", terminal.Thousands(m.TokensBefore), terminal.Thousands(m.TokensAfter))
				}},
				{Header: "us", Value: func(p plugin.Plugin) string { return fmt.Sprintf("%.0f", newest(p).Measured.P50Us) }},
				{Header: "calls", Value: func(p plugin.Plugin) string { return terminal.Thousands(int(newest(p).Live.Calls)) }},
				{Header: "published", Value: func(p plugin.Plugin) string { return terminal.Ago(newest(p).PublishedAt, now) }},
			}, func(p plugin.Plugin) string { return p.Name })
		},
	}
	filter = command.FilterOf(cmd, "kind:filter mask", "name")
	return cmd
}

func (a plugins) pluginShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME[@VERSION]", Short: "Show a published plugin, or one of its versions", Args: command.Exactly(1, "a plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			path, _, version := pluginVersionPath(args[0])
			if version != "" {
				var out plugin.PluginVersion
				if err := c.Get(cmd.Context(), path, &out); err != nil {
					return err
				}
				return a.Object(out, func(w io.Writer) { printPluginVersion(w, &out) })
			}
			var out plugin.Plugin
			if err := c.Get(cmd.Context(), path, &out); err != nil {
				return err
			}
			return a.Object(out, func(w io.Writer) {
				fmt.Fprintf(w, "%s, %s\n", out.Name, kindText(out.Kind))
				for i := range out.Versions {
					v := &out.Versions[i]
					state := ""
					if v.Status == "yanked" {
						state = "  yanked: " + terminal.Printable(v.YankReason)
					}
					fmt.Fprintf(w, "  %-12s %s  %s calls%s\n", v.Version, terminal.ShortDigest(v.Digest), terminal.Thousands(int(v.Live.Calls)), state)
				}
			})
		},
	}
}

// kindText is a kind with its article.
func kindText(kind string) string {
	if kind == "auth" {
		return "an auth plugin"
	}
	return "a " + kind
}

func printPluginVersion(w io.Writer, v *plugin.PluginVersion) {
	line := func(k, format string, args ...any) {
		fmt.Fprintf(w, "%-10s "+format+"\n", append([]any{k}, args...)...)
	}
	line("plugin", "%s %s, %s", v.Name, v.Version, kindText(v.Kind))
	if v.Status == "yanked" {
		line("yanked", "%s, %s", v.YankedAt.Format(time.DateOnly), terminal.Printable(v.YankReason))
	}
	line("digest", "%s", v.Digest)
	line("signed by", "%s (%s)", terminal.Printable(v.Signature.Publisher), terminal.ShortDigest("sha256:"+v.Signature.KeyID))
	line("size", "%s", terminal.ByteSize(v.SizeBytes))
	line("limits", "%s of memory, %d ms", terminal.ByteSize(v.Limits.MemoryBytes), v.Limits.DeadlineMs)
	asks := "nothing"
	if c := v.Capabilities; c != nil {
		var list []string
		if c.Clock {
			list = append(list, "the real time")
		}
		if c.Random {
			list = append(list, "randomness")
		}
		if len(c.Hosts) > 0 {
			list = append(list, "requests to "+terminal.Printable(strings.Join(c.Hosts, ", ")))
		}
		if c.Signing != nil {
			list = append(list, fmt.Sprintf("signing with the toolset's credentials (%s, %s)", c.Signing.Algorithm, terminal.Plural(c.Signing.Derivations, "derivation")))
		}
		if len(c.Tools) > 0 {
			list = append(list, "calls of the tools "+terminal.Printable(strings.Join(c.Tools, ", ")))
		}
		asks = strings.Join(list, "; ")
	}
	line("asks for", "%s", asks)
	if v.Asks != nil {
		line("to grant", "sluice plugin bind TOOLSET %s --grant %s (or a part of it, or none)", v.Name, v.Asks.Record())
	}
	if t := v.Tool; t != nil {
		line("tool", "%s: %s", t.Name, terminal.Printable(t.Description))
	}
	m := &v.Measured
	line("measured", "%s: %s → %s tokens, %.1f µs", terminal.Plural(len(m.Cases), "golden case"), terminal.Thousands(m.TokensBefore), terminal.Thousands(m.TokensAfter), m.P50Us)
	l := &v.Live
	if l.Calls > 0 {
		line("live", "%s calls, %.1f µs each, %s → %s; %s failed, %s trapped, %s too slow, taken out %s times", terminal.Thousands(int(l.Calls)), l.MeanUs,
			terminal.ByteSize(int64(l.BytesIn)), terminal.ByteSize(int64(l.BytesOut)), terminal.Thousands(int(l.Errors)), terminal.Thousands(int(l.Traps)), terminal.Thousands(int(l.Deadlines)), terminal.Thousands(int(l.Unbound)))
	}
	if len(v.UsedBy) > 0 {
		line("used by", "%s", strings.Join(v.UsedBy, ", "))
	}
}

func (a plugins) pluginYank() *cobra.Command {
	var in plugin.YankRequest
	cmd := &cobra.Command{
		Use:   "yank NAME@VERSION --reason TEXT",
		Short: "Yank a version: it can no longer be bound",
		Long: `Take a version out of what toolsets can bind from now on. Those that bind it keep it,
and show that it was yanked, until they are changed.`,
		Example: "  sluice plugin yank mask@1.0.0 --reason 'misses addresses in arrays'\n  sluice plugin yank mask@1.0.0 --undo",
		Args:    command.Exactly(1, "a plugin and its version"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, name, version := pluginVersionPath(args[0], "yank")
			if version == "" {
				return exit.Usagef("name the version: %s@1.2.3", terminal.Printable(name))
			}
			if (in.Reason == "") != in.Undo {
				return exit.Usagef("--reason says why; with --undo it is left out")
			}
			c := a.Client()
			var out plugin.PluginVersion
			if err := c.Post(cmd.Context(), path, in, &out); err != nil {
				return err
			}
			for _, slug := range out.UsedBy {
				a.Say("! %s binds it still: sluice plugin bind %s %s --update", slug, slug, name)
			}
			return a.Object(out, func(w io.Writer) { printPluginVersion(w, &out) })
		},
	}
	cmd.Flags().StringVar(&in.Reason, "reason", "", "why, for whoever uses it")
	cmd.Flags().BoolVar(&in.Undo, "undo", false, "put it back")
	return cmd
}

func (a plugins) pluginKey() *cobra.Command {
	var name, reason string
	cmd := &cobra.Command{
		Use:   "key list | add FILE.pub --name NAME | revoke ID --reason TEXT",
		Short: "Manage the publisher keys that the workspace trusts",
		Long: `Keys of publishers: only what one of them signed can be published. Revoking a key yanks
every version it signed, and toolsets that bind one cannot be deployed again with it.`,
		Example: "  sluice plugin key add publisher.key.pub --name 'Ada'\n  sluice plugin key revoke 3f9c… --reason 'laptop stolen'",
		Args:    command.Between(1, 2, "list, add or revoke"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			switch {
			case args[0] == "list" && len(args) == 1:
				return a.listPublisherKeys(cmd.Context(), c)
			case args[0] == "add" && len(args) == 2:
				return a.addPublisherKey(cmd.Context(), c, args[1], name)
			case args[0] == "revoke" && len(args) == 2:
				return a.revokePublisherKey(cmd.Context(), c, args[1], reason)
			}
			return command.UnknownAction(cmd, args)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "add: whose key it is (default: the file's name)")
	cmd.Flags().StringVar(&reason, "reason", "", "revoke: why")
	return cmd
}

func (a plugins) listPublisherKeys(ctx context.Context, c *client.Client) error {
	items, raw, err := client.All[plugin.PublisherKey](ctx, c, "/v1/publisher-keys")
	if err != nil {
		return err
	}
	if len(items) == 0 {
		a.Say("no publisher is trusted. Trust one: sluice plugin key add FILE.pub --name NAME")
	}
	now := time.Now()
	return terminal.List(&a.Terminal, items, raw, []terminal.Column[plugin.PublisherKey]{
		{Header: "id", Value: func(k plugin.PublisherKey) string { return k.ID[:min(len(k.ID), 16)] }},
		{Header: "name", Value: func(k plugin.PublisherKey) string { return terminal.Printable(k.Name) }},
		{Header: "algorithm", Value: func(k plugin.PublisherKey) string { return k.Algorithm }},
		{Header: "status", Value: func(k plugin.PublisherKey) string { return k.Status }},
		{Header: "added", Value: func(k plugin.PublisherKey) string { return terminal.Ago(k.CreatedAt, now) }},
	}, func(k plugin.PublisherKey) string { return k.ID })
}

func (a plugins) addPublisherKey(ctx context.Context, c *client.Client, file, name string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return problem.New(problem.NotFound, "the public key %s cannot be read", file).Fix(`"sluice plugin sign" writes it beside the private key`).Because(err)
	}
	in := plugin.NewPublisherKey{Name: cmp.Or(name, strings.TrimSuffix(filepath.Base(file), ".pub")), PublicKey: string(pem)}
	var out plugin.PublisherKey
	if err := c.Post(ctx, "/v1/publisher-keys", in, &out); err != nil {
		return err
	}
	return a.Object(out, func(w io.Writer) {
		fmt.Fprintf(w, "✓ plugins that %s signs can be published (key %s)\n", terminal.Printable(out.Name), out.ID[:min(len(out.ID), 16)])
	})
}

// revokePublisherKey revokes a key by the beginning of its id, or by its name.
func (a plugins) revokePublisherKey(ctx context.Context, c *client.Client, id, reason string) error {
	if reason == "" {
		return exit.Usagef("--reason says why the key is revoked")
	}
	items, _, err := client.All[plugin.PublisherKey](ctx, c, "/v1/publisher-keys")
	if err != nil {
		return err
	}
	var found []string
	const shortest = 8 // characters of an id that mean one key
	for _, k := range items {
		if k.Status == "valid" && (k.Name == id || len(id) >= shortest && strings.HasPrefix(k.ID, id)) {
			found = append(found, k.ID)
		}
	}
	if len(found) != 1 {
		return problem.New(problem.NotFound, "%d valid keys are named %q or begin with it", len(found), id).Fix("see: sluice plugin key list -o json")
	}
	var out plugin.RevokedKey
	if err := c.Post(ctx, "/v1/publisher-keys/"+found[0]+"/revoke", plugin.RevokeKey{Reason: reason}, &out); err != nil {
		return err
	}
	for _, slug := range out.Toolsets {
		a.Say("! %s binds a plugin of it, and serves it until it is changed: sluice plugin bindings %s", slug, slug)
	}
	return a.Object(out, func(w io.Writer) {
		fmt.Fprintf(w, "✓ %s is trusted no more; %s yanked\n", terminal.Printable(out.Name), terminal.Plural(out.Yanked, "version"))
	})
}
