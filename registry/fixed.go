package registry

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
)

// Bounds of fixed values. They travel in every bundle and are sent with every call.
const (
	// MaxFixed values of a connector or a tool: a tenant, a version, a locale, a few
	// more.
	MaxFixed = 64
	// MaxFixedBytes of one value.
	MaxFixedBytes = 4 << 10
	// maxFixedName of an argument; that of a specification may be long.
	maxFixedName = 256
	// maxFixedDepth of a value's nesting.
	maxFixedDepth = 16
)

// Fixed are values of arguments, JSON texts by the argument's name. They are not place
// for a secret: they are shown to whoever may read the toolset.
type Fixed map[string]json.RawMessage

// FixedOver gives the fixed values of a tool: those of its connector, and those of its
// edit, which may be nil, in their place.
func (e *ToolEdit) FixedOver(connector Fixed) Fixed {
	if e == nil || len(e.Fixed) == 0 {
		return connector
	}
	out := Fixed{}
	maps.Copy(out, connector)
	maps.Copy(out, e.Fixed)
	return out
}

// Validate reports every fault of f as one *problem.Error of kind
// [problem.InvalidArgument] whose Parts name the JSON pointers; nil when there is none.
func (f Fixed) Validate(at string) error {
	found := &faults{kind: problem.InvalidArgument}
	f.validate(found, at)
	return found.err("the fixed values are not valid")
}

func (f Fixed) validate(to *faults, at string) {
	to.check(len(f) <= MaxFixed, at, "%d fixed values are more than %d", len(f), MaxFixed)
	if len(f) > MaxFixed {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		value, where := f[name], at+"/"+strictjson.EscapeToken(name)
		to.check(validText(name, 1, maxFixedName), where, "the name of an argument has 1 to %d characters and no control characters", maxFixedName)
		v, err := jsonscan.Parse(value, maxFixedDepth)
		switch {
		case len(value) > MaxFixedBytes:
			to.add(where, "the value has %d bytes, more than %d", len(value), MaxFixedBytes)
		case err != nil:
			to.add(where, "the value is not JSON of at most %d levels: %s", maxFixedDepth, err)
		case v.Kind() == jsonscan.Null:
			to.add(where, "null is not a value; leave the argument out to give it back to the model")
		}
	}
}
