package clientcmd

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/sluicegate/sluice/internal/clientconfig"
)

// tomlTable is a table of a TOML document: its name, and its lines from the header to the
// last member.
type tomlTable struct {
	name       []string
	start, end int
}

// tomlTables are the tables of a document, in its order. Comments and blank lines before a
// header belong to none.
func tomlTables(doc []byte) ([]tomlTable, error) {
	var tables []tomlTable
	var p unstable.Parser
	p.Reset(withoutMark(doc))
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		t := tomlTable{start: -1, end: len(doc)}
		for key := e.Key(); key.Next(); {
			if t.start < 0 {
				t.start = bytes.LastIndexByte(doc[:key.Node().Raw.Offset], '\n') + 1
			}
			t.name = append(t.name, string(key.Node().Data))
		}
		if n := len(tables); n > 0 {
			tables[n-1].end = t.start
		}
		tables = append(tables, t)
	}
	for i := range tables {
		t := &tables[i]
		for t.end > t.start { // the last line of a member is neither blank nor a comment
			line := bytes.LastIndexByte(doc[:t.end-1], '\n') + 1
			if text := bytes.TrimSpace(doc[line:t.end]); len(text) > 0 && text[0] != '#' {
				break
			}
			t.end = line
		}
	}
	return tables, p.Error()
}

// setTOML sets a table of a TOML document, and removes those below it.
func setTOML(doc []byte, e clientconfig.Entry) ([]byte, error) {
	tables, err := tomlTables(doc)
	if err != nil {
		return nil, err
	}
	var table strings.Builder
	fmt.Fprintf(&table, "[%s]\n", tomlName(e.Path))
	for _, m := range e.Value {
		fmt.Fprintf(&table, "%s = %s\n", m.Key, clientconfig.Compact(m.Value)) // strings and lists of them are the same in JSON
	}
	done := false
	for _, t := range slices.Backward(tables) {
		switch {
		case slices.Equal(t.name, e.Path):
			doc, done = slices.Concat(doc[:t.start], []byte(table.String()), doc[t.end:]), true
		case t.below(e.Path):
			doc = t.cut(doc)
		}
	}
	if done {
		return doc, nil
	}
	out := bytes.Clone(doc)
	if len(out) > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, '\n')
		}
		out = append(out, '\n')
	}
	return append(out, table.String()...), nil
}

// removeTOML removes a table and those below it.
func removeTOML(doc []byte, e clientconfig.Entry) ([]byte, error) {
	tables, err := tomlTables(doc)
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(tables) {
		if slices.Equal(t.name, e.Path) || t.below(e.Path) {
			doc = t.cut(doc)
		}
	}
	return doc, nil
}

// below reports whether a table is in the one of a name.
func (t tomlTable) below(name []string) bool {
	return len(t.name) > len(name) && slices.Equal(t.name[:len(name)], name)
}

// cut removes a table, and the blank line before it.
func (t tomlTable) cut(doc []byte) []byte {
	start := t.start
	if bytes.HasSuffix(doc[:start], []byte("\n\n")) || bytes.HasSuffix(doc[:start], []byte("\n\r\n")) {
		start = bytes.LastIndexByte(doc[:start-1], '\n') + 1
	}
	return slices.Concat(doc[:start], doc[t.end:])
}

// tomlName writes the name of a table.
func tomlName(path []string) string {
	parts := make([]string, len(path))
	for i, name := range path {
		parts[i] = name
		if strings.ContainsFunc(name, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r)
		}) || name == "" {
			parts[i] = string(clientconfig.Compact(name))
		}
	}
	return strings.Join(parts, ".")
}
