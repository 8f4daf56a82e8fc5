package selection

import (
	"math"
	"slices"
)

// The inputs of the reranker.
const (
	FeatureBM25 = iota
	FeatureChar
	FeatureClause
	FeatureZ
	FeatureCosine
	FeatureClauseZ
	FeatureCoverage
	FeatureVerbSame
	FeatureBM25PerWord
	FeatureBM25Long
	FeatureHeld
	FeatureApart
	FeatureApartShare
	FeatureNameMeaning
	FeaturePrior
	FeatureExamples
	FeatureIntent
	FeatureObject
	FeatureUnasked
	FeatureDeed
	FeatureMany
	FeatureOne
	FeatureAsked
	FeatureAskedWords
	FeatureReadsAll
	FeatureSomeOne
	FeatureChangesAll
	FeatureChangesOne
	FeatureDeprecated
	FeaturePathAsked
	FeaturePathUnasked
	features
)

// FeatureNames are the features' names, for people.
var FeatureNames = [features]string{
	"bm25", "ngrams", "clause", "meaning", "cosine", "clause_meaning", "name_coverage", "verb_same",
	"bm25_per_word", "bm25_long_request", "words_held", "distinct_cosine", "distinct_meaning", "name_meaning", "first_stage", "examples",
	"intent", "object", "unasked", "deed", "many", "one", "asked", "asked_words",
	"reads_all", "some_one", "changes_all", "changes_one", "deprecated", "path_asked", "path_unasked",
}

// Features are the values of one candidate.
type Features [features]float32

// maxLooked bounds the distinct words of a request whose vectors are compared with
// the words of names.
const maxLooked = 32

// view is what is known of a request before its candidates are looked at.
type view struct {
	verb    int8
	intent  intent
	orders  [5]bool // classes of the verbs of orders
	one     bool    // it names one of many things
	deeds   [5]bool // classes of verbs that an order means; at 0: any
	perWord float32 // the best BM25, by the number of words
	long    float32 // logarithm of the number of distinct words
	total   float32 // information of all words

	// A cosine c becomes the one between the differences from the mean vector by
	// (c - common + shift) * apart * stretch.
	shift, stretch float32
	topApart       float32

	hashes []uint32  // of the distinct words
	words  []float32 // vectors of the first of them, one behind the other
	asked  []uint32  // by term: the number of the request that near belongs to
	near   []float32 // by term: how close the closest word of the request is
	number uint32    // of the request
}

// look prepares the features of request q, whose cosines have the given mean and
// maximum.
func (s *Searcher) look(q string, words int, mean, top float32) {
	x, v := s.x, &s.view
	s.queryTerms(q)
	v.verb, v.words, v.hashes = 0, v.words[:0], v.hashes[:0]
	s.buf = eachWord(q, s.buf, s.eachLooked)
	v.perWord = ratio(s.topBM25, float32(max(words, 1)))
	v.long = float32(math.Log1p(float64(len(v.hashes))))
	v.total = x.rarest() * float32(s.unseen)
	for _, t := range s.terms {
		v.total += x.idf[t]
	}
	v.deeds = [5]bool{}
	if v.intent == intentWrite {
		v.deeds = v.orders
		for class, t := range x.deeds {
			if class > 1 && t >= 0 && (slices.Contains(s.terms, t) || s.meansTerm(t) > 0) {
				v.deeds[class] = true
			}
		}
		v.deeds[0] = v.deeds[2] || v.deeds[3] || v.deeds[4]
	}
	if v.number++; v.number == 0 { // after four billion requests
		clear(v.asked)
		v.number = 1
	}
	v.stretch, v.topApart = 0, 0
	if top <= 0 {
		return
	}
	v.shift = x.meanNorm - mean
	if apart := 1 - 2*mean + x.meanNorm; apart > 1e-6 {
		v.stretch = 1 / float32(math.Sqrt(float64(apart)))
	}
	for d, c := range s.cos {
		v.topApart = max(v.topApart, (c-x.common[d]+v.shift)*x.apart[d])
	}
	v.topApart *= v.stretch
}

// lookAt takes in one word of the request.
func (s *Searcher) lookAt(w []byte) {
	v := &s.view
	if v.verb == 0 {
		v.verb = verbClasses[string(w)]
	}
	if stop[string(w)] {
		return
	}
	h := hash(w)
	if slices.Contains(v.hashes, h) {
		return
	}
	v.hashes = append(v.hashes, h)
	if s.x.table == nil || len(v.hashes) > maxLooked || !s.x.table.wordVector(w, s.word, &s.wordPieces) {
		return
	}
	v.words = append(v.words, s.word...)
}

func (s *Searcher) features(f *Features, d int32) {
	x, v := s.x, &s.view
	f[FeatureBM25] = s.bm25[d]
	f[FeatureChar] = s.char[d]
	f[FeatureClause] = s.clause[d]
	f[FeatureZ] = s.z[d]
	f[FeatureCosine] = s.cos[d]
	f[FeatureClauseZ] = s.clauseZ[d]
	name := x.nameOf(d)
	f[FeatureCoverage] = coverage(name, s.terms)
	if v.verb != 0 && x.verbs[d] == v.verb {
		f[FeatureVerbSame] = 1
	}
	f[FeatureBM25PerWord] = s.bm25[d] * v.perWord
	f[FeatureBM25Long] = s.bm25[d] * v.long
	f[FeatureHeld] = s.held(uint32(d))
	if v.stretch > 0 {
		f[FeatureApart] = (s.cos[d] - x.common[d] + v.shift) * x.apart[d] * v.stretch
		f[FeatureApartShare] = ratio(max(f[FeatureApart], 0), v.topApart)
	}
	f[FeatureNameMeaning] = s.nameMeaning(name)
	f[FeatureIntent] = s.agrees(d)
	f[FeatureObject], f[FeatureUnasked] = s.object(name)
	if verb := x.verbs[d]; v.deeds[0] && verb > 0 {
		if f[FeatureDeed] = -1; v.deeds[verb] {
			f[FeatureDeed] = 1
		}
	}
	if v.intent == intentRead {
		k := FeatureMany
		if v.one {
			k = FeatureOne
		}
		if slices.ContainsFunc(x.many[:], func(t int32) bool { return slices.Contains(name, t) }) {
			f[k] = 1
		} else if slices.Contains(name, x.deeds[1]) {
			f[k] = -1
		}
	}
	if len(x.paths.kinds) > 0 {
		s.pathFeatures(f, d)
	}
	f[FeaturePrior] = s.prior[d]
	if s.asked != nil {
		f[FeatureAsked] = s.asked[d]
		f[FeaturePrior] -= askedPrior * s.asked[d]
	}
	if s.alike != nil {
		f[FeatureExamples] = s.alike[d]
		f[FeaturePrior] -= exampleWeight * s.alike[d]
		f[FeatureAskedWords] = s.askedWords[d]
		f[FeaturePrior] -= askedWordsPrior * s.askedWords[d]
	}
}

// held is the share of the request's information that the words of tool d hold.
func (s *Searcher) held(d uint32) float32 {
	var sum float32
	for _, t := range s.terms {
		if _, ok := slices.BinarySearch(s.x.docs[s.x.starts[t]:s.x.starts[t+1]], d); ok {
			sum += s.x.idf[t]
		}
	}
	for _, m := range s.meant {
		if _, ok := slices.BinarySearch(s.x.docs[s.x.starts[m.term]:s.x.starts[m.term+1]], d); ok {
			sum += s.x.idf[m.term] * m.weight
		}
	}
	return min(ratio(sum, s.view.total), 1)
}

// nameMeaning is how much of a name the request says, in its words or in other
// ones: of each word of the name how close the closest word of the request is,
// weighted by how rare it is in the catalogue.
func (s *Searcher) nameMeaning(name []int32) float32 {
	x := s.x
	var sum, total float32
	for _, t := range name {
		sum += x.idf[t] * s.closest(t)
		total += x.idf[t]
	}
	return ratio(sum, total)
}

// closest is nearest, found once for a request.
func (s *Searcher) closest(t int32) float32 {
	v := &s.view
	if v.asked[t] != v.number {
		v.asked[t], v.near[t] = v.number, s.nearest(t)
	}
	return v.near[t]
}

// nearest is how close the closest word of the request is to term t of a name or a path: 1
// for the same word.
func (s *Searcher) nearest(t int32) float32 {
	if slices.Contains(s.terms, t) {
		return 1
	}
	means := s.meansTerm(t)
	row := s.x.termRows[t]
	if row < 0 {
		return means
	}
	dim := len(s.word)
	top := means
	for words := s.view.words; len(words) > 0; words = words[dim:] {
		top = max(top, dot(words[:dim], s.x.termVecs[int(row)*dim:(int(row)+1)*dim]))
	}
	return top
}

// nameOf returns the distinct terms of tool d's name.
func (x *Index) nameOf(d int32) []int32 {
	start := uint32(0)
	if d > 0 {
		start = x.nameEnds[d-1]
	}
	return x.nameTerms[start:x.nameEnds[d]]
}

// coverage is the share of a name's terms that the query has.
func coverage(name, query []int32) float32 {
	if len(name) == 0 {
		return 0
	}
	n := 0
	for _, t := range name {
		if slices.Contains(query, t) {
			n++
		}
	}
	return float32(n) / float32(len(name))
}

// agrees is 1 when tool d does what the form of the request asks for, -1 when it does
// the opposite: it changes something for a question, or only reads for an order.
func (s *Searcher) agrees(d int32) float32 {
	verb := s.x.verbs[d]
	switch {
	case s.view.intent == intentUnknown || verb == 0:
		return 0
	case (s.view.intent == intentRead) == (verb == 1):
		return 1
	}
	return -1
}

// object is how surely the request says the thing that a name ends with, and how many
// words of the name it does not say: of two tools that do what is asked for, the one
// with the shorter name is the general one.
func (s *Searcher) object(name []int32) (head, unasked float32) {
	for i, t := range name {
		near := s.view.near[t] // nameMeaning asked
		if i == len(name)-1 {
			head = near
		}
		unasked += 1 - near
	}
	return head, float32(math.Log1p(float64(unasked)))
}
