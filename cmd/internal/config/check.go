package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/internal/nearest"
)

// maxFaults of a configuration file that are told at once.
const maxFaults = 10

// check compares a document with what a [File] has, and returns what is wrong in the
// words of the file: its keys and lines. What the values mean is checked when they are
// read.
func check(document *yaml.Node) []string {
	var faults []string
	report := func(n *yaml.Node, format string, args ...any) {
		if len(faults) < maxFaults {
			faults = append(faults, fmt.Sprintf("line %d: ", n.Line)+fmt.Sprintf(format, args...))
		}
	}
	for _, n := range document.Content {
		checkValue(n, reflect.TypeFor[File](), "", report)
	}
	return faults
}

func checkValue(n *yaml.Node, t reflect.Type, key string, report func(*yaml.Node, string, ...any)) {
	if n.Kind == yaml.AliasNode || n.Tag == "!!null" {
		return // an alias is checked where it is defined
	}
	if v, ok := reflect.TypeAssert[yaml.Unmarshaler](reflect.New(t)); ok {
		if n.Kind != yaml.ScalarNode {
			report(n, "%s must be one value", key)
		} else if err := v.UnmarshalYAML(n); err != nil {
			report(n, "%s: %s", key, err)
		}
		return
	}
	want := ""
	switch t.Kind() {
	case reflect.Struct:
		checkKeys(n, t, key, report)
		return
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			want = "names, each with its own keys"
			break
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			checkValue(n.Content[i+1], t.Elem(), key+"."+n.Content[i].Value, report)
		}
		return
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			want = "a list, such as [a, b]"
			break
		}
		for _, item := range n.Content {
			checkValue(item, t.Elem(), key, report)
		}
		return
	case reflect.Bool:
		if n.Tag != "!!bool" {
			want = "true or false"
		}
	case reflect.Int:
		if n.Tag != "!!int" {
			want = "a whole number"
		}
	default:
		if n.Kind != yaml.ScalarNode {
			want = "a text"
		}
	}
	if want != "" {
		report(n, "%s must be %s", strings.TrimPrefix(key, "."), want)
	}
}

// checkKeys finds the keys that a group does not have.
func checkKeys(n *yaml.Node, t reflect.Type, key string, report func(*yaml.Node, string, ...any)) {
	if n.Kind != yaml.MappingNode {
		if key == "" {
			report(n, "a configuration is keys with values, such as listen: 127.0.0.1:7300")
			return
		}
		report(n, "%s must be a group of keys: %s", key, strings.Join(keysOf(t), ", "))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		full := strings.TrimPrefix(key+"."+name, ".")
		f, ok := fieldOf(t, name)
		if ok {
			checkValue(n.Content[i+1], f, full, report)
			continue
		}
		if meant := nearest.Name(name, slices.Values(keysOf(t))); meant != "" {
			report(n.Content[i], "there is no key %s; did you mean %s?", full, meant)
		} else {
			report(n.Content[i], "there is no key %s", full)
		}
	}
}

func fieldOf(t reflect.Type, key string) (reflect.Type, bool) {
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name == key {
			return f.Type, true
		}
	}
	return nil, false
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	return keys
}
