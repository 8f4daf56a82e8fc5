package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/clientconfig"
	"github.com/sluicegate/sluice/internal/problem"
)

func (a *app) importCommand() *cobra.Command {
	var dryRun, prune bool
	var identity, reason string
	cmd := &cobra.Command{
		Use: "import DIR|FILE|-", Short: "Create or update toolsets from exported documents", Args: command.Exactly(1, "a directory, a file, or -"),
		Long: `Bring the toolsets of the workspace to the state of the documents of "sluice export":
create missing ones, change those that differ, deploy those that are live. Nothing is
read from the network. All documents are checked before anything is changed, and the
import is refused if somebody changes the workspace meanwhile.

Secrets that the documents leave out stay as they are on the server; those that it does
not have are named, and their toolsets stay drafts. --identity opens sealed secrets, on this
machine. Toolsets that are not in the documents stay, unless --prune deletes them. Rules of
alerts and channels are brought to what workspace.yaml says, where it has any.`,
		Example: "  sluice import toolsets --dry-run\n  sluice import toolsets --reason \"$(git rev-parse HEAD)\"\n  sluice import all.yaml --identity key.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.readDeclared(args[0])
			if err != nil {
				return err
			}
			if err := a.openSealed(d, identity); err != nil {
				return err
			}
			c := a.Client()
			q := url.Values{"dryRun": {"true"}}
			if prune {
				q.Set("prune", "true")
			}
			if reason != "" {
				q.Set("reason", reason)
			}
			var plan declare.ImportPlan
			tag, err := c.Do(cmd.Context(), client.Call{Method: http.MethodPost, Path: "/v1/import?" + q.Encode(), In: d.doc, Out: &plan})
			if err != nil {
				return d.place(err)
			}
			if !dryRun && plan.Changes > 0 {
				q.Del("dryRun")
				plan = declare.ImportPlan{}
				if err := c.Post(cmd.Context(), "/v1/import?"+q.Encode(), d.doc, &plan, client.IfMatch(tag)); err != nil {
					return d.place(err)
				}
			}
			return a.Object(plan, func(w io.Writer) { showPlan(w, &plan, d, dryRun) })
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	fs.BoolVar(&prune, "prune", false, "delete toolsets that are not in the documents")
	fs.StringVar(&identity, "identity", "", "file with the age secret key that opens sealed secrets, - for stdin")
	fs.StringVar(&reason, "reason", "", "recorded with what is published, such as a commit (default: imported)")
	return cmd
}

func showPlan(w io.Writer, p *declare.ImportPlan, d *declared, dryRun bool) {
	sign := map[string]string{"create": "+", "update": "~", "delete": "-", "none": "=", "extra": "?"}
	for _, name := range p.PublisherKeys {
		fmt.Fprintf(w, "+ publisher key %s\n", terminal.Printable(name))
	}
	changes := func(list []declare.PlannedChange) {
		for _, c := range list {
			switch {
			case c.Pointer == "":
				fmt.Fprintf(w, "    %s\n", terminal.Printable(c.To))
			case c.From == "":
				fmt.Fprintf(w, "  + %s  %s\n", terminal.Printable(c.Pointer), terminal.Printable(c.To))
			case c.To == "":
				fmt.Fprintf(w, "  - %s  %s\n", terminal.Printable(c.Pointer), terminal.Printable(c.From))
			default:
				fmt.Fprintf(w, "  ~ %s  %s → %s\n", terminal.Printable(c.Pointer), terminal.Printable(c.From), terminal.Printable(c.To))
			}
		}
	}
	settings := func(what string, list []declare.PlannedSetting) {
		for i := range list {
			s := &list[i]
			fmt.Fprintf(w, "%s %s %s", sign[s.Action], what, terminal.Printable(s.Name))
			if s.Toolset != "" {
				fmt.Fprintf(w, " of %s", terminal.Printable(s.Toolset))
			}
			if s.Action == "extra" {
				fmt.Fprint(w, "   not in the documents; it stays (--prune deletes it)")
			}
			fmt.Fprintln(w)
			changes(s.Changes)
			for _, m := range s.Missing {
				fmt.Fprintf(w, "  ! /%s is missing: the channel is not changed. Give it in the document, or set the channel up with sluice notify channel add and import again\n", terminal.Printable(m))
			}
		}
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
		changes(t.Changes)
		for _, m := range t.Warnings {
			fmt.Fprintf(w, "  ! %s  plugin %s: %s\n", terminal.Printable(m.Pointer), terminal.Printable(m.Plugin), terminal.SafeText(m.Detail))
		}
		for _, m := range t.Missing {
			fmt.Fprintf(w, "  ! %s is missing: the toolset stays a draft; set it with: sluice toolset auth %s set%s\n", terminal.Printable(m), t.Slug, d.flagOf(t.Slug, m))
		}
	}
	settings("alert rule", p.AlertRules)
	settings("channel", p.Channels)
	switch {
	case p.Changes == 0:
		fmt.Fprintln(w, "nothing to change")
	case dryRun:
		fmt.Fprintf(w, "%s to make; nothing was changed\n", terminal.Plural(p.Changes, "change"))
	default:
		fmt.Fprintf(w, "%s made\n", terminal.Plural(p.Changes, "change"))
	}
}

// declared is a declaration as it was read, and where each toolset is from.
type declared struct {
	doc   object
	files []string // of each toolset
	dir   string   // "": one file
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

// flagOf is the flag that names the connector of a pointer in a toolset; "" where it is
// the only one.
func (d *declared) flagOf(slug, pointer string) string {
	rest, ok := strings.CutPrefix(pointer, "/connectors/")
	number, _, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	if !ok || err != nil {
		return ""
	}
	for _, t := range d.toolsets() {
		if connectors := connectorsOf(t); t["slug"] == slug && i < len(connectors) {
			name, _ := connectors[i]["name"].(string)
			return " --connector " + clientconfig.ShellWord(name)
		}
	}
	return ""
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
		case e.Place.File == "" && e.Place.Pointer != "":
			if e.Place.File = d.files[0]; d.dir != "" {
				e.Place.File = filepath.Join(d.dir, workspaceYAML)
			}
		case e.Place.File != "" && d.dir != "":
			e.Place.File = filepath.Join(d.dir, filepath.FromSlash(e.Place.File))
		}
	}
	move(p)
	for _, part := range p.Parts {
		move(part)
		p.Place.File = cmp.Or(p.Place.File, part.Place.File) // that of the first is shown above them
	}
	return err
}

// readDeclared reads a declaration from a directory, a file or stdin.
func (a *app) readDeclared(from string) (*declared, error) {
	if from == "-" {
		b, err := io.ReadAll(io.LimitReader(a.In, maxDeclared+1))
		if err != nil {
			return nil, fmt.Errorf("reading the document: %w", err)
		}
		if len(b) > maxDeclared { // a part of it could read as the whole
			return nil, problem.New(problem.InvalidArgument, "the document on stdin is longer than %d MiB", maxDeclared>>20)
		}
		doc, err := parseYAML("stdin", b)
		return &declared{doc: doc, files: []string{"stdin"}}, err
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, unreadable(from, err)
	}
	if !info.IsDir() {
		doc, err := readYAML(from)
		return &declared{doc: doc, files: []string{from}}, err
	}
	d := &declared{doc: object{"formatVersion": declare.DeclarationFormat}, dir: from}
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
		return nil, problem.New(problem.InvalidArgument, "%s has no toolset: no %s in a directory of it", from, toolsetYAML).Fix("make it with: sluice export --to %s", clientconfig.ShellWord(from))
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
	if connectors := connectorsOf(t); len(connectors) > 0 {
		for i, c := range connectors {
			if err := inlineSource(name, fmt.Sprintf("/connectors/%d/source", i), c, read); err != nil {
				return err
			}
		}
		return nil
	}
	return inlineSource(name, "/source", t, read)
}

// inlineSource puts the documents that the source in holder names into it.
func inlineSource(name, at string, holder object, read func(v any, at string) (string, error)) (err error) {
	src, ok := holder["source"].(object)
	if !ok {
		return problem.New(problem.InvalidArgument, "the toolset has no source").At(name, 0, 0, at)
	}
	if v, ok := src["documentFile"]; ok {
		if src["document"], err = read(v, at+"/documentFile"); err != nil {
			return err
		}
		delete(src, "documentFile")
	}
	if names, ok := src["fileNames"].(object); ok {
		files := object{}
		for p, v := range names {
			if files[p], err = read(v, at+"/fileNames"); err != nil {
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
			if o["document"], err = read(file, fmt.Sprintf("%s/overlays/%d/documentFile", at, i)); err != nil {
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
	open := func(holder object, at string) error {
		auth, _ := holder["authentication"].([]any)
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
			at := fmt.Sprintf("%s/authentication/%d/sealed", at, k)
			plain, err := backup.OpenText(sealed, keys...)
			if err != nil {
				return d.place(problem.As(err).At("", 0, 0, at))
			}
			err = json.Unmarshal(plain, &item)
			clear(plain)
			if err != nil {
				return d.place(problem.New(problem.InvalidArgument, "the sealed secret is not one that an export wrote").At("", 0, 0, at))
			}
		}
		return nil
	}
	for i, t := range d.toolsets() {
		at := fmt.Sprintf("/toolsets/%d", i)
		if err := open(t, at); err != nil {
			return err
		}
		for k, c := range connectorsOf(t) {
			if err := open(c, fmt.Sprintf("%s/connectors/%d", at, k)); err != nil {
				return err
			}
		}
	}
	if skipped > 0 {
		a.Say("! %s not opened: give --identity FILE to set them", terminal.Plural(skipped, "sealed secret"))
	}
	return nil
}
