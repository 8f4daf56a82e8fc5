package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema checks JSON documents against a JSON Schema that a plugin brought. It is
// safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// CompileSchema makes a Schema of a document, 2020-12 unless it says otherwise. It
// loads nothing. Its errors are for the plugin's author.
func CompileSchema(doc []byte) (*Schema, error) {
	s, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, errors.New("its schema is not JSON")
	}
	left := maxValues
	if err := checkNumbers(s, &left); err != nil {
		return nil, fmt.Errorf("its schema cannot be used: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(compilePattern)
	c.UseLoader(jsonschema.SchemeURLLoader{}) // a schema of a plugin loads nothing
	if err := c.AddResource("config.json", s); err != nil {
		return nil, fmt.Errorf("its schema cannot be used: %w", whyUnusable(err, s))
	}
	compiled, err := c.Compile("config.json")
	if err != nil {
		return nil, fmt.Errorf("its schema cannot be used: %w", whyUnusable(err, s))
	}
	if dynamic(compiled, map[*jsonschema.Schema]bool{}) {
		return nil, errDynamic
	}
	return &Schema{compiled}, nil
}

// Check names the faults of a document, each with its JSON pointer and without its values;
// nil when there is none. What would take too long is refused.
func (s *Schema) Check(doc []byte) error {
	if bytes.Count(doc, []byte{','}) > maxValues {
		return errValues
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return errors.New("it is not JSON")
	}
	left := maxValues
	if err := checkNumbers(v, &left); err != nil {
		return err
	}
	if cost := (steps{stepsFor(len(doc))}); !cost.visit(s.compiled, v, 0) {
		return errCostly
	}
	err = s.compiled.Validate(v)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return faultsOf(invalid)
	}
	return err
}

// CheckSchemas compiles the schemas of a package's manifest. It fails with a
// [problem.InvalidPlugin] that says what is wrong, and where as a JSON pointer.
func (p *Package) CheckSchemas() error {
	_, output := p.Effect()
	for _, s := range []struct {
		name   string
		schema json.RawMessage
	}{{"output.schema", output}, {"config", p.Manifest.Config}} {
		if s.schema == nil {
			continue
		}
		if _, err := CompileSchema(s.schema); err != nil {
			return refuse("correct it in plugin.json and build the plugin again", "%s of plugin %s: %v", s.name, p.Manifest.Name, err)
		}
	}
	return nil
}

func validate(schema, doc json.RawMessage) error {
	s, err := CompileSchema(schema)
	if err != nil {
		return err
	}
	return s.Check(doc)
}

// faultsOf names the faults alone: the library's own text begins with the address
// it made up for the schema.
func faultsOf(err *jsonschema.ValidationError) error {
	var lines []string
	var visit func(*jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			visit(c)
		}
		if len(e.Causes) > 0 || len(lines) == maxFaults {
			return
		}
		at := "/" + strings.Join(escaped(e.InstanceLocation), "/")
		lines = append(lines, cutFault(at)+": "+cutFault(faultOf(e.ErrorKind)))
	}
	visit(err)
	return errors.New(strings.Join(lines, "; "))
}

// faultOf says what is wrong with a value without saying the value.
func faultOf(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Pattern:
		return fmt.Sprintf("does not match pattern '%s'", k.Want)
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.Minimum:
		return "is less than the minimum " + number(k.Want)
	case *kind.Maximum:
		return "is more than the maximum " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "is not more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "is not less than " + number(k.Want)
	case *kind.MultipleOf:
		return "is not a multiple of " + number(k.Want)
	case *kind.ContentEncoding, *kind.ContentMediaType, *kind.ContentSchema:
		return "is not content of the kind that the schema says"
	}
	return k.LocalizedString(english)
}

func number(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// cutFault keeps a fault short: patterns and names may be long.
func cutFault(s string) string {
	if len(s) > maxFault {
		return strings.ToValidUTF8(s[:maxFault], "") + "…"
	}
	return s
}

// maxFaults of a document that are named: enough to see the pattern.
const maxFaults = 8

var english = message.NewPrinter(language.English)
