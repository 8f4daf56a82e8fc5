package clientcmd

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/internal/clientconfig"
)

// setYAML sets a member of a mapping at the root of a YAML document.
func setYAML(doc []byte, e clientconfig.Entry) ([]byte, error) {
	at, err := findYAML(doc, e)
	if err != nil {
		return nil, err
	}
	group, name := e.Path[0], e.Path[1]
	switch {
	case at.group == nil:
		text := clientconfig.YAMLKey(group) + ":\n" + clientconfig.YAML(name, e.Value, "  ")
		if len(doc) > 0 && !bytes.HasSuffix(doc, []byte("\n")) {
			text = "\n" + text
		}
		return append(bytes.Clone(doc), text...), nil
	case at.key != nil:
		indent := strings.Repeat(" ", at.key.Column-1)
		start, end := at.lines(at.key)
		return slices.Concat(doc[:start], []byte(clientconfig.YAML(name, e.Value, indent)), doc[end:]), nil
	case len(at.group.Content) > 0:
		keys := at.group.Content
		_, end := at.lines(keys[len(keys)-2])
		text := clientconfig.YAML(name, e.Value, strings.Repeat(" ", keys[0].Column-1))
		if end > 0 && doc[end-1] != '\n' {
			text = "\n" + text
		}
		return slices.Concat(doc[:end], []byte(text), doc[end:]), nil
	default: // "extensions:" or "extensions: {}"
		start := at.starts[at.groupKey.Line-1]
		end := len(doc)
		if at.groupKey.Line < len(at.starts) {
			end = at.starts[at.groupKey.Line]
		}
		line := strings.TrimRight(strings.Replace(string(doc[start:end]), "{}", "", 1), " \r\n")
		return slices.Concat(doc[:start], []byte(line+"\n"+clientconfig.YAML(name, e.Value, "  ")), doc[end:]), nil
	}
}

// removeYAML removes a member of a mapping at the root of a YAML document.
func removeYAML(doc []byte, e clientconfig.Entry) ([]byte, error) {
	at, err := findYAML(doc, e)
	if err != nil || at.key == nil {
		return doc, err
	}
	start, end := at.lines(at.key)
	if len(at.group.Content) == 2 { // the last one: an empty mapping has to be written
		line := strings.TrimRight(string(doc[at.starts[at.groupKey.Line-1]:start]), " \r\n")
		if !strings.Contains(line, "\n") && strings.HasSuffix(line, ":") {
			return slices.Concat(doc[:at.starts[at.groupKey.Line-1]], []byte(line+" {}\n"), doc[end:]), nil
		}
	}
	return slices.Concat(doc[:start], doc[end:]), nil
}

// yamlPlace is where a member is, or would be, in a YAML document.
type yamlPlace struct {
	doc      []byte
	starts   []int      // of the lines
	groupKey *yaml.Node // the mapping's name; nil: there is no such mapping
	group    *yaml.Node
	key      *yaml.Node // the member's name; nil: the mapping has none
}

func findYAML(doc []byte, e clientconfig.Entry) (*yamlPlace, error) {
	at := &yamlPlace{doc: doc}
	for i := 0; i < len(doc); {
		at.starts = append(at.starts, i)
		next := bytes.IndexByte(doc[i:], '\n')
		if next < 0 {
			break
		}
		i += next + 1
	}
	var n yaml.Node
	if err := yaml.Unmarshal(doc, &n); err != nil {
		return nil, err
	}
	if len(n.Content) == 0 {
		return at, nil
	}
	at.groupKey, at.group = yamlMemberOf(n.Content[0], e.Path[0])
	if at.group == nil {
		return at, nil
	}
	null := at.group.Kind == yaml.ScalarNode && at.group.Tag == "!!null"
	if at.group.Kind != yaml.MappingNode && !null || at.group.Style&yaml.FlowStyle != 0 && len(at.group.Content) > 0 {
		return nil, fmt.Errorf("line %d: %s is not a mapping with a line for each member", at.groupKey.Line, e.Path[0])
	}
	at.key, _ = yamlMemberOf(at.group, e.Path[1])
	return at, nil
}

// lines are where the lines of a member begin and end: those that are indented more than
// its name belong to it.
func (p *yamlPlace) lines(key *yaml.Node) (start, end int) {
	end = len(p.doc)
	last := key.Line
	for i := key.Line; i < len(p.starts); i++ {
		line := p.doc[p.starts[i]:]
		if next := bytes.IndexByte(line, '\n'); next >= 0 {
			line = line[:next]
		}
		text := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(text)) == 0 {
			continue // blank lines behind a member are not its own
		}
		if len(line)-len(text) < key.Column {
			break
		}
		last = i + 1
	}
	if last < len(p.starts) {
		end = p.starts[last]
	}
	return p.starts[key.Line-1], end
}

// yamlMemberOf finds a member of a mapping, and its name.
func yamlMemberOf(m *yaml.Node, name string) (key, value *yaml.Node) {
	if m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}
