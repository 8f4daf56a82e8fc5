// Package compress writes an answer as the text an agent reads in the fewest
// tokens: table text, in which the members that many objects share are named once.
//
// It does not decide what an answer keeps (response programs do, in package
// engine) and loses nothing: [DecodeTable] gives back the same values in the same
// order with the same number literals and the same strings.
//
// The grammar of table text is docs/table.md; that page is the contract, this
// package one implementation of it.
//
// All functions are safe for concurrent use.
package compress
