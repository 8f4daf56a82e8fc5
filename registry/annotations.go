package registry

import "github.com/sluicegate/sluice/plugins/operation"

// AnnotationEdit is what an operator says of a tool instead of what was generated; a nil
// member stays as generated. What readOnlyHint implies follows it where it is not said:
// a tool that only reads destroys nothing and may be called again.
type AnnotationEdit struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Of gives the annotations of a tool that was generated with a. A nil receiver changes
// nothing.
func (e *AnnotationEdit) Of(a operation.Annotations) operation.Annotations {
	if e == nil {
		return a
	}
	if e.ReadOnly != nil {
		if a.ReadOnly = *e.ReadOnly; a.ReadOnly {
			a.Destructive, a.Idempotent = false, true
		}
	}
	for _, m := range []struct{ to, from *bool }{{&a.Destructive, e.Destructive}, {&a.Idempotent, e.Idempotent}, {&a.OpenWorld, e.OpenWorld}} {
		if m.from != nil {
			*m.to = *m.from
		}
	}
	if a.Destructive && e.Destructive != nil {
		a.ReadOnly = false // of the two, what warns
	}
	return a
}

// Contradicts reports annotations that say that a tool only reads and destroys.
func (e *AnnotationEdit) Contradicts() bool {
	return e != nil && e.ReadOnly != nil && *e.ReadOnly && e.Destructive != nil && *e.Destructive
}
