package usage

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// TestTake: each report is taken once, in whatever order they come, and none that the node
// has given up.
func TestTake(t *testing.T) {
	for name, c := range map[string]struct {
		floor            uint64
		ahead            string
		sequence, oldest uint64
		want             bool
		wantFloor        uint64
		wantAhead        string
	}{
		"the first":                         {0, `[]`, 1, 1, true, 1, `[]`},
		"again":                             {1, `[]`, 1, 1, false, 1, `[]`},
		"before another":                    {1, `[]`, 4, 1, true, 1, `[4]`},
		"again, ahead":                      {1, `[4]`, 4, 1, false, 1, `[4]`},
		"between":                           {1, `[4,9]`, 3, 1, true, 1, `[3,4,9]`},
		"the missing one":                   {1, `[3,4,9]`, 2, 1, true, 4, `[9]`},
		"past what the node lost":           {1, `[4]`, 9, 7, true, 6, `[9]`},
		"what the node lost":                {6, `[9]`, 5, 1, false, 6, `[9]`},
		"the oldest the node has":           {1, `[3]`, 7, 7, true, 7, `[]`},
		"ahead numbers that the floor took": {1, `[3,5]`, 6, 6, true, 6, `[]`},
	} {
		n := &usageNode{Node: "n", Floor: c.floor, Ahead: c.ahead}
		got, err := n.take(&registry.UsageReport{Sequence: c.sequence, Oldest: c.oldest})
		if err != nil || got != c.want || n.Floor != c.wantFloor || got && n.Ahead != c.wantAhead {
			t.Errorf("%s: %v, %v, floor %d, ahead %s; want %v, %d, %s", name, got, err, n.Floor, n.Ahead, c.want, c.wantFloor, c.wantAhead)
		}
	}
	n := &usageNode{Node: "n", Ahead: "nonsense"}
	if _, err := n.take(&registry.UsageReport{Sequence: 1, Oldest: 1}); err == nil {
		t.Error("a row that cannot be read is taken for none")
	}
}

// TestTakeAhead: so many reports may come before one that is missing.
func TestTakeAhead(t *testing.T) {
	for have, ok := range map[int]bool{maxAhead - 1: true, maxAhead: false} {
		ahead := make([]uint64, have)
		for i := range ahead {
			ahead[i] = uint64(i) + 3
		}
		text, err := json.Marshal(ahead)
		if err != nil {
			t.Fatal(err)
		}
		n := &usageNode{Node: "n", Floor: 1, Ahead: string(text)}
		took, err := n.take(&registry.UsageReport{Sequence: 20 * maxAhead, Oldest: 1})
		if took != ok || problem.Is(err, problem.Conflict) == ok {
			t.Errorf("one more than %d: %v, %v", have, took, err)
		}
	}
}

// TestWorkspaces: those of every part of a report, in one order.
func TestWorkspaces(t *testing.T) {
	r := &registry.UsageReport{
		Series:  []registry.UsageSeries{{UsageKey: registry.UsageKey{Workspace: "f"}}, {UsageKey: registry.UsageKey{Workspace: "a"}}},
		Causes:  []registry.UsageCause{{Workspace: "e"}, {Workspace: "a"}},
		Calls:   []registry.UsageCall{{Workspace: "d"}},
		Omitted: []registry.UsageOmitted{{Workspace: "c"}},
		Found:   []registry.UsageFound{{Workspace: "b"}},
		Trials:  []registry.UsageTrial{{Workspace: "g"}},
	}
	if got := Workspaces(r); !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f", "g"}) {
		t.Errorf("%v", got)
	}
	if got := Workspaces(&registry.UsageReport{}); len(got) != 0 {
		t.Errorf("an empty report is about %v", got)
	}
}

// TestEndSecond: a minute that has begun when a range ends is part of it.
func TestEndSecond(t *testing.T) {
	for at, want := range map[time.Time]int64{time.Unix(60, 0): 60, time.Unix(60, 1): 61, time.Unix(60, 999_999_999): 61} {
		if got := endSecond(at); got != want {
			t.Errorf("%v: %d, want %d", at, got, want)
		}
	}
}
