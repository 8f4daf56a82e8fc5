package projection

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/plugins/operation"
)

// DriftBelow is the overlap from which an answer is taken to be another thing than
// the specification declares: real answers lack and add members, but not most.
const DriftBelow = 0.3

// Overlap tells which share of the members of an answer the operation's response
// schema declares: names are those of the answer's object, or of the objects in its
// list. known is false when there is nothing to compare with: no schema, a map, an
// answer without members.
func Overlap(op *operation.Operation, names []string) (share float64, known bool) {
	s := op.Response
	if s == nil || len(names) == 0 {
		return 0, false
	}
	for range 2 * maxDepth {
		if s.Items == nil || len(s.Properties) > 0 {
			break
		}
		s = s.Items
	}
	declared := map[string]struct{}{}
	for _, m := range new(walk).members(nil, s, 0) {
		declared[m.Name] = struct{}{}
	}
	if len(declared) == 0 {
		return 0, false
	}
	hits := 0
	for _, n := range names {
		if _, ok := declared[n]; ok {
			hits++
		}
	}
	return float64(hits) / float64(len(names)), true
}

// Drift says how an answer is not what the specification declares, "" when it is
// or nothing is known: it came with a status of success that is not described, so
// that what is known is of another answer; or its members are other ones. status
// is 0 when it is not known. names are as for [Overlap].
func Drift(op *operation.Operation, status int, names []string) string {
	if share, known := Overlap(op, names); known && share < DriftBelow {
		return fmt.Sprintf("the specification declares %.0f %% of the answer's members: it describes something else", 100*share)
	}
	if status >= 200 && status <= 299 && len(op.Successes) > 0 && !slices.Contains(op.Successes, strconv.Itoa(status)) && !slices.Contains(op.Successes, "2XX") {
		return fmt.Sprintf("the specification describes no answer with status %d: what is known of it is what is said of status %s", status, slices.Min(op.Successes))
	}
	return ""
}
