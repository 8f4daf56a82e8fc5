package guest

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestUnusableSchemas: what is wrong with a schema is said with its place.
func TestUnusableSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a/b":{"type":"strin"}}}`: "/properties/a~1b/type: value must be one of 'array'",
		`{"items":[1]}`:                                                  "/items: got array, want boolean or object",
		`{"allOf":[{"pattern":"(?<a>b"}]}`:                               "/allOf/0/pattern: is not a valid regex",
		`{"properties":{"x":{"patternProperties":{"[":{}}}}}`:            "/properties/x/patternProperties/[: is not a regular expression (RE2)",
		`{"allOf":[true,{"$ref":"#/$defs/gone"}]}`:                       "/allOf/1/$ref: refers to what is not in the schema",
		`{"$ref":"#gone"}`:                                               "/$ref: refers to an anchor that is not in the schema",
		`{"not":{"$ref":"https://a.example/schema.json"}}`:               "/not/$ref: refers to another document, and nothing is loaded",
		`{"$schema":"https://a.example/draft"}`:                          "/$schema: refers to another document",
		`{"$defs":{"a":{"$anchor":"q"},"b":{"$anchor":"q"}}}`:            "is there twice",
		`{"maxLength":-1}`:                                               "/maxLength: is less than the minimum 0",
		`{"properties":{"` + strings.Repeat("n", 500) + `":{"type":1}}}`: "/properties/nnnn",
	} {
		_, err := CompileSchema([]byte(schema))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "config.json") || len(err.Error()) > 3000 {
			t.Errorf("%.60s: %v, want %s", schema, err, want)
		}
		for member, m := range map[string]manifest.Manifest{
			"output.schema": {Name: "x", Output: &manifest.Output{Effect: manifest.EffectReplace, Schema: []byte(schema)}},
			"config":        {Name: "x", Config: []byte(schema)},
		} {
			if err := (&Package{Manifest: &m}).CheckSchemas(); err == nil || !strings.HasPrefix(err.Error(), member+" of plugin x: its schema cannot be used: ") {
				t.Errorf("%s %.60s: %v", member, schema, err)
			}
		}
	}
	if err := (&Package{Manifest: &manifest.Manifest{Config: []byte(`{"type":"object"}`)}}).CheckSchemas(); err != nil {
		t.Error(err)
	}
}
