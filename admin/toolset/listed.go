package toolset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/nearest"
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

// RecordArguments is the stored form of names of arguments; "" for none. of, which may be nil, is
// the tool that has them.
func RecordArguments(names []string, at string, of *GeneratedTool) (string, error) {
	if len(names) == 0 {
		return "", nil
	}
	if err := registry.ValidateArguments(names, at); err != nil {
		return "", err
	}
	for i, name := range names {
		if of != nil && !of.Lists(name) {
			return "", noArgument(of, name, fmt.Sprintf("%s/%d", at, i))
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

// RecordTexts is the stored form of descriptions of arguments; "" for none.
func RecordTexts(texts map[string]string, at string) (string, error) {
	if len(texts) == 0 {
		return "", nil
	}
	if err := registry.ValidateTexts(texts, at); err != nil {
		return "", err
	}
	return store.JSON(texts), nil
}

// ChangeTexts is the stored form of descriptions of arguments after a change of some of them:
// nil restores what was generated. What the tool had an argument for before stays.
func ChangeTexts(texts map[string]string, change map[string]*string, at string, of *GeneratedTool) (string, error) {
	next := map[string]string{}
	maps.Copy(next, texts)
	for _, name := range slices.Sorted(maps.Keys(change)) {
		if change[name] == nil {
			delete(next, name)
			continue
		}
		if !of.Lists(name) {
			return "", noArgument(of, name, at+"/"+strictjson.EscapeToken(name))
		}
		next[name] = *change[name]
	}
	return RecordTexts(next, at)
}

func noArgument(of *GeneratedTool, name, at string) error {
	fault := problem.New(problem.InvalidArgument, "there is no argument %.80q", name).At("", 0, 0, at)
	if near := nearest.Name(name, of.ArgumentNames()); near != "" {
		return fault.Fix("did you mean %s?", near)
	}
	return fault.Fix("name arguments as the input schema of the tool does; a member of the argument body is body.member, one of the objects in its list rows body.rows.member")
}
