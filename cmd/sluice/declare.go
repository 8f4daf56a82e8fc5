package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/backup"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

const (
	// workspaceYAML and toolsetYAML are the files of a declaration in a directory:
	// DIR/workspace.yaml and DIR/SLUG/toolset.yaml with the documents it names beside it.
	workspaceYAML = "workspace.yaml"
	toolsetYAML   = "toolset.yaml"
	// maxDeclared is the largest file of a declaration: what the admin API takes.
	maxDeclared = 64 << 20
)

// object is a JSON object of a declaration. Declarations are handled as they are, so
// that a field that only the server knows is not lost.
type object = map[string]any

func (a *app) exportCommand() *cobra.Command {
	var to, secrets, recipient, identity string
	cmd := &cobra.Command{
		Use: "export [TOOLSET…]", Short: "Write toolsets as documents, for version control",
		Long: `Write the toolsets of the workspace, or those named, with their specifications,
settings, edits, plugins, access and labels: to stdout, to one file (--to NAME.yaml or
NAME.json), or to a directory with a file for each toolset and its specification
beside it. The same toolsets give the same bytes.

Secrets are left out, or sealed for an age public key (--secrets sealed --recipient
age1…). Sealing the same secret gives another text each time; with --identity the text
in the directory stays while the secret is the same.

Access tokens, tokens of OAuth logins, history and usage are not exported; a backup
has everything.`,
		Example: "  sluice export --to toolsets\n  sluice export petstore\n  sluice export --to all.yaml --secrets sealed --recipient age1…",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case secrets != "none" && secrets != "sealed":
				return usagef("--secrets is none or sealed")
			case (secrets == "sealed") != (recipient != ""):
				return usagef("--secrets sealed and --recipient age1… belong together")
			case identity != "" && (recipient == "" || !isDeclaredDir(to)):
				return usagef("--identity keeps sealed secrets of a directory: give --to DIR and --secrets sealed too")
			}
			c, err := a.client()
			if err != nil {
				return err
			}
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
			if _, err := c.do(cmd.Context(), apiCall{method: http.MethodGet, path: "/v1/export?" + q.Encode(), out: &raw}); err != nil {
				return err
			}
			if !isDeclaredDir(to) {
				return a.writeDeclared(to, raw)
			}
			var keys []age.Identity
			if identity != "" {
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
	mustComplete(cmd, "secrets", []string{"none", "sealed"})
	return cmd
}

func isDeclaredDir(to string) bool {
	ext := strings.ToLower(filepath.Ext(to))
	return to != "-" && ext != ".yaml" && ext != ".yml" && ext != ".json"
}

// writeDeclared writes one document.
func (a *app) writeDeclared(to string, raw []byte) error {
	var b []byte
	asJSON := strings.EqualFold(filepath.Ext(to), ".json") || to == "-" && (a.flags.output == "json" || a.flags.output == "jsonl")
	if asJSON {
		var out bytes.Buffer
		if err := json.Indent(&out, raw, "", "  "); err != nil {
			return fmt.Errorf("writing the document: %w", err)
		}
		b = append(out.Bytes(), '\n')
	} else {
		var err error
		if b, err = yamlOf(raw); err != nil {
			return fmt.Errorf("writing the document: %w", err)
		}
	}
	if to == "-" {
		return a.write(b)
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
		}{doc.FormatVersion, doc.PublisherKeys})
		if err != nil {
			return fmt.Errorf("writing the export: %w", err)
		}
		b, err := yamlOf(head)
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
	a.say("%s: %s", dir, plural(len(toolsets), "toolset"))
	if !whole {
		return nil
	}
	others, _ := filepath.Glob(filepath.Join(abs, "*", toolsetYAML)) // the pattern is valid
	for _, o := range others {
		if slug := filepath.Base(filepath.Dir(o)); !written[slug] {
			a.say("! %s is not on the server any more: remove the directory, or import it again", filepath.Join(dir, slug))
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
	put := func(name, text string) error {
		file := filepath.Join(home, filepath.FromSlash(name))
		if err := atomicfile.MkdirAll(atomicfile.OS, filepath.Dir(file), 0o755); err != nil {
			return problem.New(problem.InvalidArgument, "%s cannot be made", filepath.Dir(file)).Because(err)
		}
		return writeUserFile(file, []byte(text))
	}
	src, _ := t["source"].(object)
	moved := object{} // path in the declaration → what replaces the member
	if text, ok := src["document"].(string); ok && text != "" {
		name := documentName(src["kind"], text)
		if err := put(name, text); err != nil {
			return "", err
		}
		moved["document"] = object{"documentFile": name}
	}
	if files, ok := src["files"].(object); ok && len(files) > 0 {
		names := object{}
		for i, p := range slices.Sorted(maps.Keys(files)) {
			name := path.Join("files", p)
			if !filepath.IsLocal(filepath.FromSlash(p)) || strings.Contains(p, "://") {
				name = fmt.Sprintf("files/document-%d%s", i+1, path.Ext(p))
			}
			text, _ := files[p].(string)
			if err := put(name, text); err != nil {
				return "", err
			}
			names[p] = name
		}
		moved["files"] = object{"fileNames": names}
	}
	if overlays, ok := src["overlays"].([]any); ok {
		for i, v := range overlays {
			o, _ := v.(object)
			text, ok := o["document"].(string)
			if !ok {
				continue
			}
			name := fmt.Sprintf("overlay-%d%s", i+1, path.Ext(documentName("openapi", text)))
			if err := put(name, text); err != nil {
				return "", err
			}
			delete(o, "document")
			o["documentFile"] = name
		}
	}
	for member, v := range moved {
		delete(src, member)
		maps.Copy(src, v.(object))
	}
	keepSealed(filepath.Join(home, toolsetYAML), t, keys)
	b, err := yamlOrdered(t, raw)
	if err != nil {
		return "", fmt.Errorf("writing toolset %s: %w", slug, err)
	}
	return slug, writeUserFile(filepath.Join(home, toolsetYAML), b)
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
	return yamlOf(out.Bytes())
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
	before, _ := old["authentication"].([]any)
	after, _ := t["authentication"].([]any)
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

func (a *app) importCommand() *cobra.Command {
	var dryRun, prune bool
	var identity, reason string
	cmd := &cobra.Command{
		Use: "import DIR|FILE|-", Short: "Make toolsets as documents say", Args: exactly(1, "a directory, a file, or -"),
		Long: `Make the toolsets of the workspace as the documents of "sluice export" say: create
those that are not there, change those that differ, publish those that are live. What
is as it should be is left alone. Nothing is read from the network. The whole is
checked before anything is changed, and refused when somebody changes the workspace
meanwhile.

Secrets that are left out stay as they are on the server; those that it does not have
are named, and their toolsets stay drafts. --identity opens sealed secrets, on this
machine. Toolsets that are not in the documents stay, unless --prune deletes them.`,
		Example: "  sluice import toolsets --dry-run\n  sluice import toolsets --reason \"$(git rev-parse HEAD)\"\n  sluice import all.yaml --identity key.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.readDeclared(args[0])
			if err != nil {
				return err
			}
			if err := a.openSealed(d, identity); err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			q := url.Values{"dryRun": {"true"}}
			if prune {
				q.Set("prune", "true")
			}
			if reason != "" {
				q.Set("reason", reason)
			}
			var plan admin.ImportPlan
			tag, err := c.do(cmd.Context(), apiCall{method: http.MethodPost, path: "/v1/import?" + q.Encode(), in: d.doc, out: &plan})
			if err != nil {
				return d.place(err)
			}
			if !dryRun && plan.Changes > 0 {
				q.Del("dryRun")
				plan = admin.ImportPlan{}
				if _, err := c.do(cmd.Context(), apiCall{method: http.MethodPost, path: "/v1/import?" + q.Encode(), in: d.doc, out: &plan, ifMatch: tag}); err != nil {
					return d.place(err)
				}
			}
			return a.object(plan, func(w io.Writer) { showPlan(w, &plan, dryRun) })
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	fs.BoolVar(&prune, "prune", false, "delete toolsets that are not in the documents")
	fs.StringVar(&identity, "identity", "", "file with the age secret key that opens sealed secrets, - for stdin")
	fs.StringVar(&reason, "reason", "", "recorded with what is published, such as a commit (default: imported)")
	return cmd
}

func showPlan(w io.Writer, p *admin.ImportPlan, dryRun bool) {
	sign := map[string]string{"create": "+", "update": "~", "delete": "-", "none": "=", "extra": "?"}
	for _, name := range p.PublisherKeys {
		fmt.Fprintf(w, "+ publisher key %s\n", printable(name))
	}
	for i := range p.Toolsets {
		t := &p.Toolsets[i]
		fmt.Fprintf(w, "%s %s", sign[t.Action], t.Slug)
		switch {
		case t.Action == "extra":
			fmt.Fprint(w, "   not in the documents; it stays (--prune deletes it)")
		case t.Revision > 0:
			fmt.Fprintf(w, "   published as revision %d", t.Revision)
		}
		fmt.Fprintln(w)
		for _, c := range t.Changes {
			switch {
			case c.Pointer == "":
				fmt.Fprintf(w, "    %s\n", printable(c.To))
			case c.From == "":
				fmt.Fprintf(w, "  + %s  %s\n", printable(c.Pointer), printable(c.To))
			case c.To == "":
				fmt.Fprintf(w, "  - %s  %s\n", printable(c.Pointer), printable(c.From))
			default:
				fmt.Fprintf(w, "  ~ %s  %s → %s\n", printable(c.Pointer), printable(c.From), printable(c.To))
			}
		}
		for _, m := range t.Missing {
			fmt.Fprintf(w, "  ! %s is missing: the toolset stays a draft; set it with: sluice toolset auth %s set\n", printable(m), t.Slug)
		}
	}
	switch {
	case p.Changes == 0:
		fmt.Fprintln(w, "nothing to change")
	case dryRun:
		fmt.Fprintf(w, "%s to make; nothing was changed\n", plural(p.Changes, "change"))
	default:
		fmt.Fprintf(w, "%s made\n", plural(p.Changes, "change"))
	}
}

// declared is a declaration as it was read, and where each toolset is from.
type declared struct {
	doc   object
	files []string // of each toolset
	slugs []string
	dir   string // "": one file
}

// toolsets are those of the document.
func (d *declared) toolsets() []object {
	list, _ := d.doc["toolsets"].([]any)
	out := make([]object, 0, len(list))
	for _, v := range list {
		t, _ := v.(object)
		out = append(out, t)
	}
	return out
}

// place says faults by the files that were read.
func (d *declared) place(err error) error {
	p := problem.As(err)
	if p == nil {
		return err
	}
	move := func(e *problem.Error) {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(e.Place.Pointer, "#"), "/toolsets/")
		number, pointer, _ := strings.Cut(rest, "/")
		i, err := strconv.Atoi(number)
		switch {
		case ok && err == nil && i < len(d.files) && e.Place.File == "" && d.dir != "":
			e.Place.File, e.Place.Pointer = d.files[i], "/"+pointer
		case ok && e.Place.File == "":
			e.Place.File = d.files[0]
		case e.Place.File != "" && d.dir != "":
			e.Place.File = filepath.Join(d.dir, filepath.FromSlash(e.Place.File))
		}
	}
	move(p)
	for _, part := range p.Parts {
		move(part)
		p.Place.File = first(p.Place.File, part.Place.File) // that of the first is shown above them
	}
	return err
}

// readDeclared reads a declaration from a directory, a file or stdin.
func (a *app) readDeclared(from string) (*declared, error) {
	if from == "-" {
		b, err := io.ReadAll(io.LimitReader(a.stdin, maxDeclared+1))
		if err != nil {
			return nil, fmt.Errorf("reading the document: %w", err)
		}
		doc, err := parseYAML("stdin", b)
		return &declared{doc: doc, files: []string{"stdin"}}, err
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "%s cannot be read", from).Because(err)
	}
	if !info.IsDir() {
		doc, err := readYAML(from)
		return &declared{doc: doc, files: []string{from}}, err
	}
	d := &declared{doc: object{"formatVersion": admin.DeclarationFormat}, dir: from}
	head, err := readYAML(filepath.Join(from, workspaceYAML))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		maps.Copy(d.doc, head)
	}
	names, _ := filepath.Glob(filepath.Join(from, "*", toolsetYAML)) // sorted
	if len(names) == 0 {
		return nil, problem.New(problem.InvalidArgument, "%s has no toolset: no %s in a directory of it", from, toolsetYAML).Fix("make it with: sluice export --to %s", shellWord(from))
	}
	toolsets := make([]any, 0, len(names))
	for _, name := range names {
		t, err := readYAML(name)
		if err != nil {
			return nil, err
		}
		if err := inlineFiles(name, t); err != nil {
			return nil, err
		}
		if slug, _ := t["slug"].(string); slug != filepath.Base(filepath.Dir(name)) {
			return nil, problem.New(problem.InvalidArgument, "the slug %.80q is not the name of the directory", slug).At(name, 0, 0, "/slug")
		}
		toolsets, d.files = append(toolsets, t), append(d.files, name)
	}
	d.doc["toolsets"] = toolsets
	return d, nil
}

// inlineFiles puts the documents that a toolset names into it. Names stay below its
// directory.
func inlineFiles(name string, t object) error {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return problem.New(problem.InvalidArgument, "%s cannot be read", filepath.Dir(name)).Because(err)
	}
	defer func() { _ = root.Close() }() // only read
	read := func(v any, at string) (string, error) {
		file, _ := v.(string)
		f, err := root.Open(filepath.FromSlash(file))
		if err != nil {
			return "", problem.New(problem.InvalidArgument, "the file %.200q beside it cannot be read", file).At(name, 0, 0, at).Because(err)
		}
		defer func() { _ = f.Close() }() // only read
		b, err := io.ReadAll(io.LimitReader(f, maxDeclared+1))
		if err != nil || len(b) > maxDeclared {
			return "", problem.New(problem.InvalidArgument, "the file %.200q is longer than %d MiB or cannot be read", file, maxDeclared>>20).At(name, 0, 0, at).Because(err)
		}
		return string(b), nil
	}
	src, ok := t["source"].(object)
	if !ok {
		return problem.New(problem.InvalidArgument, "the toolset has no source").At(name, 0, 0, "/source")
	}
	if v, ok := src["documentFile"]; ok {
		if src["document"], err = read(v, "/source/documentFile"); err != nil {
			return err
		}
		delete(src, "documentFile")
	}
	if names, ok := src["fileNames"].(object); ok {
		files := object{}
		for p, v := range names {
			if files[p], err = read(v, "/source/fileNames"); err != nil {
				return err
			}
		}
		src["files"] = files
		delete(src, "fileNames")
	}
	overlays, _ := src["overlays"].([]any)
	for i, v := range overlays {
		o, _ := v.(object)
		if file, ok := o["documentFile"]; ok {
			if o["document"], err = read(file, fmt.Sprintf("/source/overlays/%d/documentFile", i)); err != nil {
				return err
			}
			delete(o, "documentFile")
		}
	}
	return nil
}

// openSealed opens the sealed secrets of a declaration on this machine; without a key
// they are left out.
func (a *app) openSealed(d *declared, identity string) error {
	var keys []age.Identity
	if identity != "" {
		var err error
		if keys, err = a.identities(identity, ""); err != nil {
			return err
		}
	}
	skipped := 0
	for i, t := range d.toolsets() {
		auth, _ := t["authentication"].([]any)
		for k, v := range auth {
			item, _ := v.(object)
			sealed, _ := item["sealed"].(string)
			delete(item, "sealed")
			if sealed == "" {
				continue
			}
			if len(keys) == 0 {
				skipped++
				continue
			}
			plain, err := backup.OpenText(sealed, keys...)
			if err != nil {
				return d.place(problem.As(err).At("", 0, 0, fmt.Sprintf("/toolsets/%d/authentication/%d/sealed", i, k)))
			}
			err = json.Unmarshal(plain, &item)
			clear(plain)
			if err != nil {
				return d.place(problem.New(problem.InvalidArgument, "the sealed secret is not one that an export wrote").At("", 0, 0, fmt.Sprintf("/toolsets/%d/authentication/%d/sealed", i, k)))
			}
		}
	}
	if skipped > 0 {
		a.say("! %s not opened: give --identity FILE to set them", plural(skipped, "sealed secret"))
	}
	return nil
}

func readYAML(name string) (object, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "%s cannot be read", name).Because(err)
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, maxDeclared+1))
	if err != nil || len(b) > maxDeclared {
		return nil, problem.New(problem.InvalidArgument, "%s is longer than %d MiB or cannot be read", name, maxDeclared>>20).Because(err)
	}
	return parseYAML(name, b)
}

func parseYAML(name string, b []byte) (object, error) {
	var out object
	if strings.HasPrefix(strings.TrimSpace(string(b)), "{") {
		if err := json.Unmarshal(b, &out); err != nil {
			return nil, problem.New(problem.InvalidArgument, "the file is not JSON: %s", printable(err.Error())).At(name, 0, 0, "")
		}
		return out, nil
	}
	if err := yaml.Unmarshal(b, &out); err != nil {
		return nil, problem.New(problem.InvalidArgument, "the file is not YAML: %s", printable(err.Error())).At(name, 0, 0, "")
	}
	if out == nil {
		return nil, problem.New(problem.InvalidArgument, "the file is empty").At(name, 0, 0, "")
	}
	return out, nil
}
