package toolset

import (
	"github.com/sluicegate/sluice/plugins/connector"
)

// Moves are operations of a connector whose path has other names of parameters in the
// present version: what is kept of the one is of the other.
type Moves map[Operation]Operation

// MovesOf compares the operations of two versions of the connector that is called name
// in the toolset. An operation moves to the only one that is the same and new, where it
// is the only one that is gone.
func MovesOf(name string, old, now *Generated) Moves {
	gone, fresh := map[Operation][]Operation{}, map[Operation][]Operation{}
	note := func(in map[Operation][]Operation, from, other *Generated) {
		for i := range from.Tools {
			t := &from.Tools[i]
			if _, both := other.ByOp[Operation{Method: t.Method, Path: t.Path}]; !both {
				k := Operation{Method: t.Method, Path: connector.SamePath(t.Path)}
				in[k] = append(in[k], Operation{Connector: name, Method: t.Method, Path: t.Path})
			}
		}
	}
	note(gone, old, now)
	note(fresh, now, old)
	out := Moves{}
	for k, from := range gone {
		if to := fresh[k]; len(from) == 1 && len(to) == 1 {
			out[from[0]] = to[0]
		}
	}
	return out
}

// Of is where an operation is now.
func (m Moves) Of(op Operation) Operation {
	if to, moved := m[op]; moved {
		return to
	}
	return op
}
