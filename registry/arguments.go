package registry

import "github.com/sluicegate/sluice/internal/problem"

// MaxArguments is how many arguments of a tool an edit may list.
const MaxArguments = 256

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
