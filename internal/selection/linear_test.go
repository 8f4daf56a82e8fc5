package selection

import (
	"fmt"
	"slices"
	"testing"
)

// TestDrag: of what most requests for a tool are not, the mean of its examples says
// little; what tells it from the tool that it is mistaken for decides.
func TestDrag(t *testing.T) {
	tools := []Tool{{Name: "a"}, {Name: "b"}}
	add := func(tool int, text string, n int) {
		for i := range n {
			tools[tool].Examples = append(tools[tool].Examples, Example{Text: fmt.Sprintf(text, i), Weight: 1})
		}
	}
	add(0, "invoice report month%d", 40)
	add(1, "invoice report cancel", 4)
	add(1, "refund void payment%d", 40)
	x := buildExamples(tools, nil)
	if !x.valid(len(tools), 0) {
		t.Fatal("not valid")
	}
	// The same examples' weights, once as means and once dragged.
	means := make(linear, len(x.keys))
	start := uint32(0)
	for d, end := range x.ends {
		for k := range x.keys {
			w := float32(0)
			for j := x.starts[k]; j < x.starts[k+1]; j++ {
				if e := x.docs[j]; e >= start && e < end {
					w += x.weight[j] / float32(end-start)
				}
			}
			if w != 0 {
				means[k] = append(means[k], toolWeight{tool: uint32(d), now: w})
			}
		}
		start = end
	}
	wrong := func(m linear) (n int) {
		for e := range x.count {
			var score [2]float32
			for k := range x.keys {
				for j := x.starts[k]; j < x.starts[k+1]; j++ {
					if x.docs[j] == uint32(e) {
						for _, w := range m[k] {
							score[w.tool] += x.weight[j] * w.now
						}
					}
				}
			}
			own := 0
			if uint32(e) >= x.ends[0] {
				own = 1
			}
			if score[own] <= score[1-own] {
				n++
			}
		}
		return n
	}
	before, unchanged := wrong(means), clone(means)
	if before != 4 {
		t.Errorf("%d of the examples are mistaken by the means, want the 4 that say cancel", before)
	}
	means.drag(&x, 0) // too much work: nothing happens
	if !slices.EqualFunc(means, unchanged, slices.Equal) {
		t.Error("the bound of the work does not hold")
	}
	means.drag(&x, maxDragWork)
	if after := wrong(means); after != 0 {
		t.Errorf("%d of the examples are mistaken after the training", after)
	}
}

func clone(m linear) linear {
	c := make(linear, len(m))
	for k := range m {
		c[k] = slices.Clone(m[k])
	}
	return c
}
