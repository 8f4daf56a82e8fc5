package clientcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/internal/clientconfig"
)

// format is a language of configuration files. set and remove change the bytes of one
// entry and leave all others as they are. They are given a document that decode read.
type format struct {
	decode      func(doc []byte) (map[string]any, error)
	set, remove func(doc []byte, e clientconfig.Entry) ([]byte, error)
}

// formatOf is the format of a file, by its name.
func formatOf(path string) format {
	switch {
	case strings.HasSuffix(path, ".toml"):
		return format{decodeTOML, setTOML, removeTOML}
	case strings.HasSuffix(path, ".yaml"):
		return format{decodeYAML, setYAML, removeYAML}
	default:
		return format{decodeJSON, setJSON, removeJSON}
	}
}

// install returns doc with the entry in it. The result is read again: whatever else
// changed than the entry is an error, so a form of the document that was not thought of
// loses nobody's settings.
func (f format) install(doc []byte, e clientconfig.Entry) ([]byte, error) {
	before, err := f.decode(doc)
	if err != nil {
		return nil, err
	}
	want := with(e, before)
	if isIn(e, before) {
		return doc, nil
	}
	out, err := f.set(doc, e)
	if err != nil {
		return nil, err
	}
	return f.checked(doc, out, want)
}

// uninstall returns doc without the entry.
func (f format) uninstall(doc []byte, e clientconfig.Entry) ([]byte, error) {
	before, err := f.decode(doc)
	if err != nil || memberAt(before, e.Path) == nil {
		return doc, err
	}
	out, err := f.remove(doc, e)
	if err != nil {
		return nil, err
	}
	return f.checked(doc, out, without(e, before))
}

// withoutMark is a copy of a document with spaces for the byte order mark with which editors
// on Windows may begin it: no parser but YAML's takes one, and offsets stay true.
func withoutMark(doc []byte) []byte {
	const mark = "\ufeff"
	if rest, ok := bytes.CutPrefix(doc, []byte(mark)); ok {
		return append(bytes.Repeat([]byte(" "), len(mark)), rest...)
	}
	return bytes.Clone(doc)
}

// checked returns a changed document when it says want, in the line ends of the document
// it was made of; one that has both kinds keeps them.
func (f format) checked(doc, changed []byte, want map[string]any) ([]byte, error) {
	if n := bytes.Count(doc, []byte("\r\n")); n > 0 && n == bytes.Count(doc, []byte("\n")) {
		changed = bytes.ReplaceAll(bytes.ReplaceAll(changed, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	got, err := f.decode(changed)
	if err != nil || !reflect.DeepEqual(prune(got), prune(want)) {
		return nil, errors.New("it is written in a form that is not changed automatically")
	}
	return changed, nil
}

// ours are the members that an entry says everything about: one that it does not have is
// not to be there. Whatever else a user added to the entry stays.
var ours = []string{"headers", "bearer_token_env_var", "env_keys", "oauth", "command", "args", "url", "serverUrl"}

// isIn reports whether a document has the entry already.
func isIn(e clientconfig.Entry, doc map[string]any) bool {
	have, ok := memberAt(doc, e.Path).(map[string]any)
	if !ok {
		return false
	}
	want := plain(e.Value).(map[string]any)
	for key, value := range want {
		if !reflect.DeepEqual(have[key], value) {
			return false
		}
	}
	for _, key := range ours {
		if _, ok := have[key]; ok && want[key] == nil {
			return false
		}
	}
	list, _ := doc[clientconfig.Inputs].([]any)
	return e.Input == nil || indexOfID(list, e.Input) >= 0
}

// with returns what a document says once it has the entry.
func with(e clientconfig.Entry, doc map[string]any) map[string]any {
	out := copyOf(doc)
	at := out
	for _, key := range e.Path[:len(e.Path)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			next = map[string]any{}
		}
		at[key], at = next, next
	}
	at[e.Path[len(e.Path)-1]] = plain(e.Value)
	if e.Input != nil {
		list, _ := out[clientconfig.Inputs].([]any)
		if indexOfID(list, e.Input) < 0 {
			out[clientconfig.Inputs] = append(list, plain(e.Input))
		}
	}
	return out
}

// without returns what a document says once the entry is gone.
func without(e clientconfig.Entry, doc map[string]any) map[string]any {
	out := copyOf(doc)
	if at, ok := memberAt(out, e.Path[:len(e.Path)-1]).(map[string]any); ok {
		delete(at, e.Path[len(e.Path)-1])
	}
	if list, _ := out[clientconfig.Inputs].([]any); e.Input != nil {
		if i := indexOfID(list, e.Input); i >= 0 {
			out[clientconfig.Inputs] = append(list[:i:i], list[i+1:]...)
		}
	}
	return out
}

// indexOfID finds the element of a list with the id of an input; -1: none.
func indexOfID(list []any, input clientconfig.Object) int {
	for i, element := range list {
		if m, ok := element.(map[string]any); ok && m["id"] == input[0].Value {
			return i
		}
	}
	return -1
}

func memberAt(doc map[string]any, path []string) any {
	var at any = doc
	for _, key := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[key]
	}
	return at
}

// prune takes empty objects and lists out: some formats cannot write them, and nobody
// misses them.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if value = prune(value); value != nil {
				out[key] = value
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// plain is what a decoder of JSON makes of a value.
func plain(value any) any {
	var out any
	dec := json.NewDecoder(bytes.NewReader(clientconfig.Compact(value)))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		panic("BUG: " + err.Error()) // it was encoded a moment ago
	}
	return out
}

func copyOf(doc map[string]any) map[string]any {
	return copyValue(doc).(map[string]any)
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = copyValue(value)
		}
		return out
	case []any:
		return append([]any(nil), v...)
	}
	return v
}

// decodeJSON reads JSON that may have comments and commas behind last members.
func decodeJSON(doc []byte) (map[string]any, error) {
	doc = withoutMark(doc)
	if len(bytes.TrimSpace(doc)) == 0 {
		return map[string]any{}, nil
	}
	standard, err := hujson.Standardize(doc)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	dec := json.NewDecoder(bytes.NewReader(standard))
	dec.UseNumber()
	var out map[string]any
	if err := dec.Decode(&out); err != nil || out == nil {
		return nil, errors.New("line 1: not an object")
	}
	return out, nil
}

func decodeTOML(doc []byte) (map[string]any, error) {
	out := map[string]any{}
	err := toml.Unmarshal(withoutMark(doc), &out)
	if place, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := place.Position()
		return nil, fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(place.Error(), "toml: "))
	}
	return out, err
}

// yamlPosition is how the parser writes one.
var yamlPosition = regexp.MustCompile(`\bL(\d+)\.C(\d+)`)

func decodeYAML(doc []byte) (map[string]any, error) {
	dec := yaml.NewDecoder(bytes.NewReader(doc))
	out := map[string]any{}
	if err := dec.Decode(&out); err != nil && !errors.Is(err, io.EOF) {
		text := yamlPosition.ReplaceAllString(err.Error(), "line $1, column $2")
		return nil, errors.New(strings.Join(strings.Fields(strings.TrimPrefix(text, "go-yaml load error ")), " "))
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is more than one document")
	}
	return out, nil
}
