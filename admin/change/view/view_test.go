package view

import (
	"testing"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
)

// What the compiler said of each connector is said of the toolset, and lists are lists
// also when they are empty.
func TestDetailOf(t *testing.T) {
	if got := DetailOf(&draft.Draft{}, Toolset{}); got.Unsupported == nil || got.Warnings == nil {
		t.Errorf("empty lists are absent: %+v", got)
	}
	part := func(n int, code string) *draft.Part {
		return &draft.Part{Report: &draft.Report{Operations: n, Unsupported: []toolset.Unsupported{{Code: code}}, Warnings: []toolset.Diagnostic{{Code: code}}}}
	}
	got := DetailOf(&draft.Draft{Parts: []*draft.Part{part(2, "a"), part(3, "b")}}, Toolset{ID: "ts_1"})
	if got.ID != "ts_1" || got.Operations != 5 || len(got.Unsupported) != 2 || got.Unsupported[1].Code != "b" || len(got.Warnings) != 2 || got.Warnings[0].Code != "a" {
		t.Errorf("%+v", got)
	}
}

func TestShowRevision(t *testing.T) {
	ts := &store.Toolset{LiveRevision: 2}
	if r := ShowRevision(ts, &store.Revision{N: 2, Digest: "d"}); !r.Live || r.N != 2 || r.Digest != "d" {
		t.Errorf("%+v", r)
	}
	if r := ShowRevision(ts, &store.Revision{N: 1}); r.Live {
		t.Errorf("%+v", r)
	}
}
