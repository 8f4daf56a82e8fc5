package evaluate

import (
	"math"
	"slices"

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

const (
	steps   = 80   // of the descent: the last change nothing that is measured
	memory  = 8    // steps whose curvature it remembers
	penalty = 1e-3 // on the squares of the weights of features scaled to deviation 1
)

// Fitted reports whether Fit gives feature k a weight: all but the first stage,
// which is a sum of others, and those of examples and paths, which the sets do not have.
func Fitted(k int) bool {
	return k < selection.FeatureReadsAll && !slices.Contains([]int{selection.FeaturePrior, selection.FeatureExamples, selection.FeatureAsked, selection.FeatureAskedWords}, k)
}

// Fit finds the weights of the reranker: the cross entropy of the softmax over
// each request's candidates, with the right ones sharing the target, minimised
// with L-BFGS (Nocedal, 1980). A set counts with the root of its requests, so that
// a large one does not decide alone. The result is the same for the same examples.
func Fit(sets [][]Example) selection.Features {
	l := newLoss(sets)
	var w, g vector
	value := l.at(&w, &g)
	var past []curvature
	for range steps {
		d := direction(past, &g)
		slope := inner(&g, &d)
		if slope >= 0 { // the memory misleads: down the gradient
			past = nil
			for k := range d {
				d[k] = -g[k]
			}
			slope = inner(&g, &d)
		}
		var next, ng vector
		var nv float64
		for size := 1.0; ; size /= 2 {
			for k := range next {
				next[k] = w[k] + size*d[k]
			}
			if nv = l.at(&next, &ng); nv <= value+1e-4*size*slope || size < 1e-6 {
				break
			}
		}
		var c curvature
		for k := range next {
			c.step[k], c.change[k] = next[k]-w[k], ng[k]-g[k]
		}
		if c.product = inner(&c.step, &c.change); c.product > 1e-12 {
			past = append(past[max(0, len(past)-memory+1):], c)
		}
		if value-nv < 1e-9 {
			break
		}
		w, g, value = next, ng, nv
	}
	var out selection.Features
	for k := range out {
		if Fitted(k) {
			out[k] = float32(w[k] / l.dev[k])
		}
	}
	return out
}

type vector [len(selection.Features{})]float64

func inner(a, b *vector) (sum float64) {
	for k := range a {
		sum += a[k] * b[k]
	}
	return sum
}

// curvature is what a step says of it.
type curvature struct {
	step, change vector
	product      float64
}

// direction is minus the gradient, turned by the curvatures (two-loop recursion).
func direction(past []curvature, g *vector) vector {
	d := *g
	share := make([]float64, len(past))
	for i := len(past) - 1; i >= 0; i-- {
		c := &past[i]
		share[i] = inner(&c.step, &d) / c.product
		for k := range d {
			d[k] -= share[i] * c.change[k]
		}
	}
	if n := len(past); n > 0 {
		scale := past[n-1].product / inner(&past[n-1].change, &past[n-1].change)
		for k := range d {
			d[k] *= scale
		}
	}
	for i := range past {
		c := &past[i]
		back := share[i] - inner(&c.change, &d)/c.product
		for k := range d {
			d[k] += back * c.step[k]
		}
	}
	for k := range d {
		d[k] = -d[k]
	}
	return d
}

// loss is what Fit minimises.
type loss struct {
	sets  [][]Example
	share []float64 // of each set's requests
	dev   vector
	p     []float64 // scratch
}

func newLoss(sets [][]Example) *loss {
	l := &loss{sets: sets, dev: spread(sets), share: make([]float64, len(sets))}
	total := 0.0
	for _, s := range sets {
		total += math.Sqrt(float64(len(s)))
	}
	for i, s := range sets {
		l.share[i] = 1 / math.Sqrt(float64(max(len(s), 1))) / max(total, 1)
	}
	return l
}

// at gives the loss of weights w and writes its gradient to g.
func (l *loss) at(w, g *vector) (value float64) {
	*g = vector{}
	var scaled vector
	for k := range w {
		if Fitted(k) {
			scaled[k] = w[k] / l.dev[k]
		}
	}
	for i, s := range l.sets {
		for j := range s {
			value += s[j].add(&scaled, g, l.share[i], &l.p)
		}
	}
	for k := range g {
		if g[k] /= l.dev[k]; !Fitted(k) {
			g[k] = 0
		}
		g[k] += penalty * w[k]
		value += penalty / 2 * w[k] * w[k]
	}
	return value
}

// add adds the gradient of one request, weighted by share, to g and returns its
// loss. scratch is grown and kept.
func (e *Example) add(w, g *vector, share float64, scratch *[]float64) float64 {
	p := (*scratch)[:0]
	top, right := math.Inf(-1), 0.0
	for j := range e.Candidates {
		z := 0.0
		for k, f := range e.Candidates[j] {
			z += w[k] * float64(f)
		}
		p = append(p, z)
		top = max(top, z)
		if e.Relevant[j] {
			right++
		}
	}
	*scratch = p
	sum, want := 0.0, 0.0
	for j, z := range p {
		if e.Relevant[j] {
			want += z / right
		}
		p[j] = math.Exp(z - top)
		sum += p[j]
	}
	for j := range p {
		d := p[j] / sum
		if e.Relevant[j] {
			d -= 1 / right
		}
		d *= share
		for k, f := range e.Candidates[j] {
			g[k] += d * float64(f)
		}
	}
	return share * (math.Log(sum) + top - want)
}

// spread is the standard deviation of each feature.
func spread(sets [][]Example) (dev vector) {
	var mean vector
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
