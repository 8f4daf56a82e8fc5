package selection

import (
	"cmp"
	"math"
	"slices"
)

// Example is a request that a tool serves: one that the operator wrote down, or
// one after which a call succeeded.
type Example struct {
	Text string
	// Weight is how much it counts, more than 0: 1 for an operator's, less for one
	// that was seen long ago or once.
	Weight float32
}

const (
	// MaxExamples of one tool that count, heaviest first: with 64, examples bring
	// three points of nDCG less on a set that has 60 of each tool; beyond 256 nothing
	// was gained.
	MaxExamples = 256
	// maxExample bounds the text of an example that is looked at, in bytes.
	maxExample = 400
	// trust is how many examples it takes until they count half. It grows with the
	// cube: a tool with one or two must not win over better tools that have none.
	trust = 14
	// exampleWeight weighs the likeness to the examples, 0 to 1, when candidates are
	// chosen by the first stage, whose best is about 3.
	exampleWeight = 15
	// linearShare and centerShare weigh the linear model and the vectors of the
	// examples against the nearest of them.
	linearShare, centerShare = 2, .5
	// alikeAtLeast is the likeness that counts in full: words such as "find" and
	// "me" make any two requests a little alike.
	alikeAtLeast = .2
	// alikeSome and alikeNearly are the mean cosine with the nearest examples of a tool
	// from which on a request begins to be one of them, and at which it is.
	alikeSome, alikeNearly = .25, .5
	// closeAtLeast is the cosine at which a text says what is asked for, in other words.
	closeAtLeast = .5
	// nearest is how many of a tool's examples count as neighbours.
	nearest = 5
)

// examples are the requests of all tools, tool after tool: words and pairs of
// neighbours, each with the examples that have it. A tool is as likely as a linear
// model of the words says (drag), as the mean of the vectors of its examples is close
// and as the nearest of them are (k nearest neighbours).
type examples struct {
	keys   []uint32 // hashes, in rising order
	idf    []float32
	starts []uint32  // by key, one more than keys
	docs   []uint32  // examples
	weight []float32 // an example's are of length 1
	count  []float32 // the weight of each example
	ends   []uint32  // of each tool's examples
	trust  []float32 // of each tool
	// The linear model: of each key, the tools that it speaks for, or against.
	toolStarts []uint32 // by key, one more than keys
	toolDocs   []uint32 // tools, rising within a key
	toolWeight []float32
	// centers are the directions of the sums of each tool's examples' vectors, n ×
	// dim, of length 127; zero without examples or known words.
	centers []int8
}

// eachKey calls f with the hashes of the words of text that are not stop words and
// of all pairs of neighbours: "what is" or "to my" say nothing of a tool's subject, but
// much of what people ask of it.
func eachKey(text string, buf []byte, hashOf func(w []byte) uint32, f func(key uint32)) []byte {
	last := uint32(0)
	return eachWord(text, buf, func(w []byte) {
		h := hashOf(w)
		if !stop[string(w)] {
			f(h)
		}
		if last != 0 {
			f((last*31 + h) * 2654435769)
		}
		last = h
	})
}

// wordHash is the key of a word, not 0.
func wordHash(w []byte) uint32 {
	return hash(normal(string(w))) | 1
}

// buildExamples makes the examples of tools.
func buildExamples(tools []Tool, table *Table) (x examples) {
	type entry struct {
		key, doc uint32
		w        float32
	}
	var buf []byte
	known := map[string]uint32{}
	hashOf := func(w []byte) uint32 {
		h, ok := known[string(w)]
		if !ok {
			h = wordHash(w)
			known[string(w)] = h
		}
		return h
	}
	var v, center []float32
	var s pieces
	if table != nil {
		v, center = make([]float32, table.Dim()), make([]float32, table.Dim())
	}
	df := map[uint32]int{}
	var texts [][]uint32 // the distinct keys of each example, in rising order
	for d := range tools {
		list := slices.DeleteFunc(slices.Clone(tools[d].Examples), func(e Example) bool { return !(e.Weight > 0) })
		slices.SortStableFunc(list, func(a, b Example) int { return cmp.Compare(b.Weight, a.Weight) })
		var sum float32
		clear(center)
		for _, e := range list[:min(len(list), MaxExamples)] {
			if table != nil && table.vector(cut(e.Text, maxExample), v, &s) {
				for k, f := range v {
					center[k] += e.Weight * f
				}
			}
			var keys []uint32
			buf = eachKey(cut(e.Text, maxExample), buf, hashOf, func(k uint32) { keys = append(keys, k) })
			slices.Sort(keys)
			keys = slices.Compact(keys)
			for _, k := range keys {
				df[k]++
			}
			texts = append(texts, keys)
			x.count = append(x.count, e.Weight)
			sum += e.Weight
		}
		normalise(center)
		for _, f := range center {
			x.centers = append(x.centers, quantise(f))
		}
		x.ends = append(x.ends, uint32(len(texts)))
		x.trust = append(x.trust, sum*sum*sum/(sum*sum*sum+trust*trust*trust))
	}
	if len(texts) == 0 {
		return examples{}
	}
	idf := func(k uint32) float32 { return float32(math.Log((1+float64(len(texts)))/(1+float64(df[k]))) + 1) }
	var all, means []entry
	start := 0
	for d, end := range x.ends {
		mean := map[uint32]float32{}
		for e := start; e < int(end); e++ {
			norm := 0.0
			for _, k := range texts[e] {
				norm += float64(idf(k) * idf(k))
			}
			scale := 1 / float32(math.Sqrt(max(norm, 1e-9)))
			for _, k := range texts[e] {
				all = append(all, entry{k, uint32(e), idf(k) * scale})
				mean[k] += x.count[e] * idf(k) * scale
			}
		}
		norm := 0.0
		keys := sortedHashes(mean) // in one order: floats do not add up the same otherwise
		for _, k := range keys {
			norm += float64(mean[k] * mean[k])
		}
		for _, k := range keys {
			means = append(means, entry{k, uint32(d), mean[k] / float32(math.Sqrt(max(norm, 1e-9)))})
		}
		start = int(end)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.doc, b.doc)) })
	for _, e := range all {
		if n := len(x.keys); n == 0 || x.keys[n-1] != e.key {
			x.keys = append(x.keys, e.key)
			x.idf = append(x.idf, idf(e.key))
			x.starts = append(x.starts, uint32(len(x.docs)))
		}
		x.docs = append(x.docs, e.doc)
		x.weight = append(x.weight, e.w)
	}
	x.starts = append(x.starts, uint32(len(x.docs)))
	m := make(linear, len(x.keys))
	for _, e := range means { // by tool
		i, _ := slices.BinarySearch(x.keys, e.key)
		m[i] = append(m[i], toolWeight{tool: e.doc, now: e.w})
	}
	m.drag(&x, maxDragWork)
	for _, list := range m {
		x.toolStarts = append(x.toolStarts, uint32(len(x.toolDocs)))
		for _, w := range list {
			x.toolDocs = append(x.toolDocs, w.tool)
			x.toolWeight = append(x.toolWeight, w.now)
		}
	}
	x.toolStarts = append(x.toolStarts, uint32(len(x.toolDocs)))
	return x
}

func sortedHashes(m map[uint32]float32) []uint32 {
	keys := make([]uint32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// valid checks every number that is used as a position.
func (x *examples) valid(tools, dim int) bool {
	n := len(x.count)
	if n == 0 {
		return len(x.keys)+len(x.idf)+len(x.starts)+len(x.docs)+len(x.weight)+len(x.ends)+len(x.trust)+len(x.toolStarts)+len(x.toolDocs)+len(x.toolWeight)+len(x.centers) == 0
	}
	return len(x.idf) == len(x.keys) && slices.IsSorted(x.keys) && rising(x.starts, len(x.keys)+1, len(x.docs)) &&
		len(x.weight) == len(x.docs) && below(x.docs, n) && rising(x.ends, tools, n) && len(x.trust) == tools &&
		rising(x.toolStarts, len(x.keys)+1, len(x.toolDocs)) && len(x.toolWeight) == len(x.toolDocs) && below(x.toolDocs, tools) && len(x.centers) == tools*dim
}

// scoreExamples adds the likeness of q to each tool's examples to prior. closest is the
// best cosine of q and the texts of a tool.
func (s *Searcher) scoreExamples(q string, closest float32) {
	x := &s.x.examples
	if len(x.count) == 0 {
		return
	}
	clear(s.likeness)
	clear(s.alike)
	norm := float32(0)
	s.keys = s.keys[:0]
	s.buf = eachKey(cut(q, maxExample), s.buf, s.keyOf, s.addKey)
	slices.Sort(s.keys)
	s.keys = slices.Compact(s.keys)
	for _, k := range s.keys {
		i, ok := slices.BinarySearch(x.keys, k)
		if !ok {
			norm++
			continue
		}
		w := x.idf[i]
		norm += w * w
		for j := x.starts[i]; j < x.starts[i+1]; j++ {
			s.likeness[x.docs[j]] += w * x.weight[j]
		}
		for j := x.toolStarts[i]; j < x.toolStarts[i+1]; j++ {
			s.alike[x.toolDocs[j]] += w * x.toolWeight[j]
		}
	}
	norm = float32(math.Sqrt(float64(max(norm, 1e-9))))
	var topMean, topNear float32
	start := uint32(0)
	for d, end := range x.ends {
		var near [nearest]float32
		for e := start; e < end; e++ {
			l := s.likeness[e]
			for i := range near { // the largest stay, largest first
				if l > near[i] {
					l, near[i] = near[i], l
				}
			}
		}
		s.askedWords[d] = near[0] / norm * askedTrust(int(end-start))
		start = end
		var closer float32
		for _, l := range near {
			closer += l / nearest
		}
		s.near[d] = closer
		topMean, topNear = max(topMean, s.alike[d]), max(topNear, closer)
	}
	usual, topCenter := s.scoreCenters(q)
	nearly := topNear
	// The most alike counts 1, unless not even that is alike.
	topMean, topNear = max(topMean, alikeAtLeast*norm), max(topNear, alikeAtLeast*norm)
	topCenter = max(topCenter-usual, alikeAtLeast)
	// The most alike of few tools with examples says little: the tool that is asked for
	// may be one of the many without.
	// Unless the request is nearly one of the examples: then they decide.
	// Or no tool has a word of it, nor is any close: then there is nothing else to go by.
	sure := min(max(nearly/norm-alikeSome, 0)/(alikeNearly-alikeSome), 1)
	if s.topBM25 == 0 {
		sure = max(sure, 1-max(closest/closeAtLeast, 0))
	}
	var cover, most, fits float32
	for _, t := range x.trust {
		cover += t / float32(len(x.trust))
	}
	cover += (1 - cover) * sure
	for d := range s.alike {
		a := linearShare*s.alike[d]/topMean + s.near[d]/topNear + centerShare*max(s.two[d]-usual, 0)/topCenter
		s.alike[d] = a * cover * x.trust[d] / (1 + linearShare + centerShare)
		most, fits = max(most, s.alike[d]), max(fits, s.prior[d])
	}
	if most == 0 {
		return
	}
	// A tool that has no examples, or few, would lose against every tool that has many:
	// it is taken to be as like as its texts say, compared with the best of all tools.
	for d := range s.alike {
		if fits > 0 {
			s.alike[d] += (1 - sure) * (1 - x.trust[d]) * most * max(s.prior[d], 0) / fits
		}
		s.prior[d] += exampleWeight * s.alike[d]
	}
}

// scoreCenters fills s.two with the cosine of q and the mean direction of each
// tool's examples, and returns the mean and the maximum of those that have any.
func (s *Searcher) scoreCenters(q string) (mean, top float32) {
	x := &s.x.examples
	clear(s.two)
	if len(x.centers) == 0 || !s.x.table.vector(q, s.vec, &s.pieces) {
		return 0, 0
	}
	dim, n := len(s.vec), 0
	for d, trust := range x.trust {
		if trust == 0 {
			continue
		}
		c := dot(s.vec, x.centers[d*dim:(d+1)*dim])
		s.two[d] = c
		mean += c
		top = max(top, c)
		n++
	}
	return mean / float32(max(n, 1)), top
}

// hashOf is wordHash with a memory.
func (s *Searcher) hashOf(w []byte) uint32 {
	h, ok := s.hashes[string(w)]
	if !ok {
		if len(s.hashes) >= maxStems {
			clear(s.hashes)
		}
		h = wordHash(w)
		s.hashes[string(w)] = h
	}
	return h
}
