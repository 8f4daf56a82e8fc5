package selection

// rerank holds the weights of the linear reranker: those that sluice-selection fit
// prints, found on the public sets, each seen through a table made without the
// group it belongs to.
var rerank = Features{
	FeatureBM25:        -5.162427,
	FeatureChar:        0.940786,
	FeatureClause:      0.811098,
	FeatureZ:           -2.103797,
	FeatureCosine:      9.516639,
	FeatureClauseZ:     1.932587,
	FeatureCoverage:    -0.935906,
	FeatureVerbSame:    0.314004,
	FeatureBM25PerWord: 1.878636,
	FeatureBM25Long:    2.058805,
	FeatureHeld:        4.153116,
	FeatureApart:       -4.870763,
	FeatureApartShare:  1.337319,
	FeatureNameMeaning: 3.292890,
	FeatureExamples:    40, // the sets have none: chosen on one set split in two
}

// Weights returns the weights of the package, for measurements that change some.
func Weights() Features { return rerank }
