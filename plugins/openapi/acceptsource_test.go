package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// What an API requires is read here from its document alone, with decoders and
// reference rules of the test's own: what the compiler publishes must not decide
// what it is tested with.

// sourceDoc is the source of one specification: its files, decoded.
type sourceDoc struct {
	src   Source
	files map[string]any
	kids  map[string][]extension // by pointer of what is extended
}

// sourceNode is a value of a file.
type sourceNode struct {
	file string
	v    any
}

type extension struct {
	name string
	at   sourceNode
	ref  string
}

func readSource(src Source) (*sourceDoc, error) {
	d := &sourceDoc{src: src, files: map[string]any{}}
	v, err := decodeAny(src.Data)
	d.files[src.Path] = v
	return d, err
}

func decodeAny(b []byte) (any, error) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	var v any
	if t := bytes.TrimSpace(b); len(t) > 0 && t[0] == '{' {
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		return v, dec.Decode(&v)
	}
	if err := yaml.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	return tidyYAML(v, 0), nil
}

// tidyYAML gives maps text keys and numbers their literal.
func tidyYAML(v any, depth int) any {
	if depth > 200 {
		return nil
	}
	switch x := v.(type) {
	case map[any]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[fmt.Sprint(k)] = tidyYAML(e, depth+1)
		}
		return m
	case map[string]any:
		for k, e := range x {
			x[k] = tidyYAML(e, depth+1)
		}
		return x
	case []any:
		for i, e := range x {
			x[i] = tidyYAML(e, depth+1)
		}
		return x
	case int, int64, uint64:
		return json.Number(fmt.Sprint(x))
	case float64:
		b, err := json.Marshal(x)
		if err != nil {
			return nil
		}
		return json.Number(b)
	case nil, string, bool:
		return x
	}
	return fmt.Sprint(v)
}

func (n sourceNode) get(names ...string) sourceNode {
	for _, name := range names {
		m, _ := n.v.(map[string]any)
		n.v = m[name]
	}
	return n
}

func (n sourceNode) str() string    { s, _ := n.v.(string); return s }
func (n sourceNode) truth() bool    { b, _ := n.v.(bool); return b }
func (n sourceNode) exists() bool   { return n.v != nil }
func (n sourceNode) isObject() bool { _, ok := n.v.(map[string]any); return ok }

func (n sourceNode) list() []sourceNode {
	l, _ := n.v.([]any)
	out := make([]sourceNode, len(l))
	for i := range l {
		out[i] = sourceNode{n.file, l[i]}
	}
	return out
}

// keys are the members' names, sorted: maps of Go have no order, and the same
// calls are wanted in every run.
func (n sourceNode) keys() []string {
	m, _ := n.v.(map[string]any)
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// resolve follows references to their end; ok is false for one that leads nowhere.
func (d *sourceDoc) resolve(n sourceNode) (sourceNode, bool) {
	for range 40 {
		ref := n.get("$ref")
		if ref.str() == "" {
			return n, n.exists()
		}
		var ok bool
		if n, ok = d.target(n.file, ref.str()); !ok {
			return sourceNode{}, false
		}
	}
	return sourceNode{}, false
}

func (d *sourceDoc) target(from, ref string) (sourceNode, bool) {
	file, fragment, _ := strings.Cut(ref, "#")
	if file == "" {
		file = from
	} else {
		file = path.Join(path.Dir(from), file)
		if _, ok := d.files[file]; !ok {
			b, ok := d.src.Files[file]
			if !ok {
				return sourceNode{}, false
			}
			v, err := decodeAny(b)
			if err != nil {
				return sourceNode{}, false
			}
			d.files[file] = v
		}
	}
	n := sourceNode{file, d.files[file]}
	if fragment == "" {
		return n, n.exists()
	}
	if !strings.HasPrefix(fragment, "/") {
		return sourceNode{}, false
	}
	for token := range strings.SplitSeq(fragment[1:], "/") {
		if u, err := url.PathUnescape(token); err == nil {
			token = u
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch x := n.v.(type) {
		case map[string]any:
			n.v = x[token]
		case []any:
			var i int
			if _, err := fmt.Sscan(token, &i); err != nil || i < 0 || i >= len(x) {
				return sourceNode{}, false
			}
			n.v = x[i]
		default:
			return sourceNode{}, false
		}
	}
	return n, n.exists()
}

// extensions are the components that include the schema by allOf, those that
// include these too.
func (d *sourceDoc) extensions(ref string) []extension {
	if d.kids == nil {
		d.kids = map[string][]extension{}
		root := sourceNode{d.src.Path, d.files[d.src.Path]}
		for _, list := range []sourceNode{root.get("components", "schemas"), root.get("definitions")} {
			for _, name := range list.keys() {
				s := list.get(name)
				for _, part := range s.get("allOf").list() {
					if r := part.get("$ref").str(); r != "" {
						d.kids[r] = append(d.kids[r], extension{name, s, strings.TrimSuffix(r, refName(r)) + name})
					}
				}
			}
		}
	}
	var out []extension
	var walk func(ref string)
	walk = func(ref string) {
		for _, k := range d.kids[ref] {
			if !slices.ContainsFunc(out, func(o extension) bool { return o.name == k.name }) && len(out) < 100 {
				out = append(out, k)
				walk(k.ref)
			}
		}
	}
	walk(ref)
	return out
}
