package registry

import (
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

func TestAnnotationsOf(t *testing.T) {
	yes, no := true, false
	reading := operation.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}
	deleting := operation.Annotations{Destructive: true, OpenWorld: true}
	for _, c := range []struct {
		said    *AnnotationEdit
		of, get operation.Annotations
	}{
		{nil, reading, reading},
		{&AnnotationEdit{}, deleting, deleting},
		{&AnnotationEdit{ReadOnly: &no}, reading, operation.Annotations{Idempotent: true, OpenWorld: true}},
		{&AnnotationEdit{ReadOnly: &yes}, deleting, reading},
		{&AnnotationEdit{ReadOnly: &yes, Idempotent: &no}, deleting, operation.Annotations{ReadOnly: true, OpenWorld: true}},
		{&AnnotationEdit{Destructive: &yes}, reading, operation.Annotations{Destructive: true, Idempotent: true, OpenWorld: true}},
		{&AnnotationEdit{Destructive: &no, OpenWorld: &no}, deleting, operation.Annotations{}},
	} {
		if got := c.said.Of(c.of); got != c.get {
			t.Errorf("%+v of %+v: %+v, want %+v", c.said, c.of, got, c.get)
		}
	}
	if !(&AnnotationEdit{ReadOnly: &yes, Destructive: &yes}).Contradicts() || (&AnnotationEdit{ReadOnly: &yes, Destructive: &no}).Contradicts() {
		t.Error("what contradicts itself")
	}
}
