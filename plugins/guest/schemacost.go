package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema of a plugin is hostile, and what it is held against may be the plugin's own
// output: allOf of two references to allOf of two references takes as long as one likes. So
// before a document is validated, what that would take is counted, one step for each schema
// at each value, and refused when it is too much.

const (
	// maxValues of a document that is validated: a list that an agent can still read has a
	// hundredth of it, and decoded it has some tens of megabytes.
	maxValues = 200_000
	// freeSteps that every validation may take, and stepsPerByte more for each byte of the
	// document, at most maxSteps: one is some hundred nanoseconds.
	freeSteps    = 100_000
	stepsPerByte = 20
	maxSteps     = 2_000_000
	// maxDigits and maxExponent of a number: those of a double are far below. Numbers are
	// compared exactly, and 1e999999 has a million digits then.
	maxDigits   = 1024
	maxExponent = 1024
	// maxFault is how much of one fault is told, and of its place.
	maxFault = 200
)

var (
	errCostly  = errors.New("it takes too long to check it against the schema")
	errNumber  = fmt.Errorf("it has a number of more than %d digits, or an exponent beyond %d", maxDigits, maxExponent)
	errValues  = fmt.Errorf("it has more than %d values", maxValues)
	errDynamic = errors.New("its schema has $dynamicRef or $recursiveRef: write $ref")
)

// checkNumbers counts the values of a decoded document, and finds numbers that take long
// to compare.
func checkNumbers(v any, left *int) error {
	if *left--; *left < 0 {
		return errValues
	}
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if err := checkNumbers(member, left); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item, left); err != nil {
				return err
			}
		}
	case json.Number:
		digits, exponent, ok := strings.Cut(strings.ToLower(string(v)), "e")
		if n, err := strconv.Atoi(exponent); len(digits) > maxDigits || ok && (err != nil || n > maxExponent || n < -maxExponent) {
			return errNumber
		}
	}
	return nil
}

// costly is a pattern that knows what matching costs.
type costly struct {
	*regexp.Regexp
	size int // instructions
}

func compilePattern(s string) (jsonschema.Regexp, error) {
	parsed, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, err //nolint:wrapcheck // the library says where
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	return &costly{re, len(program.Inst)}, nil
}

// steps counts what a validation takes.
type steps struct{ left int }

// stepsFor is how many a document of n bytes may take.
func stepsFor(n int) int { return min(freeSteps+stepsPerByte*n, maxSteps) }

// take counts n steps and reports whether there are as many left.
func (c *steps) take(n int) bool {
	c.left -= n
	return c.left >= 0
}

// match is the cost of a pattern for a text.
func (c *steps) match(re jsonschema.Regexp, text string) bool {
	size := 1
	if p, ok := re.(*costly); ok {
		size = p.size
	}
	return c.take(1 + len(text)*size/16)
}

// visit counts what validating v takes: all that a schema could look at, also what a
// validation would leave out because something failed before. depth is how many schemas
// are looked at for the same value already: the library looks through them for a circle.
func (c *steps) visit(s *jsonschema.Schema, v any, depth int) bool {
	if s == nil || s.Bool != nil {
		return c.take(1)
	}
	own := 1 + depth + len(s.Required)
	if s.Enum != nil {
		for _, value := range s.Enum.Values {
			own += sizeOf(value)
		}
	}
	if s.Const != nil {
		own += sizeOf(*s.Const)
	}
	if !c.take(own) {
		return false
	}
	depth++
	for _, in := range [...]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
		if in != nil && !c.visit(in, v, depth) {
			return false
		}
	}
	for _, list := range [...][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, in := range list {
			if !c.visit(in, v, depth) {
				return false
			}
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return c.object(s, v, depth)
	case []any:
		return c.array(s, v)
	case string:
		return c.take(len(v)/64) && (s.Pattern == nil || c.match(s.Pattern, v))
	}
	return true
}

func (c *steps) object(s *jsonschema.Schema, v map[string]any, depth int) bool {
	own := len(v) + len(s.Dependencies) + len(s.DependentSchemas)
	for _, names := range s.DependentRequired {
		own += 1 + len(names)
	}
	for _, d := range s.Dependencies {
		switch d := d.(type) {
		case []string:
			own += len(d)
		case *jsonschema.Schema:
			if !c.visit(d, v, depth) {
				return false
			}
		}
	}
	if !c.take(own) {
		return false
	}
	for _, in := range s.DependentSchemas {
		if !c.visit(in, v, depth) {
			return false
		}
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for name, member := range v {
		for re, in := range s.PatternProperties {
			if !c.match(re, name) || !c.visit(in, member, 0) {
				return false
			}
		}
		if s.PropertyNames != nil && !c.visit(s.PropertyNames, name, 0) {
			return false
		}
		for _, in := range [...]*jsonschema.Schema{s.Properties[name], additional, s.UnevaluatedProperties} {
			if in != nil && !c.visit(in, member, 0) {
				return false
			}
		}
	}
	return true
}

func (c *steps) array(s *jsonschema.Schema, v []any) bool {
	if !c.take(len(v)) || s.UniqueItems && !c.unique(v) {
		return false
	}
	items, _ := s.Items.(*jsonschema.Schema)
	tuple, _ := s.Items.([]*jsonschema.Schema)
	additional, _ := s.AdditionalItems.(*jsonschema.Schema)
	for i, item := range v {
		list := [...]*jsonschema.Schema{items, additional, s.Items2020, s.Contains, s.UnevaluatedItems, nil, nil}
		if i < len(tuple) {
			list[5] = tuple[i]
		}
		if i < len(s.PrefixItems) {
			list[6] = s.PrefixItems[i]
		}
		for _, in := range list {
			if in != nil && !c.visit(in, item, 0) {
				return false
			}
		}
	}
	return true
}

// unique is the cost of comparing all items. The library compares each with all of the same
// hash, and lists and objects of one hash can be made.
func (c *steps) unique(v []any) bool {
	size, nested := 0, false
	for _, item := range v {
		switch item.(type) {
		case []any, map[string]any:
			nested = true
		}
		size += sizeOf(item)
	}
	switch {
	case len(v) <= 20: // each with each
		return c.take(size * len(v))
	case nested:
		return c.take(size) && c.take(len(v)*len(v)/2)
	}
	return c.take(size)
}

// sizeOf is how many values a value is made of.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			n += 1 + sizeOf(member)
		}
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	case string:
		n += len(v) / 64
	}
	return n
}

// dynamic reports whether a schema that can be reached has references which mean another
// schema at each place: their cost cannot be counted.
func dynamic(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		return true
	}
	all := []*jsonschema.Schema{
		s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems,
	}
	for _, list := range [...][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		all = append(all, list...)
	}
	for _, in := range s.Properties {
		all = append(all, in)
	}
	for _, in := range s.PatternProperties {
		all = append(all, in)
	}
	for _, in := range s.DependentSchemas {
		all = append(all, in)
	}
	for _, d := range s.Dependencies {
		in, _ := d.(*jsonschema.Schema)
		all = append(all, in)
	}
	for _, x := range [...]any{s.Items, s.AdditionalItems, s.AdditionalProperties} {
		switch x := x.(type) {
		case *jsonschema.Schema:
			all = append(all, x)
		case []*jsonschema.Schema:
			all = append(all, x...)
		}
	}
	for _, in := range all {
		if dynamic(in, seen) {
			return true
		}
	}
	return false
}
