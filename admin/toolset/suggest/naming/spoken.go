package naming

import (
	"slices"

	"github.com/sluicegate/sluice/internal/wording"
)

// prepositions are words behind which a name says whose or which its object is.
var prepositions = words("by for from in of on with")

// head is an object without what a preposition adds to it: repositories of
// repositories_by_workspace.
func head(object []string) []string {
	if i := slices.IndexFunc(object, func(w string) bool { return prepositions[w] }); i > 0 {
		return object[:i]
	}
	return object
}

// pluralIn is the plural of an object, where a text has it.
func pluralIn(text, object []string) []string {
	n := len(head(object))
	last := object[n-1]
	for _, w := range text {
		if w != last && wording.Singular(w) == last {
			return slices.Concat(object[:n-1], []string{w}, object[n:])
		}
	}
	return nil
}

// amounts are words before "of" that name no thing.
var amounts = words("batch list set number group collection page series")

// spoken is the object that the text names, where the path has its words: "Watch a
// repository" of /repos/{repo}/subscription.
func (v *view) spoken() []string {
	const most = 3 // words of an object
	var object []string
	for _, w := range v.rest {
		if fillers[w] {
			if len(object) == 0 || w == "of" && len(object) == 1 && amounts[object[0]] {
				object = nil
				continue
			}
			break
		}
		if object = append(object, w); len(object) > most {
			return nil
		}
	}
	if len(object) == 0 {
		return nil
	}
	last := wording.Singular(object[len(object)-1])
	for _, p := range v.route.places {
		if slices.ContainsFunc(p.words, func(w string) bool { return wording.Singular(w) == last }) {
			return object
		}
	}
	return nil
}
