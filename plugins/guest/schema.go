package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // a schema of a plugin loads nothing
	if err := c.AddResource("config.json", s); err != nil {
		return nil, errors.New("its schema cannot be used")
	}
	compiled, err := c.Compile("config.json")
	if err != nil {
		return nil, errors.New("its schema cannot be used")
	}
	return &Schema{compiled}, nil
}

// Check names the faults of a document, each with its JSON pointer; nil when there is
// none.
func (s *Schema) Check(doc []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return errors.New("it is not JSON")
	}
	err = s.compiled.Validate(v)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return faultsOf(invalid)
	}
	return err
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
		at := "/" + strings.Join(e.InstanceLocation, "/")
		lines = append(lines, at+": "+e.ErrorKind.LocalizedString(english))
	}
	visit(err)
	return errors.New(strings.Join(lines, "; "))
}

// maxFaults of a document that are named: enough to see the pattern.
const maxFaults = 8

var english = message.NewPrinter(language.English)
