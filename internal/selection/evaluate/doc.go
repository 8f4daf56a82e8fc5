// Package evaluate measures package selection on sets of tools and requests, and
// fits the weights of its reranker.
//
// It is for people who tune or check the selection (sluice eval selection, make
// selection-report); nothing that serves requests uses it. Its figures are those
// of information retrieval with binary gains: nDCG (Järvelin and Kekäläinen,
// 2002) and recall among the first ten, share of requests whose first tool is
// right (hit@1), share whose tools are all among the first ten (complete@10). All
// functions are pure and safe for concurrent use.
package evaluate
