package guest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// whyUnusable says why a schema does not compile, and where as a JSON pointer: without the
// address that was made up for it.
func whyUnusable(err error, schema any) error {
	if at, ok := badName(schema, ""); ok { // the library says no place for these
		return fmt.Errorf("%s: is not a regular expression (RE2)", cutFault(at))
	}
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if invalid, ok := errors.AsType[*jsonschema.ValidationError](e.Err); ok {
			return faultsOf(invalid)
		}
	}
	if e, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		_, at, _ := strings.Cut(e.URL, "#")
		return fmt.Errorf("%s: %s is not a regular expression (RE2): %s", cutFault(cmp.Or(at, "/")), cutFault(strconv.Quote(e.Regex)), cutFault(e.Err.Error()))
	}
	if e, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return errors.New(refers(schema, e.URL) + "refers to another document, and nothing is loaded: write what it means into $defs")
	}
	if e, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return errors.New(refers(schema, e.URL) + "refers to what is not in the schema")
	}
	if e, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return errors.New(refers(schema, e.Reference) + "refers to an anchor that is not in the schema")
	}
	if _, ok := errors.AsType[*jsonschema.UnsupportedDraftError](err); ok {
		return errors.New("/$schema: no draft of that name is known; without it 2020-12 is meant")
	}
	return errors.New("an id, an anchor or a reference in it is none, or is there twice")
}

// refers is the place of the reference to an address, with a colon; "a reference " when it is
// not found.
func refers(schema any, address string) string {
	if at, ok := reference(schema, "", address); ok {
		return cutFault(at) + ": "
	}
	return "a reference "
}

// referring are members whose value is an address.
var referring = []string{"$schema", "$ref", "$dynamicRef", "$recursiveRef"}

func reference(v any, at, address string) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if to, ok := v[name].(string); ok && slices.Contains(referring, name) && to != "" && strings.HasSuffix(address, strings.TrimSuffix(to, "#")) {
				return at + "/" + name, true
			}
			if found, ok := reference(v[name], at+"/"+pointer.Replace(name), address); ok {
				return found, true
			}
		}
	case []any:
		for i, item := range v {
			if found, ok := reference(item, at+"/"+strconv.Itoa(i), address); ok {
				return found, true
			}
		}
	}
	return "", false
}

// badName finds a name in patternProperties that is not a pattern.
func badName(v any, at string) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		patterns, _ := v["patternProperties"].(map[string]any)
		for _, p := range slices.Sorted(maps.Keys(patterns)) {
			if _, err := compilePattern(p); err != nil {
				return at + "/patternProperties/" + pointer.Replace(p), true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found, ok := badName(v[name], at+"/"+pointer.Replace(name)); ok {
				return found, true
			}
		}
	case []any:
		for i, item := range v {
			if found, ok := badName(item, at+"/"+strconv.Itoa(i)); ok {
				return found, true
			}
		}
	}
	return "", false
}

// pointer escapes a name in a JSON pointer (RFC 6901 §3).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// escaped are the names of a place as a JSON pointer has them.
func escaped(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = pointer.Replace(name)
	}
	return out
}
