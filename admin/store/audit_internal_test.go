package store

import (
	"reflect"
	"testing"
	"time"
)

// TestSumHasEveryField: what the hash of a record leaves out could be changed unseen.
func TestSumHasEveryField(t *testing.T) {
	was := string((&Audit{}).sum())
	fields := reflect.VisibleFields(reflect.TypeFor[Audit]())
	tried := 0
	for _, f := range fields {
		if f.Anonymous || f.Name == "Hash" || len(f.Index) > 2 {
			continue
		}
		var a Audit
		reflect.ValueOf(&a).Elem().FieldByIndex(f.Index).Set(madeUp(f.Type, time.Unix(1_700_000_000, 0), nil, 0))
		if tried++; string(a.sum()) == was {
			t.Errorf("the hash does not depend on %s", f.Name)
		}
	}
	if tried < 15 {
		t.Errorf("%d fields of %d were changed", tried, len(fields))
	}
}
