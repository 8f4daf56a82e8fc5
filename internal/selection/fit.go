package selection

// Fits reports whether anything that the last search found is likely to be what
// was asked for. It errs on the side of yes: requests without an answer are
// recognised less often than requests with one are kept (docs/selection.md).
func (s *Searcher) Fits() bool { return s.fit >= fitThreshold }

// Fit is how well the best of the last search fits, from 0 to 1; beneath
// fitThreshold nothing does.
func (s *Searcher) Fit() float32 { return s.fit }

// fitThreshold was chosen on requests of one public set asked of the tools of
// another.
const fitThreshold = .2

// judge computes fit: how much of the request's information the words of a found
// tool hold, and how close the vectors are.
func (s *Searcher) judge() {
	for i := range min(len(s.hits), judged) {
		f := &s.hits[i].Features
		s.fit = max(s.fit, wordShare*f[FeatureHeld]+(1-wordShare)*max(f[FeatureCosine], 0))
	}
}

const (
	// judged is how many of the best are looked at.
	judged = 3
	// wordShare weighs words against vectors.
	wordShare = .6
)

// rarest is the weight of a word that one tool has: what a word that none has
// would weigh at least.
func (x *Index) rarest() float32 { return maxOf(x.idf) }
