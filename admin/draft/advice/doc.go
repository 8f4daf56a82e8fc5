// Package advice reports what each selection of a draft's tools would list and cost,
// recommends one, and previews searches.
//
// It changes no selection, which package draft does, and it calls no tool.
package advice
