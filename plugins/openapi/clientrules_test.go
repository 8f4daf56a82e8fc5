package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicegate/sluice/plugins/operation"
)

var (
	toolName   = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	argument64 = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// clientRules checks generated tools against what real clients and model APIs
// accept: Anthropic, OpenAI, Gemini, the MCP SDKs, Cursor. A tool that breaks one
// of these rules can make a client refuse the whole list.
type clientRules struct {
	t     testing.TB
	names map[string]bool
	tools int
}

func newClientRules(t testing.TB) *clientRules { return &clientRules{t: t, names: map[string]bool{}} }

func (r *clientRules) tool(op *operation.Operation) {
	r.t.Helper()
	r.tools++
	fail := func(format string, args ...any) {
		r.t.Helper()
		r.t.Errorf("%s (%s %s): %s\n%s", op.Name, op.Method, op.Path, fmt.Sprintf(format, args...), op.InputSchema)
	}
	if !toolName.MatchString(op.Name) || len(op.Name) > 40 || r.names[strings.ToLower(op.Name)] {
		fail("bad or repeated name %q", op.Name)
	}
	r.names[strings.ToLower(op.Name)] = true
	for what, text := range map[string]string{"title": op.Title, "description": op.Description} {
		if text == "" || len(text) > 1024 || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\t\x00") {
			fail("bad %s %q", what, text)
		}
	}
	var root map[string]any
	if err := strict(op.InputSchema, &root); err != nil {
		fail("input schema: %v", err)
		return
	}
	if len(op.InputSchema) > DefaultMaxTool {
		fail("input schema of %d bytes", len(op.InputSchema))
	}
	for k := range root {
		if k != "type" && k != "properties" && k != "required" {
			fail("%q at the root", k)
		}
	}
	props, ok := root["properties"].(map[string]any)
	if root["type"] != "object" || !ok {
		fail("root is not an object with properties")
	}
	r.schema(root, "", fail)
	r.plan(op, props, root["required"], fail)
	if op.OutputSchema != nil {
		var out map[string]any
		if err := strict(op.OutputSchema, &out); err != nil || out["type"] != "object" || len(op.OutputSchema) > 8<<10 {
			fail("output schema: %v %s", err, op.OutputSchema)
		}
	}
}

func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	var c bytes.Buffer
	if err := json.Compact(&c, b); err != nil {
		return err
	}
	if c.Len() != len(b) {
		return fmt.Errorf("not minified")
	}
	return nil
}

// allowed are the keywords that every model API takes.
var allowedKeywords = map[string]bool{
	"type": true, "properties": true, "required": true, "items": true, "anyOf": true, "enum": true, "description": true, "default": true,
	"minimum": true, "maximum": true, "minLength": true, "maxLength": true, "minItems": true, "maxItems": true, "pattern": true, "format": true,
	"additionalProperties": true,
}

func (r *clientRules) schema(s map[string]any, at string, fail func(string, ...any)) {
	for k := range s {
		if !allowedKeywords[k] {
			fail("%s: keyword %q", at, k)
		}
	}
	if t, ok := s["type"]; ok {
		if _, isString := t.(string); !isString {
			fail("%s: type %v", at, t)
		}
	}
	if s["type"] == "array" && s["items"] == nil {
		fail("%s: array without items", at)
	}
	if f, ok := s["format"]; ok && f != "date-time" {
		fail("%s: format %v", at, f)
	}
	if d, ok := s["description"].(string); ok && (len(d) > 1024 || d == "") {
		fail("%s: description of %d bytes", at, len(d))
	}
	if d, _ := s["description"].(string); s["type"] == nil && s["anyOf"] == nil && strings.Contains(d, "nested, ") {
		fail("%s: no type, which its alternatives have", at)
	}
	if e, ok := s["enum"].([]any); ok {
		if d, given := s["default"]; given && !slices.Contains(e, d) {
			fail("%s: the default %v is not in the enum", at, d)
		}
		if len(e) == 0 || len(e) > maxEnumValues {
			fail("%s: enum of %d values", at, len(e))
		}
		for _, v := range e {
			if v == nil {
				fail("%s: null in an enum", at)
			}
			if text, isText := v.(string); !isText || s["type"] != "string" || text == "" { // Gemini takes texts only, and no empty ones
				fail("%s: enum value %q of type %v", at, v, s["type"])
			}
		}
	}
	if p, ok := s["pattern"].(string); ok {
		if _, err := regexp.Compile(p); err != nil {
			fail("%s: pattern %v", at, err)
		}
	}
	props, _ := s["properties"].(map[string]any)
	for name, p := range props {
		if !argument64.MatchString(name) {
			fail("%s: property name %q", at, name)
		}
		child, ok := p.(map[string]any)
		if !ok {
			fail("%s/%s: not an object schema: %v", at, name, p)
			continue
		}
		r.schema(child, at+"/"+name, fail)
	}
	required, _ := s["required"].([]any)
	if s["required"] != nil && len(required) == 0 {
		fail("%s: empty required", at)
	}
	for _, n := range required {
		if name, _ := n.(string); props[name] == nil {
			fail("%s: required %v is not a property", at, n)
		}
	}
	for _, k := range []string{"items", "additionalProperties"} {
		if c, ok := s[k]; ok {
			child, isObject := c.(map[string]any)
			if !isObject {
				fail("%s: %s is %v", at, k, c)
				continue
			}
			r.schema(child, at+"/"+k, fail)
		}
	}
	branches, _ := s["anyOf"].([]any)
	if s["anyOf"] != nil && (len(branches) < 2 || len(branches) > 8) {
		fail("%s: anyOf of %d", at, len(branches))
	}
	for i, b := range branches {
		child, ok := b.(map[string]any)
		if !ok {
			fail("%s: branch %v", at, b)
			continue
		}
		r.schema(child, fmt.Sprintf("%s/anyOf/%d", at, i), fail)
	}
}

// plan checks that plan and schema talk of the same arguments and that the
// template has a parameter for each of its names.
func (r *clientRules) plan(op *operation.Operation, props map[string]any, required any, fail func(string, ...any)) {
	p := op.Plan
	args := map[string]bool{}
	need := map[string]bool{}
	add := func(arg string, must, unlisted bool) {
		if args[arg] {
			fail("argument %q twice in the plan", arg)
		}
		if unlisted {
			if props[arg] != nil || must {
				fail("the unlisted argument %q is published or required", arg)
			}
			return
		}
		args[arg], need[arg] = true, must
	}
	for _, q := range p.Params {
		if q.Arg == "" && q.Const == "" {
			fail("parameter %q without argument and value", q.Name)
		}
		if q.In == operation.InPath && !strings.Contains(p.Path, "{"+q.Name+"}") {
			fail("path parameter %q is not in %q", q.Name, p.Path)
		}
		if q.Arg != "" {
			add(q.Arg, q.Required, q.Unlisted)
		}
	}
	for _, m := range regexp.MustCompile(`\{([^{}]*)\}`).FindAllStringSubmatch(p.Path, -1) {
		if !slices.ContainsFunc(p.Params, func(q operation.Param) bool { return q.In == operation.InPath && q.Name == m[1] }) {
			fail("the path %q needs %q", p.Path, m[1])
		}
	}
	if b := p.Body; b != nil {
		if b.Arg != "" {
			add(b.Arg, b.Required && len(b.Variants) == 0, false)
		}
		shared := map[string]bool{}
		for _, f := range b.Fields {
			if f.Arg != "" {
				if f.Required && slices.ContainsFunc(p.Params, func(q operation.Param) bool { return q.Arg == f.Arg && q.In == operation.InPath }) {
					continue // asked for once, sent in both places
				}
				must := f.Required && b.Required && f.Else == ""
				for i := range b.Variants {
					must = must && slices.ContainsFunc(b.Variants[i].Fields, func(o operation.Field) bool { return o.Arg == f.Arg && o.Required })
				}
				add(f.Arg, must, f.Unlisted)
				shared[f.Arg] = true
			}
		}
		for _, v := range b.Variants {
			if v.Arg != "" {
				add(v.Arg, false, false)
			}
			for _, f := range v.Fields {
				if f.Arg != "" && !shared[f.Arg] {
					add(f.Arg, false, f.Unlisted)
				}
			}
		}
		if b.Arg != "" && len(b.Fields) > 0 || b.MediaType == "" {
			fail("body with argument %q and %d fields, type %q", b.Arg, len(b.Fields), b.MediaType)
		}
	}
	for a := range args {
		if props[a] == nil {
			fail("argument %q of the plan is not published", a)
		}
	}
	for a := range props {
		if !args[a] {
			fail("property %q is not in the plan", a)
		}
	}
	list, _ := required.([]any)
	for a, must := range need {
		if must != slices.Contains(list, any(a)) {
			fail("argument %q: required %v in the plan, not in the schema", a, must)
		}
	}
	static := regexp.MustCompile(`\{[^{}]*\}`).ReplaceAllString(p.Path, "")
	if !strings.HasPrefix(p.Path, "/") || strings.ContainsAny(static, "?# \t\r\n") || p.Version != operation.PlanVersion {
		fail("plan path %q", p.Path)
	}
}
