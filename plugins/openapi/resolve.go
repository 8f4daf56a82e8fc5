package openapi

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/nearest"
)

// Bounds of reference resolution.
const (
	// maxHops is how many references in a row may be followed; real chains have
	// at most 5.
	maxHops = 32
	// maxReferenceBytes bounds one reference; real ones stay below 300.
	maxReferenceBytes = 4096
	// maxGuesses bounds the searches for a name like a missing one; each costs
	// about a millisecond.
	maxGuesses = 100
	// maxDocumentDepth is how far documents may refer to documents.
	maxDocumentDepth = 5
	// HardMaxFiles bounds the files of an upload; DigitalOcean has 2,907.
	HardMaxFiles = 10_000
)

// refKey is a reference as written in a document.
type refKey struct {
	d   *document
	ref string
}

// refOf is the $ref (or $dynamicRef) of an object, when it is a string.
func refOf(v value) (value, bool) {
	if !v.isObject() {
		return value{}, false
	}
	for k, m := range v.members() {
		if (k.is("$ref") || k.is("$dynamicRef")) && m.isString() {
			return m, true
		}
	}
	return value{}, false
}

// follow gives the object that v stands for: itself, or the end of its chain of
// references. ok is false, with a warning given, when there is none. It serves
// every kind of object but schemas, whose references are followed one at a time
// by [compiler.fold].
func (c *compiler) follow(v value, what string) (target value, ok bool) {
	var hops []value
	for {
		ref, isRef := refOf(v)
		if !isRef {
			if !v.exists() {
				return value{}, false
			}
			return v, true
		}
		if slices.Contains(hops, v) || len(hops) >= maxHops {
			c.warn(codeRefCycle, ref, "point the reference at a definition", "the %s reference %s leads back to itself", what, quoteShort(ref.text()))
			return value{}, false
		}
		hops = append(hops, v)
		if v, ok = c.target(ref); !ok {
			return value{}, false
		}
	}
}

// target resolves one reference. Unresolvable ones are warned about once.
func (c *compiler) target(ref value) (value, bool) {
	if c.tick(); c.err != nil {
		return value{}, false
	}
	key := refKey{ref.d, ref.text()}
	if t, ok := c.refs[key]; ok {
		if !t.exists() {
			c.brokenRef(ref)
		}
		return t, t.exists()
	}
	t := c.lookUp(ref, key.ref)
	if t.exists() {
		t = t.deref()
	}
	c.refs[key] = t
	return t, t.exists()
}

// brokenRef repeats the warning of an unresolvable reference at another place.
func (c *compiler) brokenRef(ref value) {
	if c.seen[seenAt{code: codeRefExternal, at: ref}] {
		return
	}
	c.warn(codeRefUnresolved, ref, "correct the reference", "the reference %s cannot be resolved", quoteShort(ref.text()))
}

func (c *compiler) lookUp(at value, ref string) value {
	if len(ref) > maxReferenceBytes {
		c.warn(codeRefUnresolved, at, "shorten the reference", "a reference of %d bytes", len(ref))
		return value{}
	}
	file, fragment, hasFragment := strings.Cut(ref, "#")
	d := at.d
	if file != "" {
		if v := c.embedded(d, file); v.exists() {
			return c.inResource(v, fragment, at, ref)
		}
		if !hasFragment {
			if v := c.bareName(file); v.exists() {
				c.warn(codeRefUnresolved, at, "write the full reference", "the reference %s is only a name; it is taken from the definitions", quoteShort(ref))
				return v
			}
		}
		other, ok := c.external(at, file)
		if !ok {
			return value{}
		}
		d = other
	}
	return c.inResource(d.root(), fragment, at, ref)
}

// inResource finds a fragment (JSON pointer or anchor) in a document or schema
// resource.
func (c *compiler) inResource(root value, fragment string, at value, ref string) value {
	if fragment == "" {
		return root
	}
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if !strings.HasPrefix(fragment, "/") {
		if v, ok := c.anchors(root.d)[fragment]; ok {
			return v
		}
		if v := c.bareName(fragment); v.exists() {
			c.warn(codeRefUnresolved, at, "write the full reference", "the reference %s is only a name; it is taken from the definitions", quoteShort(ref))
			return v
		}
		c.warn(codeRefUnresolved, at, "add the anchor or use a JSON pointer", "no anchor %s", quoteShort(fragment))
		return value{}
	}
	v, missing, parent := descend(root, fragment)
	if v.exists() {
		return v
	}
	// A schema with its own $id is a resource of its own (JSON Schema 2020-12
	// §8.2.1): the pointer is relative to it.
	if res := c.enclosingResource(at); res.exists() && res != root {
		if v, _, _ := descend(res, fragment); v.exists() {
			return v
		}
	}
	remedy := "correct the reference"
	if c.guesses++; c.guesses > maxGuesses {
		c.warn(codeRefUnresolved, at, remedy, "the reference %s cannot be resolved: there is no %s", quoteShort(ref), quoteShort(missing))
		return value{}
	}
	if s := nearest.Name(missing, func(yield func(string) bool) {
		for k := range parent.members() {
			if !yield(k.text()) {
				return
			}
		}
	}); s != "" {
		remedy = fmt.Sprintf("did you mean %s?", quoteShort(s))
	}
	c.warn(codeRefUnresolved, at, remedy, "the reference %s cannot be resolved: there is no %s", quoteShort(ref), quoteShort(missing))
	return value{}
}

// descend follows a JSON pointer. When it ends early, missing is the token that
// was not found in parent.
func descend(v value, pointer string) (found value, missing string, parent value) {
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if strings.Contains(token, "~") {
			token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		}
		parent = v
		switch v.kind() {
		case kindObject:
			v = v.get(token)
		case kindArray:
			n := 0
			for _, ch := range token {
				if ch < '0' || ch > '9' || n > 1<<20 {
					return value{}, token, parent
				}
				n = n*10 + int(ch-'0')
			}
			v = v.element(n)
		default:
			v = value{}
		}
		if !v.exists() {
			return value{}, token, parent
		}
	}
	return v, "", parent
}

// maxResources bounds the schema resources that are searched for the one around
// a reference.
const maxResources = 1000

// enclosingResource is the nearest object around v that has an $id.
func (c *compiler) enclosingResource(v value) value {
	var res value
	for _, r := range c.namesOf(v.d).resources {
		if r.i <= v.i && v.i < r.node().next && (!res.exists() || r.i > res.i) {
			res = r
		}
	}
	return res
}

// bareName finds a definition by its name alone.
func (c *compiler) bareName(name string) value {
	if name == "" || strings.ContainsAny(name, "/.:") {
		return value{}
	}
	root := c.main.root()
	if v := root.get("components").get("schemas").get(name); v.exists() {
		return v
	}
	return root.get("definitions").get(name)
}

// names of the schema resources and anchors of a document.
type names struct {
	anchors map[string]value // $anchor, $dynamicAnchor (the outermost wins)
	ids     map[string]value // $id
	// resources are the objects with an $id in the order of the document.
	resources []value
}

func (c *compiler) anchors(d *document) map[string]value    { return c.namesOf(d).anchors }
func (c *compiler) embedded(d *document, file string) value { return c.namesOf(d).ids[file] }

// namesOf builds the tables of one document, once.
func (c *compiler) namesOf(d *document) *names {
	if t, ok := c.names[d]; ok {
		return t
	}
	t := &names{anchors: map[string]value{}, ids: map[string]value{}}
	c.names[d] = t
	var open []uint32 // containers around i
	for i := range d.nodes {
		for len(open) > 0 && d.nodes[open[len(open)-1]].next <= uint32(i) {
			open = open[:len(open)-1]
		}
		n := d.nodes[i]
		if n.kind == kindObject || n.kind == kindArray {
			open = append(open, uint32(i))
			continue
		}
		if n.flags&flagKey == 0 || n.end == n.off || d.text[n.off] != '$' || len(open) == 0 {
			continue
		}
		k, m, owner := value{d, uint32(i)}, value{d, uint32(i) + 1}, value{d, open[len(open)-1]}
		if (k.is("$anchor") || k.is("$dynamicAnchor")) && m.isString() {
			if _, ok := t.anchors[m.text()]; !ok {
				t.anchors[m.text()] = owner
			}
		}
		if k.is("$id") && m.isString() && owner.i != 0 {
			t.ids[strings.TrimSuffix(m.text(), "#")] = owner
			if len(t.resources) < maxResources {
				t.resources = append(t.resources, owner)
			}
		}
	}
	return t
}

// external gives the document a reference names, loading it when that is
// allowed. Nothing is ever read from a file system or the network here: only
// Source.Files, Options.Open and Options.Fetch.
func (c *compiler) external(at value, file string) (*document, bool) {
	id, why := c.documentID(at.d, file)
	if why != "" {
		c.warn(codeRefExternal, at, "bundle the specification into one file, or upload all its files together",
			"the reference %s is not loaded: %s", quoteShort(at.text()), why)
		return nil, false
	}
	if d, ok := c.docs[id]; ok {
		if d == nil {
			c.brokenRef(at)
		}
		return d, d != nil
	}
	d, why := c.load(at.d, id)
	c.docs[id] = d
	if d == nil {
		c.warn(codeRefExternal, at, "correct the reference or the document it names", "the reference %s is not loaded: %s", quoteShort(at.text()), why)
		return nil, false
	}
	return d, true
}

// documentID is the path or URL of a referenced document, or why it may not be
// loaded.
func (c *compiler) documentID(from *document, file string) (id, why string) {
	u, err := url.Parse(file)
	if err != nil {
		return "", "it is not a URL"
	}
	if c.isLocal() && u.Scheme == "" && u.Host == "" {
		p := path.Clean(path.Join(path.Dir("/"+from.path), u.Path))
		if strings.HasPrefix(u.Path, "/") || strings.HasPrefix(path.Join(path.Dir(from.path), u.Path), "..") {
			return "", "it leaves the folder of the specification"
		}
		return strings.TrimPrefix(p, "/"), ""
	}
	base := from.base
	if base == "" && u.Scheme == "" {
		return "", "the specification has only this one file"
	}
	b, err := url.Parse(base)
	if err != nil || b.Host == "" || c.opts.Fetch == nil {
		return "", "references to other documents are only followed for specifications given by URL"
	}
	abs := b.ResolveReference(u)
	abs.Fragment = ""
	if abs.Scheme != "http" && abs.Scheme != "https" {
		return "", "only http and https are allowed"
	}
	origin, err := url.Parse(c.src.BaseURL)
	if err != nil || abs.Scheme != origin.Scheme || !strings.EqualFold(abs.Host, origin.Host) {
		return "", "it is on another host than the specification"
	}
	return abs.String(), ""
}

// load reads a document through the same guards as the main one.
func (c *compiler) load(from *document, id string) (d *document, why string) {
	depth := c.depthOf[from] + 1
	var data []byte
	isFile := c.isLocal() && !strings.Contains(id, "://")
	if isFile {
		var ok bool
		if data, ok = c.src.Files[id]; !ok {
			if c.opts.Open == nil || len(c.loadedDocs) >= HardMaxFiles {
				return nil, "there is no file " + quoteShort(id)
			}
			var err error
			if data, err = c.opts.Open(id); err != nil {
				return nil, fmt.Sprintf("the file %s cannot be read", quoteShort(id))
			}
		}
	} else {
		if depth > maxDocumentDepth {
			return nil, fmt.Sprintf("documents refer to documents more than %d deep", maxDocumentDepth)
		}
		if c.fetched >= c.limits.MaxDocuments {
			return nil, fmt.Sprintf("more than %d documents", c.limits.MaxDocuments)
		}
		c.fetched++
		var err error
		if data, err = c.opts.Fetch(c.ctx, id); err != nil {
			return nil, "it cannot be fetched"
		}
	}
	if c.loaded += len(data); c.loaded > c.limits.MaxTotalBytes && !isFile || c.loaded > HardMaxBytes {
		return nil, "all documents together are too large"
	}
	d, dups, err := read(c.ctx, data, c.limits)
	if err != nil {
		return nil, "it cannot be read: " + cutText(err.Error(), 200)
	}
	d.name = id
	if isFile {
		d.path = id
	} else {
		d.base = id
	}
	c.depthOf[d] = depth
	if c.loadedDocs == nil {
		c.loadedDocs = make(map[string][]byte)
	}
	c.loadedDocs[id] = data
	c.warnDuplicates(dups)
	return d, ""
}

// isLocal reports a specification whose references are paths.
func (c *compiler) isLocal() bool { return len(c.src.Files) > 0 || c.opts.Open != nil }

func (c *compiler) warnDuplicates(dups []duplicate) {
	for _, dup := range dups {
		line, _ := dup.first.place()
		c.warn(codeDuplicateKey, dup.second, "remove one of them",
			"the name %s is given twice (first in line %d); the last one counts", quoteShort(dup.second.text()), line)
	}
}

// refName is the component name at the end of a reference.
func refName(ref string) string {
	if i := strings.LastIndexByte(ref, '/'); i >= 0 {
		ref = ref[i+1:]
	}
	if u, err := url.PathUnescape(ref); err == nil {
		ref = u
	}
	ref = strings.ReplaceAll(strings.ReplaceAll(ref, "~1", "/"), "~0", "~")
	for _, ext := range [...]string{".json", ".yaml", ".yml"} {
		ref = strings.TrimSuffix(ref, ext)
	}
	return strings.TrimPrefix(ref, "#")
}
