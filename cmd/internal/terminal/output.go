package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"go.yaml.in/yaml/v4"
	"golang.org/x/term"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// Terminal is where a command gets its input from and writes its result, and how.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	Format   string   // one of [outputFormats]
	Fields   []string // columns or members to show; none: all
	Quiet    bool     // Say says nothing
	NoColor  bool
	Color    bool // although Out is not a terminal
	NoInput  bool // questions fail
	Yes      bool // every question is answered with yes

	answered bool     // the result is written
	messages []string // what was said, for the outcome
}

// Formats are the values of Format.
var Formats = []string{"table", "wide", "json", "yaml", "jsonl", "name"}

// Column is one column of a table of T.
type Column[T any] struct {
	Header string
	Wide   bool // only with -o wide
	Value  func(T) string
}

// List prints items in the format that was asked for. raw are the items as the
// admin API gave them, so machines read the API's own objects; nil marshals items.
func List[T any](a *Terminal, items []T, raw []json.RawMessage, columns []Column[T], name func(T) string) error {
	switch a.Format {
	case "json", "yaml", "jsonl":
		if raw == nil {
			for _, item := range items {
				b, err := EncodeJSON(item)
				if err != nil {
					return err
				}
				raw = append(raw, b)
			}
		}
		for i, r := range raw {
			raw[i] = SelectMembers(r, a.Fields)
		}
		if a.Format == "jsonl" {
			var out bytes.Buffer
			for _, r := range raw {
				if err := json.Compact(&out, r); err != nil {
					return fmt.Errorf("printing the result: %w", err)
				}
				out.WriteByte('\n')
			}
			return a.WriteResult(textfilter.AppendEscaped(nil, out.Bytes()))
		}
		if raw == nil {
			raw = []json.RawMessage{}
		}
		b, err := EncodeJSON(raw)
		if err != nil {
			return err
		}
		return a.WriteDocument(b)
	case "name":
		var out strings.Builder
		for _, item := range items {
			out.WriteString(Printable(name(item)) + "\n")
		}
		return a.WriteResult([]byte(out.String()))
	}
	t := table.NewWriter()
	t.SetStyle(plainTable(a.colored(a.Out)))
	var head table.Row
	var shown []Column[T]
	for _, c := range columns {
		if len(a.Fields) > 0 && !containsFold(a.Fields, c.Header) || c.Wide && a.Format != "wide" && len(a.Fields) == 0 {
			continue
		}
		shown = append(shown, c)
		head = append(head, c.Header)
	}
	if len(shown) == 0 {
		var names []string
		for _, c := range columns {
			names = append(names, strings.ToLower(c.Header))
		}
		return exit.Usagef("--fields names no column of this table; it has %s", strings.Join(names, ", "))
	}
	t.AppendHeader(head)
	rows := make([][]string, len(items))
	for i, item := range items {
		for _, c := range shown {
			rows[i] = append(rows[i], Printable(c.Value(item)))
		}
	}
	if width := a.width(); width > 0 {
		fit(rows, headers(shown), width)
	}
	for _, cells := range rows {
		var row table.Row
		for _, cell := range cells {
			row = append(row, cell)
		}
		t.AppendRow(row)
	}
	var out strings.Builder
	for line := range strings.Lines(t.Render() + "\n") {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return a.WriteResult([]byte(out.String()))
}

// Object prints one result: v for machines, its name where names are asked for, text for
// people.
func (t *Terminal) Object(v any, text func(io.Writer)) error {
	switch t.Format {
	case "json", "yaml", "jsonl":
		b, err := EncodeJSON(v)
		if err != nil {
			return err
		}
		b = SelectMembers(b, t.Fields)
		if t.Format == "jsonl" {
			var out bytes.Buffer
			if err := json.Compact(&out, b); err != nil {
				return fmt.Errorf("printing the result: %w", err)
			}
			out.WriteByte('\n')
			return t.WriteResult(textfilter.AppendEscaped(nil, out.Bytes()))
		}
		return t.WriteDocument(b)
	case "name":
		b, err := EncodeJSON(v)
		if err != nil {
			return err
		}
		var out strings.Builder
		for _, name := range namesOf(b) {
			out.WriteString(Printable(name) + "\n")
		}
		return t.WriteResult([]byte(out.String()))
	}
	var b bytes.Buffer
	text(&b)
	return t.WriteResult(textfilter.Append(nil, b.Bytes()))
}

// WriteDocument prints one JSON document, indented or as YAML.
func (t *Terminal) WriteDocument(b []byte) error {
	if t.Format == "yaml" {
		out, err := YAML(b)
		if err != nil {
			return fmt.Errorf("printing the result: %w", err)
		}
		return t.WriteResult(textfilter.Append(nil, out))
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	out.WriteByte('\n')
	return t.WriteResult(textfilter.AppendEscaped(nil, out.Bytes()))
}

// WriteResult writes what a command was asked for to the standard output.
func (t *Terminal) WriteResult(b []byte) error {
	t.answered = true
	if _, err := t.Out.Write(b); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// Say tells people what happens, on stderr; -q silences it.
func (t *Terminal) Say(format string, args ...any) {
	text := textfilter.Clean(fmt.Sprintf(format, args...))
	t.keep(text)
	if !t.Quiet {
		_, _ = io.WriteString(t.Err, text+"\n") // nowhere is left to tell
	}
}

// YAML writes JSON as YAML with the members in the same order.
func YAML(b []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(b, &n); err != nil {
		return nil, err
	}
	var block func(*yaml.Node)
	block = func(n *yaml.Node) {
		if len(n.Content) > 0 || n.Kind == yaml.DocumentNode {
			n.Style = 0
		}
		if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
			n.Style = 0 // the encoder quotes what would read as something else
		}
		for _, c := range n.Content {
			block(c)
		}
	}
	block(&n)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&n); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// EncodeJSON writes v as JSON in one line, without escapes for HTML.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("printing the result: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// SelectMembers keeps the named members of an object, in the order of the names.
// What is not an object stays as it is.
func SelectMembers(b []byte, fields []string) []byte {
	var object map[string]json.RawMessage
	if len(fields) == 0 || json.Unmarshal(b, &object) != nil {
		return b
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for _, f := range fields {
		v, ok := object[f]
		if !ok {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		key, _ := json.Marshal(f) // a string always marshals
		out.Write(key)
		out.WriteByte(':')
		out.Write(v)
	}
	out.WriteByte('}')
	return out.Bytes()
}

func containsFold(list []string, s string) bool {
	for _, l := range list {
		if strings.EqualFold(l, s) {
			return true
		}
	}
	return false
}

// Printable makes one line of text that an upstream or a specification wrote, without
// characters that nobody sees: a terminal obeys them.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, textfilter.Clean(s))
}

// plainTable has no lines: it reads well in a terminal and is easy to cut.
func plainTable(colored bool) table.Style {
	s := table.StyleDefault
	s.Name = "plain"
	s.Box = table.BoxStyle{PaddingRight: strings.Repeat(" ", columnGap)}
	s.Options = table.OptionsNoBordersAndSeparators
	s.Format = table.FormatOptions{Header: text.FormatUpper}
	if colored {
		s.Color = table.ColorOptions{Header: text.Colors{text.Bold}}
	}
	return s
}

// colored says whether colours go to w: a terminal, unless told otherwise.
func (t *Terminal) colored(w io.Writer) bool {
	if t.NoColor {
		return false
	}
	return t.Color || IsTerminal(w)
}

// IsTerminal says whether a stream of this program is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width of the terminal that the result goes to; 0 when it is none, and then
// nothing is cut.
func (t *Terminal) width() int {
	if t.Format == "wide" {
		return 0
	}
	return WidthOf(t.Out)
}

// WidthOf is how many columns a terminal has; 0: the stream is none.
func WidthOf(stream any) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
