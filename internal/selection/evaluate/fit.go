package evaluate

import (
	"math"

	"github.com/sluicegate/sluice/internal/selection"
)

// Example is a request with its candidates, as the reranker sees them.
type Example struct {
	Candidates []selection.Features
	Relevant   []bool
}

// Examples asks up to limit requests of a set, evenly spread, and keeps what the
// reranker saw of those for which it could do something: at least one candidate
// is right and one is not.
func Examples(set *Set, table *selection.Table, limit int) []Example {
	s := selection.Build(set.Tools, table).NewSearcher()
	var out []Example
	step := max(1, (len(set.Queries)+limit-1)/limit)
	for i := 0; i < len(set.Queries); i += step {
		q := &set.Queries[i]
		relevant := map[int]bool{}
		for _, r := range q.Relevant {
			relevant[r] = true
		}
		var e Example
		right := 0
		for _, h := range s.Search(q.Text, selection.Candidates) {
			e.Candidates = append(e.Candidates, h.Features)
			e.Relevant = append(e.Relevant, relevant[h.Tool])
			if relevant[h.Tool] {
				right++
			}
		}
		if right > 0 && right < len(e.Relevant) {
			out = append(out, e)
		}
	}
	return out
}

// How Fit descends: Adam (Kingma and Ba, 2015) with a small L2 penalty.
const (
	steps   = 400
	rate    = .05
	penalty = 1e-3
)

// Fit finds the weights of the reranker: the cross entropy of the softmax over
// each request's candidates, with the right ones sharing the target. A set counts
// with the root of its requests, so that a large one does not decide alone. The
// result is the same for the same examples.
func Fit(sets [][]Example) selection.Features {
	const n = len(selection.Features{})
	dev := spread(sets)
	var w, m, v [n]float64
	w[selection.FeaturePrior] = 2
	total := 0.0
	for _, s := range sets {
		total += math.Sqrt(float64(len(s)))
	}
	var p []float64
	for step := range steps {
		var g [n]float64
		for _, s := range sets {
			share := 1 / math.Sqrt(float64(max(len(s), 1))) / total
			for i := range s {
				e := &s[i]
				p = e.softmax(p[:0], &w, &dev)
				right := 0.0
				for _, r := range e.Relevant {
					if r {
						right++
					}
				}
				for j := range e.Candidates {
					d := p[j]
					if e.Relevant[j] {
						d -= 1 / right
					}
					d *= share
					for k, f := range e.Candidates[j] {
						g[k] += d * float64(f) / dev[k]
					}
				}
			}
		}
		for k := range n {
			g[k] += penalty * w[k]
			m[k] = .9*m[k] + .1*g[k]
			v[k] = .99*v[k] + .01*g[k]*g[k]
			t := float64(step + 1)
			w[k] -= rate * (m[k] / (1 - math.Pow(.9, t))) / (math.Sqrt(v[k]/(1-math.Pow(.99, t))) + 1e-8)
		}
	}
	var out selection.Features
	for k := range n {
		out[k] = float32(w[k] / dev[k])
	}
	return out
}

// softmax appends the probabilities of the candidates.
func (e *Example) softmax(dst []float64, w, dev *[len(selection.Features{})]float64) []float64 {
	top := math.Inf(-1)
	for j := range e.Candidates {
		z := 0.0
		for k, f := range e.Candidates[j] {
			z += w[k] * float64(f) / dev[k]
		}
		dst = append(dst, z)
		top = max(top, z)
	}
	sum := 0.0
	for j := range dst {
		dst[j] = math.Exp(dst[j] - top)
		sum += dst[j]
	}
	for j := range dst {
		dst[j] /= sum
	}
	return dst
}

// spread is the standard deviation of each feature.
func spread(sets [][]Example) (dev [len(selection.Features{})]float64) {
	var mean [len(selection.Features{})]float64
	n := 0.0
	for _, s := range sets {
		for i := range s {
			for _, c := range s[i].Candidates {
				n++
				for k, f := range c {
					mean[k] += float64(f)
					dev[k] += float64(f) * float64(f)
				}
			}
		}
	}
	for k := range mean {
		mean[k] /= max(n, 1)
		dev[k] = math.Sqrt(max(dev[k]/max(n, 1)-mean[k]*mean[k], 0)) + 1e-6
	}
	return dev
}
