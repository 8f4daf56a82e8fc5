package admin

import (
	"github.com/sluicegate/sluice/plugins/connector"
)

// moves are operations of a connector whose path has other names of parameters in the
// present version: what is kept of the one is of the other.
type moves map[Operation]Operation

// movesOf compares the operations of two versions of the connector that is called name
// in the toolset. An operation moves to the only one that is the same and new, where it
// is the only one that is gone.
func movesOf(name string, old, now *generated) moves {
	gone, fresh := map[Operation][]Operation{}, map[Operation][]Operation{}
	note := func(in map[Operation][]Operation, from, other *generated) {
		for i := range from.tools {
			t := &from.tools[i]
			if _, both := other.byOp[Operation{Method: t.method, Path: t.path}]; !both {
				k := Operation{Method: t.method, Path: connector.SamePath(t.path)}
				in[k] = append(in[k], Operation{Connector: name, Method: t.method, Path: t.path})
			}
		}
	}
	note(gone, old, now)
	note(fresh, now, old)
	out := moves{}
	for k, from := range gone {
		if to := fresh[k]; len(from) == 1 && len(to) == 1 {
			out[from[0]] = to[0]
		}
	}
	return out
}

// of is where an operation is now.
func (m moves) of(op Operation) Operation {
	if to, moved := m[op]; moved {
		return to
	}
	return op
}
