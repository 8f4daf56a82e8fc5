// Package clientconfig has the configuration with which MCP clients (AI applications) connect
// to a toolset: what to run or paste, and what their configuration files get. Where their own
// documentation says so is in docs/clients.md.
package clientconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Object is an object of a configuration file, which keeps the order of its members.
type Object []Member

// Member is one member of an object.
type Member struct {
	Key   string
	Value any // a string, a number, a bool, an Object, or a list of these
}

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(Compact(m.Key))
		b.WriteByte(':')
		b.Write(Compact(m.Value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Compact writes the value of a member as JSON, with <, > and & as they are.
func Compact(value any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic("BUG: " + err.Error()) // these always marshal
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Entry is what a configuration file has of one toolset.
type Entry struct {
	Path  []string // of the member: the object it is in, and its name
	Value Object
	// Input is an element of the list [Inputs] that Value refers to, by its id. nil: none.
	Input Object
}

// Inputs is the list of VS Code's mcp.json that values are asked for by.
const Inputs = "inputs"

// Document is a document with one entry in it, as people paste it.
func Document(e Entry) string {
	var value any = e.Value
	for _, name := range slices.Backward(e.Path[1:]) {
		value = Object{{name, value}}
	}
	root := Object{{e.Path[0], value}}
	if e.Input != nil {
		root = append(root, Member{Inputs, []Object{e.Input}})
	}
	var out bytes.Buffer
	if err := json.Indent(&out, Compact(root), "", "  "); err != nil {
		panic("BUG: " + err.Error()) // it was written a moment ago
	}
	return out.String()
}

// YAML writes a member of a mapping, each line with an indentation. Values are written as
// JSON, which YAML includes.
func YAML(name string, value Object, indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s:\n", indent, YAMLKey(name))
	for _, m := range value {
		if inner, ok := m.Value.(Object); ok {
			b.WriteString(YAML(m.Key, inner, indent+"  "))
			continue
		}
		fmt.Fprintf(&b, "%s  %s: %s\n", indent, YAMLKey(m.Key), Compact(m.Value))
	}
	return b.String()
}

// YAMLKey writes the name of a member, in quotes when it could be read as something else.
func YAMLKey(name string) string {
	var v any
	if err := yaml.Unmarshal([]byte(name), &v); err == nil && v == name && !strings.ContainsAny(name, ": #") {
		return name
	}
	return string(Compact(name))
}

// ShellWord is s as one word of a POSIX shell: as it is, or between single quotes.
func ShellWord(s string) string {
	plain := s != ""
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,", r) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// CurlLine is a request of JSON-RPC that works when it is pasted into a shell; params nil: none.
func CurlLine(url, method string, params any) string {
	m := Object{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}}
	if params != nil {
		m = append(m, Member{"params", params})
	}
	return "curl -s " + ShellWord(url) + " -H 'Content-Type: application/json' -d " + ShellWord(string(Compact(m)))
}
