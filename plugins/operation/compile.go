package operation

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Bounds of a plan. What is past them is refused by [DecodePlan] and
// [Plan.Compile].
const (
	// MaxPlanBytes: encoded; the largest real operation (a payment object with 400
	// members) needs 300 KB.
	MaxPlanBytes = 4 << 20
	// MaxArgs: parameters, fields and arguments. Slots are 16 bits wide.
	MaxArgs = 4000
	// MaxSchemaDepth: nesting of a schema; input schemas are cut at six.
	MaxSchemaDepth = 64
)

// Compiled is a plan that is ready to serve: checked, indexed, immutable, and safe
// for concurrent use. Make one with [Plan.Compile].
type Compiled struct {
	plan  *Plan
	args  []argument
	index map[string]int16 // argument name → slot, when there are many

	path     []segment
	paramArg []int16        // slot of each parameter; -1: constant
	bodies   []compiledBody // the body and its variants; none: no body

	patterns map[string]*pattern
}

// compiledBody is one form of the body.
type compiledBody struct {
	body      *Body
	arg       int16   // slot of the whole body; -1: lifted
	fieldArg  []int16 // slot of each lifted member; -1: constant
	fieldElse []int16 // slot of the argument that stands in; -1: none
	kind      bodyKind
	mediaType string // lower case, without parameters
	// nullClears: merge patches use null to remove a member, whatever its type.
	nullClears bool
}

// has reports whether an argument belongs to this form of the body.
func (cb *compiledBody) has(slot int16) bool {
	return slot >= 0 && (cb.arg == slot || slices.Contains(cb.fieldArg, slot))
}

// inPath reports an argument of a path parameter: it is always given, and so says
// nothing of the body that has it as well.
func (c *Compiled) inPath(slot int16) bool {
	for i, s := range c.paramArg {
		if s == slot && c.plan.Params[i].In == InPath {
			return true
		}
	}
	return false
}

// chosen is the form of the body that the given arguments are of: the first
// variant of whose own arguments one is given, else the body itself; nil when
// there is none.
func (c *Compiled) chosen(given func(slot int16) bool) *compiledBody {
	if len(c.bodies) == 0 {
		return nil
	}
	for i := 1; i < len(c.bodies); i++ {
		cb := &c.bodies[i]
		if cb.arg >= 0 && given(cb.arg) {
			return cb
		}
		for _, slot := range cb.fieldArg {
			if slot >= 0 && given(slot) && !c.bodies[0].has(slot) && !c.inPath(slot) {
				return cb
			}
		}
	}
	return &c.bodies[0]
}

// argument is one property of the input schema.
type argument struct {
	name       string
	schema     *Schema
	required   bool // parameters; what a body requires is asked of the form that is sent
	unlisted   bool // not named in messages
	nullAbsent bool // null means: not given
	nullClears bool // null removes the member, whatever its type
}

// segment is a piece of the path: text that is written as it is, or a parameter.
type segment struct {
	literal string
	param   int16 // -1: literal
}

// pattern is compiled when the first value needs it: a regular expression takes
// kilobytes, and most tools of most toolsets are never called.
type pattern struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

func (p *pattern) match(b []byte) bool {
	p.once.Do(func() { p.re, _ = regexp.Compile(p.text) })
	return p.re == nil || p.re.Match(b)
}

// framing headers belong to the connection: an argument must never set them.
var framing = []string{"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "proxy-connection", "expect"}

// Compile checks a plan and makes it ready to serve. It keeps p, which must not
// change afterwards. It fails when the plan contradicts itself: an unknown version,
// location or style, a path parameter that is not in the template, a name that
// cannot be on the wire, a constant that is not JSON, a pattern that is not RE2.
func (p *Plan) Compile() (*Compiled, error) {
	if p.Version != PlanVersion {
		return nil, fmt.Errorf("compile request plan: version %d is not known, this version reads %d", p.Version, PlanVersion)
	}
	c := &Compiled{plan: p}
	if err := c.compile(); err != nil {
		return nil, fmt.Errorf("compile request plan: %w", err)
	}
	if len(c.args) > 8 {
		c.index = make(map[string]int16, len(c.args))
		for i := range c.args {
			c.index[c.args[i].name] = int16(i)
		}
	}
	return c, nil
}

// maxTold bounds the headers of an answer that a plan names.
const maxTold = 32

// Told are the headers of the answer that the caller reads ([Plan.Told]). They
// are not to be changed.
func (c *Compiled) Told() []string { return c.plan.Told }

func (c *Compiled) compile() error {
	p := c.plan
	if !isToken(p.Method) {
		return fmt.Errorf("method %q", p.Method)
	}
	if !strings.HasPrefix(p.Path, "/") {
		return fmt.Errorf("path %q does not start with /", p.Path)
	}
	for _, b := range []byte(p.Query) {
		if b <= ' ' || b >= 0x7f || b == '#' {
			return fmt.Errorf("fixed query has the byte %#x", b)
		}
	}
	if !isHeaderValue([]byte(p.Accept)) {
		return fmt.Errorf("accept %q", p.Accept)
	}
	if len(p.Told) > maxTold {
		return fmt.Errorf("more than %d headers of the answer", maxTold)
	}
	for _, name := range p.Told {
		if !isToken(name) {
			return fmt.Errorf("header of the answer %q", name)
		}
	}
	fields := 0
	if p.Body != nil {
		fields = len(p.Body.Fields)
		for i := range p.Body.Variants {
			fields += len(p.Body.Variants[i].Fields)
		}
	}
	if len(p.Params)+fields > MaxArgs {
		return fmt.Errorf("more than %d parameters", MaxArgs)
	}
	c.paramArg = make([]int16, len(p.Params))
	for i := range p.Params {
		if err := c.param(i); err != nil {
			return fmt.Errorf("parameter %q: %w", p.Params[i].Name, err)
		}
	}
	if err := c.template(); err != nil {
		return err
	}
	if p.Body == nil {
		return nil
	}
	if err := c.body(p.Body); err != nil {
		return err
	}
	for i := range p.Body.Variants {
		if len(p.Body.Variants[i].Variants) > 0 {
			return fmt.Errorf("a variant of the body has variants")
		}
		if err := c.body(&p.Body.Variants[i]); err != nil {
			return fmt.Errorf("variant: %w", err)
		}
	}
	return nil
}

func (c *Compiled) param(i int) error {
	p := &c.plan.Params[i]
	slot, err := c.slot(p.Arg, p.Const, p.Schema, true)
	if err != nil {
		return err
	}
	c.paramArg[i] = slot
	if slot >= 0 {
		c.args[slot].required = c.args[slot].required || p.Required
		c.args[slot].unlisted = p.Unlisted
	}
	var styles []Style
	switch p.In {
	case InPath:
		styles = []Style{StyleSimple, StyleLabel, StyleMatrix, StyleCSV, StyleSSV, StyleTSV, StylePipes}
	case InQuery:
		styles = []Style{StyleForm, StyleSpace, StylePipe, StyleDeep, StyleCSV, StyleSSV, StyleTSV, StylePipes, StyleMulti}
	case InHeader:
		styles = []Style{StyleSimple, StyleCSV, StyleSSV, StyleTSV, StylePipes}
		if !isToken(p.Name) {
			return fmt.Errorf("the name is not a header name")
		}
		if slices.Contains(framing, strings.ToLower(p.Name)) {
			return fmt.Errorf("this header belongs to the connection")
		}
	case InCookie:
		styles = []Style{StyleForm, StyleCookie}
		if p.Style == StyleCookie && !isToken(p.Name) {
			return fmt.Errorf("the name is not a cookie name")
		}
	case InQueryString:
	default:
		return fmt.Errorf("location %q", p.In)
	}
	if p.Style != "" && !slices.Contains(styles, p.Style) {
		return fmt.Errorf("style %q in %s", p.Style, p.In)
	}
	for _, s := range p.Nested {
		if !slices.Contains([]Style{StyleCSV, StyleSSV, StyleTSV, StylePipes}, s) {
			return fmt.Errorf("nested collection format %q", s)
		}
	}
	if p.Name == "" && p.In != InQueryString {
		return fmt.Errorf("it has no name")
	}
	return nil
}

// slot finds or makes the argument of a parameter or field; -1 for a constant.
func (c *Compiled) slot(arg, constant string, s *Schema, nullAbsent bool) (int16, error) {
	if err := c.schema(s, 0); err != nil {
		return -1, err
	}
	if arg == "" {
		if _, err := jsonscan.Parse([]byte(constant), 0); err != nil {
			return -1, fmt.Errorf("the constant is not JSON: %w", err)
		}
		return -1, nil
	}
	for i := range c.args {
		if a := &c.args[i]; a.name == arg {
			a.nullAbsent = a.nullAbsent && nullAbsent
			if a.schema == nil {
				a.schema = s
			}
			return int16(i), nil
		}
	}
	c.args = append(c.args, argument{name: arg, schema: s, nullAbsent: nullAbsent})
	return int16(len(c.args) - 1), nil
}

// schema checks a schema and registers its patterns.
func (c *Compiled) schema(s *Schema, depth int) error {
	if s == nil {
		return nil
	}
	if depth == MaxSchemaDepth {
		return fmt.Errorf("the schema is nested deeper than %d levels", MaxSchemaDepth)
	}
	if s.Pattern != "" && c.patterns[s.Pattern] == nil {
		if _, err := syntax.Parse(s.Pattern, syntax.Perl); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
		if c.patterns == nil {
			c.patterns = map[string]*pattern{}
		}
		c.patterns[s.Pattern] = &pattern{text: s.Pattern}
	}
	for _, n := range [...]string{s.Min, s.Max, s.XMin, s.XMax, s.Multiple} {
		if n != "" && !isNumber([]byte(n)) {
			return fmt.Errorf("bound %q is not a number", n)
		}
	}
	for _, e := range s.Enum {
		if _, err := jsonscan.Parse([]byte(e), 0); err != nil {
			return fmt.Errorf("enum: %w", err)
		}
	}
	for i := range s.Properties {
		if err := c.schema(s.Properties[i].Schema, depth+1); err != nil {
			return err
		}
	}
	if s.Rare != nil {
		if err := c.rare(s.Rare, depth); err != nil {
			return err
		}
	}
	for _, sub := range [...][]*Schema{s.Prefix, s.AnyOf, s.All, {s.Items, s.Additional}} {
		for _, x := range sub {
			if err := c.schema(x, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// rare is schema for what few schemas say.
func (c *Compiled) rare(r *Rare, depth int) error {
	lists := [][]string{r.Except}
	for i := range r.Rules {
		lists = append(lists, r.Rules[i].Is)
	}
	for _, list := range lists {
		for _, v := range list {
			if _, err := jsonscan.Parse([]byte(v), 0); err != nil {
				return fmt.Errorf("a value of a rule: %w", err)
			}
		}
	}
	return c.schema(r.Names, depth+1)
}

// template splits the path into text and parameters.
func (c *Compiled) template() error {
	used := make([]bool, len(c.plan.Params))
	rest := c.plan.Path
	for rest != "" {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			open = len(rest)
		}
		if open > 0 {
			c.path = append(c.path, segment{literal: string(appendPathLiteral(nil, rest[:open])), param: -1})
			rest = rest[open:]
			continue
		}
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return fmt.Errorf("path %q: a brace is not closed", c.plan.Path)
		}
		name := rest[1:end]
		i := slices.IndexFunc(c.plan.Params, func(p Param) bool { return p.In == InPath && p.Name == name })
		if i < 0 {
			return fmt.Errorf("path %q: there is no path parameter %q", c.plan.Path, name)
		}
		used[i] = true
		c.path = append(c.path, segment{param: int16(i)})
		rest = rest[end+1:]
	}
	for i := range c.plan.Params {
		if c.plan.Params[i].In == InPath && !used[i] {
			return fmt.Errorf("path parameter %q is not in the path %q", c.plan.Params[i].Name, c.plan.Path)
		}
	}
	return nil
}

// appendPathLiteral writes fixed text of a path: what RFC 3986 allows, slashes and
// triples as they are, the rest percent-encoded.
func appendPathLiteral(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '/' || c < 128 && keep[escReservedPath][c]:
			dst = append(dst, c)
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			dst = append(dst, c)
		default:
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// bodyKind is how a body is written.
type bodyKind uint8

const (
	bodyNone bodyKind = iota
	bodyJSON
	bodyLines // one JSON text a line
	bodyForm
	bodyMultipart
	bodyText
	bodyXML
	bodyBinary
)

func (c *Compiled) body(b *Body) error {
	cb := compiledBody{body: b, arg: -1, mediaType: strings.ToLower(strings.TrimSpace(b.MediaType))}
	cb.kind = kindOf(cb.mediaType)
	cb.nullClears = cb.mediaType == "application/merge-patch+json"
	if !isHeaderValue([]byte(b.MediaType)) || !isHeaderValue([]byte(b.Sent)) {
		return fmt.Errorf("media type %q", b.MediaType)
	}
	if b.Arg != "" {
		slot, err := c.slot(b.Arg, "", b.Schema, !b.Required)
		if err != nil {
			return fmt.Errorf("body: %w", err)
		}
		cb.arg = slot
	} else if cb.kind != bodyJSON && cb.kind != bodyForm && cb.kind != bodyMultipart && cb.kind != bodyXML {
		return fmt.Errorf("a body of type %q has no members: it needs one argument", b.MediaType)
	}
	cb.fieldArg, cb.fieldElse = make([]int16, len(b.Fields)), make([]int16, len(b.Fields))
	for i := range b.Fields {
		f := &b.Fields[i]
		nullAbsent := !cb.nullClears && (cb.kind != bodyJSON || !fits(typesOf(f.Schema), null))
		slot, err := c.slot(f.Arg, f.Const, f.Schema, nullAbsent)
		if err != nil {
			return fmt.Errorf("body member %q: %w", f.Name, err)
		}
		cb.fieldArg[i], cb.fieldElse[i] = slot, -1
		if slot >= 0 && cb.nullClears {
			c.args[slot].nullClears = !slices.Contains(c.paramArg, slot)
		}
		if slot >= 0 && f.Unlisted {
			c.args[slot].unlisted = true
		}
		if f.Else != "" {
			at := slices.IndexFunc(c.args, func(a argument) bool { return a.name == f.Else })
			if at < 0 {
				return fmt.Errorf("body member %q: there is no argument %q to stand in", f.Name, f.Else)
			}
			cb.fieldElse[i] = int16(at)
		}
	}
	if b.Least < 0 || b.Least > len(b.Fields) {
		return fmt.Errorf("the body needs %d members, and has %d", b.Least, len(b.Fields))
	}
	if err := c.rare(&Rare{Rules: b.Rules}, 0); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	for _, r := range b.Rules {
		named := slices.Concat(r.Needs, r.Never)
		if r.If != "" {
			named = append(named, r.If)
		}
		for _, n := range named {
			if !slices.ContainsFunc(b.Fields, func(f Field) bool { return f.Name == n }) {
				return fmt.Errorf("a rule of the body names %q, which is not one of its members", n)
			}
		}
	}
	for _, group := range b.Needs {
		for _, names := range group {
			for _, n := range names {
				if !slices.ContainsFunc(b.Fields, func(f Field) bool { return f.Name == n }) {
					return fmt.Errorf("the body needs %q, which is not one of its members", n)
				}
			}
		}
	}
	for i := range b.Encoding {
		e := &b.Encoding[i]
		if !isHeaderValue([]byte(e.ContentType)) {
			return fmt.Errorf("encoding of %q: content type %q", e.Name, e.ContentType)
		}
		if e.Style != "" && !slices.Contains([]Style{StyleForm, StyleSpace, StylePipe, StyleDeep, StyleCSV, StyleSSV, StyleTSV, StylePipes, StyleMulti}, e.Style) {
			return fmt.Errorf("encoding of %q: style %q", e.Name, e.Style)
		}
		for j := range e.Headers {
			h := &e.Headers[j]
			v, err := jsonscan.Parse([]byte(h.Const), 0)
			if err != nil || !isToken(h.Name) || !isHeaderValue(v.AppendText(nil)) {
				return fmt.Errorf("encoding of %q: header %q needs a name and a fixed value", e.Name, h.Name)
			}
		}
	}
	c.bodies = append(c.bodies, cb)
	return nil
}

var null = jsonscan.Trusted([]byte("null"))

// kindOf decides by media type (docs/request-plans.md, "Bodies").
func kindOf(mediaType string) bodyKind {
	switch mediaType {
	case "application/x-www-form-urlencoded":
		return bodyForm
	case "application/jsonl", "application/x-ndjson", "application/ndjson", "application/x-jsonlines", "application/json-lines":
		return bodyLines
	}
	switch {
	case isJSONType(mediaType):
		return bodyJSON
	case strings.HasPrefix(mediaType, "multipart/"):
		return bodyMultipart
	case mediaType == "application/xml" || mediaType == "text/xml" || strings.HasSuffix(mediaType, "+xml"):
		return bodyXML
	case strings.HasPrefix(mediaType, "text/"):
		return bodyText
	}
	return bodyBinary
}

func isJSONType(mediaType string) bool {
	switch mediaType {
	case "", "*/*", "application/*", "application/json", "text/json":
		return true
	}
	return strings.HasSuffix(mediaType, "+json")
}

// isToken reports whether s is an RFC 9110 token: a method, a header name.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// isHeaderValue refuses what would end a header field: control characters other
// than tab (RFC 9110 §5.5).
func isHeaderValue(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// Args are the names of the arguments, in the order of the plan.
func (c *Compiled) Args() []string {
	names := make([]string, len(c.args))
	for i := range c.args {
		names[i] = c.args[i].name
	}
	return names
}

// listed are the names of the arguments that are in the input schema.
func (c *Compiled) listed() []string {
	names := make([]string, 0, len(c.args))
	for i := range c.args {
		if !c.args[i].unlisted {
			names = append(names, c.args[i].name)
		}
	}
	return names
}

// Params are the parameters of the plan; the caller does not change them.
func (c *Compiled) Params() []Param { return c.plan.Params }

// Body describes the body of the request; nil: it has none. The caller must not change it.
func (c *Compiled) Body() *Body { return c.plan.Body }

// Method is the HTTP method.
func (c *Compiled) Method() string { return c.plan.Method }

// find returns the slot of an argument; -1 when there is none.
func (c *Compiled) find(it *jsonscan.MemberIter) int {
	if c.index != nil {
		if key := it.Key(); !slices.Contains(key, '\\') {
			if i, ok := c.index[string(key)]; ok {
				return int(i)
			}
			return -1
		}
	}
	for i := range c.args {
		if it.KeyEqual(c.args[i].name) {
			return i
		}
	}
	return -1
}
