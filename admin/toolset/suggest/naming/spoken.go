package naming

import (
	"slices"

	"github.com/sluicegate/sluice/internal/wording"
)

// pluralIn is the plural of an object, where a text has it.
func pluralIn(text, object []string) []string {
	last := object[len(object)-1]
	for _, w := range text {
		if w != last && wording.Singular(w) == last {
			return append(slices.Clone(object[:len(object)-1]), w)
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
