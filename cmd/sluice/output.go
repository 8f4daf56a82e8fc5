package main

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

	"github.com/sluicegate/sluice/internal/textfilter"
)

// column is one column of a table of T.
type column[T any] struct {
	header string
	wide   bool // only with -o wide
	value  func(T) string
}

// list prints items in the format that was asked for. raw are the items as the
// admin API gave them, so machines read the API's own objects; nil marshals items.
func list[T any](a *app, items []T, raw []json.RawMessage, columns []column[T], name func(T) string) error {
	switch a.flags.output {
	case "json", "yaml", "jsonl":
		if raw == nil {
			for _, item := range items {
				b, err := encodeJSON(item)
				if err != nil {
					return err
				}
				raw = append(raw, b)
			}
		}
		for i, r := range raw {
			raw[i] = selectMembers(r, a.flags.fields)
		}
		if a.flags.output == "jsonl" {
			var out bytes.Buffer
			for _, r := range raw {
				if err := json.Compact(&out, r); err != nil {
					return fmt.Errorf("printing the result: %w", err)
				}
				out.WriteByte('\n')
			}
			return a.write(textfilter.AppendEscaped(nil, out.Bytes()))
		}
		if raw == nil {
			raw = []json.RawMessage{}
		}
		b, err := encodeJSON(raw)
		if err != nil {
			return err
		}
		return a.writeDocument(b)
	case "name":
		var out strings.Builder
		for _, item := range items {
			out.WriteString(printable(name(item)) + "\n")
		}
		return a.write([]byte(out.String()))
	}
	t := table.NewWriter()
	t.SetStyle(plainTable(a.colored(a.stdout)))
	var head table.Row
	var shown []column[T]
	for _, c := range columns {
		if len(a.flags.fields) > 0 && !containsFold(a.flags.fields, c.header) || c.wide && a.flags.output != "wide" && len(a.flags.fields) == 0 {
			continue
		}
		shown = append(shown, c)
		head = append(head, c.header)
	}
	if len(shown) == 0 {
		return usagef("--fields names no column of this table")
	}
	t.AppendHeader(head)
	for _, item := range items {
		var row table.Row
		for _, c := range shown {
			row = append(row, printable(c.value(item)))
		}
		t.AppendRow(row)
	}
	if width := a.width(); width > 0 {
		t.SetAllowedRowLength(width)
	}
	var out strings.Builder
	for line := range strings.Lines(t.Render() + "\n") {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return a.write([]byte(out.String()))
}

// object prints one result: v for machines, text for people.
func (a *app) object(v any, text func(io.Writer)) error {
	switch a.flags.output {
	case "json", "yaml", "jsonl":
		b, err := encodeJSON(v)
		if err != nil {
			return err
		}
		b = selectMembers(b, a.flags.fields)
		if a.flags.output == "jsonl" {
			var out bytes.Buffer
			if err := json.Compact(&out, b); err != nil {
				return fmt.Errorf("printing the result: %w", err)
			}
			out.WriteByte('\n')
			return a.write(textfilter.AppendEscaped(nil, out.Bytes()))
		}
		return a.writeDocument(b)
	}
	var b bytes.Buffer
	text(&b)
	return a.write(textfilter.Append(nil, b.Bytes()))
}

// writeDocument prints one JSON document, indented or as YAML.
func (a *app) writeDocument(b []byte) error {
	if a.flags.output == "yaml" {
		out, err := yamlOf(b)
		if err != nil {
			return fmt.Errorf("printing the result: %w", err)
		}
		return a.write(textfilter.Append(nil, out))
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	out.WriteByte('\n')
	return a.write(textfilter.AppendEscaped(nil, out.Bytes()))
}

func (a *app) write(b []byte) error {
	if _, err := a.stdout.Write(b); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// say tells people what happens, on stderr; -q silences it.
func (a *app) say(format string, args ...any) {
	if !a.flags.quiet {
		_, _ = io.WriteString(a.stderr, textfilter.Clean(fmt.Sprintf(format+"\n", args...))) // nowhere is left to tell
	}
}

// yamlOf writes JSON as YAML with the members in the same order.
func yamlOf(b []byte) ([]byte, error) {
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

func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("printing the result: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// selectMembers keeps the named members of an object, in the order of the names.
// What is not an object stays as it is.
func selectMembers(b []byte, fields []string) []byte {
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

// printable makes one line of text that an upstream or a specification wrote, without
// characters that nobody sees: a terminal obeys them.
func printable(s string) string {
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
	s.Box = table.BoxStyle{PaddingRight: "  ", UnfinishedRow: "…"}
	s.Options = table.OptionsNoBordersAndSeparators
	s.Format = table.FormatOptions{Header: text.FormatUpper}
	if colored {
		s.Color = table.ColorOptions{Header: text.Colors{text.Bold}}
	}
	return s
}

// colored says whether colours go to w: a terminal, unless told otherwise.
func (a *app) colored(w io.Writer) bool {
	if a.flags.noColor || a.env.noColor {
		return false
	}
	return a.env.color || isTerminal(w)
}

// isTerminal says whether a stream of this program is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width of the terminal that the result goes to; 0 when it is none, and then
// nothing is cut.
func (a *app) width() int {
	f, ok := a.stdout.(*os.File)
	if !ok || a.flags.output == "wide" {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
