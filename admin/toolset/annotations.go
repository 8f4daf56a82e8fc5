package toolset

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// ChangeAnnotations is the record of the annotations of a tool after p: what is said of
// one of them replaces what was said of it, and what is unsaid, by their names, is as it was
// generated; a p that says nothing restores all of it. nil changes nothing.
func ChangeAnnotations(record string, p *registry.AnnotationEdit, unsaid []string, at string) (string, error) {
	if p == nil {
		return record, nil
	}
	if *p == (registry.AnnotationEdit{}) && len(unsaid) == 0 {
		return "", nil
	}
	now, err := AnnotationsOf(record)
	if err != nil {
		return "", err
	}
	if now == nil {
		now = new(registry.AnnotationEdit)
	}
	for _, m := range []struct {
		name     string
		to, from **bool
	}{
		{"readOnlyHint", &now.ReadOnly, &p.ReadOnly},
		{"destructiveHint", &now.Destructive, &p.Destructive},
		{"idempotentHint", &now.Idempotent, &p.Idempotent},
		{"openWorldHint", &now.OpenWorld, &p.OpenWorld},
	} {
		if *m.from != nil || slices.Contains(unsaid, m.name) {
			*m.to = *m.from
		}
	}
	return RecordAnnotations(now, at)
}

// RecordAnnotations is e as it is stored; "" when it says nothing.
func RecordAnnotations(e *registry.AnnotationEdit, at string) (string, error) {
	if e == nil || *e == (registry.AnnotationEdit{}) {
		return "", nil
	}
	if e.Contradicts() {
		return "", request.FieldFault(at, "a tool that only reads (readOnlyHint) cannot be destructive (destructiveHint)")
	}
	return store.JSON(e), nil
}

// AnnotationsOf reads a record; nil: it says nothing.
func AnnotationsOf(record string) (*registry.AnnotationEdit, error) {
	if record == "" {
		return nil, nil
	}
	e := new(registry.AnnotationEdit)
	if err := json.Unmarshal([]byte(record), e); err != nil {
		return nil, fmt.Errorf("reading the annotations of a tool: %w", err)
	}
	return e, nil
}
