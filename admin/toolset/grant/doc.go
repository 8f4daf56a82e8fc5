// Package grant decides which private addresses a toolset may call from this node: those
// that an operator granted, by name or in passing. It dials nothing: [safedial.Dialer]
// does, and refuses what is not granted here. Edges obey their own configuration.
//
// A [Room] may be used by many goroutines.
package grant
