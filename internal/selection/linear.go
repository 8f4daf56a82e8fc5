package selection

import "slices"

const (
	// dragRounds over all examples: one learns most of it, the third nothing.
	dragRounds = 2
	// dragStep is how far an example moves the two tools that it tells apart.
	dragStep = .1
	// dragMargin is by how much its tool must be ahead of every other, of at most 1.
	dragMargin = .3
	// dragStride mixes the examples of all tools, and meets each once: it is a prime
	// above the number of examples.
	dragStride = 4_294_967_291
	// maxDragWork bounds a round, in additions: a quarter of a second. Beyond it, with
	// tens of thousands of tools that have many examples each, the means stay.
	maxDragWork = 250_000_000
)

// linear is a linear model with one class for each tool: by key, the weights of the
// tools, by tool. Its start is the mean of each tool's examples (Rocchio 1971).
type linear [][]toolWeight

type toolWeight struct {
	tool     uint32
	now, sum float32 // sum of the weights after each round
}

// drag moves the weights of two tools where the words of an example speak for another
// tool more than for its own, or nearly: its own are dragged to the example, the
// other's pushed away (DragPushing, Tan et al. 2005). The weights are then the mean of
// those after each round. A round of more than maxWork additions is not begun.
func (m linear) drag(x *examples, maxWork int) {
	work, texts := 0, make([][]int32, len(x.count)) // keys of each example, rising
	weights := make([][]float32, len(x.count))
	for k := range m {
		n := int(x.starts[k+1] - x.starts[k])
		work += n * len(m[k])
		for j := x.starts[k]; j < x.starts[k+1]; j++ {
			e := x.docs[j]
			texts[e], weights[e] = append(texts[e], int32(k)), append(weights[e], x.weight[j])
		}
	}
	if work > maxWork {
		return
	}
	tools, score := make([]uint32, len(texts)), make([]float32, len(x.ends))
	start := uint32(0)
	for d, end := range x.ends {
		for e := start; e < end; e++ {
			tools[e] = uint32(d)
		}
		start = end
	}
	for range dragRounds {
		for i := range texts {
			e := i * dragStride % len(texts)
			keys, tool := texts[e], tools[e]
			clear(score)
			for i, k := range keys {
				for _, w := range m[k] {
					score[w.tool] += weights[e][i] * w.now
				}
			}
			other, most := uint32(0), float32(-1)
			for d, s := range score {
				if s > most && uint32(d) != tool {
					other, most = uint32(d), s
				}
			}
			if most < 0 || most+dragMargin <= score[tool] {
				continue
			}
			for i, k := range keys {
				step := dragStep * min(x.count[e], 1) * weights[e][i]
				m.add(k, tool, step)
				m.add(k, other, -step)
			}
		}
		for _, list := range m {
			for i := range list {
				list[i].sum += list[i].now / dragRounds
			}
		}
	}
	for _, list := range m {
		for i := range list {
			list[i].now = list[i].sum
		}
	}
}

func (m linear) add(key int32, tool uint32, w float32) {
	i, ok := slices.BinarySearchFunc(m[key], tool, func(a toolWeight, t uint32) int { return int(a.tool) - int(t) })
	if !ok {
		m[key] = slices.Insert(m[key], i, toolWeight{tool: tool})
	}
	m[key][i].now += w
}
