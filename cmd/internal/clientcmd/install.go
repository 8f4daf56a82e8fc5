package clientcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
)

// executable is the path of this program, for clients that start it.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	return path, nil
}

// install writes a server into an application's configuration file: shows the
// change, asks, and keeps the old file as .bak. It is another program's file.
func (a clients) install(c clientConfig, s endpoint) error {
	if c.file == nil {
		return exit.Usagef("%s has no configuration file; do this:\n%s", c.title, c.snippet(s))
	}
	path := c.file(a.Env)
	old, err := os.ReadFile(path)
	perm := fs.FileMode(0o600)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("reading the configuration of %s: %w", c.title, err)
	default:
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("reading the configuration of %s: %w", c.title, err)
		}
		perm = info.Mode().Perm()
	}
	keys, value := c.entry(s)
	var changed []byte
	if strings.HasSuffix(path, ".toml") {
		changed = setTOML(old, keys, value)
	} else if changed, err = setJSON(old, keys, value); err != nil {
		return problem.New(problem.Conflict, "%s is not JSON that can be changed: %s", path, err).
			Fix("add it by hand: sluice client %s --for %s", s.name, c.name).Because(err)
	}
	if bytes.Equal(old, changed) {
		a.Say("%s has it already.", path)
		return nil
	}
	fmt.Fprint(a.Err, lineDiff(path, string(old), string(changed)))
	if err := a.Confirm("Write this to " + path + "?"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing the configuration of %s: %w", c.title, err)
	}
	if len(old) > 0 {
		if err := atomicfile.Write(path+".bak", old, perm); err != nil {
			return fmt.Errorf("keeping the old configuration of %s: %w", c.title, err)
		}
	}
	if err := atomicfile.Write(path, changed, perm); err != nil {
		return fmt.Errorf("writing the configuration of %s: %w", c.title, err)
	}
	a.Say("✓ %s is in %s. Restart %s.", s.name, path, c.title)
	return nil
}

// ordered is a JSON object that keeps the order of its members.
type ordered []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in order.
func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := terminal.EncodeJSON(m.key)
		if err != nil {
			return nil, err
		}
		value, err := terminal.EncodeJSON(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// decodeOrdered reads a JSON object keeping the order of members; values that are
// no objects stay as they are written.
func decodeOrdered(raw []byte) (ordered, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	start, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if start != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	out := ordered{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		out = append(out, member{key.(string), v}) // the key of an object is a string
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return out, nil
}

// setJSON sets the member at path in a JSON document, keeping everything else and
// its order. An empty document becomes an object.
func setJSON(doc []byte, path []string, value any) ([]byte, error) {
	if len(bytes.TrimSpace(doc)) == 0 {
		doc = []byte("{}")
	}
	root, err := decodeOrdered(doc)
	if err != nil {
		return nil, err
	}
	if root, err = setMember(root, path, value); err != nil {
		return nil, err
	}
	b, err := terminal.EncodeJSON(root)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", indentOf(doc)); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func setMember(o ordered, path []string, value any) (ordered, error) {
	at := -1
	for i, m := range o {
		if m.key == path[0] {
			at = i
		}
	}
	if at < 0 {
		o = append(o, member{path[0], ordered{}})
		at = len(o) - 1
	}
	if len(path) == 1 {
		o[at].value = value
		return o, nil
	}
	inner, isNew := o[at].value.(ordered)
	if !isNew {
		var err error
		if inner, err = decodeOrdered(o[at].value.(json.RawMessage)); err != nil {
			return nil, fmt.Errorf("%s: %w", path[0], err)
		}
	}
	inner, err := setMember(inner, path[1:], value)
	o[at].value = inner
	return o, err
}

// indentOf is the indentation a document uses: that of its first indented line.
func indentOf(doc []byte) string {
	for line := range bytes.Lines(doc) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && len(bytes.TrimSpace(rest)) > 0 {
			return string(line[:len(line)-len(rest)])
		}
	}
	return "  "
}

// setTOML sets a table of string members in a TOML document. The table's own
// lines are replaced; everything else stays byte for byte.
func setTOML(doc []byte, path []string, value ordered) []byte {
	name := path[len(path)-1]
	if strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r)
	}) {
		name = fmt.Sprintf("%q", name)
	}
	header := "[" + strings.Join(path[:len(path)-1], ".") + "." + name + "]"
	var table strings.Builder
	table.WriteString(header + "\n")
	for _, m := range value {
		fmt.Fprintf(&table, "%s = %q\n", m.key, m.value)
	}
	var out strings.Builder
	skipping, done := false, false
	for line := range strings.Lines(string(doc)) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "[") {
			skipping = trimmed == header
			if skipping && !done {
				out.WriteString(table.String())
				done = true
			}
		}
		if !skipping || trimmed == "" || strings.HasPrefix(trimmed, "#") {
			out.WriteString(line)
		}
	}
	if !done {
		if s := out.String(); s != "" {
			if !strings.HasSuffix(s, "\n") {
				out.WriteByte('\n')
			}
			out.WriteByte('\n')
		}
		out.WriteString(table.String())
	}
	return []byte(out.String())
}

// lineDiff shows what changes: removed and added lines between the common
// beginning and end, with three lines around them.
func lineDiff(path, before, after string) string {
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	const around = 3
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
	for _, l := range a[max(head-around, 0):head] {
		out.WriteString("  " + l + "\n")
	}
	for _, l := range a[head : len(a)-tail] {
		out.WriteString("- " + l + "\n")
	}
	for _, l := range b[head : len(b)-tail] {
		out.WriteString("+ " + l + "\n")
	}
	for _, l := range a[len(a)-tail : min(len(a)-tail+around, len(a))] {
		out.WriteString("  " + l + "\n")
	}
	return out.String()
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
