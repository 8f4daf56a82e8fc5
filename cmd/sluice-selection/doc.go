// Command sluice-selection measures the tool search where it was not tuned, and
// fits the weights of its reranker.
//
//	sluice-selection report   writes the tables of docs/selection.md
//	sluice-selection needs    writes the table of needs there alone
//	sluice-selection names    writes the tables of docs/names.md
//	sluice-selection fit      prints internal/selection/weights.go's weights
//	sluice-selection measure  prints size and speed as JSON, for sluice-bench
//	sluice-selection groups   lists the groups of sets, for make
//
// Held out means: a set is asked through an embedding table that was made without
// the group of sets it belongs to, with weights that were fitted on the other
// groups. make selection-report makes those tables.
//
// It is not a test and no part of the product: sluice eval selection measures what
// the binary holds.
package main
