package toolset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
	"github.com/sluicegate/sluice/registry"
)

// argumentsOf reads the names of listed arguments of a record; nil: all are listed.
func argumentsOf(record string) (names []string, err error) {
	if record == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(record), &names); err != nil {
		return nil, fmt.Errorf("reading the arguments of a record: %w", err)
	}
	return names, nil
}

// ShowArguments are those names, as the API shows them.
func ShowArguments(record string) []string {
	names, err := argumentsOf(record)
	if err != nil {
		return nil // the record was checked when it was written
	}
	return names
}

// RecordArguments is the stored form of names of arguments; "" for none. takes, which may be nil, reports whether
// the tool has an argument of that name.
func RecordArguments(names []string, at string, takes func(name string) bool) (string, error) {
	if len(names) == 0 {
		return "", nil
	}
	if err := registry.ValidateArguments(names, at); err != nil {
		return "", err
	}
	for i, name := range names {
		if takes != nil && !takes(name) {
			return "", noArgument(name, fmt.Sprintf("%s/%d", at, i))
		}
	}
	return store.JSON(names), nil
}

// TextsOf reads the descriptions of arguments of a record; nil: they are as generated.
func TextsOf(record string) (texts map[string]string, err error) {
	if record == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(record), &texts); err != nil {
		return nil, fmt.Errorf("reading the descriptions of arguments of a record: %w", err)
	}
	return texts, nil
}

// ShowTexts are those descriptions, as the API shows them.
func ShowTexts(record string) map[string]string {
	texts, err := TextsOf(record)
	if err != nil {
		return nil // the record was checked when it was written
	}
	return texts
}

// RecordTexts is the stored form of descriptions of arguments; "" for none. takes is as for [RecordArguments].
func RecordTexts(texts map[string]string, at string, takes func(name string) bool) (string, error) {
	if len(texts) == 0 {
		return "", nil
	}
	if err := registry.ValidateTexts(texts, at); err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if takes != nil && !takes(name) {
			return "", noArgument(name, at+"/"+strictjson.EscapeToken(name))
		}
	}
	return store.JSON(texts), nil
}

func noArgument(name, at string) error {
	return problem.New(problem.InvalidArgument, "there is no argument %.80q", name).At("", 0, 0, at).
		Fix("name arguments as the input schema of the tool does; a member of the argument body is body.member, one of the objects in its list rows body.rows.member")
}
