package registry

import (
	"maps"
	"slices"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
)

// MaxArguments is how many arguments of a tool an edit may list.
const MaxArguments = 256

// MaxTextRunes is how long the description of an argument may be: two or three sentences.
const MaxTextRunes = 1000

// ValidateArguments reports every fault of a list of arguments as one *problem.Error of
// kind [problem.InvalidArgument] whose Parts name the JSON pointers; nil when there is none.
func ValidateArguments(names []string, at string) error {
	found := &faults{kind: problem.InvalidArgument}
	validateArguments(found, names, at)
	return found.err("the list of arguments is not valid")
}

func validateArguments(to *faults, names []string, at string) {
	to.check(len(names) <= MaxArguments, at, "%d arguments are more than %d", len(names), MaxArguments)
	for i, name := range names {
		if i == MaxArguments {
			return
		}
		to.check(validText(name, 1, maxFixedName), at, "the name of argument %d must have 1 to %d characters and no control characters", i+1, maxFixedName)
	}
}

// ValidateTexts reports every fault of descriptions of arguments as one *problem.Error of
// kind [problem.InvalidArgument] whose Parts name the JSON pointers; nil when there is none.
func ValidateTexts(texts map[string]string, at string) error {
	found := &faults{kind: problem.InvalidArgument}
	validateTexts(found, texts, at)
	return found.err("the descriptions of arguments are not valid")
}

func validateTexts(to *faults, texts map[string]string, at string) {
	to.check(len(texts) <= MaxArguments, at, "the descriptions of %d arguments are more than %d", len(texts), MaxArguments)
	if len(texts) > MaxArguments {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		where := at + "/" + strictjson.EscapeToken(name)
		to.check(validText(name, 1, maxFixedName), where, "the name of an argument has 1 to %d characters and no control characters", maxFixedName)
		to.text(where, texts[name], 0, MaxTextRunes)
	}
}
