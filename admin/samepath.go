package admin

import (
	"slices"

	"github.com/sluicegate/sluice/admin/store"
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

// follow moves what the draft keeps by operation: edits, the selection with its
// examples, and bindings of plugins.
func (d *draft) follow(m moves) error {
	if len(m) == 0 {
		return nil
	}
	for from, to := range m { // an edit that waited there gives way to the one in use
		if slices.ContainsFunc(d.edits, func(e store.ToolEdit) bool { return operationOf(&e) == from }) {
			d.edits = slices.DeleteFunc(d.edits, func(e store.ToolEdit) bool { return operationOf(&e) == to })
		}
	}
	for i := range d.edits {
		d.edits[i].Path = m.of(operationOf(&d.edits[i])).Path
	}
	c, err := choiceOf(d.ts)
	if err != nil {
		return err
	}
	for i := range c.Tools {
		c.Tools[i].Operation = m.of(c.Tools[i].Operation)
		if f := c.Tools[i].For; f != nil {
			*f = m.of(*f)
		}
	}
	for i := range c.Examples {
		c.Examples[i].Operation = m.of(c.Examples[i].Operation)
	}
	c.keep(d.ts)
	bound, err := bindingsOf(d.ts.Plugins)
	if err != nil || len(bound) == 0 {
		return err
	}
	for i := range bound {
		b := &bound[i]
		b.Path = m.of(Operation{b.Connector, b.Method, b.Path}).Path
		for j := range b.Calls {
			b.Calls[j].Operation = m.of(b.Calls[j].Operation)
		}
	}
	d.ts.Plugins = store.JSON(bound)
	return nil
}
