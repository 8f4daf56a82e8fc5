package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

func (a *app) exportCommand() *cobra.Command {
	var to, secrets, recipient, identity string
	cmd := &cobra.Command{
		Use: "export [TOOLSET…]", Short: "Export toolsets as documents for version control",
		Long: `Write the toolsets of the workspace, or those named, with their specifications,
settings, edits, plugins, access and labels: to stdout, to one file (--to NAME.yaml or
NAME.json), or to a directory with a file for each toolset and its specification
beside it. The same toolsets give the same bytes. An export of all has the rules of alerts
and the channels, too, whose secrets are always left out.

Secrets are left out, or sealed for an age public key (--secrets sealed --recipient
age1…). Sealing the same secret gives another text each time; with --identity the text
in the directory stays while the secret is the same.

Access tokens, tokens of OAuth logins, history and usage are not exported; a backup
has everything.`,
		Example: "  sluice export --to toolsets\n  sluice export petstore\n  sluice export --to all.yaml --secrets sealed --recipient age1…",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case secrets != "none" && secrets != "sealed":
				return exit.Usagef("--secrets is none or sealed")
			case (secrets == "sealed") != (recipient != ""):
				return exit.Usagef("--secrets sealed and --recipient age1… belong together")
			case identity != "" && (recipient == "" || !isDeclaredDir(to)):
				return exit.Usagef("--identity keeps sealed secrets of a directory: give --to DIR and --secrets sealed too")
			}
			c := a.Client()
			q := url.Values{"toolset": args}
			if len(args) > 0 {
				q.Set("toolset", strings.Join(args, ","))
			} else {
				q.Del("toolset")
			}
			if recipient != "" {
				q.Set("recipient", recipient)
			}
			var raw json.RawMessage
			if err := c.Get(cmd.Context(), "/v1/export?"+q.Encode(), &raw); err != nil {
				return err
			}
			if !isDeclaredDir(to) {
				return a.writeDeclared(to, raw)
			}
			var keys []age.Identity
			if identity != "" {
				var err error
				if keys, err = a.identities(identity, ""); err != nil {
					return err
				}
			}
			return a.writeDeclaredDir(to, raw, keys, len(args) == 0)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&to, "to", "-", "directory, or NAME.yaml or NAME.json; - for stdout")
	fs.StringVar(&secrets, "secrets", "none", "none: left out; sealed: encrypted for --recipient")
	fs.StringVar(&recipient, "recipient", "", "age public key that can open sealed secrets")
	fs.StringVar(&identity, "identity", "", "file with the age secret key: secrets that did not change keep their sealed text")
	command.MustComplete(cmd, "secrets", []string{"none", "sealed"})
	return cmd
}

func isDeclaredDir(to string) bool {
	ext := strings.ToLower(filepath.Ext(to))
	return to != "-" && ext != ".yaml" && ext != ".yml" && ext != ".json"
}

// writeDeclared writes one document.
func (a *app) writeDeclared(to string, raw []byte) error {
	if to == "-" && (a.Format == "jsonl" || a.Format == "name") {
		return a.Object(json.RawMessage(raw), func(io.Writer) {})
	}
	var b []byte
	asJSON := strings.EqualFold(filepath.Ext(to), ".json") || to == "-" && a.Format == "json"
	if asJSON {
		var out bytes.Buffer
		if err := json.Indent(&out, raw, "", "  "); err != nil {
			return fmt.Errorf("writing the document: %w", err)
		}
		b = append(out.Bytes(), '\n')
	} else {
		var err error
		if b, err = terminal.YAML(raw); err != nil {
			return fmt.Errorf("writing the document: %w", err)
		}
	}
	if to == "-" {
		return a.WriteResult(b)
	}
	return writeUserFile(to, b)
}

// writeUserFile replaces a file that is the user's.
func writeUserFile(name string, b []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, b) {
		return nil
	}
	if err := atomicfile.WriteOn(atomicfile.OS, name, b, 0o644); err != nil {
		return problem.New(problem.InvalidArgument, "%s cannot be written", name).Because(err)
	}
	return nil
}

// writeDeclaredDir writes a directory of toolsets.
func (a *app) writeDeclaredDir(dir string, raw []byte, keys []age.Identity, whole bool) error {
	var doc struct {
		FormatVersion int               `json:"formatVersion"`
		PublisherKeys json.RawMessage   `json:"publisherKeys,omitempty"`
		AlertRules    json.RawMessage   `json:"alertRules,omitempty"`
		Channels      json.RawMessage   `json:"channels,omitempty"`
		Toolsets      []json.RawMessage `json:"toolsets"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return fmt.Errorf("reading the export: %w", err)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	if err := atomicfile.MkdirAll(atomicfile.OS, abs, 0o755); err != nil {
		return problem.New(problem.InvalidArgument, "%s cannot be made", dir).Because(err)
	}
	toolsets := doc.Toolsets
	doc.Toolsets = nil
	if whole {
		head, err := json.Marshal(struct {
			FormatVersion int             `json:"formatVersion"`
			PublisherKeys json.RawMessage `json:"publisherKeys,omitempty"`
			AlertRules    json.RawMessage `json:"alertRules,omitempty"`
			Channels      json.RawMessage `json:"channels,omitempty"`
		}{doc.FormatVersion, doc.PublisherKeys, doc.AlertRules, doc.Channels})
		if err != nil {
			return fmt.Errorf("writing the export: %w", err)
		}
		b, err := terminal.YAML(head)
		if err != nil {
			return fmt.Errorf("writing the export: %w", err)
		}
		if err := writeUserFile(filepath.Join(abs, workspaceYAML), b); err != nil {
			return err
		}
	}
	written := map[string]bool{}
	for _, t := range toolsets {
		slug, err := a.writeDeclaredToolset(abs, t, keys)
		if err != nil {
			return err
		}
		written[slug] = true
	}
	a.Say("%s: %s", dir, terminal.Plural(len(toolsets), "toolset"))
	if !whole {
		return nil
	}
	others, _ := filepath.Glob(filepath.Join(abs, "*", toolsetYAML)) // the pattern is valid
	for _, o := range others {
		if slug := filepath.Base(filepath.Dir(o)); !written[slug] {
			a.Say("! %s is not on the server any more: remove the directory, or import it again", filepath.Join(dir, slug))
		}
	}
	return nil
}

// writeDeclaredToolset writes one toolset and its documents, and returns its slug.
func (a *app) writeDeclaredToolset(dir string, raw []byte, keys []age.Identity) (string, error) {
	var t object
	if err := json.Unmarshal(raw, &t); err != nil {
		return "", fmt.Errorf("reading the export: %w", err)
	}
	slug, _ := t["slug"].(string)
	if !registry.ValidSlug(slug) {
		return "", problem.New(problem.Unavailable, "the export names a toolset %.80q", slug)
	}
	home := filepath.Join(dir, slug)
	if err := atomicfile.MkdirAll(atomicfile.OS, home, 0o755); err != nil {
		return "", problem.New(problem.InvalidArgument, "%s cannot be made", home).Because(err)
	}
	if err := splitDocuments(home, "", t); err != nil {
		return "", err
	}
	for _, c := range connectorsOf(t) {
		name, _ := c["name"].(string)
		if !registry.ValidSlug(name) {
			return "", problem.New(problem.Unavailable, "the export names a connector %.80q", name)
		}
		if err := splitDocuments(home, name, c); err != nil {
			return "", err
		}
	}
	keepSealed(filepath.Join(home, toolsetYAML), t, keys)
	b, err := yamlOrdered(t, raw)
	if err != nil {
		return "", fmt.Errorf("writing toolset %s: %w", slug, err)
	}
	return slug, writeUserFile(filepath.Join(home, toolsetYAML), b)
}

// splitDocuments writes the documents of the source in holder, a toolset or one of its
// connectors, into the directory under of home, and puts their names in their place.
func splitDocuments(home, under string, holder object) error {
	put := func(name, text string) (string, error) {
		name = path.Join(under, name)
		file := filepath.Join(home, filepath.FromSlash(name))
		if err := atomicfile.MkdirAll(atomicfile.OS, filepath.Dir(file), 0o755); err != nil {
			return "", problem.New(problem.InvalidArgument, "%s cannot be made", filepath.Dir(file)).Because(err)
		}
		return name, writeUserFile(file, []byte(text))
	}
	src, _ := holder["source"].(object)
	if text, ok := src["document"].(string); ok && text != "" {
		name, err := put(documentName(src["kind"], text), text)
		if err != nil {
			return err
		}
		delete(src, "document")
		src["documentFile"] = name
	}
	if files, ok := src["files"].(object); ok && len(files) > 0 {
		names := object{}
		for i, p := range slices.Sorted(maps.Keys(files)) {
			name := path.Join("files", p)
			if !filepath.IsLocal(filepath.FromSlash(p)) || strings.Contains(p, "://") {
				name = fmt.Sprintf("files/document-%d%s", i+1, path.Ext(p))
			}
			text, _ := files[p].(string)
			var err error
			if names[p], err = put(name, text); err != nil {
				return err
			}
		}
		delete(src, "files")
		src["fileNames"] = names
	}
	overlays, _ := src["overlays"].([]any)
	for i, v := range overlays {
		o, _ := v.(object)
		text, ok := o["document"].(string)
		if !ok {
			continue
		}
		name, err := put(fmt.Sprintf("overlay-%d%s", i+1, path.Ext(documentName("openapi", text))), text)
		if err != nil {
			return err
		}
		delete(o, "document")
		o["documentFile"] = name
	}
	return nil
}

// documentName is the name of a specification beside its toolset.
func documentName(kind any, text string) string {
	switch {
	case kind == "mcp":
		return "mcp.json"
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return "openapi.json"
	}
	return "openapi.yaml"
}

// yamlOrdered writes t with its members in the order of raw, its original; others come
// after them by name.
func yamlOrdered(t object, raw []byte) ([]byte, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var order []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return nil, err
		}
		order = append(order, name.(string))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for i, name := range order {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(members[name])
	}
	out.WriteByte('}')
	return terminal.YAML(out.Bytes())
}

// keepSealed keeps the sealed texts of a file whose secrets are those of t.
func keepSealed(file string, t object, keys []age.Identity) {
	if len(keys) == 0 {
		return
	}
	old, err := readYAML(file)
	if err != nil {
		return // there is none yet
	}
	sealedOf := func(holder, was object) {
		before, _ := was["authentication"].([]any)
		after, _ := holder["authentication"].([]any)
		for i := range min(len(before), len(after)) {
			b, _ := before[i].(object)
			c, _ := after[i].(object)
			was, _ := b["sealed"].(string)
			is, _ := c["sealed"].(string)
			x, err1 := backup.OpenText(was, keys...)
			y, err2 := backup.OpenText(is, keys...)
			if err1 == nil && err2 == nil && bytes.Equal(x, y) {
				c["sealed"] = was
			}
			clear(x)
			clear(y)
		}
	}
	sealedOf(t, old)
	before := connectorsOf(old)
	for _, c := range connectorsOf(t) {
		if i := slices.IndexFunc(before, func(b object) bool { return b["name"] == c["name"] }); i >= 0 {
			sealedOf(c, before[i])
		}
	}
}
