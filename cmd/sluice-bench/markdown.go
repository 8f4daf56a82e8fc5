package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
)

const (
	sizingBegin = "<!-- begin: written by make sizing -->\n"
	tableBegin  = "<!-- begin: written by make bench-docs -->\n"
	tableEnd    = "<!-- end -->\n"
)

// writeMarkdown puts the table of lines between the marks in the file called
// name and leaves the rest of the file as it is.
func writeMarkdown(name string, lines []line) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	doc, err := replaceTable(old, lines)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, doc, 0o644) //nolint:gosec // documentation is for everyone
}

func replaceTable(doc []byte, lines []line) ([]byte, error) {
	var t bytes.Buffer
	t.WriteString("| name | value | goal | reached | what | how |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, g := range goals {
		for _, l := range lines {
			if l.name != g.name {
				continue
			}
			reached := "yes"
			if !l.ok() {
				reached = "**no**"
			}
			unit := ""
			if l.unit != "" {
				unit = " " + l.unit
			}
			fmt.Fprintf(&t, "| `%s` | %s%s | %s %s%s | %s | %s | %s |\n", l.name, figure(l.value), unit, l.op, figure(l.limit), unit, reached, l.what, l.note)
		}
	}
	return replaceBetween(doc, tableBegin, tableEnd, t.Bytes())
}

// replaceBetween puts text between two lines of doc.
func replaceBetween(doc []byte, begin, end string, text []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(doc, []byte(begin))
	if !ok {
		return nil, fmt.Errorf("no line %q", begin)
	}
	_, after, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return nil, fmt.Errorf("no line %q", end)
	}
	return slices.Concat(before, []byte(begin), text, []byte(end), after), nil
}
