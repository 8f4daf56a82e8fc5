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
	names := map[string]string{"mem_1": "ada@example.com"}
	if r := ShowRevision(&store.Revision{N: 2, Digest: "d", State: store.Published, Author: "mem_1"}, names); !r.Live || r.N != 2 || r.Digest != "d" || r.By != "ada@example.com" {
		t.Errorf("%+v", r)
	}
	if r := ShowRevision(&store.Revision{N: 1, State: store.Superseded, Author: "mem_2"}, names); r.Live || r.By != "" {
		t.Errorf("%+v", r)
	}
}
