package selection

// rerank holds the weights of the linear reranker. They began at those of rerankSteps
// and were fitted on the needs in users' words that were seen (cmd/sluice-selection) and,
// counting twice as much, on the public sets.
var rerank = Features{
	FeatureBM25:        -4.239646,
	FeatureChar:        -0.741060,
	FeatureClause:      -0.290598,
	FeatureZ:           -0.974763,
	FeatureCosine:      11.022489,
	FeatureClauseZ:     -0.033401,
	FeatureCoverage:    -3.119744,
	FeatureVerbSame:    -0.211301,
	FeatureBM25PerWord: 1.820656,
	FeatureBM25Long:    2.532485,
	FeatureHeld:        2.697180,
	FeatureApart:       0.072289,
	FeatureApartShare:  1.268371,
	FeatureNameMeaning: 5.119353,
	FeatureIntent:      1.108259,
	FeatureObject:      0.341231,
	FeatureUnasked:     -0.514755,
	FeatureDeed:        0.316456,
	FeatureMany:        0.285907,
	FeatureOne:         -0.269996,
	FeatureExamples:    40, // the sets have none: chosen on one set split in two
	FeatureAsked:       6,  // as those: on the catalog's own entries, and where some tools of a set have examples
	FeatureAskedWords:  3,
}

// rerankSteps are those for a request of several steps, where the tool of a short one has
// few of its words: what sluice-selection fit prints, found on the public sets, each seen
// through a table made without the group it belongs to.
var rerankSteps = Features{
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
	FeatureAsked:       6,  // as those: on the catalog's own entries, and where some tools of a set have examples
	FeatureAskedWords:  3,
}

// rerankAPI are those of a catalogue of operations of REST APIs, for a request of one step.
// They began at rerank fitted with a tenth of the weight of the public sets, whose tools have
// no paths, and names of another kind, and were fitted on the seen needs and on what the
// entries of the catalog say people ask, with a penalty on what differs from those, chosen
// with the APIs left out in turns. Where tools have examples, rerank is used.
var rerankAPI = Features{
	FeatureBM25:        -3.554100,
	FeatureChar:        -0.522100,
	FeatureClause:      0.334000,
	FeatureZ:           -0.588000,
	FeatureCosine:      8.699900,
	FeatureClauseZ:     -0.364300,
	FeatureCoverage:    -4.814100,
	FeatureVerbSame:    0.461200,
	FeatureBM25PerWord: 0.752300,
	FeatureBM25Long:    3.236700,
	FeatureHeld:        1.121100,
	FeatureApart:       -2.303100,
	FeatureApartShare:  0.256000,
	FeatureNameMeaning: 4.150600,
	FeatureIntent:      1.548700,
	FeatureObject:      0.424900,
	FeatureUnasked:     -1.397100,
	FeatureDeed:        0.179200,
	FeatureMany:        0.154300,
	FeatureOne:         -0.745200,
	FeatureReadsAll:    0.399000,
	FeatureSomeOne:     -0.346900,
	FeatureChangesAll:  -2.046900,
	FeatureChangesOne:  -0.709800,
	FeatureDeprecated:  -1.143200,
	FeaturePathUnasked: -0.868200,
	FeaturePathAsked:   0.881500,
}

// Weights returns the weights of the package, for measurements that change some.
func Weights() Features { return rerank }
