// Package advice says what each selection of a draft's tools would list and cost, which one
// is recommended, and what a search would find.
//
// It changes no selection, which package draft does, and it calls no tool.
package advice
