package selection

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Hit is one result: the tool's position and its score, higher is better.
type Hit struct {
	Tool  int
	Score float32
	// Features are the inputs of the reranker, for explanations.
	Features Features
}

const (
	// Candidates is how many tools the reranker sees.
	Candidates = 50
	// maxClauses bounds the parts of a query that are searched on their own.
	maxClauses = 6
	// maxQuery bounds the bytes of a query that are looked at.
	maxQuery    = 2000
	charShare   = .6
	clauseShare = .5
	zShare      = .5
	intentShare = .15
	// densest is the number of tools up to which clauses are scored by all means.
	densest = 5000
	// pool is how many tools clauses compare vectors with beyond that.
	pool = 500
)

// Searcher asks an index. It holds scratch: one goroutine at a time.
type Searcher struct {
	x          *Index
	bm25       []float32 // shares of the best
	topBM25    float32   // what the best is
	char       []float32
	cos        []float32
	z          []float32
	clause     []float32
	clauseZ    []float32
	prior      []float32
	one        []float32 // scratch
	two        []float32
	order      []int32
	pool       []int32
	view       view
	word       []float32 // of lookAt
	wordPieces pieces
	eachLooked func([]byte) // lookAt, bound once
	vec        []float32
	pieces     pieces
	buf        []byte
	grams      []gram
	terms      []int32
	unseen     int // words of the last queryTerms that no tool has
	hits       []Hit
	clauses    []string
	stems      map[string]int32
	plain      *Features // the weights for a request of one step
	weights    *Features
	likeness   []float32 // to each example
	alike      []float32 // to each tool's examples
	near       []float32
	asked      []float32 // how close each tool's closest request is, in meaning
	askedWords []float32 // and in words
	askedTrust float32   // how much that counts
	keys       []uint32
	hashes     map[string]uint32
	keyOf      func([]byte) uint32 // hashOf, bound once
	addKey     func(uint32)
	placed     []placedWord // words of the last queryTerms, for phrases
	meant      []meantTerm  // what they mean
	means      [][]int32    // of the index
	denied     []int32      // terms of what it says is not: unread, for "not read"
	sinceNot   int          // words since "not"
	opposite   []byte       // scratch
	eachTerm   func([]byte) // takeTerm, bound once
	words      int          // of the last queryTerms
	fit        float32      // of the last search: how likely it is that anything fits
}

// NewSearcher makes a searcher over x.
func (x *Index) NewSearcher() *Searcher {
	s := &Searcher{x: x, stems: map[string]int32{}, weights: &rerank, plain: &rerank}
	if x.paths.isAPI(x.n) && len(x.examples.count) == 0 && len(x.asked.ends) == 0 {
		s.plain = &rerankAPI
	}
	for _, p := range []*[]float32{&s.bm25, &s.char, &s.cos, &s.z, &s.clause, &s.clauseZ, &s.prior, &s.one, &s.two} {
		*p = make([]float32, x.n)
	}
	s.order = make([]int32, 0, x.n)
	s.hashes, s.means, s.eachTerm = map[string]uint32{}, x.resolved(), s.takeTerm
	if n := len(x.examples.count); n > 0 {
		s.likeness, s.alike, s.near, s.askedWords = make([]float32, n), make([]float32, x.n), make([]float32, x.n), make([]float32, x.n)
		s.keyOf = s.hashOf
		s.addKey = func(k uint32) { s.keys = append(s.keys, k) }
	}
	if s.askedTrust = x.asked.trust(); len(x.asked.ends) > 0 {
		s.asked = make([]float32, x.n)
	}
	if x.table != nil {
		s.vec, s.word = make([]float32, x.table.Dim()), make([]float32, x.table.Dim())
	}
	s.view.asked, s.view.near = make([]uint32, len(x.idf)), make([]float32, len(x.idf))
	s.eachLooked = s.lookAt
	return s
}

// SetWeights makes the reranker use other weights than those of the package, for
// measurements; nil: the package's. w must not change afterwards.
func (s *Searcher) SetWeights(w *Features) {
	if s.weights = &rerank; w != nil {
		s.weights = w
	}
}

// queryTerms fills s.terms with the distinct known terms of q and s.meant with those that
// it means, and returns the number of words that are not stop words, known or not.
func (s *Searcher) queryTerms(q string) int {
	s.terms, s.placed, s.denied, s.unseen, s.words = s.terms[:0], s.placed[:0], s.denied[:0], 0, 0
	s.sinceNot = notReach
	s.buf = eachWord(q, s.buf, s.eachTerm)
	s.findMeant()
	return s.words
}

// takeTerm takes in one word of a request.
func (s *Searcher) takeTerm(w []byte) {
	s.place(w)
	s.deny(w)
	id, ok := lookup(&s.x.surface, w)
	if !ok {
		if id, ok = s.stems[string(w)]; !ok {
			id = s.unknown(string(w))
		}
	}
	if id == -1 {
		return
	}
	s.words++
	if id == -2 {
		s.unseen++
	}
	if id >= 0 && !slices.Contains(s.terms, id) {
		s.terms = append(s.terms, id)
	}
}

// maxStems bounds the words that a searcher remembers.
const maxStems = 4096

// unknown finds the term of a word that no tool spells like this: -1 for stop
// words, -2 when no tool has it in another form either.
func (s *Searcher) unknown(w string) int32 {
	if len(s.stems) >= maxStems {
		clear(s.stems)
	}
	id := int32(-1)
	if !stop[w] {
		var ok bool
		if id, ok = lookup(&s.x.terms, normal(w)); !ok {
			id = -2
		}
	}
	s.stems[w] = id
	return id
}

func (s *Searcher) scoreBM25(q string, out []float32) (words int) {
	clear(out)
	words = s.queryTerms(q)
	for _, t := range s.terms {
		idf := s.x.idf[t]
		a, b := s.x.starts[t], s.x.starts[t+1]
		w := s.x.weight[a:b]
		for i, d := range s.x.docs[a:b] {
			out[d] += idf * w[i]
		}
	}
	for _, m := range s.meant {
		idf := s.x.idf[m.term] * m.weight
		a, b := s.x.starts[m.term], s.x.starts[m.term+1]
		w := s.x.weight[a:b]
		for i, d := range s.x.docs[a:b] {
			out[d] += idf * w[i]
		}
	}
	return words
}

func (s *Searcher) scoreChar(q string, out []float32) {
	clear(out)
	s.grams = s.grams[:0]
	s.buf = eachWord(q, s.buf, func(w []byte) {
		if !stop[string(w)] {
			s.grams = appendGrams(s.grams, w, 1, s.x.gramBits)
		}
	})
	g := sumGrams(s.grams)
	var norm float64
	for i := range g {
		g[i].w = float32(1+math.Log(float64(g[i].w))) * s.x.gramIDF(g[i].bucket)
		norm += float64(g[i].w) * float64(g[i].w)
	}
	scale := float32(1 / math.Sqrt(max(norm, 1e-9)))
	for _, e := range g {
		a, b := s.x.gramStart[e.bucket], s.x.gramStart[e.bucket+1]
		// A gram that most tools have tells nothing and costs the most.
		if int(b-a) > s.x.n/3 && s.x.n > 64 {
			continue
		}
		w := s.x.gramW[a:b]
		qw := e.w * scale / math.MaxUint16
		for i, d := range s.x.gramDocs[a:b] {
			out[d] += qw * float32(w[i])
		}
	}
}

func (s *Searcher) scoreCosine(q string, out []float32) (mean, top float32) {
	if s.x.table == nil || !s.x.table.vector(q, s.vec, &s.pieces) {
		clear(out)
		return 0, 0
	}
	var sum float64
	for d := range out {
		c := s.cosine(int32(d))
		out[d] = c
		sum += float64(c)
		top = max(top, c)
	}
	return float32(sum / float64(max(len(out), 1))), top
}

func maxOf(v []float32) float32 {
	var m float32
	for _, f := range v {
		m = max(m, f)
	}
	return m
}

func ratio(a, b float32) float32 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// splitClauses cuts a request at sentences and at words that chain steps.
func splitClauses(dst []string, q string) []string {
	for part := range strings.FieldsFuncSeq(q, func(r rune) bool { return r == '.' || r == '?' || r == '!' || r == ';' || r == '\n' }) {
		for part != "" {
			at, size := -1, 0
			for _, sep := range [...]string{" and then ", ", then ", ", and ", " then ", " and also ", " as well as ", " after that ", " and "} {
				if i := strings.Index(part, sep); i >= 0 && (at < 0 || i < at) {
					at, size = i, len(sep)
				}
			}
			head := part
			if at >= 0 {
				head, part = part[:at], part[at+size:]
			} else {
				part = ""
			}
			if len(strings.TrimSpace(head)) > 8 && len(dst) < maxClauses {
				dst = append(dst, head)
			}
		}
	}
	return dst
}

// Search returns the k best tools for q, best first. The result is valid until
// the next call.
func (s *Searcher) Search(q string, k int) []Hit { return s.SearchAmong(q, k, nil) }

// SearchAmong is Search among the tools that are true in among; nil: all.
func (s *Searcher) SearchAmong(q string, k int, among []bool) []Hit {
	x := s.x
	s.fit = 0
	if x.n == 0 || k <= 0 {
		return nil
	}
	q = cut(q, maxQuery)
	var steps int
	s.view.intent, s.view.orders, steps = intentOf(q)
	weights := s.weights
	if weights == &rerank {
		if weights = s.plain; steps > 1 {
			weights = &rerankSteps
		}
	}
	q, s.view.one = withoutLiterals(q)
	words := s.scoreBM25(q, s.bm25)
	s.scoreChar(q, s.char)
	mean, top := s.scoreCosine(q, s.cos)
	s.topBM25 = maxOf(s.bm25)
	scale(s.bm25, s.topBM25)
	scale(s.char, maxOf(s.char))
	for d, c := range s.cos {
		s.z[d] = ratio(max(c-mean, 0), top-mean)
		s.prior[d] = s.bm25[d] + charShare*s.char[d] + s.z[d]*zShare
	}
	s.order = s.order[:0]
	if s.clauses = splitClauses(s.clauses[:0], q); len(s.clauses) >= 2 {
		s.scoreClauses()
	} else {
		for d := range s.prior {
			s.clause[d] = (s.bm25[d] + charShare*s.char[d]) / (1 + charShare)
			s.clauseZ[d] = s.z[d]
		}
	}
	for d := range s.prior {
		s.prior[d] += clauseShare*s.clause[d] + zShare*s.clauseZ[d]
	}
	if s.view.intent != intentUnknown {
		for d, p := range s.prior {
			if p > 0 {
				s.prior[d] = max(p+intentShare*s.agrees(int32(d)), 1e-6)
			}
		}
	}
	s.scoreExamples(q, top)
	s.scoreAsked(q)
	for d := range s.asked {
		s.prior[d] += askedPrior * s.asked[d]
	}
	for d := range s.askedWords {
		s.prior[d] += askedWordsPrior * s.askedWords[d]
	}
	for d := range among {
		if !among[d] {
			s.prior[d] = 0
		}
	}
	s.top(s.prior, max(k, Candidates))
	s.look(q, words, mean, top)
	s.hits = s.hits[:0]
	for i, d := range s.order {
		if s.prior[d] <= 0 {
			break
		}
		h := Hit{Tool: int(d)}
		s.features(&h.Features, d)
		if i < Candidates {
			for j, w := range weights {
				h.Score += w * h.Features[j]
			}
			if h.Features[FeatureCoverage] == 1 && h.Features[FeatureHeld] == 1 && h.Features[FeatureVerbSame] == 1 {
				h.Score += saidNames // "get an item", and the tool is get_item
			}
			if s.topBM25 == 0 { // no tool has a word of it: it is misspelt or joined
				h.Score += unknownChar * h.Features[FeatureChar]
			}
		} else {
			h.Score = s.prior[d] - beyond
		}
		s.hits = append(s.hits, h)
	}
	slices.SortStableFunc(s.hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	s.judge()
	return s.hits[:min(k, len(s.hits))]
}

// unknownChar weighs the n-grams of a request of which no tool has a word: as the
// reranker weighed them before it saw people's needs, which are spelled well.
const unknownChar = 5

// saidNames weighs that the words of a request are those of a name, and no others: needs are
// worded otherwise, so that what was fitted to them does not know it.
const saidNames = 1

// beyond keeps what the reranker did not see behind what it did.
const beyond = 1000

// scoreClauses searches each clause on its own, so that the tool of a short step
// in a long request is found. Up to densest tools it scores all of them by all
// means; beyond, n-grams are left out and vectors are compared for the best by
// words only.
func (s *Searcher) scoreClauses() {
	clear(s.clause)
	clear(s.clauseZ)
	dense := s.x.n <= densest
	if !dense {
		s.top(s.prior, pool)
		s.pool = append(s.pool[:0], s.order...)
	}
	for _, c := range s.clauses {
		s.scoreBM25(c, s.one)
		scale(s.one, maxOf(s.one))
		if dense {
			s.scoreChar(c, s.two)
			m := maxOf(s.two)
			for d := range s.one {
				s.clause[d] = max(s.clause[d], s.one[d]+charShare*ratio(s.two[d], m))
			}
			mean, top := s.scoreCosine(c, s.two)
			for d, cos := range s.two {
				s.clauseZ[d] = max(s.clauseZ[d], ratio(max(cos-mean, 0), top-mean))
			}
			continue
		}
		for d, v := range s.one {
			s.clause[d] = max(s.clause[d], v)
		}
		if s.x.table == nil || !s.x.table.vector(c, s.vec, &s.pieces) {
			continue
		}
		var sum, top float32
		for i, d := range s.pool {
			cos := s.cosine(d)
			s.two[i] = cos
			sum += cos
			top = max(top, cos)
		}
		// The pool is closer to the request than the catalogue is: half its mean.
		mean := sum / float32(2*max(len(s.pool), 1))
		for i, d := range s.pool {
			s.clauseZ[d] = max(s.clauseZ[d], ratio(max(s.two[i]-mean, 0), top-mean))
		}
	}
	scale(s.clause, maxOf(s.clause))
}

func (s *Searcher) cosine(d int32) float32 {
	dim := len(s.vec)
	return dot(s.vec, s.x.vectors[int(d)*dim:(int(d)+1)*dim])
}

func scale(v []float32, by float32) {
	if by <= 0 {
		return
	}
	for i := range v {
		v[i] /= by
	}
}

// top fills s.order with the k best positions by score, best first, equal scores
// by position.
func (s *Searcher) top(score []float32, k int) {
	s.order = s.order[:0]
	for i := range score {
		s.order = append(s.order, int32(i))
	}
	better := func(a, b int32) int {
		if c := cmp.Compare(score[b], score[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	}
	if k < len(s.order) {
		quickSelect(s.order, k, better)
		s.order = s.order[:k]
	}
	slices.SortFunc(s.order, better)
}

// quickSelect moves the k smallest by less to the front, in any order.
func quickSelect(v []int32, k int, compare func(a, b int32) int) {
	lo, hi := 0, len(v)-1
	for lo < hi {
		p := v[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for compare(v[i], p) < 0 {
				i++
			}
			for compare(v[j], p) > 0 {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k > i:
			lo = i
		default:
			return
		}
	}
}
