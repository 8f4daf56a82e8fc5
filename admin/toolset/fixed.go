package toolset

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
	"github.com/sluicegate/sluice/registry"
)

// FixedOf reads the fixed values of a record; nil for none.
func FixedOf(record string) (registry.Fixed, error) {
	if record == "" {
		return nil, nil
	}
	f := registry.Fixed{}
	if err := json.Unmarshal([]byte(record), &f); err != nil {
		return nil, fmt.Errorf("reading the fixed values of a record: %w", err)
	}
	return f, nil
}

// ShowFixed are the fixed values of a record, as the API shows them.
func ShowFixed(record string) map[string]json.RawMessage {
	f, err := FixedOf(record)
	if err != nil {
		return nil // the record was checked when it was written
	}
	return f
}

// RecordFixed is the stored form of fixed values; "" for none.
func RecordFixed(f map[string]json.RawMessage, at string) (string, error) {
	if len(f) == 0 {
		return "", nil
	}
	if err := registry.Fixed(f).Validate(at); err != nil {
		return "", err
	}
	return store.JSON(f), nil
}

// ChangeFixed is a record after a change: null gives an argument back to the model.
// takes reports whether there is an argument to fix.
func ChangeFixed(record string, change map[string]json.RawMessage, at string, takes func(name string) bool) (string, error) {
	f, err := FixedOf(record)
	if err != nil || len(change) == 0 {
		return record, err
	}
	next := map[string]json.RawMessage{}
	maps.Copy(next, f)
	for name, value := range change {
		switch where := at + "/" + strictjson.EscapeToken(name); {
		case len(value) == 0 || string(value) == "null":
			delete(next, name)
			continue
		case !takes(name):
			return "", problem.New(problem.InvalidArgument, "there is no argument %.80q", name).At("", 0, 0, where).
				Fix("name arguments as the input schema of the tools does; a member of the argument body is body.member")
		}
		next[name] = value
	}
	return RecordFixed(next, at)
}
