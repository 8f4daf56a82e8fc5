package arazzo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// expression is a runtime expression: $statusCode, $response.body#/id,
// $steps.find.outputs.pets[0].name.
type expression struct {
	text    string
	root    string   // without $
	part    string   // of request and response: header, query, path, body; of workflows: inputs, outputs
	name    string   // of a step, workflow, header, parameter or source
	path    []string // members and indexes below it
	pointer []string // of a JSON pointer behind #
}

// roots are the words that begin an expression, with whether something follows.
var roots = map[string]bool{
	"url": false, "method": false, "statusCode": false, "self": false,
	"request": true, "response": true, "inputs": true, "outputs": true, "steps": true, "workflows": true, "sourceDescriptions": true, "components": true,
}

// isExpression reports whether a text begins like a runtime expression. $5 and $faker are
// none: such a text is itself.
func isExpression(s string) bool {
	if !strings.HasPrefix(s, "$") {
		return false
	}
	root, _, dotted := strings.Cut(s[1:], ".")
	follows, known := roots[root]
	return known && (follows == dotted)
}

// parseExpression reads a runtime expression.
func parseExpression(s string) (*expression, error) {
	if len(s) > maxText {
		return nil, fmt.Errorf("the expression has %d bytes, at most %d", len(s), maxText)
	}
	if !strings.HasPrefix(s, "$") {
		return nil, fmt.Errorf("%.80q is not a runtime expression: it does not begin with $", s)
	}
	e := &expression{text: s}
	rest := s[1:]
	if named(rest) {
		e.root, rest, _ = strings.Cut(rest, ".")
		return e, e.rest(rest)
	}
	if before, pointer, ok := strings.Cut(rest, "#"); ok {
		rest = before
		if pointer != "" && pointer[0] != '/' {
			return nil, fmt.Errorf("%.80q: a JSON pointer begins with /", s)
		}
		if e.pointer = []string{}; pointer != "" {
			for token := range strings.SplitSeq(pointer[1:], "/") {
				e.pointer = append(e.pointer, unescapePointer(token))
			}
		}
	}
	root, rest, _ := strings.Cut(rest, ".")
	e.root = root
	follows, known := roots[root]
	if !known {
		return nil, fmt.Errorf("%.80q is not a runtime expression: $%.40s is not known", s, root)
	}
	if !follows {
		if rest != "" || e.pointer != nil {
			return nil, fmt.Errorf("%.80q: nothing may follow $%s", s, root)
		}
		return e, nil
	}
	return e, e.rest(rest)
}

// named reports whether an expression ends with a name that may have any sign, # included:
// of a header, a query parameter or one of a path.
func named(s string) bool {
	root, rest, _ := strings.Cut(s, ".")
	part, name, ok := strings.Cut(rest, ".")
	return ok && name != "" && (root == "request" || root == "response") && (part == "header" || part == "query" || part == "path")
}

// rest reads what stands behind the root.
func (e *expression) rest(rest string) error {
	missing := func(what string) error { return fmt.Errorf("%.80q: expected %s", e.text, what) }
	if e.root == "request" || e.root == "response" {
		part := rest
		if i := strings.IndexAny(rest, ".["); i >= 0 {
			part = rest[:i]
		}
		if rest = strings.TrimPrefix(rest[len(part):], "."); part == "payload" { // 1.1 has both words
			part = "body"
		}
		switch e.part = part; part {
		case "header", "query", "path":
			if rest == "" || e.pointer != nil {
				return missing("a name behind " + part + ".")
			}
			e.name = rest
			return nil
		case "body":
			var err error
			e.path, err = splitPath(rest, true)
			return err
		}
		return missing("header., query., path. or body")
	}
	path, err := splitPath(rest, false)
	if err != nil {
		return fmt.Errorf("%.80q: %w", e.text, err)
	}
	switch e.root {
	case "inputs", "outputs":
		e.path = path
		return nil
	case "steps":
		if e.name, path = path[0], path[1:]; len(path) > 0 && path[0] == "outputs" {
			path = path[1:]
		}
		if e.path = path; len(path) == 0 {
			return missing("outputs.NAME of the step")
		}
		return nil
	case "workflows":
		if len(path) < 3 || path[1] != "outputs" && path[1] != "inputs" {
			return missing("$workflows.ID.outputs.NAME or $workflows.ID.inputs.NAME")
		}
		e.name, e.part, e.path = path[0], path[1], path[2:]
		return nil
	case "sourceDescriptions":
		if len(path) < 2 {
			return missing("$sourceDescriptions.NAME.url")
		}
		e.name, e.path = path[0], path[1:]
		return nil
	}
	if len(path) < 2 || path[0] != "parameters" { // components
		return missing("$components.parameters.NAME")
	}
	e.part, e.name = path[0], strings.Join(path[1:], ".") // names of components may have dots
	return nil
}

// splitPath splits names that are joined by dots, with indexes and quoted names in
// brackets.
func splitPath(s string, mayBeEmpty bool) ([]string, error) {
	if s == "" && mayBeEmpty {
		return nil, nil
	}
	var out []string
	for begin := true; begin || s != ""; begin = false {
		if strings.HasPrefix(s, "[") {
			end := strings.IndexByte(s, ']')
			if end < 0 {
				return nil, fmt.Errorf("a bracket is not closed")
			}
			in := s[1:end]
			if n := len(in); n >= 2 && (in[0] == '\'' || in[0] == '"') && in[n-1] == in[0] {
				in = in[1 : n-1]
			} else if _, err := strconv.ParseUint(in, 10, 31); err != nil {
				return nil, fmt.Errorf("expected an index or a quoted name in brackets, not %.40q", in)
			}
			out = append(out, in)
			if s = s[end+1:]; s != "" && s[0] != '.' && s[0] != '[' {
				return nil, fmt.Errorf("expected . or [ behind a bracket")
			}
			if s = strings.TrimPrefix(s, "."); s == "" {
				break
			}
			continue
		}
		end := strings.IndexAny(s, ".[")
		if end < 0 {
			end = len(s)
		}
		if end == 0 {
			return nil, fmt.Errorf("a name is missing")
		}
		out = append(out, s[:end])
		if s = s[end:]; strings.HasPrefix(s, ".") {
			if s = s[1:]; s == "" {
				return nil, fmt.Errorf("a name is missing behind the last dot")
			}
		}
	}
	return out, nil
}

// scope is what expressions are read from. A name that has no value gives nil.
type scope interface {
	message(e *expression) any // url, method, statusCode, request, response
	inputs() map[string]any
	outputs() map[string]any // of the workflow that a step has run
	step(id string) map[string]any
	workflow(id, part string) map[string]any
	source(name, field string) any
	component(name string) *Parameter
}

func (e *expression) eval(s scope) any {
	var v any
	switch e.root {
	case "url", "method", "statusCode", "self", "request", "response":
		v = s.message(e)
	case "inputs":
		v = valueOf(s.inputs())
	case "outputs":
		v = valueOf(s.outputs())
	case "steps":
		v = valueOf(s.step(e.name))
	case "workflows":
		v = valueOf(s.workflow(e.name, e.part))
	case "sourceDescriptions":
		if len(e.path) == 1 {
			return s.source(e.name, e.path[0])
		}
		return nil
	case "components":
		if p := s.component(e.name); p != nil {
			return p.value.eval(s)
		}
		return nil
	}
	return follow(follow(v, e.path, true), e.pointer, false)
}

// valueOf is a map as a value; nil stays nil.
func valueOf(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// follow goes down from a value; nil when there is nothing. dotted: the rest of the names
// may also be one name that contains dots.
func follow(v any, path []string, dotted bool) any {
	for i := 0; i < len(path); i++ {
		name := path[i]
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[name]
			for n := len(path); dotted && n > i+1; n-- { // the longest name that is there
				if long, has := at[strings.Join(path[i:n], ".")]; has {
					next, ok, i = long, true, n-1
					break
				}
			}
			if !ok {
				return nil
			}
			v = next
		case []any:
			n, err := strconv.ParseUint(name, 10, 31)
			if err != nil || n >= uint64(len(at)) || name != strconv.FormatUint(n, 10) {
				return nil
			}
			v = at[n]
		default:
			return nil
		}
	}
	return v
}

func unescapePointer(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

func escapePointer(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

// value is what a document has for a value: a constant, an expression, or text, lists and
// maps that contain some.
type value struct {
	constant any
	whole    *expression
	text     []piece // a text with expressions in braces
	json     bool    // the text is JSON
	xml      bool    // the text is XML
	list     []value
	members  []member
	selector *selector
	kind     valueKind
}

type valueKind uint8

const (
	valueConstant valueKind = iota
	valueWhole
	valueText
	valueList
	valueMembers
	valueSelector
)

type member struct {
	name  string
	value value
}

type piece struct {
	literal string
	expr    *expression // nil: the literal
}

// selector is the Selector Object of Arazzo 1.1.
type selector struct {
	context *expression
	path    *jsonPath
	pointer []string
}

func (v *value) expressions(visit func(*expression)) {
	if v.whole != nil {
		visit(v.whole)
	}
	if v.selector != nil {
		visit(v.selector.context)
	}
	for _, p := range v.text {
		if p.expr != nil {
			visit(p.expr)
		}
	}
	for i := range v.list {
		v.list[i].expressions(visit)
	}
	for i := range v.members {
		v.members[i].value.expressions(visit)
	}
}

func (v *value) eval(s scope) any {
	switch v.kind {
	case valueWhole:
		return v.whole.eval(s)
	case valueSelector:
		return v.selector.eval(s)
	case valueText:
		var b strings.Builder
		quoted := false
		for _, p := range v.text {
			switch {
			case p.expr == nil:
				b.WriteString(p.literal)
				quoted = v.json && inString(p.literal, quoted)
			case quoted:
				b.WriteString(inQuotes(textOf(p.expr.eval(s))))
			case v.xml:
				b.WriteString(inXML(textOf(p.expr.eval(s))))
			default:
				b.WriteString(textOf(p.expr.eval(s)))
			}
			if b.Len() > maxValue {
				return b.String() // too large already, which read says
			}
		}
		return b.String()
	case valueList:
		out := make([]any, len(v.list))
		for i := range v.list {
			out[i] = v.list[i].eval(s)
		}
		return out
	case valueMembers:
		out := make(map[string]any, len(v.members))
		for i := range v.members {
			out[v.members[i].name] = v.members[i].value.eval(s)
		}
		return out
	}
	return v.constant
}

// read is eval for what is kept or sent: it refuses what became too large.
func (v *value) read(s scope) (any, error) {
	got := v.eval(s)
	switch v.kind {
	case valueText, valueList, valueMembers:
		return got, small(got)
	}
	return got, nil
}

// small refuses a value of more than maxValue bytes.
func small(v any) error {
	left := maxValue
	if !measure(v, &left) {
		return fmt.Errorf("the value has more than %d bytes", maxValue)
	}
	return nil
}

func measure(v any, left *int) bool {
	*left -= 8
	switch v := v.(type) {
	case string:
		*left -= len(v)
	case []any:
		for _, x := range v {
			if !measure(x, left) {
				return false
			}
		}
	case map[string]any:
		for k, x := range v {
			if *left -= len(k); !measure(x, left) {
				return false
			}
		}
	}
	return *left >= 0
}

func (s *selector) eval(sc scope) any {
	v := s.context.eval(sc)
	if s.path == nil {
		return follow(v, s.pointer, false)
	}
	found, err := s.path.query(v)
	if err != nil {
		return nil
	}
	if len(found) == 1 && s.path.singular() {
		return found[0]
	}
	if s.path.singular() {
		return nil
	}
	return slices.Clone(found)
}

// parseText reads a text of a document: an expression, a text with expressions in braces,
// or what is neither.
func parseText(s string) (value, error) {
	if isExpression(s) {
		e, err := parseExpression(s)
		return value{kind: valueWhole, whole: e}, err
	}
	if meant := misspelt(s); meant != "" {
		return value{}, fmt.Errorf("%.80q is not a runtime expression: write $%s", s, meant)
	}
	v, err := parseEmbedded(s)
	if err == nil && v.kind == valueText && len(v.text) == 3 && v.text[0].literal == "" && v.text[2].literal == "" {
		return value{kind: valueWhole, whole: v.text[1].expr}, nil
	}
	return v, err
}

// misspelt is the root that a text such as $input.id or $Steps.a.outputs.b means; "" for others,
// which are themselves.
func misspelt(s string) string {
	root, _, dotted := strings.Cut(s, ".")
	root, dollar := strings.CutPrefix(root, "$")
	for known, follows := range roots {
		if dollar && dotted && follows && (strings.EqualFold(root+"s", known) || strings.EqualFold(root, known+"s") || strings.EqualFold(root, known)) {
			return known
		}
	}
	return ""
}

// parseEmbedded reads a text with expressions in braces, which stays a text.
func parseEmbedded(s string) (value, error) {
	var pieces []piece
	rest := s
	for {
		i := strings.Index(rest, "{$")
		if i < 0 {
			break
		}
		end := strings.IndexByte(rest[i:], '}')
		if end < 0 || !isExpression(rest[i+1:i+end]) {
			pieces = append(pieces, piece{literal: rest[:i+2]})
			rest = rest[i+2:]
			continue
		}
		e, err := parseExpression(rest[i+1 : i+end])
		if err != nil {
			return value{}, err
		}
		pieces = append(pieces, piece{literal: rest[:i]}, piece{expr: e})
		rest = rest[i+end+1:]
	}
	if !slices.ContainsFunc(pieces, func(p piece) bool { return p.expr != nil }) {
		return value{constant: s}, nil
	}
	return value{kind: valueText, text: append(pieces, piece{literal: rest})}, nil
}
