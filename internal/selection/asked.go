package selection

// maxAsked bounds the requests of a tool whose words are indexed as a text of it, and
// whose vectors are kept: what an operator writes down in different words, not what was
// said a hundred times.
const maxAsked = 32

const (
	// askedFrom is the cosine up to which a text says nothing of what is asked for.
	askedFrom = .2
	// askedHalf is how many requests of a tool count half.
	askedHalf = 4
	// askedPrior and askedWordsPrior weigh the closest request of a tool when candidates are
	// chosen by the first stage.
	askedPrior, askedWordsPrior = 1.5, .75
)

// asked are the vectors of the requests that operators wrote down for the tools. Where
// [examples] ask which of the tools that have many is most alike, these say how close a
// request is to one of a few, and may be compared with tools that have none.
type asked struct {
	ends    []uint32 // of each tool's requests; empty when no tool has any
	vectors []int8   // requests × dim, of length 127
}

// written are the requests of a tool that an operator wrote down.
func (t *Tool) written() []string {
	var out []string
	for _, e := range t.Examples {
		if e.Weight >= 1 && len(out) < maxAsked {
			out = append(out, cut(e.Text, maxExample))
		}
	}
	return out
}

func buildAsked(tools []Tool, table *Table) (x asked) {
	if table == nil {
		return x
	}
	v := make([]float32, table.Dim())
	var s pieces
	for d := range tools {
		for _, text := range tools[d].written() {
			if table.vector(text, v, &s) {
				for _, f := range v {
					x.vectors = append(x.vectors, quantise(f))
				}
			}
		}
		x.ends = append(x.ends, uint32(len(x.vectors)/table.Dim()))
	}
	if len(x.vectors) == 0 {
		return asked{}
	}
	return x
}

// valid checks every number that is used as a position.
func (x *asked) valid(tools, dim int) bool {
	if len(x.ends) == 0 {
		return len(x.vectors) == 0
	}
	return dim > 0 && len(x.vectors)%dim == 0 && rising(x.ends, tools, len(x.vectors)/dim)
}

// scoreAsked fills s.asked with how close q is to the closest of each tool's texts: its own
// or one of its requests. A tool that has none is compared by its own, as are all where no
// tool has enough of them. s.cos are the cosines of the former.
func (s *Searcher) scoreAsked(q string) {
	x := &s.x.asked
	if len(x.ends) == 0 {
		return
	}
	clear(s.asked)
	if !s.x.table.vector(q, s.vec, &s.pieces) {
		return
	}
	dim, start := len(s.vec), uint32(0)
	for d, end := range x.ends {
		own := max(s.cos[d], askedFrom)
		trust, closest := askedTrust(int(end-start)), own
		for ; start < end; start++ {
			closest = max(closest, dot(s.vec, x.vectors[int(start)*dim:int(start+1)*dim]))
		}
		s.asked[d] = s.askedTrust * (own - askedFrom + trust*(closest-own)) / (1 - askedFrom)
	}
}

// askedTrust is how much n requests of a tool count: of one or two, nothing much, so that
// they do not push aside the tools that have none.
func askedTrust(n int) float32 {
	cube := float32(n * n * n)
	return cube / (cube + askedHalf*askedHalf*askedHalf)
}

// trust is the mean of the trust in the tools that have requests: where most have one or
// two, all tools are compared by their texts.
func (x *asked) trust() float32 {
	var sum float32
	start, n := uint32(0), 0
	for _, end := range x.ends {
		if end > start {
			sum += askedTrust(int(end - start))
			n++
		}
		start = end
	}
	return sum / float32(max(n, 1))
}
