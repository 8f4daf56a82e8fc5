package projection

import "github.com/sluicegate/sluice/plugins/operation"

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
