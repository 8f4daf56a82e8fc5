package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pb33f/libopenapi/datamodel"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxViolations is how many faults of strict validation are listed: who has more
// corrects the first ones and asks again.
const maxViolations = 200

// official are the JSON Schemas of the OpenAPI initiative by version, as
// libopenapi carries them. They are compiled when first needed: most processes
// never validate.
var official = map[version]func() (*jsonschema.Schema, error){
	swagger20: officialSchema("swagger20.json", datamodel.OpenAPI2SchemaData),
	openapi30: officialSchema("openapi30.json", datamodel.OpenAPI3SchemaData),
	openapi31: officialSchema("openapi31.json", datamodel.OpenAPI31SchemaData),
	openapi32: officialSchema("openapi32.json", datamodel.OpenAPI32SchemaData),
}

func officialSchema(name, text string) func() (*jsonschema.Schema, error) {
	return sync.OnceValues(func() (*jsonschema.Schema, error) {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("reading the official schema %s: %w", name, err)
		}
		c := jsonschema.NewCompiler()
		c.UseRegexpEngine(lenientRegexp)
		if err := c.AddResource("https://schemas.invalid/"+name, doc); err != nil {
			return nil, fmt.Errorf("adding the official schema %s: %w", name, err)
		}
		s, err := c.Compile("https://schemas.invalid/" + name)
		if err != nil {
			return nil, fmt.Errorf("compiling the official schema %s: %w", name, err)
		}
		return s, nil
	})
}

// lenientRegexp compiles the patterns of the official schemas, and of a
// specification where format "regex" asks for it: those are ECMA-262, and what Go
// cannot compile is no fault of their author.
func lenientRegexp(pattern string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	return anyText(pattern), nil
}

// anyText is a pattern that Go cannot compile; it matches everything.
type anyText string

func (a anyText) MatchString(string) bool { return true }
func (a anyText) String() string          { return string(a) }

// validate compares the document with the official schema of its version. It
// judges only the main document, as it is after overlays.
func (c *compiler) validate(d *document) error {
	s, err := official[c.version]()
	if err != nil {
		return err
	}
	budget := c.limits.MaxNodes
	instance, ok := d.root().plainValue(&budget)
	if !ok {
		c.warn(codeSchemaViolation, d.root(), "write aliases out", "the document has too many values to be validated")
		return c.ctx.Err()
	}
	err = s.Validate(instance)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		v := violations{c: c, root: d.root(), printer: message.NewPrinter(language.English)}
		v.add(invalid)
		return c.ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("validating %s: %w", c.file, err)
	}
	return c.ctx.Err()
}

// violations lists the faults at the leaves of a validation error.
type violations struct {
	c       *compiler
	root    value
	printer *message.Printer
	n       int
}

func (v *violations) add(e *jsonschema.ValidationError) {
	if v.n >= maxViolations {
		return
	}
	if len(e.Causes) == 0 {
		v.n++
		at := v.root
		for _, token := range e.InstanceLocation {
			next := at.get(token)
			if n, err := strconv.Atoi(token); err == nil && at.isArray() {
				next = at.element(n)
			}
			if !next.exists() {
				break
			}
			at = next
		}
		detail := cutText(collapse(e.ErrorKind.LocalizedString(v.printer)), maxPropertyText)
		v.c.add(SeverityError, codeSchemaViolation, at, detail, "correct it by the OpenAPI Specification", "%s", detail)
		return
	}
	if keyword := e.ErrorKind.KeywordPath(); len(keyword) > 0 && (keyword[0] == "oneOf" || keyword[0] == "anyOf") {
		// Of alternatives the one that got furthest is what the author meant.
		best := e.Causes[0]
		for _, cause := range e.Causes[1:] {
			if reach(cause, 0) > reach(best, 0) {
				best = cause
			}
		}
		v.add(best)
		return
	}
	for _, cause := range e.Causes {
		v.add(cause)
	}
}

// maxReach bounds the nested alternatives that are followed; deeper differences do not
// matter.
const maxReach = 64

// reach is how deep in the document an error lies.
func reach(e *jsonschema.ValidationError, depth int) int {
	if len(e.Causes) == 0 || depth > maxReach {
		return len(e.InstanceLocation)
	}
	most := 0
	for _, cause := range e.Causes {
		most = max(most, reach(cause, depth+1))
	}
	return most
}

// plainValue is v as encoding/json would decode it with UseNumber; ok is false
// when the budget of values is used up (aliases are written out here).
func (v value) plainValue(budget *int) (out any, ok bool) {
	if *budget--; *budget < 0 {
		return nil, false
	}
	switch v.kind() {
	case kindObject:
		m := make(map[string]any)
		for k, member := range v.members() {
			e, ok := member.plainValue(budget)
			if !ok {
				return nil, false
			}
			m[k.text()] = e
		}
		return m, true
	case kindArray:
		list := []any{}
		for _, member := range v.elements() {
			e, ok := member.plainValue(budget)
			if !ok {
				return nil, false
			}
			list = append(list, e)
		}
		return list, true
	case kindNumber:
		if n := v.number(); n != "" {
			return json.Number(n), true
		}
		return v.text(), true
	case kindBool:
		return v.truth(), true
	case kindString:
		return v.text(), true
	default:
		return nil, true
	}
}
