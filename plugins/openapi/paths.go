package openapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// maxPath bounds a path template; the longest real one has 400 bytes.
const maxPath = 4096

// entry is one operation of the document, before it is looked at.
type entry struct {
	path    string
	method  string
	pointer string
	item    value // path item
	at      value // operation
}

// methods of path items by name.
var methods = map[string]string{
	"get": "GET", "put": "PUT", "post": "POST", "delete": "DELETE", "options": "OPTIONS", "head": "HEAD", "patch": "PATCH", "trace": "TRACE",
}

// readPaths compiles every operation in the order of the document.
func (c *compiler) readPaths(root value, res *Result) error {
	paths := root.get("paths")
	if !paths.exists() || paths.kind() == kindNull {
		if c.version >= openapi31 && (root.get("webhooks").exists() || root.get("components").exists()) {
			return nil
		}
		return fatal(c.file, codePaths, root, "add paths; if this file is a part of a specification, import its main file", "paths is missing")
	}
	if !paths.isObject() {
		return fatal(c.file, codePaths, paths, "write paths as an object of path templates", "paths must be an object, not %s", paths.kind())
	}
	n := 0
	for k, item := range paths.members() {
		if k.isString() && strings.HasPrefix(string(k.raw()), "x-") {
			continue
		}
		if n++; n > c.limits.MaxPaths {
			return fatal(c.file, codeTooManyOps, k, "split the specification, or raise the limit with --max-spec", "more than %d paths", c.limits.MaxPaths)
		}
		if err := c.readPathItem(k, item, res); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) readPathItem(k, item value, res *Result) error {
	path := k.text()
	pointer := string(appendPointerToken([]byte("/paths/"), path))
	if !item.isObject() {
		c.warn(codeWrongType, k, "write a path item object", "the path %s is %s, not an object", quoteShort(path), item.kind())
		return nil
	}
	target := item
	if _, isRef := refOf(item); isRef {
		var ok bool
		if target, ok = c.follow(item, "path item"); !ok || !target.isObject() {
			c.warn(codeUnresolvedOp, k, "correct the reference", "the path %s refers to nothing; its operations are unknown", quoteShort(path))
			return nil
		}
	}
	if !strings.HasPrefix(path, "/") {
		c.warn(codePathTemplate, k, "begin the path with a slash", "the path %s does not begin with a slash; one is added", quoteShort(path))
		path = "/" + path
	}
	if err := c.readMethods(entry{path: path, item: target}, target, pointer, res); err != nil {
		return err
	}
	if target != item { // operations beside the $ref
		return c.readMethods(entry{path: path, item: item}, item, pointer, res)
	}
	return nil
}

func (c *compiler) readMethods(e entry, item value, pointer string, res *Result) error {
	for k, at := range item.members() {
		name := string(k.raw())
		method, ok := methods[name]
		if !ok && len(name) <= 7 {
			method, ok = methods[strings.ToLower(name)]
		}
		if !ok && name == "query" && c.version >= openapi32 {
			method, ok = "QUERY", true
		}
		if ok {
			e.method, e.at = method, at
			e.pointer = pointer + "/" + name
			if err := c.readOperation(e, res); err != nil {
				return err
			}
			continue
		}
		if name == "additionalOperations" && c.version >= openapi32 {
			for m, at := range at.members() {
				e.method, e.at = m.text(), at
				e.pointer = string(appendPointerToken([]byte(pointer+"/additionalOperations/"), e.method))
				if err := c.readOperation(e, res); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unsupported is why an operation is not a tool.
type unsupported struct{ code, reason string }

func (u *unsupported) Error() string { return u.reason }

func notCallable(code, format string, args ...any) error {
	return &unsupported{code, fmt.Sprintf(format, args...)}
}

// readOperation compiles one operation and hands it on, or lists it.
func (c *compiler) readOperation(e entry, res *Result) error {
	if res.Operations++; res.Operations > c.limits.MaxOperations {
		return fatal(c.file, codeTooManyOps, e.at, "split the specification, or raise the limit with --max-spec", "more than %d operations", c.limits.MaxOperations)
	}
	c.tick()
	if c.err == nil && res.Operations%64 == 0 {
		c.err = c.ctx.Err()
	}
	if c.err != nil {
		return c.err
	}
	op, err := c.operation(e)
	if c.err != nil {
		return c.err
	}
	if err == nil {
		err = c.inspect(op, e.at)
	}
	if err != nil {
		var u *unsupported
		if !errors.As(err, &u) {
			return err
		}
		line, _ := e.at.place()
		res.Unsupported = append(res.Unsupported, Unsupported{
			Method: cutText(e.method, 64), Path: cutText(e.path, maxPointerToken), OperationID: cutText(e.at.get("operationId").str(), maxPropertyText),
			Pointer: e.pointer, Line: line, Code: u.code, Reason: u.reason,
		})
		return nil
	}
	res.Tools++
	c.emitted += len(op.InputSchema) + len(op.OutputSchema) + len(op.Description)
	if c.emitted > c.limits.MaxEmitted {
		return problem.New(problem.InvalidSpec, "its tools need more than %d bytes", c.limits.MaxEmitted).
			At(c.file, op.Line, 0, op.Pointer).Fix("split the specification").Because(codeError(codeBudget))
	}
	if c.delivery != nil && !c.delivery.give(op) {
		return c.delivery.end()
	}
	return nil
}

// template is a path template taken apart (rule 34).
type template struct {
	path  string // with "{wire name}" in place of its parameters
	query string // fixed pairs after "?", encoded
	names []string
	pairs []queryPair // after "?"
	at    value
}

// queryPair is "wire={name}" of a template's query.
type queryPair struct{ wire, name string }

// parsePath reads a template. Names that differ from a declared path parameter
// only by their RFC 6570 or router decoration become that name.
func (c *compiler) parsePath(e entry, declared func(string) bool) template {
	t := template{at: e.at}
	path, _, _ := strings.Cut(e.path, "#") // only tells operations apart
	path, query, hasQuery := strings.Cut(path, "?")
	if hasQuery {
		path = strings.TrimSuffix(path, "{") // RFC 6570: {?a,b}
		t.splitQuery(query)
		if strings.Contains(query, "{") {
			c.warn(codePathTemplate, e.at, "declare query parameters with in: query", "the query of the path %s has parameters; they are sent as query parameters", quoteShort(e.path))
		}
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
		if e.path == "" || !strings.HasPrefix(e.path, "/") {
			c.warn(codePathTemplate, e.item, "start the path with a slash", "the path %s does not start with a slash; one is added", quoteShort(e.path))
		}
	}
	var b strings.Builder
	for path != "" {
		i := strings.IndexAny(path, "{}")
		if i < 0 {
			b.WriteString(encodePath(path))
			break
		}
		b.WriteString(encodePath(path[:i]))
		j := strings.IndexByte(path[i:], '}')
		if path[i] == '}' || j < 0 || j == 1 || strings.IndexByte(path[i+1:i+j], '{') >= 0 {
			c.warn(codePathTemplate, e.item, "balance the braces of the template", "the path %s has a brace that encloses no parameter", quoteShort(e.path))
			b.WriteString(encodePath(path[i : i+1]))
			path = path[i+1:]
			continue
		}
		name := path[i+1 : i+j]
		if !declared(name) {
			plainName, _, _ := strings.Cut(strings.Trim(name, "+*/.;?&# "), ":")
			plainName, _, _ = strings.Cut(plainName, "=")
			if plainName != name && plainName != "" {
				name = plainName
			}
		}
		b.WriteByte('{')
		b.WriteString(name)
		b.WriteByte('}')
		t.names = append(t.names, name)
		path = path[i+j+1:]
	}
	t.path = b.String()
	return t
}

// encodePath percent-encodes what may not stand in a path as it is; existing
// escapes are kept.
func encodePath(s string) string {
	const hexDigits = "0123456789ABCDEF"
	var b []byte
	for i := range len(s) {
		c := s[i]
		ok := isLetter(c) || isDigit(c) || strings.IndexByte("-._~!$&'()*+,;=:@/", c) >= 0 ||
			c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])
		if ok {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

// splitQuery takes the query of a template apart: "a=1&b={b}", or what RFC 6570 writes
// as {?a,b}.
func (t *template) splitQuery(q string) {
	var fixed []string
	for pair := range strings.FieldsFuncSeq(q, func(r rune) bool { return r == '&' }) {
		wire, v, has := strings.Cut(pair, "=")
		name, whole := strings.CutPrefix(v, "{")
		name, closed := strings.CutSuffix(name, "}")
		switch {
		case has && whole && closed && plainName(wire) && plainName(name):
			t.pairs = append(t.pairs, queryPair{wire, name})
		case has && !strings.ContainsAny(pair, "{}"), !has && plainName(pair) && !strings.HasSuffix(q, "}"):
			fixed = append(fixed, encodePath(pair))
		case !has && strings.HasSuffix(pair, "}"):
			for name := range strings.SplitSeq(strings.Trim(pair, "{}?"), ",") {
				if name = strings.TrimSuffix(name, "*"); plainName(name) {
					t.pairs = append(t.pairs, queryPair{name, name})
				}
			}
		}
	}
	t.query = strings.Join(fixed, "&")
}

func plainName(s string) bool { return s != "" && !strings.ContainsAny(s, "{}?&=,") }
